"""Trees, call paths and self times of hand-made traces."""

import unittest

import figures
import names
import traces
from samples import TRACE, by_path, span
from records import Span


class ImpliedPhases(unittest.TestCase):
    def test_what_is_put_around_a_name_does_not_count(self):
        for name, phase in [
            ("## forward ##", "forward"),
            ("=== model.all_reduce ===", "communication"),
            ("** Optimizer Step **", "optimizer"),
            ("## forward:loss ##", None),
            ("##", None),
            ("ProfilerStep#12", None),
        ]:
            self.assertEqual(names.implied_phase(name), phase, name)


class Trees(unittest.TestCase):
    def test_self_time_of_overlapping_children(self):
        # Children cover 10..60 and, cut to the parent, 90..100: 60 of 100.
        nodes = by_path(
            [
                span(1, 0, "step", 0, 100),
                span(2, 1, "a", 10, 40),
                span(3, 1, "b", 30, 60),
                span(4, 1, "late", 90, 130),
                span(5, 2, "a.inner", 10, 40),
            ]
        )
        self.assertEqual(nodes["step"].self_ns, 40)
        self.assertEqual(nodes["step/a"].self_ns, 0)
        self.assertEqual(nodes["step/b"].self_ns, 30)
        self.assertEqual(nodes["step/late"].self_ns, 40)

    def test_children_on_other_threads_are_children(self):
        nodes = by_path(
            [
                span(1, 0, "step", 0, 100, thread__id=1),
                span(2, 1, "work", 20, 90, thread__id=2),
            ]
        )
        self.assertEqual(nodes["step"].self_ns, 30)

    def test_recursion_has_a_path_a_level(self):
        nodes = by_path([span(1, 0, "f", 0, 100), span(2, 1, "f", 10, 90), span(3, 2, "f", 20, 80)])
        self.assertEqual({path: node.self_ns for path, node in nodes.items()}, {"f": 20, "f/f": 20, "f/f/f": 60})

    def test_names_are_escaped(self):
        self.assertEqual(list(by_path([span(1, 0, "a/b", 0, 1), span(2, 1, "c\\d", 0, 1)])), ["a\\/b", "a\\/b/c\\\\d"])
        self.assertEqual(traces.elements("a\\/b/c\\\\/d"), 3)

    def test_deep_nesting_collapses(self):
        # 70 levels, each 1 ns shorter: level k (from 1) lasts 101 - k.
        spans = [span(i, i - 1, "f", 0, 101 - i) for i in range(1, 71)]
        run = figures.Run()
        run.add(spans)
        deepest = "/".join(["f"] * 64 + ["…"])
        self.assertEqual(len(run.sections), 65)
        section = run.sections[deepest]
        # Level 65 counts with its 36 ns; levels 66 to 70 are parts of it, and hold some of those 36 ns themselves.
        self.assertEqual((section.count, section.total, section.self_ns), (1, 36, 36))
        self.assertEqual((list(section.durations), section.collapsed), ([36], 5))

    def test_a_continued_trace_keeps_its_path(self):
        spans = [span(1, 0, "more", 0, 9, stepscope__parent_path="step/forward"), span(2, 1, "x", 0, 9)]
        self.assertEqual(list(by_path(spans)), ["step/forward/more", "step/forward/more/x"])

    def test_markers_are_not_sections(self):
        marker = {"stepscope__section__kind": "run"}
        run = figures.Run()
        run.add([span(1, 0, "run.started", 5, 5, **marker), span(2, 0, "run", 5, 90, **marker)])
        self.assertEqual({path: section.count for path, section in run.sections.items()}, {"run": 1})
        self.assertFalse(traces.is_marker(span(1, 0, "run.started", 5, 6, **marker)))

    def test_a_missing_parent_makes_a_root_and_a_cycle_none(self):
        run = figures.Run()
        run.add([span(1, 9, "lost", 0, 5), span(2, 3, "a", 0, 1), span(3, 2, "b", 0, 1)])
        self.assertEqual((list(run.sections), run.unplaced), (["lost"], 2))


def ours(one):
    """The same, written by our own layer."""
    one.scope = "stepscope"
    return one


class Assembly(unittest.TestCase):
    def setUp(self):
        self.traces = []
        self.assembler = traces.Assembler(self.traces.append)

    def test_a_trace_closes_when_it_is_whole(self):
        self.assembler.add(ours(span(2, 1, "child", 0, 1)))
        self.assembler.add(ours(span(1, 0, "step", 0, 2, stepscope__trace__spans=2)))
        self.assertEqual([len(spans) for spans in self.traces], [2])
        self.assembler.add(span(2, 1, "child", 0, 1))
        self.assembler.add(span(3, 1, "new", 0, 1))
        self.assembler.finish()
        self.assertEqual((len(self.traces), self.assembler.duplicates, self.assembler.late), (1, 1, 1))

    def test_repeated_spans_count_once(self):
        for _ in range(3):
            self.assembler.add(span(1, 0, "step", 0, 2))
        other = Span(b"\x02" * 16, b"\x01" * 8, b"", "step", 0, 2)
        self.assembler.add(other)
        self.assembler.finish()
        self.assertEqual([len(spans) for spans in self.traces], [1, 1])
        self.assertEqual(self.assembler.duplicates, 2)
        self.assertNotEqual(other.trace, TRACE)

    def test_a_cut_trace_is_incomplete(self):
        self.assembler.add(span(1, 0, "step", 0, 2, stepscope__trace__spans=3))
        self.assembler.finish()
        self.assertEqual((len(self.traces), self.assembler.incomplete), (1, 1))

    def incomplete(self, *spans):
        self.setUp()
        for one in spans:
            self.assembler.add(one)
        self.assembler.finish()
        return self.assembler.incomplete

    def test_a_trace_of_ours_that_nobody_counted_is_incomplete(self):
        root, child = span(1, 0, "step", 0, 2), span(2, 1, "child", 0, 1)
        self.assertEqual(self.incomplete(root, child), 0)
        self.assertEqual(self.incomplete(ours(root), child), 1)
        root.attributes["stepscope.trace.spans"] = 2
        # What others wrote into it is not what ours announced.
        self.assertEqual(self.incomplete(root, child), 1)
        self.assertEqual(self.incomplete(root, ours(child)), 0)
        # Nobody announces less than a span.
        root.attributes["stepscope.trace.spans"] = 0
        self.assertEqual(self.incomplete(root, child), 1)

    def test_an_uncounted_trace_is_complete_with_its_root(self):
        self.assembler.add(span(1, 0, "step", 0, 2))
        self.assembler.add(span(2, 1, "child", 0, 2))
        self.assembler.finish()
        self.assertEqual(self.assembler.incomplete, 0)
        self.assembler.add(Span(b"\x03" * 16, b"\x02" * 8, b"\x01" * 8, "child", 0, 2))
        self.assembler.finish()
        self.assertEqual(self.assembler.incomplete, 1)


if __name__ == "__main__":
    unittest.main()
