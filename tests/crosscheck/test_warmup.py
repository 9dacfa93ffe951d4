"""Warm-up by its definition, on durations by hand, whatever the steps' numbers are."""

import types
import unittest

import warmup


def steps(durations, process=None, numbers=None):
    numbers = numbers or range(len(durations))
    return [
        types.SimpleNamespace(instance=process, start=at * 1000, duration=duration, number=number, trace=bytes([at % 256]), id=b"1")
        for at, (duration, number) in enumerate(zip(durations, numbers))
    ]


class WarmUp(unittest.TestCase):
    def test_the_first_that_take_more_than_half_as_long_again(self):
        self.assertEqual(warmup.bounds(steps([500, 151, 150, 500] + [100] * 20)), (2, 2))

    def test_at_most_a_quarter_and_256(self):
        self.assertEqual(warmup.bounds(steps([500] * 3 + [100] * 5)), (2, 2))
        self.assertEqual(warmup.bounds(steps([500] * 300 + [100] * 1000)), (256, 256))

    def test_steps_follow_each_other_in_time_and_not_by_number(self):
        restarted = steps([500, 100, 400, 100, 100, 100, 100, 100], numbers=[0, 1, 0, 1, 2, 3, 4, 5])
        self.assertEqual([step.duration for step in warmup.by_process(reversed(restarted))[None]][:3], [500, 100, 400])
        self.assertEqual(warmup.bounds(warmup.by_process(reversed(restarted))[None]), (1, 1))

    def test_a_border_within_the_error_of_the_median_has_two_answers(self):
        self.assertEqual(warmup.bounds(steps([15_010] + [10_000] * 99)), (0, 1))


if __name__ == "__main__":
    unittest.main()
