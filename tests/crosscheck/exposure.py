"""Exposed time on one step: each moment goes to one of the sections of the driving thread that are open. Those whose
phase ranks highest come first (sections without a phase rank last); of these the innermost, which has none of these
inside it that is open; of several innermost ones, which only asynchronous sections can be, the first phase in the
vocabulary's order (the host's own computations first of all), then the smallest id. On one thread what the host computes
and what else it does rank alike: what it writes inside a forward pass, it does not compute.

Where the critical path is in another thread, below a section of the driving thread in which nothing else is open there,
that section waits, or another inside it that waited for what a section beside it did, and the moment goes to what it
waits for: of what is on the other thread and around it, again the
innermost of the highest class. Between the threads the highest class of these counts, and there computing is above
what else is done. Not where the moment belongs to a section that is no part of this, to a wait for data, or
to a higher class (but to synchronization, which is for whatever it waits for); nor to loading that nothing but the root
waits for.

A section that says when it was entered is suspended in between, but while something inside it runs; so is all over one that
only says that it was suspended for more than half of its time. Then a moment is its
own only while nothing else runs: all open ones that are not suspended are around it, and the innermost of them is not known
to run itself, by its own entries; nor is there something on another thread that one of them waits for."""

import critical
import names


def exposed(root, nodes):
    """{node: nanoseconds} over the root's duration, for the nodes that got any."""
    start, end = root.span.start, max(root.span.start, root.span.end)
    edges, turns = [], {}
    for node in nodes:
        if not node.is_driving:
            continue
        begin, finish = max(start, node.span.start), min(end, node.span.end)
        if begin < finish:
            edges.append((begin, 1, node.span.id, node))
            edges.append((finish, 0, node.span.id, node))
            entered = critical.runs_of(node)
            if entered or mostly_suspended(node):
                turns[node] = [(run.start, run.end) for run in entered if is_known(run, root)]
                edges += [(time, 2, node.span.id, node) for turn in turns[node] for time in turn]
    joins = joined(root, nodes)
    for begin, finish, waiter, *_ in joins:
        edges += [(time, 2, waiter.span.id, waiter) for time in (begin, finish)]
    edges.sort(key=lambda edge: edge[:3])
    totals, open_sections, reached = {}, {}, start
    for time, opens, id, node in edges:
        if reached < time <= end:
            # The root itself is open from start to end.
            running = [node for node in open_sections.values() if runs(node, turns, reached)]
            while joins and joins[0][1] <= reached:
                joins.pop(0)
            join = joins[0] if joins and joins[0][0] <= reached else None
            if join and not waits(join[2], open_sections.values(), running):
                join = None
            chosen = winner(competing(open_sections.values(), running, turns, join))
            if join and is_given(join, chosen):
                chosen = join[3]
            totals[chosen] = totals.get(chosen, 0) + time - reached
            reached = time
        if opens == 1:
            open_sections[id] = node
        elif opens == 0:
            del open_sections[id]
    return totals


def is_known(run, root):
    """Whether a section ran all the time between these two, where the step does: on its thread, or one on which the step's
    own section was entered."""
    threads = {root.thread} | {own.thread for own in critical.runs_of(root)}
    return run.count == 1 and (run.thread is None or None in threads or run.thread in threads)


def mostly_suspended(node):
    """Whether a section says that it was suspended for more than half of its time."""
    return (node.span.get(names.IDLE_NS) or 0) > max(0, node.span.end - node.span.start) // 2


def runs(node, turns, time):
    """Whether a section that is open then runs."""
    return node not in turns or any(begin <= time < finish for begin, finish in turns[node])


def competing(open_sections, running, turns, join):
    """Those of the open sections that a moment may go to."""
    if not turns:
        return list(open_sections)
    awake = {around for node in running for around in critical.with_above(node)}
    if join:
        awake.update(critical.with_above(join[2]))
    inner = [node for node in running if not any(node in critical.with_above(other)[1:] for other in running)]
    if join or len(inner) > 1 or any(node in turns for node in inner):
        return [node for node in open_sections if node in awake]
    return [node for node in open_sections if node in awake or set(inner) <= set(critical.with_above(node))]


def joined(root, nodes):
    """[(start, end, who waits, for what, the highest class of that thread then)] by time."""
    elsewhere = {node for node in nodes if not node.is_driving}
    found, pieces = [], []
    waiters = []
    if elsewhere:
        critical.path(root, pieces)
        waiters = sorted(critical.Holders(root).waiters(), key=lambda one: (one.span.start, -one.span.end, one.span.id))
    for node, begin, finish in pieces:
        if node not in elsewhere or begin >= finish:
            continue
        chain = [node]
        while chain[-1].parent in elsewhere:
            chain.append(chain[-1].parent)
        # What is not open all the while is not around it.
        start, end = node.span.start, critical.end_of(node)
        around = [one for one in chain if one.span.start <= start and end <= critical.end_of(one)]
        other = min(around, key=lambda one: rank_in_thread(one.phase))
        highest = min(names.class_rank(one.phase) for one in around)
        bounds = {time for one in waiters for time in (one.span.start, critical.end_of(one)) if begin < time < finish}
        bounds = sorted(bounds | {begin, finish})
        for start, end in zip(bounds, bounds[1:]):
            waiter = chain[-1].parent
            # The one that began to wait last, if it still does.
            last = [one for one in waiters if one.span.start <= start][-1:]
            if last and end <= critical.end_of(last[0]) and waiter.span.start <= last[0].span.start:
                waiter = last[0]
            if waiter is not root or all(one.phase not in ("data_loading", "data_wait") for one in chain):
                found.append((start, end, waiter, other, highest))
    return sorted(found, key=lambda join: join[:2])


def waits(waiter, open_sections, running):
    """Whether a section does nothing else: it is open, and nothing inside it runs."""
    return waiter in open_sections and not any(waiter in critical.with_above(node)[1:] for node in running)


def is_given(join, chosen):
    """Whether a moment that belongs to `chosen` goes to what is joined then."""
    _, _, waiter, _, highest = join
    if chosen not in critical.with_above(waiter):
        return False
    is_higher = names.class_rank(chosen.phase) < highest
    return chosen.phase != "data_wait" and (chosen.phase == "synchronization" or not is_higher)


def rank_in_thread(phase):
    """The rank of a phase's class among those of one thread."""
    rank = names.class_rank(phase)
    return names.class_rank("forward") if rank == names.class_rank("io") else rank


def winner(open_sections):
    """Which of the sections that compete a moment goes to."""
    rank = min(rank_in_thread(node.phase) for node in open_sections)
    best = [node for node in open_sections if rank_in_thread(node.phase) == rank]
    around = set()
    for node in best:
        outer = node.parent
        while outer is not None and outer not in around:
            around.add(outer)
            outer = outer.parent
    innermost = (node for node in best if node not in around)
    return min(innermost, key=lambda node: (names.class_rank(node.phase), names.phase_rank(node.phase), node.span.id))


def by_phase(totals):
    """{phase: nanoseconds}; time in no phase under `None`."""
    phases = {}
    for node, length in totals.items():
        phases[node.phase] = phases.get(node.phase, 0) + length
    return phases
