"""Exposed time of phases on one step: at each moment, of the sections of the driving thread that are open, the
one of the highest class counts, and of several of one class the innermost."""

import names

UNNAMED = None


def exposed(root, nodes):
    """{phase: nanoseconds} over the root's duration. Moments inside no phase count under `None`."""
    driver = thread_of(root)
    start, end = root.span.start, max(root.span.start, root.span.end)
    edges = []
    for node in nodes:
        if node.phase is None or thread_of(node) != driver:
            continue
        begin, finish = max(start, node.span.start), min(end, node.span.end)
        if begin < finish:
            key = (names.class_rank(node.phase), -node.depth, -node.span.start, node.span.id)
            edges.append((begin, 1, key, node.phase))
            edges.append((finish, 0, key, node.phase))
    edges.sort(key=lambda edge: edge[:3])
    totals, open_sections, reached = {}, {}, start
    for time, opens, key, phase in edges:
        if time > reached:
            credit(totals, open_sections, time - reached)
            reached = time
        if opens:
            open_sections[key] = phase
        else:
            del open_sections[key]
    if end > reached:
        credit(totals, open_sections, end - reached)
    return totals


def credit(totals, open_sections, length):
    phase = open_sections[min(open_sections)] if open_sections else UNNAMED
    totals[phase] = totals.get(phase, 0) + length


def thread_of(node):
    """The section's thread; a section that names none is on its parent's."""
    while node is not None:
        thread = node.span.get(names.THREAD_ID)
        if thread is not None:
            return thread
        node = node.parent
    return None
