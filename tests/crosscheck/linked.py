"""How critical paths go on through waits into what they link to: while that was at work, the path of the wait goes through
its sections, from stage to stage where those wait themselves or their root says what it came from; of several the one
that ended last is followed. Also the comparison with the report's critical path, where it knows all that waits link to."""

from fractions import Fraction

import critical
import loaders
import names

# Links of a section, pieces of a trace, stages, and ways gone of one wait, at most; and traces that are no batches.
LINKS, PIECES, STAGES, FOLLOWED, OTHERS = 8, 64, 16, 256, 1024


class Linked:
    """Waits by what they link to, and how that was made: {trace: (start, end, links of the root, pieces)}."""

    def __init__(self):
        # {(mode, path, links, whether only what ended meanwhile, start, end)}
        self.waits = set()
        self.made, self.others = {}, set()

    def add_step(self, pieces, mode):
        """Pieces of a path: (section, start, end)."""
        for node, start, end in pieces:
            links, must_end = waits_of(node)
            if links and start < end:
                self.waits.add((mode, node.path, links, must_end, start, end))

    def add_batch(self, root):
        """A batch with all that is in it."""
        add(self.made, root)

    def add_other(self, root):
        """A section outside of steps, or a request, with all that is in it."""
        if not root.span.parent and not root.span.get(names.PARENT_PATH):
            add(self.made, root)
            self.others.add(root.span.trace)

    def through(self, mode):
        """({section: time that it gets or loses}, time of all waits that link, time moved), of steps of one mode."""
        moved, linked_ns, in_production_ns = {}, 0, 0
        for of, path, links, must_end, start, end in self.waits:
            if of != mode:
                continue
            linked_ns += end - start
            way = Way(self.made)
            way.follow(links, must_end, start, end)
            for section, length in way.sections:
                moved[section] = moved.get(section, 0) + length
                moved[path] = moved.get(path, 0) - length
                in_production_ns += length
        return moved, linked_ns, in_production_ns


class Way:
    """The way of one wait: which sections it leads through, and for how long."""

    def __init__(self, made):
        self.made = made
        self.stages, self.left, self.sections = [], FOLLOWED, []

    def follow(self, links, must_end, start, end):
        if not links or start >= end or len(self.stages) >= STAGES or self.left == 0:
            return 0
        self.left -= 1
        read = [link for link in links if link not in self.stages and link in self.made]
        if must_end:
            read = [link for link in read if start < self.made[link][1] <= end]
        if not read:
            return 0
        trace = max(read, key=lambda link: (self.made[link][1] <= end, self.made[link][1], link))
        begun, _, earlier, pieces = self.made[trace]
        self.stages.append(trace)
        moved = self.follow(earlier, False, start, min(end, begun))
        for piece_start, piece_end, path, onwards, is_ended in pieces:
            low, high = max(piece_start, start), min(piece_end, end)
            if low < high:
                own = high - low - self.follow(onwards, is_ended, low, high)
                if own > 0:
                    self.sections.append((path, own))
                moved += high - low
        self.stages.pop()
        return moved


def add(made, root):
    pieces = []
    critical.path(root, pieces)
    pieces = sorted((piece for piece in pieces if piece[1] < piece[2]), key=lambda piece: piece[1], reverse=True)
    joined = []
    for at, (node, start, end) in enumerate(pieces):
        node = node if at < PIECES - 1 else root
        links, must_end = waits_of(node)
        if joined and joined[-1][0] == end and joined[-1][2:4] == (node.path, links):
            _, end, _, _, must_end = joined.pop()
        joined.append((start, end, node.path, links, must_end))
    if joined:
        one = root.span.start, critical.end_of(root), came_from(root), tuple(joined)
        made[root.span.trace] = max(one, made.get(root.span.trace, one))


def waits_of(node):
    """(what a section waits for in other traces, whether only for what ended meanwhile). What a root links to is where it
    came from."""
    only_waits = node.phase in critical.WAITS
    waits = only_waits and node.kind != "batch" or critical.takes_messages(node)
    return links_of(node) if node.parent is not None and waits else (), not only_waits


def links_of(node):
    """The other traces that a section links to: the smallest ids."""
    return tuple(sorted({trace for trace, _ in node.span.links if trace != node.span.trace})[:LINKS])


def came_from(root):
    """What a root links to; all of our own link to the run's trace, whose number is 0."""
    own = root.span.trace
    is_run = lambda trace: root.is_ours and trace[:5] == own[:5] and trace[5:9] == bytes(4)
    return tuple(trace for trace in links_of(root) if not is_run(trace))


def compare_path(got, mode, run, compare):
    """The report's critical path of its primary mode."""
    where, window = "critical path", run.windows.get(mode)
    if got is None or window is None:
        compare.equal(where, "is there", got is not None, window is not None)
        return
    compare.equal(where, "window", got["window"], "step" if mode else "trace")
    for figure, expected in zip(("windows", "total_ns", "other_ns"), window):
        compare.equal(where, figure, got[figure], expected)
    in_sections = sum(row["on_path_ns"] for row in got["sections"])
    compare.equal(where, "sections and other_ns", in_sections, window[1] - window[2])
    if window[1]:
        compare.close(where, "explained_share", got["explained_share"], 1 - Fraction(window[2], window[1]))
    moved, linked_ns, in_production_ns = run.linked.through(mode)
    told = got["through_batches"]
    compare.equal(where, "linked_ns", told["linked_ns"] if told else 0, linked_ns)
    # Of very many traces the report takes some to stand for all.
    is_exact = len(run.linked.others) <= OTHERS and (told is None or told["is_exact"])
    if is_exact:
        compare.equal(where, "in_production_ns", told["in_production_ns"] if told else 0, in_production_ns)
    mine = {path: section.critical[mode] for path, section in run.sections.items() if mode in section.critical}
    for path, length in moved.items():
        time, calls, slacks = mine.get(path, (0, 0, []))
        mine[path] = time + length, calls, slacks
    listed = {row["path"]: row for row in got["sections"]}
    for path, row, (time, calls, slacks) in compare.pairs(where, "section", listed, mine):
        place = f"{where}, section {path}"
        compare.equal(place, "beside_calls", row["beside_calls"], len(slacks))
        compare.equal(place, "slack_mean_ns", row["slack_mean_ns"], sum(slacks) // len(slacks) if slacks else None)
        compare.equal(place, "slack_min_ns", row["slack_min_ns"], min(slacks, default=None))
        if path not in moved:
            compare.equal(place, "on_path_calls", row["on_path_calls"], calls)
        if is_exact or path not in moved:
            compare.equal(place, "on_path_ns", row["on_path_ns"], time)
            if window[1]:
                compare.close(place, "share", row["share"], Fraction(time, window[1]))
    waits, behind, making, handover = loaders.parts_of_waits(run.waits.driving(run.drivers()))
    expected = {"waits": waits, "not_started_ns": behind, "in_production_ns": making, "in_transit_ns": handover}
    compare.equal(where, "waits", got["waits"], expected if waits else None)
