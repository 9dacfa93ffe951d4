"""Critical paths of hand-made steps."""

import unittest

import critical
import figures
import linked
import traces
from records import Process
from samples import span


def of(*spans):
    roots, nodes = traces.trees(list(spans))
    roots[0].is_ours = True
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

    def test_what_ends_a_little_later(self):
        got = of(span(1, 0, "step", 0, 100, thread__id=1), span(2, 1, "shard", 0, 111, thread__id=2))
        self.assertEqual(got, ({1: 0, 2: 100}, {}))
        got = of(span(1, 0, "step", 0, 100, thread__id=1), span(2, 1, "shard", 0, 112, thread__id=2))
        self.assertEqual(got, ({1: 100}, {}))

    def test_what_seems_to_end_after_the_next_one_began(self):
        def path(end, thread=1):
            return of(
                span(1, 0, "step", 0, 1000, thread__id=1),
                span(2, 1, "a", 100, end, thread__id=thread),
                span(3, 2, "inner", 400, 450, thread__id=thread),
                span(4, 1, "b", 500, 900, thread__id=1),
            )

        # All of it is 5 earlier.
        self.assertEqual(path(505), ({1: 195, 2: 355, 3: 50, 4: 400}, {}))
        self.assertEqual(path(510), ({1: 600, 4: 400}, {2: 390, 3: 390}))
        self.assertEqual(path(505, thread=2), ({1: 600, 4: 400}, {2: 395, 3: 395}))

    def test_what_goes_on_when_another_thread_begins(self):
        got = of(
            span(1, 0, "step", 0, 1000, thread__id=1),
            span(2, 1, "forward", 0, 980, thread__id=1),
            span(3, 2, "layer", 100, 950, thread__id=1),
            span(4, 3, "kernel", 200, 400, thread__id=1),
            span(5, 3, "beside", 300, 970, thread__id=3),
            span(6, 1, "save", 900, 1000, thread__id=2),
        )
        self.assertEqual(got[0], {1: 0, 2: 100, 3: 600, 4: 200, 6: 100})

    def test_a_thread_that_is_taken(self):
        spans = [
            span(1, 0, "step", 0, 1000, thread__id=1),
            span(2, 1, "a", 0, 100, thread__id=1),
            span(3, 2, "other_task", 50, 95, thread__id=2),
            span(4, 2, "long_task", 60, 700, thread__id=2),
            span(5, 1, "b", 100, 1000, thread__id=1),
            span(6, 5, "task", 700, 1000, thread__id=2),
        ]
        self.assertEqual(of(*spans), ({1: 0, 2: 55, 3: 45, 4: 600, 5: 0, 6: 300}, {}))
        # It lay idle in between; then it is not the same thread.
        spans[3] = span(4, 2, "long_task", 60, 691, thread__id=2)
        self.assertEqual(of(*spans)[0], {1: 0, 2: 55, 3: 45, 5: 600, 6: 300})
        spans[3] = span(4, 2, "long_task", 60, 700, thread__id=3)
        self.assertEqual(of(*spans)[0], {1: 0, 2: 55, 3: 45, 5: 600, 6: 300})

    def test_a_section_that_was_suspended(self):
        fetch = span(2, 1, "fetch", 0, 1000, thread__id=1, stepscope__idle_ns=990)
        rest = span(1, 0, "step", 0, 1000, thread__id=1), span(3, 1, "compute", 100, 900, thread__id=1)
        self.assertEqual(of(fetch, *rest), ({1: 0, 2: 200, 3: 800}, {}))

    def test_sections_that_took_turns(self):
        suspended = {"thread__id": 1, "stepscope__idle_ns": 1}

        def taking(*polls):
            runs = (1, 0, 100, 1, 1, 400, 100, 1, 1, 950, 50, 2)
            return of(
                span(1, 0, "step", 0, 1000, thread__id=1),
                span(2, 1, "fetch", 0, 1000, stepscope__polls=runs, **suspended),
                span(3, 1, "parse", 90, 940, stepscope__polls=polls, **suspended),
                span(4, 3, "decode", 600, 700, thread__id=1),
            )

        self.assertEqual(taking(1, 10, 200, 1, 1, 410, 400, 1)[0], {1: 0, 2: 400, 3: 500, 4: 100})
        for polls in [(), (2, 10, 200, 1, 2, 410, 400, 1), (1, 10, 800, 2)]:
            self.assertEqual(taking(*polls), ({1: 0, 2: 1000}, {3: 60, 4: 60}))

    def test_a_wait_that_links_within_its_trace(self):
        spans = [
            span(1, 0, "step", 0, 200, thread__id=1),
            span(2, 1, "spawn", 0, 10, thread__id=1),
            span(3, 2, "work", 5, 180, thread__id=2),
            span(4, 3, "inner", 100, 120, thread__id=2),
            span(5, 1, "join", 10, 181, thread__id=1, stepscope__phase="synchronization"),
        ]
        waited = {1: 19, 2: 10, 5: 171}
        self.assertEqual(of(*spans)[0], waited)
        spans[4].links = ((spans[0].trace, spans[2].id),)
        self.assertEqual(of(*spans)[0], {1: 19, 2: 5, 3: 155, 4: 20, 5: 1})
        spans[4].links = ((spans[0].trace, spans[0].id), (spans[0].trace, spans[4].id))
        self.assertEqual(of(*spans)[0], waited)

    def test_a_wait_that_links_to_what_goes_on_after_it(self):
        def path(produced, *links):
            spans = [
                span(1, 0, "step", 0, 1000, thread__id=1),
                span(2, 1, "data_wait", 0, 600, thread__id=1),
                span(3, 1, "forward", 600, 1000, thread__id=1),
                span(4, 1, "produce", 100, produced, thread__id=2),
                span(5, 4, "decode", 150, 500, thread__id=2),
                span(6, 1, "read", 50, 590, thread__id=3),
            ]
            spans[1].links = tuple((spans[0].trace, spans[at].id) for at in links)
            return of(*spans)[0]

        # Until it had ended, or until the end of the wait.
        self.assertEqual(path(580, 3), {1: 0, 2: 20 + 100, 3: 400, 4: 130, 5: 350})
        for produced in (600, 601, 620):
            self.assertEqual(path(produced, 3), {1: 0, 2: 100, 3: 400, 4: 150, 5: 350})
        # One that ended meanwhile comes first.
        self.assertEqual(path(620, 3, 5), {1: 0, 2: 10 + 50, 3: 400, 6: 540})

    def test_sections_that_wait_for_each_other(self):
        def path(**links):
            waits = {"get": (2, 100, 900, "data_wait"), "put": (3, 300, 950, "synchronization")}
            waits["flush"] = 4, 200, 920, "synchronization"
            spans = [span(1, 0, "step", 0, 1000, thread__id=1)]
            for name, (id, start, end, phase) in waits.items():
                one = span(id, 1, name, start, end, thread__id=id, stepscope__phase=phase)
                one.links = tuple((one.trace, bytes([waits[other][0]]) * 8) for other in links.get(name, ()))
                spans.append(one)
            return {id: time for id, time in of(*spans)[0].items() if time}

        self.assertEqual(path(get=["put"], put=["get"]), {1: 150, 2: 200, 3: 650})
        self.assertEqual(path(put=["flush"], flush=["get"], get=["put"]), {1: 150, 2: 100, 3: 30, 4: 720})

    def test_intervals_that_cannot_be_are_none(self):
        def runs(*polls):
            one = span(2, 1, "fetch", 100, 200, stepscope__idle_ns=1, stepscope__polls=polls)
            [root], _ = traces.trees([span(1, 0, "step", 0, 1000), one])
            return [(run.start, run.end, run.thread, run.count) for run in critical.runs_of(root.children[0])]

        self.assertEqual(runs(1, 20, 500, 1, 1, 0, 10, 2), [(100, 110, 1, 2), (120, 200, 1, 1)])
        self.assertEqual(runs(1, 300, 10, 1), [(200, 200, 1, 1)])
        # Before the section, not at all, or half of one.
        for wrong in [(1, -10, 30, 1), (1, 0, -1, 1), (-1, 0, 30, 1), (1, 0, 30, 0), (1, 0, 30), (1, 0, 0.5, 1)]:
            self.assertEqual(runs(1, 50, 10, 1, *wrong), [])

    def test_what_ran_beside_threads_until_they_were_joined(self):
        got = of(
            span(1, 0, "step", 0, 1000, thread__id=1),
            span(2, 1, "forward", 0, 100, thread__id=1),
            span(3, 1, "one", 100, 700, thread__id=2),
            span(4, 1, "other", 100, 900, thread__id=3),
            span(5, 1, "own", 100, 300, thread__id=1),
            span(6, 1, "around", 320, 1000, thread__id=1),
            span(7, 6, "join", 340, 905, thread__id=1, stepscope__phase="synchronization"),
            span(8, 6, "optimizer", 905, 1000, thread__id=1),
        )
        self.assertEqual(got, ({1: 0, 2: 100, 4: 800, 6: 0, 7: 5, 8: 95}, {3: 200, 5: 600}))

    def test_a_trace_of_others_is_a_window_where_nothing_says_that_it_came_after_something(self):
        def windows(scope, root_links=(), role=1):
            spans = [span(1, 0, "request", 0, 1000), span(2, 1, "handle", 50, 900), span(3, 2, "publish", 600, 800)]
            spans += [span(4, 1, "process", 100, 960), span(5, 3, "later", 650, 700)]
            spans[2].role, spans[3].role, spans[4].role = critical.PRODUCER, role, critical.CONSUMER
            spans[0].links = tuple((spans[0].trace, bytes([id]) * 8) for id in root_links)
            spans[3].links = ((spans[0].trace, spans[2].id),)
            for one in spans:
                one.scope = scope
            run = figures.Run()
            run.add(spans)
            times = {path: section.critical[None][0] for path, section in run.sections.items() if None in section.critical}
            return run.windows.get(None), {path: time for path, time in times.items() if time}

        # Who takes a message waited until it was sent; what was handed to a queue is waited for by nobody.
        sent = {"request": 90, "request/process": 160, "request/handle/publish": 200, "request/handle": 550}
        self.assertEqual(windows("other", role=critical.CONSUMER), ([1, 1000, 0], sent))
        self.assertEqual(windows("other"), ([1, 1000, 0], {"request": 140, "request/process": 860}))
        self.assertEqual(windows("other", [1]), windows("other"))
        self.assertEqual(windows("other", [2]), (None, {}))
        self.assertEqual(windows("stepscope"), (None, {}))

    def test_what_was_handed_to_a_queue_begins_nothing_on_the_path(self):
        def path(role):
            spans = [span(1, 0, "step", 0, 1000, thread__id=1), span(2, 1, "take", 10, 700)]
            spans += [span(3, 1, "other", 600, 1000, thread__id=2)]
            spans[0].role, spans[1].role = role, critical.CONSUMER
            [root], _ = traces.trees(spans)
            return {node.span.id[0]: time for node, time in critical.path(root)[0].items()}

        self.assertEqual(path(critical.PRODUCER), {1: 600, 3: 400})
        self.assertEqual(path(1), {1: 10, 2: 590, 3: 400})

    def test_a_suspended_section_that_is_awaited_does_not_run_beside_itself(self):
        polls = (1, 100, 100, 1, 1, 500, 300, 2, 1, 100, 40, 1)
        spans = [
            span(1, 0, "step", 0, 1000),
            span(2, 1, "take", 300, 1050, thread__id=1, stepscope__idle_ns=7, stepscope__polls=polls),
            span(3, 1, "join", 700, 1100, stepscope__phase="communication"),
            span(4, 2, "inner", 420, 440, thread__id=1),
        ]
        spans[2].links = ((spans[0].trace, spans[1].id),)
        [root], _ = traces.trees(spans)
        times = {node.span.id[0]: time for node, time in critical.path(root)[0].items()}
        self.assertEqual(times, {1: 300, 2: 680, 3: 0, 4: 20})

    def test_threads_are_compared_within_one_process(self):
        def path(process, is_ours):
            spans = [span(1, 0, "step", 0, 1000, thread__id=1), span(2, 1, "client", 100, 900, thread__id=1)]
            spans += [span(3, 2, "server", 150, 1900, thread__id=57), span(4, 3, "db", 200, 800, thread__id=57)]
            for one in spans[2:]:
                one.instance = process
            [root], _ = traces.trees(spans)
            root.is_ours = is_ours
            return {node.span.id[0]: time for node, time in critical.path(root)[0].items()}

        cut = {1: 200, 2: 50, 3: 150, 4: 600}
        self.assertEqual(path(Process("server", 7), True), cut)
        self.assertEqual(path(None, True), {1: 200, 2: 800})
        self.assertEqual(path(None, False), cut)

    def test_a_wait_that_links_to_its_batch(self):
        got, other = linked.Linked(), bytes(15) + b"\x02"
        step = [span(1, 0, "step", 0, 1000), span(2, 1, "data_wait", 0, 800), span(3, 1, "forward", 800, 1000)]
        step[1].links = ((other, bytes(8)), (step[1].trace, bytes(8)))
        batch = [span(1, 0, "batch", 100, 780, stepscope__section__kind="batch"), span(2, 1, "decode", 150, 700)]
        for one in batch:
            one.trace = other
        pieces = []
        critical.path(traces.trees(step)[0][0], pieces)
        got.add_step(pieces, "train")
        moved, said = got.through("train")
        self.assertEqual((moved, said), ({}, {"linked_ns": 800, "making_ns": 0, "is_exact": True}))
        got.add_batch(traces.trees(batch)[0][0])
        moved, said = got.through("train")
        self.assertEqual(said, {"linked_ns": 800, "making_ns": 680, "is_exact": True})
        self.assertEqual(moved, {"batch": (0, 130, 1), "batch/decode": (0, 550, 1), "step/data_wait": (680, 0, 0)})
        self.assertEqual(got.through("eval"), ({}, None))

    def test_a_wait(self):
        wait = span(1, 0, "data_wait", 100, 160)
        self.assertEqual(critical.parts_of_wait(wait, 30, 10), (20, 30, 10))
        self.assertEqual(critical.parts_of_wait(wait, 30, 1000), (0, 0, 60))
        self.assertEqual(critical.parts_of_wait(wait, 1000, 0), (0, 60, 0))
