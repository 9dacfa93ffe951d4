"""What is told of several ranks: which one the others wait for, and which steps they do together."""

import types
import unittest

import comparison
import findings


def report(*ranks):
    return {
        "ranks": [
            {"communication_per_step_ns": waits, "resource": {"rank": rank}, "steps": {"mean": mean}}
            for rank, (waits, mean) in enumerate(ranks)
        ]
    }


def steps(*processes):
    return [types.SimpleNamespace(instance=at, number=number) for at, numbers in enumerate(processes) for number in numbers]


class Ranks(unittest.TestCase):
    def test_the_others_wait_for_one_that_works_longest(self):
        self.assertEqual(findings.late_rank(report((5, 10), (1, 10), (2, 10))), 1)
        self.assertEqual(findings.late_rank(report((0, 10), (1, 10))), 0)
        for ranks in (((5, 10), (4, 10)), ((5, 10), (1, 5)), ((1, 10),), ((0, 10), (0, 9)), ((5, 10), (None, None))):
            self.assertIsNone(findings.late_rank(report(*ranks)))

    def test_steps_of_the_same_numbers_are_done_together(self):
        self.assertEqual(comparison.done_together(steps(range(4), range(1, 4))), 4)
        self.assertEqual(comparison.done_together(steps(range(4), range(4, 8))), 8)
        self.assertEqual(comparison.done_together(steps(range(4), [0, None])), 6)
        self.assertEqual(comparison.done_together([]), 0)
