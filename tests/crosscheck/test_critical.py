"""Critical paths of hand-made steps."""

import unittest

import critical
import traces
from samples import span


def of(*spans):
    roots, nodes = traces.trees(list(spans))
    times, slacks = critical.path(roots[0])
    by_id = lambda figures: {node.span.id[0]: value for node, value in figures.items()}
    return by_id(times), by_id(slacks)


class Path(unittest.TestCase):
    def test_calls_one_after_the_other(self):
        got = of(span(1, 0, "step", 0, 100), span(2, 1, "a", 0, 50), span(3, 1, "b", 50, 90), span(4, 3, "c", 60, 70))
        self.assertEqual(got, ({1: 10, 2: 50, 3: 30, 4: 10}, {}))

    def test_chains_side_by_side(self):
        got = of(
            span(1, 0, "step", 0, 500, thread__id=1),
            span(2, 1, "long", 0, 500, thread__id=1),
            span(3, 2, "first", 0, 100, thread__id=1),
            span(4, 2, "second", 200, 500, thread__id=1),
            span(5, 1, "short", 0, 199, thread__id=2),
            span(6, 5, "only", 0, 150, thread__id=2),
        )
        self.assertEqual(got, ({1: 0, 2: 100, 3: 100, 4: 300}, {5: 301, 6: 301}))

    def test_what_outlives_its_parent(self):
        elsewhere = span(2, 1, "writer", 10, 150, thread__id=2)
        here = span(3, 1, "forward", 20, 120, thread__id=1)
        got = of(span(1, 0, "step", 0, 100, thread__id=1), elsewhere, here)
        self.assertEqual(got, ({1: 20, 3: 80}, {}))

    def test_a_wait(self):
        wait = span(1, 0, "data_wait", 100, 160)
        self.assertEqual(critical.parts_of_wait(wait, 30, 10), (20, 30, 10))
        self.assertEqual(critical.parts_of_wait(wait, 30, 1000), (0, 0, 60))
        self.assertEqual(critical.parts_of_wait(wait, 1000, 0), (0, 60, 0))
