"""Batches, the loaders that make them, and the waits for them: plain counts and sums."""

from fractions import Fraction

import critical
import names
import stats
import traces


class Batch:
    """One batch that a loader made."""

    def __init__(self, root, nodes):
        span = root.span
        self.loader, self.instance, self.thread = loader_of(root), span.instance, root.thread
        self.start, self.duration, self.samples = span.start, span.duration, span.get(names.SAMPLES)
        # What its thread waited for batches of others.
        inside = [node for node in nodes if is_wait(node) and node.thread == root.thread and maker(node) is root]
        self.waiting = sum(node.span.duration for node in inside)
        self.slot_wait = span.get(names.BATCH_SLOT_WAIT_NS)
        # What was not measured is taken to be work.
        self.busy = span.get(names.BUSY_NS, span.duration)
        self.computing = span.get(names.CPU_NS, self.busy)

    @property
    def end(self):
        return self.start + self.duration


class Waits:
    """Waits for batches: (time, time to make the batch, time it lay in the queue, depth of the queue)."""

    def __init__(self):
        # Those in steps, of threads that drive their step, and outside by (process, thread) of who waited.
        self.in_steps, self.outside = [], {}
        self.by_loader = {}
        # {loader: {mode of the step, or None: [waits, time]}}, and those inside of batches by the loader of these.
        self.stalls, self.waited_by = {}, {}

    def add(self, node, exposed, mode):
        """One section; `mode` is that of the step, or of what is outside of steps, where its root holds up steps."""
        span = node.span
        # What one inside another such wait says of its batch counts; its time is the outer one's.
        length = waited(node, exposed) if is_wait(node) else None
        told = (names.BATCH_PRODUCE_NS, names.BATCH_QUEUE_NS, names.BATCH_QUEUE_DEPTH)
        wait = (length, *(span.get(name) for name in told))
        if node.kind == "batch" or all(figure is None for figure in wait):
            return
        if node.root.kind != "step":
            self.outside.setdefault((span.instance, node.thread), []).append((wait, span))
        elif node.is_driving:
            self.in_steps.append((wait, span))
        loader = span.get(names.BATCH_LOADER)
        if not loader:
            return
        self.by_loader.setdefault(loader, []).append(wait)
        batch = maker(node)
        if is_wait(node) and batch is not None:
            add(self.waited_by, loader, loader_of(batch), length)
        if is_wait(node) and node.is_driving and (node.root.kind == "step" or traces.is_outside(node.root)):
            add(self.stalls, loader, mode, length)

    def driving(self, drivers):
        """The waits of the threads that drive steps, with their spans; where none does, those of all threads."""
        outside = [waits for thread, waits in self.outside.items() if thread in drivers or not drivers]
        return self.in_steps + [wait for waits in outside for wait in waits]


def add(sums, loader, key, length):
    of = sums.setdefault(loader, {}).setdefault(key, [0, 0])
    of[0] += 1
    of[1] += length


def parts_of_waits(waits):
    """Number of waits that know when their batch was made, and the parts of their time."""
    found = [0, 0, 0, 0]
    for (length, produce, queue, _), span in waits:
        if length is not None and produce is not None and queue is not None:
            found = [sum(pair) for pair in zip(found, (1, *parts_of_wait(span, produce, queue)))]
    return found


def parts_of_wait(span, produce, queue):
    """How long of a wait its batch had not been begun, was being made, was on its way. It is taken as the wait ends,
    lay in the queue for `queue` before that, and was made in the `produce` before that."""
    ready = span.end - queue
    cut = lambda time: min(max(time, span.start), span.end)
    begun = cut(ready - produce)
    return begun - span.start, cut(ready) - begun, span.end - cut(ready)


def loader_of(batch):
    return batch.span.get(names.BATCH_LOADER) or batch.span.name


def maker(node):
    """The batch that a section is part of."""
    while node.parent is not None:
        node = node.parent
        if node.kind == "batch":
            return node
    return None


def is_wait(node):
    """Whether the section waits for a batch, makes none, and is no part of another such wait."""
    is_inner = node.parent is not None and node.parent.phase == names.DATA_WAIT
    return node.own_phase == names.DATA_WAIT and node.kind != "batch" and not is_inner


