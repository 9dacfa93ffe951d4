"""Trends by hand, and a run that leaks: equal as it stands, and different whatever figure of it is changed."""

import copy
import math
import types
import unittest

import aggregates
import comparison
import findings
import memory
import names
import test_report
from records import Point, Process

PROCESS = Process("run-rank0", 1, 0, "detailed")
STEPS = 120


def p_value(n):
    """Of n points that all rise: n (n - 1) / 2 pairs agree."""
    z = (n * (n - 1) / 2 - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    return math.erfc(z / math.sqrt(2))


def rising(n, slope):
    return {"n": n, "slope_per_step": slope, "confidence_interval": [slope, slope], "p_value": p_value(n)}


def pair(slope):
    """Of memory that is `slope` a step, from the first. The last third begins at step 81."""
    return {
        "first_bytes": slope, "last_bytes": STEPS * slope, "max_bytes": STEPS * slope, "whole": rising(119, slope),
        "tail": rising(40, slope),
    }


def leaking():
    """Steps 1 to 120, the first a warm-up, ten a second: 30,000 bytes a step are 1.0058 GiB an hour."""
    finding = {
        "id": "memory_growth", "rule": "memory_growth", "severity": 45.0, "rank": None, "predicted_gain": None,
        "section": "step/keep", "title": "Memory grows.",
        "evidence": {
            "growth_per_step_bytes": 30_000, "slope_low_bytes": 30_000, "slope_high_bytes": 30_000, "p_value": p_value(119),
            "last_third_per_step_bytes": 30_000, "growth_bytes": 3_600_000, "first_bytes": 30_000, "last_bytes": 3_600_000,
            "growth_per_hour_bytes": 1_080_000_000, "section_net_per_step_bytes": 20_000, "steps": 120,
        },
    }
    # One keeps two thirds of the growth, and the other a third of it.
    sections = [
        {"path": path, "kind": "section", "source": "spans", "alloc": {"self_net_bytes": 120 * net}}
        for path, net in (("step/some", 10_000), ("step/keep", 20_000))
    ]
    leak = {
        "verdict": "growing", "bytes_per_step": 30_000, "confidence_interval": [30_000, 30_000],
        "p_value": p_value(119), "live_bytes": 3_600_000, "section": "step/keep",
    }
    process = {"rank": 0, "rss_last_bytes": 7, "rss_max_bytes": STEPS * 40_000, "live_last_bytes": 5, "live_max_bytes": STEPS * 30_000}
    mode = {
        "mode": "train", "all": {"count": 120}, "steady": {"count": 119}, "steady_ns": 0, "whole": {"steps": 0, "total_ns": 0}, "phases": [],
        "throughput": {"steps_per_second": 10.0},
    }
    return {
        "summary": {"mode": "train", "steps": 119, "coverage": {"recorded_steps": None, "read_steps": 120, "whole_steps": 120}},
        "sections": sections,
        "ranks": [{}], "bottlenecks": [finding], "leaks": [leak],
        "memory": {"live": pair(30_000), "rss": pair(40_000), "processes": [process]},
        "detailed_metrics": {"series": [{"mode": "train", "shift": 0}], "modes": [mode], "outside": []},
    }


def differences(report):
    steps = [
        types.SimpleNamespace(number=n, offset=0, start=n, instance=PROCESS, live=n * 30_000, rss=n * 40_000)
        for n in range(1, STEPS + 1)
    ]
    sums = aggregates.Aggregates()
    for metric, time, value in (
        (names.PROCESS_MEMORY, 2, 7), (names.PROCESS_MEMORY, 1, 9), (names.LIVE_MEMORY, 1, 5),
    ):
        sums.add(Point(PROCESS, metric, {}, time, value))
    run = types.SimpleNamespace(steps_of=lambda mode: steps if mode == "train" else [], processes={PROCESS: {}})
    compare = comparison.Comparison()
    memory.compare_memory(report, run, sums, {PROCESS: 2}, compare)
    findings.compare_findings(report, run, compare)
    return compare.differences


class Memory(unittest.TestCase):
    def test_a_small_trend_by_hand(self):
        # Slopes -1, 1/2, 1/2, 2/3, 1, 1, 1, 3/2, 2, 2; nine pairs rise and one falls; the variance is 50/3.
        found = memory.trend([(1, 1), (2, 2), (3, 4), (4, 3), (5, 5)])
        self.assertEqual((found["n"], found["slope_per_step"], found["confidence_interval"]), (5, 1, [-1, 2]))
        self.assertAlmostEqual(found["p_value"], math.erfc(7 / math.sqrt(50 / 3) / math.sqrt(2)), 12)
        self.assertIsNone(memory.trend([(1, 1), (2, 2), (3, 3)]))

    def test_ties_lower_the_variance_and_many_points_are_averaged(self):
        # Two pairs of ties: 4 * 3 * 13 - 2 * 2 * 9 = 120; four of six pairs rise.
        found = memory.trend([(1, 1), (2, 1), (3, 2), (4, 2)])
        self.assertAlmostEqual(found["p_value"], math.erfc(3 / math.sqrt(120 / 18) / math.sqrt(2)), 12)
        found = memory.trend([(x, 3 * x) for x in range(1025)])
        self.assertEqual((found["n"], found["slope_per_step"]), (342, 3))

    def test_the_leak_by_hand_is_equal_and_every_number_of_it_counts(self):
        self.assertEqual(differences(leaking()), [])
        unnoticed = []
        for place, value in test_report.places(leaking()):
            if place[0] not in ("memory", "leaks", "bottlenecks"):
                continue
            inner = changed = copy.deepcopy(leaking())
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = test_report.other(value, False)
            if not differences(changed):
                unnoticed.append(place)
        self.assertEqual(unnoticed, [])

    def test_growth_that_nobody_listed_is_missed(self):
        changed = leaking()
        changed["leaks"] = changed["bottlenecks"] = []
        self.assertIn("leaks: verdicts: report [], spans ['growing']", differences(changed))


if __name__ == "__main__":
    unittest.main()
