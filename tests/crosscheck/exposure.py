"""Exposed time on one step: each moment goes to one of the sections of the driving thread that are open. Those whose
phase ranks highest come first (sections without a phase rank last); of these the innermost, which has none of these
inside it that is open; of several innermost ones, which only asynchronous sections can be, the first phase in the
vocabulary's order, then the smallest id.

Where the critical path is in another thread, below a section of the driving thread in which nothing else is open there,
that section waits, or another inside it that waited for what a section beside it did, and the moment goes to what it
waits for: of what is on the other thread and around it, again the
innermost of the highest class. Not where the moment belongs to a section that is no part of this, to a wait for data, or
to a higher class (but to synchronization, which is for whatever it waits for); nor to loading that nothing but the root
waits for."""

import critical
import names


def exposed(root, nodes):
    """{node: nanoseconds} over the root's duration, for the nodes that got any."""
    driver = root.thread
    start, end = root.span.start, max(root.span.start, root.span.end)
    edges = []
    for node in nodes:
        if node.thread != driver:
            continue
        begin, finish = max(start, node.span.start), min(end, node.span.end)
        if begin < finish:
            edges.append((begin, 1, node.span.id, node))
            edges.append((finish, 0, node.span.id, node))
    joins = joined(root, nodes)
    for begin, finish, waiter, _ in joins:
        edges += [(time, 2, waiter.span.id, waiter) for time in (begin, finish)]
    edges.sort(key=lambda edge: edge[:3])
    totals, open_sections, reached = {}, {}, start
    for time, opens, id, node in edges:
        if time > reached:
            # The root itself is open from start to end.
            chosen = winner(open_sections)
            while joins and joins[0][1] <= reached:
                joins.pop(0)
            if joins and joins[0][0] <= reached and waits(joins[0], chosen, open_sections.values()):
                chosen = joins[0][3]
            totals[chosen] = totals.get(chosen, 0) + time - reached
            reached = time
        if opens == 1:
            open_sections[id] = node
        elif opens == 0:
            del open_sections[id]
    return totals


def joined(root, nodes):
    """[(start, end, who waits, for what)] by time."""
    elsewhere = {node for node in nodes if node.thread != root.thread}
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
        other = min(chain, key=lambda one: names.class_rank(one.phase))
        bounds = {time for one in waiters for time in (one.span.start, critical.end_of(one)) if begin < time < finish}
        bounds = sorted(bounds | {begin, finish})
        for start, end in zip(bounds, bounds[1:]):
            waiter = chain[-1].parent
            # The one that began to wait last, if it still does.
            last = [one for one in waiters if one.span.start <= start][-1:]
            if last and end <= critical.end_of(last[0]) and waiter.span.start <= last[0].span.start:
                waiter = last[0]
            if waiter is not root or all(one.phase not in ("data_loading", "data_wait") for one in chain):
                found.append((start, end, waiter, other))
    return sorted(found, key=lambda join: join[:2])


def waits(join, chosen, open_sections):
    """Whether a moment that belongs to `chosen` goes to what is joined then."""
    _, _, waiter, other = join
    if waiter not in open_sections or chosen not in critical.with_above(waiter):
        return False
    if any(waiter in critical.with_above(node)[1:] for node in open_sections):
        return False
    is_higher = names.class_rank(chosen.phase) < names.class_rank(other.phase)
    return chosen.phase != "data_wait" and (chosen.phase == "synchronization" or not is_higher)


def winner(open_sections):
    """Which of the open sections a moment goes to."""
    rank = min(names.class_rank(node.phase) for node in open_sections.values())
    best = [node for node in open_sections.values() if names.class_rank(node.phase) == rank]
    around = set()
    for node in best:
        outer = node.parent
        while outer is not None and outer not in around:
            around.add(outer)
            outer = outer.parent
    return min((node for node in best if node not in around), key=lambda node: (names.phase_rank(node.phase), node.span.id))


def by_phase(totals):
    """{phase: nanoseconds}; time in no phase under `None`."""
    phases = {}
    for node, length in totals.items():
        phases[node.phase] = phases.get(node.phase, 0) + length
    return phases
