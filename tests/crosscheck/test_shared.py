"""Calls that a process counted together, against figures worked out by hand."""

import unittest

import aggregates
import comparison
import figures
from samples import span
from shared import Shared
from test_reading import aggregates_point


def run_and_sums(others):
    """A step with `kept`, and two calls of `late` with `inner` in each, for whose paths there was no room."""
    run, sums = figures.Run(), aggregates.Aggregates()
    late = [span(3, 1, "late", 20, 50), span(4, 3, "inner", 20, 30), span(5, 1, "late", 50, 90), span(6, 5, "inner", 60, 70)]
    run.add([span(1, 0, "step", 0, 100), span(2, 1, "kept", 10, 20), *late])
    for path, count, total in (("step", 1, 100), ("step/kept", 1, 10), others):
        for name, value in (("count", count), ("total", total)):
            sums.add(aggregates_point(f"stepscope.section.{name}", {"stepscope.path": path}, value))
    return run, sums


class Others(unittest.TestCase):
    def test_what_spans_show_is_taken_off(self):
        run, sums = run_and_sums(("(other)", 5, 1_070))
        shared = Shared(sums.sections(), run.sections)
        self.assertEqual((shared.count, shared.total), (3, 1_000))
        self.assertEqual(shared.entered, {"step/late", "step/late/inner"})

    def test_sums_and_spans_agree_where_nothing_is_left(self):
        for others, differences in ((("(other)", 2, 70), 0), (("(other)", 3, 70), 1), (("(other)", 2, 71), 1)):
            run, sums = run_and_sums(others)
            compare = comparison.Comparison()
            aggregates.against_spans(sums, run, compare)
            self.assertEqual(len(compare.differences), differences, compare.differences)

    def test_a_row_is_there_for_what_no_span_shows_only(self):
        row = {"source": "aggregates", "count": 3, "total": 1_000, "self_busy_ns": None}
        for others, got, differences in (
            (("(other)", 5, 1_070), row, 0),
            (("(other)", 5, 1_071), row, 1),
            (("(other)", 5, 1_070), None, 1),
            (("(other)", 2, 70), None, 0),
            (("(other)", 2, 70), row, 1),
        ):
            run, sums = run_and_sums(others)
            compare = comparison.Comparison()
            Shared(sums.sections(), run.sections).compare_row("(other)", got, compare)
            self.assertEqual(len(compare.differences), differences, compare.differences)


if __name__ == "__main__":
    unittest.main()
