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


# Of a line without any deviation, in three views.
NO_DOUBT = 3 * 1e-9


def rising(first, last, slope):
    return {
        "n": last - first + 1, "from_step": first, "to_step": last, "first_bytes": first * slope, "last_bytes": last * slope,
        "slope_per_step": slope, "confidence_interval": [slope, slope], "p_value": NO_DOUBT,
    }


def pair(slope):
    """Of memory that is `slope` a step, from the first. The last third begins at step 81."""
    return {
        "first_bytes": slope, "last_bytes": STEPS * slope, "max_bytes": STEPS * slope, "whole": rising(2, 120, slope),
        "tail": rising(81, 120, slope), "late": None,
    }


def leaking():
    """Steps 1 to 120, the first a warm-up, ten a second: 30,000 bytes a step are 1.0058 GiB an hour."""
    finding = {
        "id": "memory_growth", "rule": "memory_growth", "severity": 45.0, "rank": None, "predicted_gain": None,
        "section": "step/keep", "title": "Memory grows.",
        "evidence": {
            "growth_per_step_bytes": 30_000, "slope_low_bytes": 30_000, "slope_high_bytes": 30_000, "p_value": NO_DOUBT,
            "last_third_per_step_bytes": 30_000, "growth_bytes": 3_540_000, "first_bytes": 60_000, "last_bytes": 3_600_000,
            "growth_per_hour_bytes": 1_080_000_000, "section_net_per_step_bytes": 20_000, "from_step": 2, "steps": 119,
        },
    }
    # One keeps two thirds of the growth, and the other a third of it.
    sections = [
        {"path": path, "kind": "section", "source": "spans", "alloc": {"self_net_bytes": 120 * net}}
        for path, net in (("step/some", 10_000), ("step/keep", 20_000))
    ]
    leak = {
        "verdict": "growing", "bytes_per_step": 30_000, "confidence_interval": [30_000, 30_000],
        "p_value": NO_DOUBT, "live_bytes": 3_600_000, "section": "step/keep",
    }
    process = {"rank": 0, "rss_last_bytes": 7, "rss_max_bytes": STEPS * 40_000, "live_last_bytes": 5, "live_max_bytes": STEPS * 30_000}
    mode = {
        "mode": "train", "all": {"count": 120}, "steady": {"count": 119}, "steady_ns": 0, "whole": {"steps": 0, "total_ns": 0}, "phases": [],
        "throughput": {"steps_per_second": 10.0}, "step_range": [1, 120],
    }
    return {
        "summary": {"mode": "train", "steps": 119, "coverage": {"recorded_steps": None, "read_steps": 120, "whole_steps": 120}},
        "sections": sections,
        "ranks": [{"throughput": {"steps_per_second": 10.0}}], "findings": [finding], "leaks": [leak],
        "memory": {"live": pair(30_000), "rss": pair(40_000), "processes": [process]},
        "detailed_metrics": {"series": [{"mode": "train", "shift": 0}], "modes": [mode], "outside": []},
    }


def beginning_late():
    """Steps 1 to 385, of which the first is a warm-up: a level, and 100 bytes a step from the 257th of 384 on. Too little
    for a finding."""
    def pair(rate):
        points = [(n, after(257, rate)(n)) for n in range(2, 386)]
        first, last = points[0][1], points[-1][1]

        def line(begin):
            """A group of the hinge has 6 steps: the 257th is in the 43rd, which ends with the 258th."""
            return rising(begin, 385, rate) | {"first_bytes": after(257, rate)(begin), "last_bytes": last}

        return {
            "first_bytes": first, "last_bytes": last, "max_bytes": last,
            "whole": memory.trend(points), "tail": memory.trend(points[256:]),
            "late": {
                "growth": line(260) | {"p_value": 8 * NO_DOUBT}, "tail": line(344), "freed_bytes": 0,
            },
        }

    report = leaking()
    report["findings"] = report["leaks"] = []
    report["memory"] |= {"live": pair(100), "rss": pair(200)}
    report["memory"]["processes"][0] |= {"rss_max_bytes": report["memory"]["rss"]["max_bytes"], "live_max_bytes": report["memory"]["live"]["max_bytes"]}
    return report


def after(step, rate):
    return lambda n: 1_000_000 + rate * max(0, n - 1 - step)


def differences(report, live=lambda n: n * 30_000, rss=lambda n: n * 40_000, count=STEPS):
    steps = [
        types.SimpleNamespace(number=n, offset=0, start=n, instance=PROCESS, live=live(n), rss=rss(n))
        for n in range(1, count + 1)
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
        # As in the tests of the report's own: increments leave -1, 1 and 0 of a slope of 2, and Student's probability with
        # two degrees of freedom is a root.
        found = memory.trend([(0, 10), (1, 11), (2, 14), (3, 16)])
        self.assertEqual((found["n"], found["slope_per_step"], found["first_bytes"], found["last_bytes"]), (4, 2, 10, 16))
        t = 6 / math.sqrt(1.08)
        self.assertAlmostEqual(found["p_value"], 3 * (1 - t / math.sqrt(2 + t * t)), 12)
        self.assertAlmostEqual(found["confidence_interval"][1], 2 + 4.302652729911275 * math.sqrt(1.08) / 3, 9)
        self.assertIsNone(memory.trend([(1, 1), (2, 2), (3, 3)]))

    def test_what_is_cleared_has_its_floor(self):
        found = memory.trend([(x, 50 * x + x % 90 * 1000) for x in range(1000)])
        self.assertEqual((found["slope_per_step"], found["p_value"]), (50, NO_DOUBT))
        self.assertGreater(memory.trend([(x, x % 90) for x in range(1000)])["p_value"], 0.1)

    def test_late_growth_has_its_step(self):
        # Of 384 points a group has 6: 256 is in that from 252 on.
        points = [(10 + 2 * x, 1_000_000 + max(0, x - 256) * 5_000) for x in range(384)]
        found = memory.late(points, memory.trend(points))
        self.assertEqual((found["growth"]["from_step"], found["growth"]["slope_per_step"]), (10 + 2 * 258, 2500))
        self.assertEqual((found["growth"]["p_value"], found["freed_bytes"]), (8 * NO_DOUBT, 0))
        self.assertIsNone(memory.late(points[256:], memory.trend(points[256:])))
        # What was as much before, and was cleared.
        cleared = [(x, x % 200 * 7) for x in range(300)]
        self.assertIsNone(memory.late(cleared, memory.trend(cleared)))

    def test_the_leak_by_hand_is_equal_and_every_number_of_it_counts(self):
        self.every_number_counts(leaking(), differences)

    def test_late_growth_by_hand_is_equal_and_every_number_of_it_counts(self):
        self.every_number_counts(beginning_late(), lambda report: differences(report, after(257, 100), after(257, 200), 385))

    def every_number_counts(self, report, differences):
        self.assertEqual(differences(report), [])
        unnoticed = []
        for place, value in test_report.places(report):
            # Nothing where there is growth is no number.
            if place[0] not in ("memory", "leaks", "findings") or place[-1] == "late":
                continue
            inner = changed = copy.deepcopy(report)
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = test_report.other(value, False)
            if not differences(changed):
                unnoticed.append(place)
        self.assertEqual(unnoticed, [])

    def test_growth_that_nobody_listed_is_missed(self):
        changed = leaking()
        changed["leaks"] = changed["findings"] = []
        self.assertIn("leaks: verdicts: report [], spans ['growing']", differences(changed))


if __name__ == "__main__":
    unittest.main()
