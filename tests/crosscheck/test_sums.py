"""Time of steps by the sums of sections, against figures worked out by hand."""

import copy
import unittest

import comparison
import report_steps


def section(path, kind, phase, count, total, in_steps=()):
    figures = {"count": count, "total": total, "source": "aggregates", "in_steps": list(in_steps)}
    return {"path": path, "kind": kind, "phase": phase, **figures}


# In 500 ns of ten steps: forward for 250, with a wait of 40 inside; a read of 100, with waits of 30 inside. What `own`
# does is part of the pass around it, and what a batch does is no step's.
SECTIONS = [
    section("step", "step", None, 10, 500),
    section("step/forward", "section", "forward", 10, 250),
    section("step/forward/own", "section", "forward", 10, 100),
    section("step/forward/own/data_wait", "section", "data_wait", 5, 40),
    section("step/read", "section", "data_loading", 10, 100),
    section("step/read/data_wait", "section", "data_wait", 20, 30),
    section("step/bare", "section", None, 10, 90),
    section("batch", "batch", "data_loading", 10, 400),
    section("batch/decode", "section", "preprocessing", 10, 300),
    section("data_wait", "section", "data_wait", 1, 7),
    # Of another mode.
    section("validate", "section", "evaluation", 1, 90),
    section("validate/data_wait", "section", "data_wait", 1, 60),
]
PHASE_SUMS = [
    {"phase": "forward", "calls": 10, "total_ns": 210, "share": 0.42},
    {"phase": "data_loading", "calls": 10, "total_ns": 70, "share": 0.14},
    {"phase": "data_wait", "calls": 25, "total_ns": 70, "share": 0.14},
    {"phase": None, "calls": 10, "total_ns": 150, "share": 0.3},
]
INPUT = {
    "verdict": "high", "source": "aggregates", "share": 147 / 507, "in_steps_ns": 140, "between_ns": 7, "steps_ns": 500,
    "steps": 10, "min_steps": 3,
}
COVERAGE = {"recorded_steps": 10, "whole_steps": 8}


def differences(listed, given):
    sums, compare = report_steps.Sums(SECTIONS), comparison.Comparison()
    report_steps.phase_sums(listed, sums, compare)
    report_steps.inputs_by_sums(given, sums, {"mode": "train"}, compare)
    return compare.differences


def tell_more(whole=3, coverage=COVERAGE, ended=True, sections=SECTIONS):
    return report_steps.Sums(sections).tell_more({"whole": {"steps": whole}}, coverage, ended)


class Sums(unittest.TestCase):
    def test_figures_by_hand_are_equal(self):
        self.assertEqual(differences(PHASE_SUMS, INPUT), [])

    def test_every_number_counts(self):
        for at, item in enumerate(PHASE_SUMS):
            for figure in ("calls", "total_ns", "share"):
                changed = copy.deepcopy(PHASE_SUMS)
                changed[at][figure] = item[figure] + 1
                self.assertNotEqual(differences(changed, INPUT), [], (item["phase"], figure))
        for figure in ("share", "in_steps_ns", "between_ns", "steps_ns", "steps"):
            self.assertNotEqual(differences(PHASE_SUMS, {**INPUT, figure: INPUT[figure] + 1}), [], figure)

    def test_sums_tell_more_where_few_steps_are_whole_and_the_sums_are(self):
        self.assertTrue(tell_more())
        self.assertFalse(tell_more(coverage={"recorded_steps": 10, "whole_steps": 9}))
        self.assertFalse(tell_more(ended=False))
        self.assertTrue(tell_more(whole=0, ended=None))

    def test_sums_tell_no_more_where_a_section_is_not_in_them_or_ran_beside_the_step(self):
        changed = copy.deepcopy(SECTIONS)
        changed[6]["source"] = "spans"
        self.assertFalse(tell_more(sections=changed))
        changed = copy.deepcopy(SECTIONS)
        changed[4]["in_steps"] = [{"total_ns": 10, "driving_ns": 9}]
        self.assertFalse(tell_more(sections=changed))


if __name__ == "__main__":
    unittest.main()
