"""Exposed time and steps of hand-made traces."""

import unittest

import figures
import traces
from exposure import by_phase, exposed
from records import Process
from samples import span


def of(*spans):
    roots, nodes = traces.trees(list(spans))
    return by_phase(exposed(roots[0], nodes))


def step(id=1, end=100, **attributes):
    return span(id, 0, "step", 0, end, thread__id=1, stepscope__section__kind="step", **attributes)


def phase(id, parent, name, start, end, thread=1):
    return span(id, parent, name, start, end, thread__id=thread, stepscope__phase=name)


def entered(id, parent, name, start, end, *polls):
    """One that is suspended between its polls."""
    attributes = {"stepscope__phase": name} if name else {}
    attributes |= {"thread__id": 1, "stepscope__idle_ns": 1, "stepscope__polls": polls}
    return span(id, parent, name or "step", start, end, **attributes)


class Exposure(unittest.TestCase):
    def test_phases_in_turn(self):
        got = of(step(), phase(2, 1, "data_wait", 0, 30), phase(3, 1, "forward", 40, 90))
        self.assertEqual(got, {"data_wait": 30, None: 20, "forward": 50})

    def test_what_a_step_waits_for_on_another_thread(self):
        # Hidden until 40, then joined; a loader that nobody joins in a section, and what ends while others work, is not.
        got = of(step(), phase(2, 1, "forward", 0, 40), phase(3, 1, "communication", 20, 90, thread=2))
        self.assertEqual(got, {"forward": 40, "communication": 50, None: 10})
        got = of(step(), phase(2, 1, "forward", 0, 40), phase(3, 1, "data_loading", 20, 90, thread=2))
        self.assertEqual(got, {"forward": 40, None: 60})
        got = of(step(), phase(2, 1, "io", 0, 30, thread=2), phase(3, 1, "forward", 20, 90))
        self.assertEqual(got, {"forward": 70, None: 30})

    def test_what_a_step_does_after_it_moved_to_another_thread(self):
        def found(*polls):
            attributes = {"stepscope__section__kind": "step", "stepscope__idle_ns": 40, "stepscope__polls": polls}
            return of(
                span(1, 0, "step", 0, 100, thread__id=1, **attributes),
                span(
                    2, 1, "fetch", 10, 50, thread__id=2, stepscope__phase="data_wait", stepscope__idle_ns=38,
                    stepscope__polls=(2, 0, 1, 1, 3, 39, 1, 1),
                ),
                phase(3, 1, "forward", 50, 98, thread=3),
                phase(4, 3, "io", 60, 70, thread=3),
            )

        moved = (1, 0, 10, 1, 2, 10, 1, 1, 3, 49, 51, 1)
        self.assertEqual(found(*moved), {"data_wait": 40, "forward": 38, "io": 10, None: 12})
        # Never there, or not when it began: nobody knows that the step waits for it.
        for other in ((1, 0, 10, 1, 3, 49, 51, 1), (1, 0, 10, 1, 2, 11, 1, 1, 3, 49, 51, 1)):
            self.assertNotIn("data_wait", found(*other))

    def test_what_begins_while_a_step_is_entered_on_threads_that_are_not_known(self):
        def found(*polls, first=(2, 0, 1, 1)):
            attributes = {"stepscope__section__kind": "step", "stepscope__idle_ns": 40, "stepscope__polls": polls}
            return of(
                span(1, 0, "step", 0, 100, thread__id=1, **attributes),
                span(
                    2, 1, "fetch", 12, 50, thread__id=2, stepscope__phase="data_wait", stepscope__idle_ns=36,
                    stepscope__polls=first + (3, 37, 1, 1),
                ),
                phase(3, 1, "forward", 50, 98, thread=3),
                # Nothing is entered twice on its thread: beside the step.
                phase(4, 1, "data_loading", 13, 60, thread=7),
            )

        expected = {"data_wait": 38, "forward": 48, None: 14}
        apart = (1, 0, 10, 1, 0, 10, 4, 3, 0, 49, 51, 4)
        self.assertEqual(found(*apart), expected)
        # Where one began that was entered twice, threads may enter the step, too.
        self.assertEqual(found(*apart, first=(0, 0, 1, 2)), expected)
        self.assertEqual(found(0, 0, 100, 9, first=(0, 0, 1, 2)), expected)
        self.assertEqual(found(1, 0, 10, 1, 3, 10, 2, 2, 2, 12, 1, 1, 3, 49, 51, 1), expected)
        # Not in the pause between.
        self.assertNotIn("data_wait", found(1, 0, 10, 1, 0, 10, 2, 3, 0, 49, 51, 4))

    def test_what_a_section_waits_for_on_another_thread(self):
        got = of(
            step(),
            phase(2, 1, "synchronization", 0, 60),
            phase(3, 2, "preprocessing", 5, 50, thread=2),
            phase(4, 1, "optimizer", 60, 100),
            # Of a lower class than what waits for it.
            phase(5, 4, "io", 60, 80, thread=2),
        )
        self.assertEqual(got, {"synchronization": 15, "preprocessing": 45, "optimizer": 40})
        got = of(step(), phase(2, 1, "data_wait", 0, 60), phase(3, 2, "preprocessing", 0, 55, thread=2))
        self.assertEqual(got, {"data_wait": 60, None: 40})
        got = of(
            step(),
            span(2, 1, "read", 0, 60, thread__id=1),
            phase(3, 2, "data_loading", 0, 50, thread=2),
            phase(4, 3, "preprocessing", 10, 30, thread=2),
            phase(5, 3, "io", 30, 40, thread=3),
        )
        self.assertEqual(got, {"data_loading": 30, "preprocessing": 20, None: 50})

    def test_a_wait_for_several_threads(self):
        def found(until):
            return of(
                step(),
                phase(2, 1, "synchronization", 0, 100),
                span(3, 1, "sgemm", 0, until, thread__id=3),
                phase(4, 1, "communication", 70, 99, thread=2),
            )

        self.assertEqual(found(69).get("communication"), 29)
        self.assertEqual(found(20).get("communication"), None)

    def test_work_of_its_own_is_no_wait(self):
        got = of(
            step(),
            span(2, 1, "wait", 0, 80, thread__id=1),
            phase(3, 2, "communication", 0, 80, thread=2),
            phase(4, 2, "optimizer", 20, 30),
        )
        self.assertEqual(got, {"communication": 70, "optimizer": 10, None: 20})

    def test_other_threads_that_nobody_waits_for_are_not_exposed(self):
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

    def test_what_a_thread_does_inside_a_computation(self):
        # 0..10 and 80..90 forward, 10..20 and 60..80 written, 20..60 computed again, of which 30..40 saved.
        got = of(
            step(),
            phase(2, 1, "forward", 0, 90),
            phase(3, 2, "io", 10, 80),
            phase(4, 3, "backward", 20, 60),
            phase(5, 4, "checkpoint", 30, 40),
            phase(6, 4, "metrics", 45, 50),
        )
        self.assertEqual(
            got, {"forward": 20, "io": 30, "backward": 25, "checkpoint": 10, "metrics": 5, None: 10}
        )
        # Reading is a part of the wait, and what another thread does stays behind the computation.
        got = of(step(), phase(2, 1, "forward", 0, 90), phase(3, 2, "data_wait", 10, 60), phase(4, 3, "io", 20, 40))
        self.assertEqual(got, {"forward": 40, "data_wait": 50, None: 10})
        got = of(step(), phase(2, 1, "forward", 0, 90), phase(3, 2, "io", 10, 60, thread=2))
        self.assertEqual(got, {"forward": 90, None: 10})
        # It goes on after what it is inside of, and beside another computation.
        got = of(
            step(),
            phase(2, 1, "forward", 10, 50),
            phase(3, 2, "io", 40, 90),
            phase(4, 1, "optimizer", 60, 70),
        )
        self.assertEqual(got, {"forward": 30, "io": 40, "optimizer": 10, None: 20})

    def test_what_a_computation_of_another_thread_does(self):
        # Waited for without a phase, what runs there is exposed; below a computation it is by the one around it.
        spans = phase(3, 2, "backward", 10, 90, thread=2), phase(4, 3, "io", 20, 60, thread=2)
        got = of(step(), span(2, 1, "join", 0, 100, thread__id=1), *spans)
        self.assertEqual(got, {"backward": 40, "io": 40, None: 20})
        got = of(step(), phase(2, 1, "optimizer", 0, 100), *spans)
        self.assertEqual(got, {"optimizer": 20, "backward": 40, "io": 40})
        got = of(step(), phase(2, 1, "optimizer", 0, 100), phase(3, 2, "io", 20, 60, thread=2))
        self.assertEqual(got, {"optimizer": 100})

    def test_overlapping_sections_of_one_class_are_told_apart_by_phase(self):
        # 20..50 two are innermost. The vocabulary has backward, gradient, optimizer in this order: 20..30 and 40..50
        # the one with the larger id, 30..40 what is inside it, 50..60 the other alone.
        got = of(
            step(),
            span(2, 1, "forward", 0, 60, thread__id=1),
            span(3, 2, "a", 20, 60, thread__id=1, stepscope__phase="optimizer"),
            span(5, 2, "b", 10, 50, thread__id=1, stepscope__phase="backward"),
            span(4, 5, "b.inner", 30, 40, thread__id=1, stepscope__phase="gradient"),
        )
        self.assertEqual(got, {"forward": 10, "backward": 30, "gradient": 10, "optimizer": 10, None: 40})

    def test_overlapping_sections_of_one_phase_are_told_apart_by_id(self):
        # 20..40 both are open: the smaller id, though it began later.
        roots, nodes = traces.trees([step(), phase(3, 1, "io", 0, 40), phase(2, 1, "io", 20, 60)])
        got = {node.span.id[0]: length for node, length in exposed(roots[0], nodes).items()}
        self.assertEqual(got, {3: 20, 2: 40, 1: 40})

    def test_words_of_users_come_after_the_vocabulary(self):
        got = of(
            step(), phase(2, 1, "warp", 0, 30), phase(3, 1, "augury", 10, 40), phase(4, 1, "other", 20, 60)
        )
        self.assertEqual(got, {"warp": 10, "augury": 10, "other": 40, None: 40})

    def test_time_inside_a_higher_class_is_the_higher_ones(self):
        # What a section of loading does is loading, whatever it calls itself, unless it ranks higher.
        got = of(
            step(),
            phase(2, 1, "data_loading", 0, 60),
            phase(3, 2, "io", 10, 30),
            phase(4, 2, "communication", 40, 50),
        )
        self.assertEqual(got, {"data_loading": 50, "communication": 10, None: 40})

    def test_a_suspended_section_is_exposed_while_nothing_else_runs(self):
        # A fetch that is open all over the step, entered for 5 at both ends.
        ends = (1, 0, 5, 1, 1, 95, 5, 1)
        fetch = entered(2, 1, "data_loading", 0, 100, *ends)
        work = phase(3, 1, "forward", 5, 40), phase(4, 1, "backward", 40, 95)
        self.assertEqual(of(step(), fetch, *work), {"data_loading": 10, "forward": 35, "backward": 55})
        # 20 of it waited for: nothing else is open.
        work = phase(3, 1, "forward", 5, 40), phase(4, 1, "backward", 60, 95)
        self.assertEqual(of(step(), fetch, *work), {"data_loading": 30, "forward": 35, "backward": 35})
        # By one section inside another.
        read = entered(5, 2, "io", 2, 98, 1, 0, 3, 1, 1, 93, 3, 1)
        self.assertEqual(of(step(), fetch, read, *work), {"data_loading": 30, "forward": 35, "backward": 35})
        # Nobody knows when it ran in an interval of two entries: not while another one did.
        often = entered(2, 1, "data_loading", 0, 100, 1, 0, 100, 2)
        self.assertEqual(of(step(), often, *work), {"data_loading": 30, "forward": 35, "backward": 35})
        # Without intervals it ran all the time, but where most of it it did not.
        for idle, loading in (50, 100), (51, 30), (90, 30):
            fetch = span(2, 1, "data_loading", 0, 100, thread__id=1, stepscope__idle_ns=idle)
            self.assertEqual(of(step(), fetch, *work).get("data_loading"), loading)
        self.assertEqual(of(step(), phase(2, 1, "data_loading", 0, 100), *work), {"data_loading": 100})

    def test_communication_beside_computation_is_exposed_where_nothing_covers_it(self):
        for name in ("communication", "synchronization"):
            reduce = entered(2, 1, name, 30, 90, 1, 0, 2, 1, 1, 58, 2, 1)
            work = phase(3, 1, "backward", 0, 30), phase(4, 1, "backward", 32, 70)
            self.assertEqual(of(step(), reduce, *work), {"backward": 68, name: 22, None: 10})

    def test_a_step_that_is_suspended_itself(self):
        own = entered(1, 0, None, 0, 100, 1, 0, 60, 1, 1, 90, 10, 1)
        own.attributes["stepscope.section.kind"] = "step"
        fetch = entered(2, 1, "data_wait", 10, 90, 1, 0, 5, 1, 1, 80, 0, 1)
        # What it does itself is its own.
        self.assertEqual(of(own, fetch, phase(3, 1, "forward", 30, 50)), {None: 45, "data_wait": 35, "forward": 20})

    def test_a_section_that_is_suspended_while_a_part_of_it_runs_is_not(self):
        fetch = entered(2, 1, "data_loading", 0, 60, 1, 0, 5, 1, 1, 55, 5, 1)
        read = phase(3, 2, "io", 10, 30)
        other = entered(4, 1, "communication", 0, 80, 1, 5, 5, 1, 1, 75, 5, 1)
        # 0..5 the first, 5..10 the second, 10..30 the read, a part of the first; then nothing runs until 55.
        self.assertEqual(of(step(), fetch, read, other), {"data_loading": 30, "communication": 50, None: 20})

    def test_a_section_inside_of_which_one_is_suspended_waits_for_it_and_for_no_other(self):
        fetch = entered(2, 1, "data_loading", 0, 100, 1, 0, 5, 1, 1, 95, 5, 1)
        block = span(3, 1, "block_on", 10, 60, thread__id=1)
        inner = entered(4, 3, "io", 10, 60, 1, 0, 5, 1, 1, 45, 5, 1)
        self.assertEqual(of(step(), fetch, block, inner), {"data_loading": 50, "io": 50})

    def test_what_runs_elsewhere_is_suspended_here(self):
        fetch = entered(2, 1, "data_loading", 0, 100, 1, 0, 5, 1, 2, 5, 95, 1)
        self.assertEqual(of(step(), fetch, phase(3, 1, "forward", 10, 90)), {"data_loading": 20, "forward": 80})
        # But where the step itself was there.
        own = entered(1, 0, None, 0, 100, 2, 0, 100, 1)
        self.assertEqual(of(own, fetch, phase(3, 1, "forward", 10, 90)), {"data_loading": 100})

    def test_what_a_thread_joins_runs(self):
        # 40..60 the step waits for the other thread, whoever is suspended.
        fetch = entered(2, 1, "data_loading", 0, 60, 1, 0, 10, 1, 1, 60, 0, 1)
        got = of(step(), fetch, phase(3, 1, "forward", 10, 40), phase(4, 1, "io", 20, 90, thread=2))
        self.assertEqual(got, {"data_loading": 10, "forward": 30, "io": 50, None: 10})

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

    def test_an_asynchronous_wait_takes_as_long_as_nothing_else_runs(self):
        def waits(thread, **more):
            run = figures.Run()
            take = entered(2, 1, "data_wait", 0, 100, thread, 0, 5, 1, thread, 95, 5, 1)
            take.attributes |= {"thread.id": thread, "stepscope.batch.loader": "images"}
            inner = phase(3, 2, "io", 85, 95, thread=thread)
            run.add([step(**more), take, inner, phase(4, 1, "forward", 5, 80)])
            return [wait[0] for wait in run.waits], run.held_up, run.steps[0].wait

        self.assertEqual(waits(1), ([25], {"images": {"train": [1, 25]}}, 25))
        # What another thread waits is none of the step's; of a step that was not read whole nobody knows.
        self.assertEqual(waits(2), ([], {}, 0))
        self.assertEqual(waits(1, stepscope__trace__dropped=1), ([100], {"images": {"train": [1, 100]}}, 100))

    def test_waits_of_a_run_are_those_of_threads_that_drive_steps(self):
        def take(number, thread, kind=None):
            root = span(1, 0, "batch", 0, 100, thread__id=thread, stepscope__section__kind="batch")
            if kind is None:
                return [span(1, 0, "data_wait", 0, number, thread__id=thread)]
            return [root, span(2, 1, "data_wait", 10, 10 + number, thread__id=thread)]

        run = figures.Run()
        others = take(7, 1), take(9, 2), take(11, 2, "batch"), take(13, 1, "batch")
        for spans in others:
            run.add(spans)
        self.assertEqual([wait[0] for wait in run.waits], [7, 13, 9, 11])
        run.add([step(), span(2, 1, "data_wait", 0, 25, thread__id=1), span(3, 1, "data_wait", 0, 30, thread__id=2)])
        self.assertEqual([wait[0] for wait in run.waits], [25, 7, 13])

    def test_a_wait_inside_of_another_is_a_part_of_that(self):
        run = figures.Run()
        inner = span(
            3, 2, "recv", 5, 20, thread__id=1, stepscope__phase="data_wait", stepscope__batch__produce_ns=900,
        )
        batch = span(4, 1, "made", 30, 40, stepscope__section__kind="batch", stepscope__phase="data_wait")
        run.add([step(), span(2, 1, "next", 0, 25, thread__id=1, stepscope__phase="data_wait"), inner, batch])
        # What it says of its batch is known all the same; making one is no wait.
        self.assertEqual(run.waits, [(25, None, None, None), (None, 900, None, None)])
        self.assertEqual(run.steps[0].wait, 25)

    def test_a_step_is_whole_with_all_that_its_root_announces(self):
        def whole(announced, dropped=None, level="detailed", count=2, left_out=None):
            attributes = {"stepscope__trace__spans": announced, "stepscope__trace__dropped": dropped}
            attributes["stepscope__trace__left_out"] = left_out
            spans = [step(**{key: value for key, value in attributes.items() if value is not None})]
            spans += [phase(id, 1, "forward", 0, 40) for id in range(2, count + 1)]
            for one in spans:
                one.instance = Process("run-rank0", 7, 0, level)
            run = figures.Run()
            run.add(spans)
            [only] = run.steps
            section = run.sections["step"]
            self.assertEqual(section.selfless, 0 if only.is_whole else 1)
            self.assertEqual((only.duration, only.unattributed), (100, 60 if only.is_whole else 0))
            self.assertEqual(only.phases, {"forward": (40, 40, 40 * (count - 1), count - 1)} if only.is_whole else {})
            self.assertEqual(list(section.in_steps), ["train"] if only.is_whole else [])
            return only.is_whole, run.missing

        self.assertEqual(whole(2), (True, 0))
        self.assertEqual(whole(2, 0), (True, 0))
        self.assertEqual(whole(2, count=3), (True, 0))
        self.assertEqual(whole(None), (True, 0))
        self.assertEqual(whole(5), (False, 3))
        self.assertEqual(whole(2, 1), (False, 0))
        self.assertEqual(whole(2, level="basic"), (False, 0))
        self.assertEqual(whole(2, level="basic", left_out=0), (True, 0))
        self.assertEqual(whole(2, left_out=0), (True, 0))
        self.assertEqual(whole(2, left_out=3), (False, 0))
        # More than a trace can have: damage, which announces nothing.
        self.assertEqual(whole(1_000_001, -1), (True, 0))
        self.assertEqual(whole(1_000_000), (False, 999_998))

    def test_samples_of_sections_where_the_step_gives_none(self):
        run = figures.Run()
        run.add([step(), span(2, 1, "a", 0, 9, stepscope__samples=3), span(3, 1, "b", 9, 20, stepscope__samples=4)])
        self.assertEqual(run.steps[0].work["samples"], 7)


if __name__ == "__main__":
    unittest.main()
