"""A run that becomes slower: equal as it stands, and different whatever figure of it is changed."""

import copy
import types
import unittest

import changes
import comparison
import findings

MS = 1_000_000


def steps():
    """Steps 1 to 200 of 10 ms, from 121 on of 12 ms, all of which is more of `forward`."""
    made = []
    for number in range(1, 201):
        forward = 4 * MS if number <= 120 else 6 * MS
        made.append(types.SimpleNamespace(
            number=number, offset=0, duration=6 * MS + forward, input_before=None, is_whole=True, unattributed=6 * MS,
            phases={"forward": (forward, forward, forward, 1)},
            # All that is more is in one of its sections.
            spent={"step": 6 * MS, "step/forward": 3 * MS, "step/forward/attend": forward - 3 * MS},
        ))
    return made


def slower():
    change = {
        "mode": "train", "kind": "sudden", "from_step": 1, "step": 121, "to_step": 200, "step_numbers": 1,
        "steps_before": 120, "steps_after": 80, "before_ns": 10 * MS, "after_ns": 12 * MS,
        "duration_before_ns": None, "duration_after_ns": None, "in_every": None, "means_over": None, "p_value": 1e-9,
        "cause": {
            "phase": "forward", "is_between": False, "before_ns": 4 * MS, "after_ns": 6 * MS, "step_before_ns": 10 * MS,
            "step_after_ns": 12 * MS,
            "section": {"path": "step/forward/attend", "before_ns": MS, "after_ns": 3 * MS},
        },
    }
    gain = {
        "of": "step_time", "saved_ns_per_step": 800_000, "step_time_ns": 10 * MS, "share": 0.074074,
        "direct_share": 0.074074,
    }
    finding = {
        "id": "slower_since:forward", "rule": "slower_since", "severity": 7.0, "rank": None,
        "evidence": {"since_step": 121}, "predicted_gain": gain,
    }
    mode = {
        "mode": "train", "steady": {"count": 200}, "steady_ns": 2_160 * MS, "whole": {"steps": 200, "total_ns": 2_160 * MS},
        "phases": [],
    }
    return {
        "sections": [
            {"path": "step", "phase": None}, {"path": "step/forward", "phase": "forward"},
            {"path": "step/forward/attend", "phase": "forward"},
        ],
        "summary": {"mode": "train"}, "findings": [finding], "leaks": [],
        "detailed_metrics": {
            "changes": [change], "series": [{"mode": "train", "shift": 0}], "phase_series": [{"mode": "train", "shift": 0}],
            "modes": [mode], "outside": [],
        },
    }


def periodic_steps():
    """Every 4th step takes 30 ms, from the 123rd on 50 ms; all others 10 ms. Of each 6 ms are in no phase."""
    made = []
    for number in range(200):
        duration = (10 if number % 4 < 3 else 30 if number < 120 else 50) * MS
        forward = duration - 6 * MS
        made.append(types.SimpleNamespace(
            number=number, offset=0, duration=duration, input_before=None, is_whole=True, unattributed=6 * MS,
            phases={"forward": (forward, forward, forward, 1)}, spent={"step": 6 * MS, "step/forward": forward},
        ))
    return made


def slower_by_every_fourth():
    """The steps before: 93 of 10 ms and 30 of 30 ms; since: 57 of 10 ms and 20 of 50 ms."""
    before, after = (93 * 10 + 30 * 30) * MS // 123, (57 * 10 + 20 * 50) * MS // 77
    cause = {
        "phase": "forward", "is_between": False, "before_ns": (93 * 4 + 30 * 24) * MS // 123, "after_ns": (57 * 4 + 20 * 44) * MS // 77,
        "step_before_ns": before, "step_after_ns": after,
    }
    cause["section"] = {"path": "step/forward", "before_ns": cause["before_ns"], "after_ns": cause["after_ns"]}
    change = {
        "mode": "train", "kind": "sudden", "from_step": 0, "step": 123, "to_step": 199, "step_numbers": 1,
        "steps_before": 123, "steps_after": 77, "before_ns": 15 * MS, "after_ns": 20 * MS,
        "duration_before_ns": None, "duration_after_ns": None, "in_every": 4, "means_over": None, "p_value": 1e-9,
        "cause": cause,
    }
    report = slower()
    report["findings"] = []
    report["detailed_metrics"]["changes"] = [change]
    period = {"every": 4, "first_step": 3, "since_step": None}
    report["detailed_metrics"]["periodic"] = [{"mode": "train", "periods": [period]}]
    return report


