"""What is between steps, where other threads of the process drive steps at the same time, and where not all is kept singly."""

import types
import unittest

import between

PROCESS = "process"


def step(start, end, thread=1, mode="train"):
    return types.SimpleNamespace(instance=PROCESS, start=start, end=end, duration=end - start, thread=thread, mode=mode)


def section(start, end, thread=1, phase="data_loading", **attributes):
    span = types.SimpleNamespace(instance=PROCESS, start=start, end=end, duration=end - start, trace=b"", id=b"")
    span.get = {f"stepscope.{key}": value for key, value in attributes.items()}.get
    return span, thread, phase, {phase: end - start}


def told(steps, sections):
    run = types.SimpleNamespace(steps=steps, outside=sections)
    sums, is_estimated = between.of_process(run, PROCESS, steps, "train")
    return {phase: (one.calls, one.total, one.exposed) for phase, one in sums.items() if one.calls}, is_estimated


class Between(unittest.TestCase):
    def steps(self, count):
        """10 ns each, 5 ns apart, on two threads in turn."""
        return [step(15 * at, 15 * at + 10, at % 2) for at in range(count)]

    def test_what_lies_in_steps_does_not_count(self):
        sections = [section(12, 14), section(1, 9), section(8, 16), section(-5, 1), section(1 + 15 * 9, 15 * 9 + 50)]
        self.assertEqual(told(self.steps(10), sections), ({"data_loading": (2, 2 + 5, 2 + 5)}, False))

    def test_input_is_for_the_steps_that_it_names(self):
        run = types.SimpleNamespace(steps=self.steps(3), outside=[section(10, 12), section(26, 29, 0, mode="eval")])
        sums, _ = between.of_process(run, PROCESS, run.steps, "train")
        self.assertEqual({phase: one.exposed for phase, one in sums.items()}, {"data_loading": 2, "evaluation": 3})
        self.assertEqual(sums.given, {"eval": 3})

    def test_of_steps_that_overlap_all_counts(self):
        steps = [step(0, 10, 0), step(5, 15, 1), step(40, 50, 0)]
        self.assertEqual(told(steps, [section(5, 15), section(20, 30)]), ({"data_loading": (2, 20, 20)}, False))

    def test_beside_steps_that_are_not_known_as_large_a_part_counts(self):
        # Each second one lies in a step, each other one between two.
        steps = self.steps(2_000)
        one, other = [section(15 * at + 1, 15 * at + 4) for at in range(1_999)], [section(15 * at + 11, 15 * at + 14) for at in range(1_999)]
        found, is_estimated = told(steps, one + other)
        calls, total, exposed = found["data_loading"]
        self.assertTrue(is_estimated and total == exposed)
        # Of the first 256 steps, half of which have the other thread, none is missing.
        self.assertLess(abs(total - 3 * 1_999), 3 * 1_999 / 100)
        self.assertLess(abs(calls - 1_999), 20)

    def test_no_more_counts_than_steps_leave(self):
        steps = self.steps(2_000)
        late = [section(15 * at + 1, 15 * at + 9) for at in range(300, 1_999)]
        found, is_estimated = told(steps, late)
        self.assertTrue(is_estimated)
        self.assertLessEqual(found["data_loading"][1], 5 * 1_999)

    def test_what_is_before_the_first_step_and_after_the_last_does_not_count(self):
        before = [section(-10 * at - 20, -10 * at - 12) for at in range(3_000)]
        after = [section(100_000 + 10 * at, 100_008 + 10 * at) for at in range(3_000)]
        self.assertEqual(told(self.steps(100), before + after + [section(12, 14)]), ({"data_loading": (1, 2, 2)}, False))


if __name__ == "__main__":
    unittest.main()
