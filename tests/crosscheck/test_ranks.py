"""What is told of several ranks: which one the others wait for, and which steps they do together."""

import types
import unittest

import comparison
import evidence
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


class SlowRanks(unittest.TestCase):
    def test_the_ranks_above_the_widest_gap_are_slow(self):
        def rows(*ranks):
            times = [{"phase": "communication", "exposed_ns": 3}]
            return {
                "ranks": [
                    {"resource": {"rank": rank}, "steps": {"p50": p50, "count": 100}, "phases_per_step": times}
                    for rank, p50 in enumerate(ranks)
                ]
            }

        self.assertEqual(findings.slow_rank(None, rows(10, 11, 20, 12), None), (8, 8, 20, None))
        self.assertEqual(findings.one_slow_rank(rows(10, 11, 20, 12)), 2)
        self.assertEqual(findings.slow_rank(None, rows(10, 21, 10, 20), None), (10, 10, 21, None))
        self.assertIsNone(findings.one_slow_rank(rows(10, 21, 10, 20)))


class Stages(unittest.TestCase):
    def test_a_loader_waits_for_one_other(self):
        def loader(made, waited, held):
            return {"produce": {"total": made, "count": 1}, "waits": {"wait": {"total": waited}}, "held_up": [{"total_ns": held}]}

        decoder, reader, idle = loader(30, 20, 20), loader(30, 20, 5), loader(30, 20, 6)
        self.assertIs(evidence.waited_for(decoder, [decoder, reader, idle]), reader)
        self.assertIsNone(evidence.waited_for(decoder, [decoder, idle]))
        self.assertIsNone(evidence.waited_for(decoder, [decoder, reader, reader | {}]))
