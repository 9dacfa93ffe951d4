"""Exposed time and steps of hand-made traces."""

import unittest

import figures
import traces
from exposure import by_phase, exposed
from samples import span


def of(*spans):
    roots, nodes = traces.trees(list(spans))
    return by_phase(exposed(roots[0], nodes))


def step(id=1, end=100, **attributes):
    return span(id, 0, "step", 0, end, thread__id=1, stepscope__section__kind="step", **attributes)


def phase(id, parent, name, start, end, thread=1):
    return span(id, parent, name, start, end, thread__id=thread, stepscope__phase=name)


class Exposure(unittest.TestCase):
    def test_phases_in_turn(self):
        got = of(step(), phase(2, 1, "data_wait", 0, 30), phase(3, 1, "forward", 40, 90))
        self.assertEqual(got, {"data_wait": 30, None: 20, "forward": 50})

    def test_other_threads_are_never_exposed(self):
        got = of(step(), phase(2, 1, "forward", 0, 100), phase(3, 1, "data_loading", 0, 80, thread=2))
        self.assertEqual(got, {"forward": 100})

    def test_the_higher_class_wins_an_overlap(self):
        # Asynchronous siblings: communication above input above computation.
        got = of(
            step(),
            phase(2, 1, "forward", 0, 60),
            phase(3, 1, "data_wait", 40, 80),
            phase(4, 1, "communication", 50, 70),
        )
        self.assertEqual(got, {"forward": 40, "data_wait": 20, "communication": 20, None: 20})

    def test_within_a_class_the_innermost_wins(self):
        got = of(
            step(),
            phase(2, 1, "data_loading", 0, 100),
            phase(3, 2, "preprocessing", 20, 50),
            phase(4, 3, "augmentation", 30, 40),
        )
        self.assertEqual(got, {"data_loading": 70, "preprocessing": 20, "augmentation": 10})

    def test_overlapping_sections_of_one_class_are_told_apart_by_id(self):
        # 10..20 only the second, 20..50 both are innermost: the smaller id; 30..40 its child 4 against 3.
        got = of(
            step(),
            span(2, 1, "forward", 0, 60, thread__id=1),
            span(3, 2, "a", 20, 60, thread__id=1, stepscope__phase="backward"),
            span(5, 2, "b", 10, 50, thread__id=1, stepscope__phase="optimizer"),
            span(4, 5, "b.inner", 30, 40, thread__id=1, stepscope__phase="gradient"),
        )
        self.assertEqual(got, {"forward": 10, "optimizer": 10, "backward": 40, None: 40})

    def test_a_name_implies_a_phase(self):
        self.assertEqual(of(step(), span(2, 1, "Model::Load-Batch", 0, 30, thread__id=1)), {"data_loading": 30, None: 70})
        self.assertEqual(of(step(), span(2, 1, "forward_fill", 0, 30, thread__id=1)), {None: 100})

    def test_sections_without_a_phase_inherit_it(self):
        inner = span(3, 2, "conv", 10, 60, thread__id=1)
        self.assertEqual(of(step(), phase(2, 1, "forward", 0, 80), inner), {"forward": 80, None: 20})

    def test_sections_are_cut_to_the_step(self):
        self.assertEqual(of(step(), phase(2, 1, "forward", 90, 130)), {None: 90, "forward": 10})


class Steps(unittest.TestCase):
    def test_figures_of_a_step(self):
        run = figures.Run()
        run.add(
            [
                step(stepscope__samples=32, stepscope__step=7, stepscope__mode="eval"),
                span(
                    2, 1, "next", 0, 25, thread__id=1, stepscope__phase="data_wait",
                    stepscope__batch__produce_ns=900, stepscope__batch__queue_ns=40,
                ),
                span(3, 1, "forward", 25, 90, stepscope__samples=32, stepscope__mem__alloc_bytes=10),
                span(4, 3, "forward", 30, 80, stepscope__mem__alloc_bytes=4),
            ]
        )
        [only] = run.steps_of("eval")
        self.assertEqual((only.number, only.duration, only.work["samples"], only.work["tokens"]), (7, 100, 32, None))
        self.assertEqual(run.waits, [(25, 900, 40, None)])
        self.assertEqual(run.sections["step/forward"].sum("alloc_bytes"), 10)
        self.assertEqual(run.sections["step/forward/forward"].sum("alloc_bytes"), 4)
        self.assertIsNone(run.sections["step"].sum("alloc_bytes"))

    def test_samples_of_sections_where_the_step_gives_none(self):
        run = figures.Run()
        run.add([step(), span(2, 1, "a", 0, 9, stepscope__samples=3), span(3, 1, "b", 9, 20, stepscope__samples=4)])
        self.assertEqual(run.steps[0].work["samples"], 7)


if __name__ == "__main__":
    unittest.main()