def waiting():
    """The 200 steps that take 10 ms each, and wait for 1 ms before, from step 121 on for 3 ms."""
    made = steps()
    for step in made:
        step.input_before = MS if step.number <= 120 else 3 * MS
        step.duration, step.phases, step.spent = 10 * MS, {"forward": (4 * MS, 4 * MS, 4 * MS, 1)}, {"step": 6 * MS, "step/forward": 4 * MS}
    return made


def slower_by_input():
    report = slower()
    report["detailed_metrics"]["changes"][0].update(
        before_ns=11 * MS, after_ns=13 * MS, duration_before_ns=10 * MS, duration_after_ns=10 * MS,
        cause={
            "phase": "data_wait", "is_between": True, "before_ns": MS, "after_ns": 3 * MS, "step_before_ns": 11 * MS,
            "step_after_ns": 13 * MS, "section": None,
        },
    )
    points = [
        {"step": step.number, "count": 1, "run_queue_ns": None, "input_before_ns": step.input_before} for step in waiting()
    ]
    report["detailed_metrics"]["series"][0]["points"] = points
    # 80 of 200 steps take 2 ms more, of 10 ms and 1.8 ms of input on average.
    report["detailed_metrics"]["modes"][0]["steady_ns"] = 2_000 * MS
    report["findings"][0]["predicted_gain"] = {
        "of": "steps_and_input", "saved_ns_per_step": 800_000, "step_time_ns": 11 * MS, "share": 0.067797,
        "direct_share": 0.067797,
    }
    return report


def waiting_in_bursts():
    """The same, but every 4th step waits for what it and the three before it do."""
    made = waiting()
    for step in made:
        step.input_before = 4 * step.input_before if step.number % 4 == 0 else 0
    return made


def slower_by_bursts():
    report = slower_by_input()
    report["detailed_metrics"]["changes"][0]["means_over"] = 4
    for point, step in zip(report["detailed_metrics"]["series"][0]["points"], waiting_in_bursts()):
        point["input_before_ns"] = step.input_before
    return report


def differences(report, made=None):
    compare = comparison.Comparison()
    run = types.SimpleNamespace(steps_of=lambda mode: made or steps())
    changes.compare_changes(report, run, compare)
    findings.compare_findings(report, run, compare)
    return compare.differences


