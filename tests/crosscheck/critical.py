"""The critical path of one step, by its definition: from the end backwards, at each point through the child that ended
last but not after it (of several the one that started last, then the largest id), each cut to its parent. Children on
other threads that outlive their parent were not waited for."""

from fractions import Fraction


def path(root):
    """({node: nanoseconds} of the nodes on the path, {node: slack} of those beside it)."""
    times, slacks = {}, {}
    # Node, what of it counts, and its slack (None on the path).
    work = [(root, root.span.start, max(root.span.start, root.span.end), None)]
    while work:
        node, start, end, slack = work.pop()
        if slack is not None:
            slacks[node] = slack
        else:
            times.setdefault(node, 0)
        point, later = end, None
        for child, begin, finish in candidates(node, start, end):
            if finish <= point:
                if slack is None:
                    times[node] += point - finish
                point, later = begin, finish
                work.append((child, begin, finish, slack))
            else:
                work.append((child, begin, finish, (slack or 0) + later - finish))
        if slack is None:
            times[node] += point - start
    return times, slacks


def candidates(node, start, end):
    """The children that may have held up their parent, last to end first."""
    found = []
    for child in node.children:
        begin, finish = child.span.start, max(child.span.start, child.span.end)
        is_elsewhere = None not in (child.thread, node.thread) and child.thread != node.thread
        if is_elsewhere and finish > max(node.span.start, node.span.end):
            continue
        is_moment = begin == finish and start <= begin <= end
        if is_moment or (begin < end and finish > start):
            found.append((child, max(begin, start), min(finish, end)))
    return sorted(found, key=lambda item: (item[2], item[1], item[0].span.id), reverse=True)


def parts_of_wait(span, produce, queue):
    """How long of a wait its batch had not been begun, was being made, was on its way. It is taken as the wait ends,
    lay in the queue for `queue` before that, and was made in the `produce` before that."""
    ready = span.end - queue
    begun = ready - produce
    cut = lambda time: min(max(time, span.start), span.end)
    return cut(begun) - span.start, cut(ready) - cut(begun), span.end - cut(ready)


def compare_path(got, mode, run, compare):
    """The report's critical path of its primary mode."""
    where, window = "critical path", run.windows.get(mode)
    if got is None or window is None:
        compare.equal(where, "is there", got is not None, window is not None)
        return
    for figure, expected in zip(("windows", "total_ns", "other_ns"), window):
        compare.equal(where, figure, got[figure], expected)
    compare.equal(where, "sections and other_ns", sum(row["on_path_ns"] for row in got["sections"]), window[1] - window[2])
    if window[1]:
        compare.close(where, "explained_share", got["explained_share"], 1 - Fraction(window[2], window[1]))
    mine = {path: section.critical[mode] for path, section in run.sections.items() if mode in section.critical}
    listed = {row["path"]: row for row in got["sections"]}
    order = sorted(listed, key=lambda path: (-listed[path]["on_path_ns"], path))
    compare.equal(where, "order", list(listed), order)
    for path in sorted(set(mine) | set(listed)):
        place, row, part = f"{where}, section {path}", listed.get(path), mine.get(path)
        if row is None or part is None:
            compare.missing(place, "not in the report" if row is None else "only in the report")
            continue
        time, calls, slacks = part
        compare.equal(place, "on_path_ns", row["on_path_ns"], time)
        compare.equal(place, "on_path_calls", row["on_path_calls"], calls)
        compare.equal(place, "beside_calls", row["beside_calls"], len(slacks))
        compare.equal(place, "slack_mean_ns", row["slack_mean_ns"], sum(slacks) // len(slacks) if slacks else None)
        compare.equal(place, "slack_min_ns", row["slack_min_ns"], min(slacks, default=None))
        if window[1]:
            compare.close(place, "share", row["share"], Fraction(time, window[1]))
    waits, behind, making, handover = run.wait_parts
    expected = {"waits": waits, "behind_ns": behind, "making_ns": making, "handover_ns": handover}
    compare.equal(where, "waits", got["waits"], expected if waits else None)
