"""Exposed time on one step: each moment goes to one of the sections of the driving thread that are open. Those whose
phase ranks highest come first (sections without a phase rank last); of these the innermost, which has none of these
inside it that is open; of several innermost ones, which only asynchronous sections can be, the first phase in the
vocabulary's order, then the smallest id."""

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
    edges.sort(key=lambda edge: edge[:3])
    totals, open_sections, reached = {}, {}, start
    for time, opens, id, node in edges:
        if time > reached:
            # The root itself is open from start to end.
            chosen = winner(open_sections)
            totals[chosen] = totals.get(chosen, 0) + time - reached
            reached = time
        if opens:
            open_sections[id] = node
        else:
            del open_sections[id]
    return totals


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