class Changes(unittest.TestCase):
    def test_the_report_by_hand_is_equal(self):
        self.assertEqual(differences(slower()), [])

    def test_every_figure_counts(self):
        change = slower()["detailed_metrics"]["changes"][0]
        for key, value in change.items():
            if not isinstance(value, int):
                continue
            changed = copy.deepcopy(slower())
            changed["detailed_metrics"]["changes"][0][key] = value + 1
            if key == "step":
                changed["findings"][0]["evidence"]["since_step"] = value + 1
            self.assertNotEqual(differences(changed), [], key)
        for key, value in change["cause"].items():
            if key in ("phase", "is_between"):
                continue
            other = value + 1 if isinstance(value, int) else {**value, "after_ns": 0}
            changed = copy.deepcopy(slower())
            changed["detailed_metrics"]["changes"][0]["cause"][key] = other
            self.assertNotEqual(differences(changed), [], key)
        changed = slower()
        changed["findings"][0]["predicted_gain"]["saved_ns_per_step"] += 1
        self.assertNotEqual(differences(changed), [])

    def each_figure_counts(self, report, made):
        """Of the change of a report on steps as they were `made`."""
        for key, value in report()["detailed_metrics"]["changes"][0].items():
            if isinstance(value, int):
                changed = report()
                changed["detailed_metrics"]["changes"][0][key] = value + 1
                if key == "step":
                    changed["findings"][0]["evidence"]["since_step"] = value + 1
                self.assertNotEqual(differences(changed, made), [], key)

    def test_periodic_steps_change_by_means_over_rounds(self):
        self.assertEqual(differences(slower_by_every_fourth(), periodic_steps()), [])
        for key, value in slower_by_every_fourth()["detailed_metrics"]["changes"][0].items():
            if isinstance(value, int):
                changed = slower_by_every_fourth()
                changed["detailed_metrics"]["changes"][0][key] = value + 1
                self.assertNotEqual(differences(changed, periodic_steps()), [], key)

    def test_the_input_before_the_steps_is_a_part_of_what_they_take(self):
        made = waiting()
        self.assertEqual(differences(slower_by_input(), made), [])
        self.each_figure_counts(slower_by_input, made)
        section = {"path": "step", "before_ns": 1, "after_ns": 2}
        others = {"phase": "forward", "is_between": False, "before_ns": 1, "after_ns": 1, "step_before_ns": 1, "step_after_ns": 1, "section": section}
        for key, value in others.items():
            changed = slower_by_input()
            changed["detailed_metrics"]["changes"][0]["cause"][key] = value
            self.assertNotEqual(differences(changed, made), [], key)
        # Steps that say nothing of it have no such change.
        for step in made:
            step.input_before = None
        self.assertNotEqual(differences(slower_by_input(), made), [])

    def test_input_in_bursts_is_a_part_of_means_over_several_steps(self):
        made = waiting_in_bursts()
        self.assertEqual(differences(slower_by_bursts(), made), [])
        self.each_figure_counts(slower_by_bursts, made)

    def test_the_ends_of_a_drift_are_those_of_a_line(self):
        # Of 0 to 99: 33 values around 16 and as many around 83, by a quarter of 67 further.
        self.assertEqual(changes.ends(list(range(100))), (0, 99))
        self.assertEqual(changes.ends(list(range(100, 0, -1))), (100, 1))
        self.assertEqual(changes.ends([5] * 9), (5, 5))

    def test_jitter_is_of_the_steps_alone(self):
        change = slower_by_input()["detailed_metrics"]["changes"][0]
        self.assertIsNone(findings.of_steps_alone(change))
        change["duration_after_ns"] += 300_000
        self.assertEqual(findings.of_steps_alone(change)["after_ns"], 10_300_000)
        change["duration_after_ns"] -= 1
        self.assertIsNone(findings.of_steps_alone(change))

    def test_what_no_phase_explains_is_not_severe(self):
        cause = slower()["detailed_metrics"]["changes"][0]["cause"]
        self.assertTrue(findings.explains(cause))
        # All of the step grew by a fifth, most of it in its longest phase.
        self.assertFalse(findings.explains(cause | {"before_ns": 6 * MS, "after_ns": 7 * MS + MS // 5}))
        # A third of the growth.
        self.assertFalse(findings.explains(cause | {"after_ns": 4 * MS + 2 * MS // 3}))
        # By 23 % where the rest grew by 15 %, and by 22 % where it grew by 17 %.
        self.assertTrue(findings.explains(cause | {"before_ns": 6 * MS, "after_ns": 7 * MS + 4 * MS // 10}))
        self.assertFalse(findings.explains(cause | {"before_ns": 6 * MS, "after_ns": 7 * MS + 3 * MS // 10}))

    def test_what_a_later_change_adds_is_not_of_the_one_before(self):
        # 120 steps of 10 ms, 40 of 12 ms, 40 of 16 ms: 80 times 2 ms, and 40 times 4 ms.
        report = slower()
        first = report["detailed_metrics"]["changes"][0]
        first.update(to_step=160, steps_after=40)
        then = {**first, "step": 161, "to_step": 200, "steps_after": 40, "before_ns": 12 * MS, "after_ns": 16 * MS}
        report["detailed_metrics"]["changes"].append(then)
        judged = types.SimpleNamespace(mode=report["detailed_metrics"]["modes"][0])
        gain = lambda step: findings.slower_since({"evidence": {"since_step": step}}, report, judged)[0]
        self.assertEqual((gain(121), gain(161)), (800_000, 800_000))
        # Down again to 11 ms: 40 times 2 ms, and 40 times 1 ms.
        then["after_ns"] = 11 * MS
        self.assertEqual(gain(121), 600_000)

    def test_a_change_that_is_not_significant_differs(self):
        changed = slower()
        changed["detailed_metrics"]["changes"][0]["p_value"] = 0.01
        self.assertNotEqual(differences(changed), [])

    def test_steps_after_a_drift_take_what_it_led_to(self):
        # 300 steps of 10 ms, 100 that rise to 14 ms, 600 of 14 ms.
        change = {
            "mode": "train", "kind": "gradual", "from_step": 300, "step": 300, "to_step": 399, "steps_before": 0,
            "steps_after": 100, "before_ns": 10 * MS, "after_ns": 14 * MS, "duration_before_ns": None,
            "duration_after_ns": None, "in_every": None,
        }
        points = [{"step": step, "count": 4, "input_before_ns": None} for step in range(0, 1000, 4)]
        report = {"detailed_metrics": {"changes": [change], "series": [{"mode": "train", "points": points}]}}
        judged = types.SimpleNamespace(mode={"mode": "train"})
        self.assertEqual(findings.levels_since(report, judged, [change]), [(100, 12 * MS), (600, 14 * MS)])
        self.assertEqual(findings.level_of(report, judged, 0), 12_600_000)


if __name__ == "__main__":
    unittest.main()