def waited(node, exposed):
    """How long a wait took: one on the step's thread that says when it ran, for as long as it was exposed, with what is inside
    of it. Of others, and where exposure is not known, all of it."""
    if exposed is None or not node.is_driving or not critical.runs_of(node):
        return node.span.duration
    return sum(length for one, length in exposed.items() if node in critical.with_above(one))


def compare_loaders(detailed, run, compare):
    driving = run.waits.driving(run.drivers())
    compare_waits("waits", detailed["waits"], [wait for wait, _ in driving], compare)
    compare.equal("batches", "count", detailed["batches"]["count"], len(run.batches))
    made = {name: [] for name in run.waits.by_loader}
    for batch in run.batches:
        made.setdefault(batch.loader, []).append(batch)
    listed = {loader["name"]: loader for loader in detailed["batches"]["loaders"]}
    for name, got, batches in compare.pairs("batches", "loader", listed, made):
        where = f"loader {name}"
        compare_waits(f"{where}, waits", got["waits"], run.waits.by_loader.get(name, []), compare)
        for figure, key, of in (("stalls", "mode", run.waits.stalls), ("waited_by", "loader", run.waits.waited_by)):
            told = {(item[key], item["waits"], item["total_ns"]) for item in got[figure]}
            compare.equal(where, figure, told, {(other, *sums) for other, sums in of.get(name, {}).items()})
        compare_batches(where, got, batches, run.drivers(), compare)


def compare_waits(where, got, waits, compare):
    for position, key in enumerate(("wait", "produce", "queue", "depth")):
        compare.stats(f"{where}, {key}", got[key], [wait[position] for wait in waits if wait[position] is not None])


def compare_batches(where, got, batches, drivers, compare):
    compare.stats(where, got["produce"], [batch.duration for batch in batches])
    elapsed = max((b.end for b in batches), default=0) - min((b.start for b in batches), default=0)
    compare.equal(where, "elapsed_ns", got["elapsed_ns"], elapsed)
    samples = [batch.samples for batch in batches if batch.samples is not None]
    compare.equal(where, "samples", got["samples"], sum(samples) if samples else None)
    threads = {}
    for batch in batches:
        threads.setdefault((batch.instance, batch.thread), []).append(batch)
    workers = [Worker(of, thread[1] is not None and thread in drivers) for thread, of in threads.items()]
    busy = sum(worker.row["busy_ns"] for worker in workers)
    compare.equal(where, "busy_ns", got["busy_ns"], busy)
    compare.equal(where, "waiting_ns", got["waiting_ns"], sum(worker.row["waiting_ns"] for worker in workers))
    computing = sum(worker.computing for worker in workers if not worker.row["drives_steps"])
    compare.equal(where, "computing_ns", got["computing_ns"], computing)
    possible = sum(worker.time for worker in workers)
    compare.close(where, "utilisation", got["utilisation"], Fraction(busy, possible) if possible else None)
    saying = [worker for worker in workers if worker.row["slot_wait_ns"] is not None]
    slots, time = sum(worker.row["slot_wait_ns"] for worker in saying), sum(worker.time for worker in saying)
    compare.equal(where, "slot_wait_ns", got["slot_wait_ns"], slots if saying else None)
    compare.close(where, "slot_wait_share", got["slot_wait_share"], Fraction(slots, time) if time else None)
    expected = sorted((worker.row for worker in workers), key=str)
    compare.equal(where, "workers", sorted(got["workers"], key=str), expected)


class Worker:
    """One thread's batches of a loader: the report's row of it, its time from the first to the last, and computing time."""

    def __init__(self, batches, drives_steps):
        made = sum(batch.duration for batch in batches)
        waiting = min(sum(batch.waiting for batch in batches), made)
        first, last = min(batch.start for batch in batches), max(batch.end for batch in batches)
        self.time = last - first
        # Not while it waited for batches of others.
        self.computing = min(sum(batch.computing for batch in batches), made - waiting)
        said = [batch.slot_wait for batch in batches if batch.slot_wait is not None]
        between = max(0, self.time - made)
        slots = min(sum(said), between) if said else None
        self.row = {
            "rank": batches[0].instance.rank,
            "thread": batches[0].thread,
            "drives_steps": drives_steps,
            "batches": len(batches),
            "busy_ns": min(sum(batch.busy for batch in batches), made - waiting),
            "waiting_ns": waiting,
            "slot_wait_ns": slots,
            "idle_ns": between - slots if said else None,
            "first_ns": first,
            "last_ns": last,
        }
