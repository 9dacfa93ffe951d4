"""A report written by hand for a run of three steps: equal as it stands, different whatever figure is changed."""

import copy
import unittest

import aggregates
import comparison
import figures
import report
import traces
from records import Point, Span

INSTANCE = ("run-rank0", 7)


def step(number, start, wait_ns, duration):
    """Root, a wait, and 40 ns of forward in which 10 ns run on another thread."""
    trace, samples = bytes([number]) * 16, "stepscope.samples"
    root = {
        "stepscope.section.kind": "step", "stepscope.step": number, "stepscope.trace.spans": 4, "thread.id": 1,
        samples: 8, "stepscope.value.loss": 1.5 * number, "stepscope.mem.live_bytes": 100 * number,
    }
    wait = {"stepscope.phase": "data_wait", "thread.id": 1, "stepscope.batch.produce_ns": 5 * number}
    work = {"stepscope.phase": "forward", "thread.id": 1, "stepscope.mem.alloc_bytes": 64 * number}
    made = [
        (1, 0, "step", start, start + duration, root),
        (2, 1, "next", start, start + wait_ns, wait),
        (3, 1, "model", start + wait_ns, start + wait_ns + 40, work),
        (4, 3, "part", start + wait_ns + 5, start + wait_ns + 15, {"thread.id": 2}),
    ]
    return [
        Span(trace, bytes([id]) * 8, bytes([parent]) * 8 if parent else b"", name, begin, end, attributes, (), INSTANCE)
        for id, parent, name, begin, end, attributes in made
    ]


def numbers(count, total, mean, std, least, most, p50, p95, mad, **more):
    """A block of figures of at most twenty values: p95 and p99 are one, and here p90 too."""
    return {
        "count": count, "total": total, "mean": mean, "std": std, "min": least, "max": most, "p50": p50,
        "p90": p95, "p95": p95, "p99": p95, "mad": mad, "is_exact": True, **more,
    }


NOTHING = numbers(0, 0, None, None, None, None, None, None, None, cv=None, robust_cv=None)
# 120 and 80: mean 100, std 20 * sqrt(2).
STEADY = numbers(
    2, 200, 100.0, 28.284271247461902, 80, 120, 80, 120, 0, cv=0.28284271247461902, robust_cv=0.0
)
THROUGHPUT = {
    "elapsed_ns": 980, "steps_per_second": 2e9 / 980,
    "samples": 16, "samples_per_step_second": 16e9 / 200, "samples_per_second": 16e9 / 980,
    "tokens": None, "tokens_per_step_second": None, "tokens_per_second": None,
    "bytes": None, "bytes_per_step_second": None, "bytes_per_second": None,
}
PHASES = [
    {
        "phase": "forward", "exposed_ns": 80, "total_ns": 80, "self_ns": 80, "spans": 4,
        "exposed_share": 0.4, "total_share": 0.4,
    },
    {
        "phase": "data_wait", "exposed_ns": 30, "total_ns": 30, "self_ns": 30, "spans": 2,
        "exposed_share": 0.15, "total_share": 0.15,
    },
]


def section(path, kind, self_ns, block, own, **more):
    total = block.pop("total")
    found = {
        "path": path, "name": path.rpartition("/")[2], "depth": path.count("/") + 1, "kind": kind, "source": "spans",
        "total_ns": total, "self_ns": self_ns, "self_busy_ns": None, "collapsed_calls": 0, "alloc": None,
        "in_steps": [{"mode": "train", "steps": 3, "calls": 3, "max_calls": 1, "total_ns": total, **own}],
    }
    found.update({figure: None for figure in ("busy_ns", "idle_ns", "cpu_ns", "samples", "tokens", "bytes", "flops")})
    return {**found, **block, **more}


