"""Warm-up by its definition, on durations by hand, whatever the steps' numbers are."""

import types
import unittest

import warmup


def steps(durations, process=None, numbers=None):
    numbers = numbers or range(len(durations))
    return [
        types.SimpleNamespace(instance=process, start=at * 1000, duration=duration, number=number, offset=0, trace=bytes([at % 256]), id=b"1")
        for at, (duration, number) in enumerate(zip(durations, numbers))
    ]


def told(durations):
    return warmup.warm_up(durations, len(durations))


def counts(steps, periods=(), listed=None):
    return warmup.counts(steps, periods, listed or {}, "steps", None)


class WarmUp(unittest.TestCase):
    def test_the_first_that_are_above_the_usual_one_by_more_than_a_tenth(self):
        self.assertEqual(told([500, 111, 500, 109] + [100] * 96), 3)
        self.assertEqual(told([110] * 10 + [100] * 90), 0)
        self.assertEqual(told([100] * 5 + [500] * 5 + [100] * 90), 0)

    def test_three_usual_steps_in_a_row_end_it_and_one_does_not(self):
        self.assertEqual(told([500] * 5 + [100] + [500] * 5 + [100] * 89), 11)
        self.assertEqual(told([500] * 5 + [100] * 4 + [500] * 5 + [100] * 86), 5)

    def test_steps_scatter_by_four_median_deviations(self):
        scattered = [80, 90, 100, 110, 120] * 20
        self.assertEqual((told([140] * 4 + scattered), told([141] * 4 + scattered)), (0, 4))

    def test_levels_that_are_as_far_apart_as_warm_up_bound_nothing(self):
        # Excess of the highest eighth: 124 and 126 of 100.
        near, far = [100] * 6 + [224] * 2, [100] * 6 + [226] * 2
        self.assertEqual((warmup.level(near, 100), warmup.level(far, 100)), ((100, 124), (100, 10)))

    def test_the_highest_eighth_bounds_what_steps_scatter(self):
        # No more than two and a half times what it lies above the usual step, and no less than that.
        self.assertEqual((told([125] * 4 + [90, 100, 110] * 32), told([126] * 4 + [90, 100, 110] * 32)), (0, 4))
        rare = ([100] * 4 + [150]) * 20
        self.assertEqual((told([150] * 4 + rare), told([151] * 4 + rare)), (0, 4))
        self.assertEqual(told([300] * 4 + [100, 150, 150, 100, 100, 150, 100, 150] * 12), 4)

    def test_of_few_steps_half_as_much_again(self):
        self.assertEqual((told([150] + [100] * 18), told([151] + [100] * 18), told([150] + [100] * 19)), (0, 1, 1))
        self.assertEqual((told([500] + [100] * 2), told([500] + [100] * 3), told([])), (0, 1, 0))

    def test_at_most_a_quarter_and_224(self):
        self.assertEqual((told([500] * 2 + [100] * 6), told([500] * 3 + [100] * 6)), (2, 0))
        self.assertEqual((told([500] * 224 + [100] * 1000), told([500] * 225 + [100] * 1000)), (224, 0))

    def test_what_stretches_later_on_do_as_well_is_none(self):
        # Of 95 stretches of three steps one may be as slow, and two may not.
        self.assertEqual(told([500] * 3 + [100] * 30 + [500] * 3 + [100] * 64), 3)
        self.assertEqual(told(([500] * 3 + [100] * 30) * 3 + [100]), 0)
        # Of 250 steps five may be, and six may not.
        self.assertEqual((told(([500] + [100] * 41) * 6), told(([500] + [100] * 35) * 7)), (1, 0))

    def test_steps_that_go_back_and_forth_have_none(self):
        self.assertEqual(told([300, 100] * 150), 0)
        self.assertEqual(told([100] + [300, 100] * 600), 0)
        self.assertEqual(told(([300] * 2 + [100] * 2) * 300), 0)

    def test_many_steps_that_are_less_than_twice_as_slow_are_a_level(self):
        cases = ((114, 120, 0), (199, 120, 0), (200, 120, 120), (150, 99, 99), (150, 100, 0))
        for slow, count, expected in cases:
            self.assertEqual(told([slow] * count + [100] * 1000), expected, (slow, count))
        self.assertEqual([told([150] * count + [100] * 150) for count in (39, 40)], [39, 0])
        # It may begin with a warm-up of its own, and is as long as it likes.
        self.assertEqual([told([500] * 7 + [150] * count + [100] * 1000) for count in (100, 220, 240)], [7, 7, 7])
        # What fades is none.
        self.assertGreater(told([150 - at // 3 for at in range(150)] + [100] * 1000), 100)

    def test_steps_from_which_on_all_are_slower_say_nothing(self):
        fading = [500, 400, 300, 200, 150] * 2
        fading.sort(reverse=True)
        for slower in (111, 150, 300):
            self.assertEqual(told(fading + [100] * 90 + [slower] * 300), 10, slower)
        # For a while; and before it has become quick.
        self.assertEqual(told(fading + [100] * 90 + [300] * 100 + [100] * 100), 10)
        self.assertEqual(told([250] * 40 + [500] * 40 + [100] * 520), 80)

    def test_steps_follow_each_other_in_time_and_not_by_number(self):
        restarted = steps([500, 100, 400, 100, 100, 100, 100, 100], numbers=[0, 1, 0, 1, 2, 3, 4, 5])
        self.assertEqual([step.duration for step in warmup.by_process(reversed(restarted))[None]][:3], [500, 100, 400])
        self.assertEqual(counts(reversed(restarted)), {None: 1})

    def test_what_is_as_long_every_so_often_says_nothing(self):
        every = [300 if number % 25 == 0 else 100 for number in range(200)]
        periods = [{"every": 25, "first_step": 25, "since_step": None}]
        self.assertEqual(counts(steps(every), periods), {None: 0})
        self.assertEqual(counts(steps([449] + every[1:]), periods), {None: 0})
        self.assertEqual(counts(steps([450] + every[1:]), periods), {None: 1})
        self.assertEqual(counts(steps([449, 400, 400] + every[3:]), periods), {None: 3})


if __name__ == "__main__":
    unittest.main()
