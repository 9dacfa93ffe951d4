"""A run of which every tenth step writes a checkpoint: equal as it stands, and different whatever figure is changed."""

import copy
import types
import unittest

import comparison
import findings
import periods
import report_steps
import stats

MS = 1_000_000
PROCESS = "process 0"


def steps():
    """Step 0 of 50 ms is warm-up; of 1 to 120 every tenth takes 30 ms, 21 of them for a checkpoint, and the others 10."""
    made = []
    for number in range(121):
        checkpoint = 21 * MS if number % 10 == 0 else MS
        duration = 50 * MS if number == 0 else 9 * MS + checkpoint
        made.append(types.SimpleNamespace(
            trace=number.to_bytes(16, "big"), id=b"1", number=number, offset=0, start=number * 100 * MS, duration=duration, instance=PROCESS, is_whole=True,
            unattributed=duration - checkpoint, phases={"checkpoint": (checkpoint, checkpoint, checkpoint, 1)},
        ))
    return made


def block(values):
    """Figures of a set of numbers, as the report has them."""
    ordered = sorted(values)
    rank = lambda share: ordered[max(0, -(-share * len(ordered) // 100) - 1)]
    mean, std = stats.mean(ordered), stats.std(ordered)
    off = sorted(abs(value - rank(50)) for value in ordered)
    return {
        "count": len(ordered), "total": sum(ordered), "mean": float(mean), "std": float(std), "min": ordered[0], "max": ordered[-1],
        "p50": rank(50), "p90": rank(90), "p95": rank(95), "p99": rank(99), "mad": off[(len(off) - 1) // 2],
        "cv": float(std / mean), "robust_cv": off[(len(off) - 1) // 2] / rank(50), "is_exact": False,
    }


def periodic():
    row = {
        "mode": "train",
        "usual": block([10 * MS] * 108),
        "periods": [{
            "every": 10, "first_step": 10, "since_step": 10, "steps": 12, "median_ns": 30 * MS, "above_ns": 12 * 20 * MS,
            "cause": {"phase": "checkpoint", "usual_ns": MS, "periodic_ns": 21 * MS},
        }],
    }
    mode = {"mode": "train", "warmup": {"steps": 1, "max_per_instance": 1}}
    return {"summary": {"mode": "eval"}, "ranks": [], "detailed_metrics": {"periodic": [row], "modes": [mode]}}


def differences(report):
    compare = comparison.Comparison()
    periods.compare_periods(report, types.SimpleNamespace(steps_of=lambda mode: steps()), compare)
    return compare.differences


class Periods(unittest.TestCase):
    def test_the_report_by_hand_is_equal(self):
        self.assertEqual(differences(periodic()), [])

    def test_of_the_slowest_two_at_most_are_periodic(self):
        listed = lambda made, periods: [step.number for step in report_steps.slowest_of(made, made[1:], periods)]
        tens, fifties = ({"every": every, "first_step": every, "since_step": None} for every in (10, 50))
        made = steps()
        made[33].duration = made[50].duration = 20 * MS
        usual = [33, *range(1, 10)]
        self.assertEqual(listed(made, []), [10, 20, 30, 40, 60, 70, 80, 90, 100, 110])
        self.assertEqual(listed(made, [tens]), [10, *usual[:-1]])
        # Of two periods one each; 75 ms is half as long again as every other tenth, step 0 among them.
        made[70].duration, made[100].duration = 75 * MS, 29 * MS
        made[50].duration = 28 * MS
        self.assertEqual(listed(made, [fifties, tens]), [70, 10, 100, *usual[:-3]])

    def test_every_figure_counts(self):
        row = periodic()["detailed_metrics"]["periodic"][0]
        for name, value in row["periods"][0].items():
            if name == "cause":
                continue
            changed = copy.deepcopy(periodic())
            changed["detailed_metrics"]["periodic"][0]["periods"][0][name] = value + 1
            self.assertNotEqual(differences(changed), [], name)
        for name in ("usual_ns", "periodic_ns"):
            changed = copy.deepcopy(periodic())
            changed["detailed_metrics"]["periodic"][0]["periods"][0]["cause"][name] += 1
            self.assertNotEqual(differences(changed), [], name)
        for name in ("count", "total", "max"):
            changed = copy.deepcopy(periodic())
            changed["detailed_metrics"]["periodic"][0]["usual"][name] += 1
            self.assertNotEqual(differences(changed), [], name)
        changed = copy.deepcopy(periodic())
        changed["detailed_metrics"]["periodic"][0]["periods"][0]["cause"]["phase"] = None
        self.assertNotEqual(differences(changed), [])

    def test_one_of_the_warm_up_alone_has_no_figures(self):
        def with_first(**its):
            often = {"every": 10, "first_step": 0, "since_step": None, "steps": 0, "median_ns": None, "above_ns": 0, "cause": None}
            report = periodic()
            report["detailed_metrics"]["periodic"][0]["periods"].append(often | its)
            return differences(report)

        # Of every tenth step only the first is not of the rarer period, which begins with step 10.
        self.assertEqual(with_first(), [])
        self.assertNotEqual(with_first(first_step=10), [])
        self.assertNotEqual(with_first(median_ns=0), [])
        # None is its own.
        self.assertNotEqual(with_first(first_step=10, since_step=10), [])

    def test_jitter_is_that_of_the_usual_steps(self):
        report = {"detailed_metrics": {"periodic": [{"mode": "train", "usual": {"mean": 12.0 * MS, "p50": 10 * MS, "count": 90}, "periods": [{"steps": 10}]}]}}
        judged = types.SimpleNamespace(mode={"mode": "train", "steady": {"mean": 14.0 * MS, "p50": 10 * MS}})
        # Nine of ten steps take 2 ms more than they would.
        self.assertEqual(findings.step_jitter(None, report, judged), (18 * MS // 10, 18 * MS // 10, 14 * MS, None))
        report["detailed_metrics"]["periodic"] = []
        self.assertEqual(findings.step_jitter(None, report, judged), (4 * MS, 4 * MS, 14 * MS, None))


if __name__ == "__main__":
    unittest.main()