def expected():
    """Steps of 300 (warm-up), 120 and 80 ns that wait 20, 20 and 10 ns; forward takes 40 of each."""
    alloc = {
        "spans": 3, "alloc_bytes": 384, "free_bytes": None, "alloc_count": None, "self_alloc_bytes": 384,
        "self_free_bytes": 0, "peak_bytes": None,
    }
    sections = [
        section(
            "step", "step", 330, numbers(3, 500, 500 / 3, 117.18930554164631, 80, 300, 120, 300, 40),
            {"driving_ns": 500, "exposed_ns": 330}, samples={"spans": 3, "sum": 24},
        ),
        section(
            "step/next", "section", 50, numbers(3, 50, 50 / 3, 5.773502691896258, 10, 20, 20, 20, 0),
            {"driving_ns": 50, "exposed_ns": 50},
        ),
        section(
            "step/model", "section", 90, numbers(3, 120, 40.0, 0.0, 40, 40, 40, 40, 0),
            {"driving_ns": 120, "exposed_ns": 120}, alloc=alloc,
        ),
        section(
            "step/model/part", "section", 30, numbers(3, 30, 10.0, 0.0, 10, 10, 10, 10, 0),
            {"driving_ns": 0, "exposed_ns": 0},
        ),
    ]
    mode = {
        "mode": "train", "step_range": [1, 3],
        "all": numbers(
            3, 500, 500 / 3, 117.18930554164631, 80, 300, 120, 300, 40, cv=0.70313583324987784, robust_cv=1 / 3
        ),
        "steady": STEADY,
        "warmup": {"steps": 1, "max_per_instance": 1, "total_ns": 300},
        "phases": PHASES, "unattributed_ns": 90, "steady_ns": 200, "throughput": THROUGHPUT,
        "quick_without_waiting_ns": 70, "quick_without_preparation_ns": 80,
        "slowest": [
            {
                "step": 2, "duration_ns": 120, "start_ns": 2000, "trace_id": "02" * 16, "unattributed_ns": 60,
                "phases": [
                    {"phase": "forward", "exposed_ns": 40, "total_ns": 40},
                    {"phase": "data_wait", "exposed_ns": 20, "total_ns": 20},
                ],
            }
        ],
    }
    series = {"mode": "train", "shift": 0, "points": []}
    for number, duration, wait in ((1, 300, 20), (2, 120, 20), (3, 80, 10)):
        live = {"count": 1, "min": 100 * number, "max": 100 * number, "mean": 100 * number}
        series["points"].append(
            {
                "step": number, "count": 1, "duration_sum_ns": duration, "duration_min_ns": duration,
                "duration_max_ns": duration, "samples": 8, "wait_ns": wait, "live_bytes": live, "rss_bytes": None,
            }
        )
    loss = [{"step": n, "count": 1, "min": 1.5 * n, "max": 1.5 * n, "mean": 1.5 * n} for n in (1, 2, 3)]
    summary = {
        "mode": "train", "steps": 2, "warmup_steps": 1,
        "step_time": {key: value for key, value in STEADY.items() if key in ("mean", "p50", "max")},
        "throughput": THROUGHPUT, "phases": PHASES, "unattributed_ns": 90, "steps_ns": 200,
        "input": {"verdict": "moderate", "share": 0.15, "in_steps_ns": 30, "between_ns": 0, "steps_ns": 200},
    }
    process = {
        "resource": {"service_instance_id": INSTANCE[0], "pid": INSTANCE[1]},
        "warmup_steps": 1, "steps": STEADY, "throughput": THROUGHPUT,
    }
    waits = {
        "wait": numbers(3, 50, 50 / 3, 5.773502691896258, 10, 20, 20, 20, 0, cv=0.34641016151377546, robust_cv=0.0),
        "produce": numbers(3, 30, 10.0, 5.0, 5, 15, 10, 15, 5, cv=0.5, robust_cv=0.5),
        "queue": NOTHING, "depth": NOTHING,
    }
    return {
        "run": {
            "traces": 3, "spans": 12, "epochs_started": 0, "epochs_ended": 0,
            "started_ns": 1000, "last_ns": 2980, "elapsed_ns": 1980,
        },
        "losses": {"emitted": 12, "incomplete_traces": 0},
        "sections": sections, "summary": summary, "ranks": [process],
        "detailed_metrics": {
            "modes": [mode], "series": [series], "values": [{"name": "loss", "shift": 0, "points": loss}],
            "waits": waits, "batches": {"count": 0, "loaders": []}, "outside": [], "disagreements": [],
        },
    }


def numbers_in(value, path=()):
    """Where in a report numbers are."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from numbers_in(inner, (*path, key))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path


class Report(unittest.TestCase):
    def setUp(self):
        self.run_, self.sums = figures.Run(), aggregates.Aggregates()
        self.sums.add(Point(INSTANCE, "stepscope.spans.emitted", {}, 1, 12))
        self.assembler = traces.Assembler(self.run_.add)
        for spans in (step(1, 1000, 20, 300), step(2, 2000, 20, 120), step(3, 2900, 10, 80)):
            for span in spans:
                self.assembler.add(span)
        self.assembler.finish()

    def differences(self, changed):
        compare = comparison.Comparison()
        report.against_spans(changed, self.run_, self.sums, self.assembler, compare)
        return compare

    def test_the_report_by_hand_is_equal(self):
        compare = self.differences(expected())
        self.assertEqual(compare.differences, [])
        self.assertGreater(compare.figures, 300)

    def test_every_number_counts(self):
        unnoticed = []
        for path in numbers_in(expected()):
            changed = copy.deepcopy(expected())
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] += 1
            if not self.differences(changed).differences:
                unnoticed.append(path)
        self.assertEqual(unnoticed, [])

    def test_missing_and_invented_sections_are_named(self):
        changed = expected()
        changed["sections"][2]["path"] = "step/invented"
        found = self.differences(changed).differences
        self.assertIn("section step/invented: only in the report", found)
        self.assertIn("section step/model: not in the report", found)


if __name__ == "__main__":
    unittest.main()
