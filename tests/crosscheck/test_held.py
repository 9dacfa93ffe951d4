"""What sections hold, by hand: equal as it stands, and different whatever figure of it is changed."""

import copy
import unittest

import aggregates
import comparison
import figures
import held
import names
import test_report
import traces
from records import Point, Process, Span

PROCESS = Process("run-rank0", 1, 0, "detailed")
KIND, ALLOC, FREE, THREAD = names.SECTION_KIND, names.ALLOC_BYTES, names.FREE_BYTES, names.THREAD_ID


def trace(number, *rows):
    """Rows are (id, parent, name, start, end, attributes)."""
    return [
        Span(bytes([number]) * 16, bytes([id]) * 8, bytes([parent]) * 8 if parent else b"", name, start, end, attributes, (), PROCESS)
        for id, parent, name, start, end, attributes in rows
    ]


def memory(alloc, free, thread=1, **more):
    return {ALLOC: alloc, FREE: free, THREAD: thread, **more}


def step(number, kept):
    """`layer` allocates 400 that `backward` frees; `history` keeps some."""
    start = 1_000 * number
    root = memory(500 + kept, 500, **{KIND: "step", "stepscope.step": number, "stepscope.trace.spans": 5})
    return trace(
        number,
        (1, 0, "step", start, start + 100, root),
        (2, 1, "forward", start, start + 40, memory(450, 50)),
        (3, 2, "layer", start, start + 20, memory(450, 50)),
        (4, 1, "backward", start + 40, start + 80, memory(50, 450)),
        (5, 1, "history", start + 80, start + 90, memory(kept, 0)),
    )


def spans():
    alone = {"stepscope.trace.spans": 1}
    return [
        *step(1, 1_000),
        *step(2, 1_000),
        *step(3, 1_000),
        # As the second step ends, between the second and the third, and after all.
        *trace(11, (1, 0, "batch", 2_000, 2_100, memory(100, 0, 2, **{KIND: "batch"}, **alone))),
        *trace(12, (1, 0, "batch", 2_090, 2_190, memory(200, 0, 2, **{KIND: "batch"}, **alone))),
        *trace(13, (1, 0, "save", 4_000, 4_050, memory(9, 2, **alone))),
        # Around the third step, whose memory is in its figures.
        *trace(14, (1, 0, "fit", 2_900, 3_200, memory(1_577, 500, **alone))),
        *trace(15, (1, 0, "run", 0, 5_000, memory(9_000, 0, **{KIND: "run"}, **alone))),
        # Its beginning was not read.
        *trace(16, (2, 1, "some", 1_500, 1_600, memory(5, 0))),
    ]


def listed():
    """`step/forward` itself keeps nothing."""
    row = lambda path, first, last: {
        "path": path, "with_inside": False, "first_bytes": first, "last_bytes": last, "peak_bytes": last, "peak_step": 3
    }
    ends = lambda first, last, step=3: {"first_bytes": first, "last_bytes": last, "peak_bytes": last, "peak_step": step}
    point = lambda step, net, held, sections, other: {
        "step": step, "net_bytes": net, "held_bytes": held, "sections": sections, "other_bytes": other
    }
    return {
        "mode": "train", "shift": 0, "untold": ["fit"],
        "sections": [
            row("step/history", 1_000, 3_000), row("step/backward", -400, -1_200), row("step/forward/layer", 400, 1_200),
            row("batch", 0, 300),
        ],
        # What has no beginning, and from the last step on what is saved.
        "other": ends(0, 12), "total": ends(1_000, 3_312),
        "points": [
            point(1, 1_000, 1_000, [1_000, -400, 400, 0], 0),
            point(2, 1_105, 2_105, [2_000, -800, 800, 100], 5),
            point(3, 1_207, 3_312, [3_000, -1_200, 1_200, 300], 12),
        ],
    }


def run_of(found, points=()):
    run, sums = figures.Run(), aggregates.Aggregates()
    for point in points:
        sums.add(point)
    assembler = traces.Assembler(run.add)
    for span in found:
        assembler.add(span)
    assembler.finish()
    run.close(sums)
    return run


def differences(by_section, run, kinds=None):
    report = {"summary": {"mode": "train"}, "memory": {"by_section": by_section}}
    compare = comparison.Comparison()
    held.compare_held(report, run, kinds or {"train": "unique"}, compare)
    return compare.differences


class Held(unittest.TestCase):
    def test_what_is_held_by_hand_is_equal_and_every_number_of_it_counts(self):
        run = run_of(spans())
        self.assertEqual(differences(listed(), run), [])
        unnoticed = []
        for place, value in test_report.places(listed()):
            inner = changed = copy.deepcopy(listed())
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = test_report.other(value, False)
            if not differences(changed, run):
                unnoticed.append(place)
        self.assertEqual(unnoticed, [])
        for name, value in (("untold", []), ("sections", listed()["sections"][::-1])):
            self.assertNotEqual(differences({**listed(), name: value}, run), [], name)

    def test_the_sums_tell_of_a_section_around_steps(self):
        metric = lambda name, value: Point(PROCESS, name, {"stepscope.path": "fit"}, 1, value)
        agree = [metric(names.SECTION_SELF_ALLOC, 1_577), metric(names.SECTION_SELF_FREE, 500)]
        self.assertEqual(run_of(spans(), agree).untold, set())
        self.assertEqual(run_of(spans(), agree[:1]).untold, {"fit"})

    def test_sections_that_make_up_for_each_other_are_one(self):
        found = [span for number in (1, 2) for span in step(number, 10)]
        steps, rows, _ = held.series(run_of(found), "train", 0)
        self.assertEqual((steps, rows), ([1, 2], [("step", True, [10, 10])]))

    def test_steps_whose_sections_all_evaluate_are_no_training(self):
        root = memory(70, 0, **{KIND: "step", "stepscope.step": 2, "stepscope.trace.spans": 2})
        rows = (1, 0, "step", 2_000, 2_100, root), (2, 1, "validate", 2_000, 2_090, memory(70, 0))
        run = run_of([*step(1, 10), *trace(2, *rows), *step(3, 20)])
        told = {mode: [step for step, _, _ in steps] for mode, steps in run.held.steps.items()}
        self.assertEqual(told, {"train": [(0, 1), (0, 3)], "eval": [(0, 2)]})
        # Of the steps beside it what they left is at the only point: 10, 70 and 20.
        steps, rows, _ = held.series(run, "eval", 0)
        self.assertEqual((steps, rows), ([2], [("step", True, [100])]))

    def test_nothing_is_told_where_numbers_are_repeated(self):
        run = run_of(spans())
        self.assertEqual(differences(None, run, {"train": "repeated"}), [])
        self.assertNotEqual(differences(None, run), [])
        self.assertNotEqual(differences(listed(), run, {"train": "repeated"}), [])

    def test_neighbours_go_together_until_they_fit(self):
        rows = [(0, number, number * 10, {"a": 1}) for number in range(5, 13)]
        self.assertEqual([tuple(point) for point in held.joined(rows, 8)], [(number * 10, {"a": 1}) for number in range(5, 13)])
        # 5 to 12 by fours: 5 to 7, 8 to 11, 12.
        self.assertEqual([tuple(point) for point in held.joined(rows, 3)], [(70, {"a": 3}), (110, {"a": 4}), (120, {"a": 1})])

    def test_separators_in_names_are_none(self):
        self.assertEqual([held.around(path) for path in ("a/b/c", "a", "a\\/b/c", "a\\/b", "a\\\\/b")], ["a/b", "", "a\\/b", "", "a\\\\"])


if __name__ == "__main__":
    unittest.main()
