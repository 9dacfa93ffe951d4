"""What is told of several ranks: which one the others wait for, and which steps they do together."""

import types
import unittest
from fractions import Fraction

import comparison
import evidence
import findings


def report(*ranks):
    return {
        "ranks": [
            {
                "communication_per_step_ns": waits, "resource": {"rank": rank}, "steps": {"count": 10},
                "throughput": {"elapsed_ns": 10 * (mean or 0)},
            }
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
            return {
                "ranks": [
                    {"resource": {"rank": rank}, "steps": {"p50": p50, "count": 100}, "works": {"p50": p50 - 3, "count": 100}}
                    for rank, p50 in enumerate(ranks)
                ]
            }

        self.assertEqual(findings.slow_rank(None, rows(10, 11, 20, 12), None), (8, 8, 20, None))
        self.assertEqual(findings.one_slow_rank(rows(10, 11, 20, 12)), 2)
        self.assertEqual(findings.slow_rank(None, rows(10, 21, 10, 20), None), (10, 10, 21, None))
        self.assertIsNone(findings.one_slow_rank(rows(10, 21, 10, 20)))


class Together(unittest.TestCase):
    def report(self, waits, exchanges, count=400):
        rows = [
            {
                "resource": {"rank": rank}, "steps": {"count": 100},
                "phases_per_step": [{"phase": "data_wait", "exposed_ns": wait}, {"phase": "communication", "exposed_ns": exchange}],
                "phases_between_steps": [],
            }
            for rank, (wait, exchange) in enumerate(zip(waits, exchanges))
        ]
        mode = {"mode": "train", "step_range": [0, 99], "numbers": "unique", "all": {"count": count}}
        sections = [{"phase": None}, {"phase": "communication"}]
        return {"ranks": rows, "sections": sections, "summary": {"mode": "train"}, "detailed_metrics": {"modes": [mode]}}

    def test_others_wait_no_longer_than_they_do_nor_than_they_are_held_up(self):
        one = self.report((0, 8, 0, 0), (9, 1, 9, 9))
        self.assertEqual(findings.others_wait(one, 2), 6)
        self.assertEqual(findings.others_wait(one, 3), 7)
        # Steps of their own: nobody waits.
        self.assertEqual(findings.others_wait(self.report((0, 8, 0, 0), (9, 1, 9, 9), 100), 2), 0)
        self.assertEqual(findings.others_wait(self.report((8,), (1,), 100), 2), 0)

    def test_others_may_wait_for_all_of_it_where_no_section_tells_how_long(self):
        one = self.report((0, 8, 0, 0), (0, 0, 0, 0))
        self.assertEqual(findings.others_wait(one, 2), 0)
        one["sections"].pop()
        self.assertEqual(findings.others_wait(one, 2), 6)
        read = self.report((0, 8), (0, 0))
        read["ranks"][1]["phases_per_step"] = []
        self.assertEqual(findings.others_wait(read, 2), 2)

    def test_time_between_steps_counts(self):
        one = self.report((0, 8), (0, 0))
        one["ranks"][0]["phases_between_steps"] = [{"phase": "synchronization", "exposed_ns": 2}]
        self.assertEqual(findings.others_wait(one, 3), 1)

    def test_the_training_time_is_that_of_the_ranks_that_evaluate(self):
        def row(rank, other, waits=()):
            return {
                "resource": {"rank": rank}, "steps": {"count": 3, "total": 30}, "other_steps_ns": other,
                "phases_between_steps": [{"phase": phase, "exposed_ns": 2} for phase in waits],
            }

        steps = types.SimpleNamespace(total=61, count=6)
        one = {"ranks": [row(0, 7, ("data_wait", "checkpoint")), row(1, 0)]}
        self.assertEqual((findings.trained(one, steps), findings.one_evaluating(one)), ((36, 3), 0))
        for others in ((7, 7), (0, 0)):
            both = {"ranks": [row(0, others[0]), row(1, others[1])]}
            self.assertEqual((findings.trained(both, steps), findings.one_evaluating(both)), ((61, 6), None))

    def test_the_rank_with_most_of_it_is_named(self):
        finding = {"rule": "input_bound", "phase": "data_wait"}
        self.assertEqual(findings.rank_of(finding, self.report((0, 8, 0, 0), (9, 1, 9, 9))), 1)
        self.assertIsNone(findings.rank_of(finding, self.report((8, 8, 8, 8), (1, 1, 1, 1))))
        self.assertEqual(findings.rank_of(finding, self.report((4, 6, 3, 3), (1, 1, 1, 1))), 1)
        self.assertIsNone(findings.rank_of({"rule": "step_jitter", "phase": "data_wait"}, self.report((0, 8, 0, 0), (9, 1, 9, 9))))


class Stages(unittest.TestCase):
    def test_a_loader_waits_for_one_other(self):
        def loader(made, waited, held):
            waits = {"wait": {"total": waited}}
            return {"name": str(held), "produce": {"total": made, "count": 1}, "waits": waits, "held_up": [{"total_ns": held}], "waited_by": []}

        decoder, reader, idle = loader(30, 20, 20), loader(30, 20, 5), loader(30, 20, 6)
        self.assertEqual(evidence.waited_for(decoder, [decoder, reader, idle]), (reader, Fraction(1, 2)))
        self.assertIsNone(evidence.waited_for(decoder, [decoder, idle]))
        self.assertIsNone(evidence.waited_for(decoder, [decoder, reader, reader | {}]))

    def test_of_many_the_last_that_others_wait_for_is_limiting(self):
        def loader(name, **waited_by):
            waits = [{"loader": other, "total_ns": ns} for other, ns in waited_by.items()]
            return {"name": name, "produce": {"total": 30, "count": 1}, "waited_by": waits}

        collate, decode, read, cache = loader("collate"), loader("decode", collate=20), loader("read", decode=9), loader("cache", decode=8)
        every = [collate, decode, read, cache]
        self.assertEqual(evidence.waited_for(collate, every), (decode, Fraction(2, 3)))
        self.assertEqual(evidence.waited_for(decode, every), (read, Fraction(17, 30)))
        self.assertIsNone(evidence.waited_for(read, every))
        self.assertEqual(evidence.limiting(collate, every), "read")


class Severities(unittest.TestCase):
    def test_a_severity_is_of_the_share_that_is_told(self):
        # 22.49996 %, told as 22.5, and just below that.
        self.assertEqual(findings.severity_of(224_999_600, 1_000_000_000), 23)
        self.assertEqual(findings.severity_of(224_999_400, 1_000_000_000), 22)
        self.assertEqual(findings.severity_of(3, 2), 100)
