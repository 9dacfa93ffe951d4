"""How critical paths go on through waits into what they link to: while that was at work, the path of the wait goes through
its sections, from stage to stage where those wait themselves or their root says what it came from; of several the one
that ended last is followed. Of more traces than are kept those with the smallest hashes of their ids stand for all."""

import critical
import names

TRACES, OTHERS = 1024, 1024
WAITS, LINKS, PIECES = 8, 8, 64
STAGES, FOLLOWED = 16, 256
WORD = (1 << 64) - 1


class Beyond(Exception):
    """A trace is needed for which there was no room."""


class Linked:
    """Waits by what they link to, and how that was made: (start, end, links of the root, pieces)."""

    def __init__(self):
        self.waits = {}
        self.batches, self.others = {}, {}
        # {(mode, section): time of all waits on paths that link to another trace}
        self.totals = {}

    def add_step(self, pieces, mode):
        """Pieces of a path: (section, start, end)."""
        for node, start, end in pieces:
            links, must_end = waits_of(node)
            if not links or start >= end:
                continue
            key = mode, node.path
            self.totals[key] = self.totals.get(key, 0) + end - start
            wait = start, end, KINDS.index(mode), node.path, links, must_end
            self.waits.setdefault(max(links, key=order), set()).add(wait)

    def add_batch(self, root):
        """A batch with all that is in it."""
        add(self.batches, root)

    def add_other(self, root):
        """A section outside of steps, or a request, with all that is in it."""
        if not root.span.parent and not root.span.get(names.PARENT_PATH):
            add(self.others, root)

    def through(self, mode):
        """({section: (time away, time to it, traces)}, what the report says of it), of steps of one mode."""
        kept = sorted(set(self.waits) | set(self.batches), key=order)
        last = order(kept[TRACES - 1]) if len(kept) >= TRACES else None
        kept = kept[:TRACES]
        made = {trace: self.others[trace] for trace in sorted(self.others, key=order)[:OTHERS]}
        made |= {trace: self.batches[trace] for trace in kept if trace in self.batches}
        known, parts = {}, {}
        for trace in kept:
            of_trace = {}
            for start, end, kind, path, links, must_end in sorted(self.waits.get(trace, ()))[:WAITS]:
                if kind != KINDS.index(mode):
                    continue
                way = Way(made, last)
                try:
                    way.follow(links, must_end, start, end)
                except Beyond:
                    continue
                known[path] = known.get(path, 0) + end - start
                for section, length in way.sections:
                    of_trace[path, section] = of_trace.get((path, section), 0) + length
            for pair, length in of_trace.items():
                time, traces = parts.get(pair, (0, 0))
                parts[pair] = time + length, traces + 1
        moved, away = {}, {}
        totals = {path: total for (of, path), total in self.totals.items() if of == mode}
        for (path, section), (length, traces) in parts.items():
            scaled = length * totals[path] // known[path]
            there, back, calls = moved.get(section, (0, 0, 0))
            moved[section] = there, back + scaled, calls + traces * totals[path] // known[path]
            away[path] = away.get(path, 0) + scaled
        for path, length in away.items():
            there, back, calls = moved.get(path, (0, 0, 0))
            moved[path] = there + length, back, calls
        said = {
            "linked_ns": sum(totals.values()),
            "making_ns": sum(away.values()),
            "is_exact": all(known.get(path, 0) == total for path, total in totals.items()),
        }
        return moved, said if totals else None


class Way:
    """The way of one wait: which sections it leads through, and for how long."""

    def __init__(self, made, last):
        self.made, self.last = made, last
        self.stages, self.left, self.sections = [], FOLLOWED, []

    def follow(self, links, must_end, start, end):
        if not links or start >= end or len(self.stages) >= STAGES or self.left == 0:
            return 0
        self.left -= 1
        links = [link for link in links if link not in self.stages]
        if any(link not in self.made and self.last is not None and order(link) > self.last for link in links):
            raise Beyond
        read = [link for link in links if link in self.made]
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


# Kinds of steps; of what is not ours, whole traces.
KINDS = ["train", "eval", "inference", None]


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


def mix(value):
    """The mixer of the identities."""
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 & WORD
    value ^= value >> 27
    value = value * 0x94D049BB133111EB & WORD
    return value ^ value >> 31


def order(trace):
    high, low = int.from_bytes(trace[:8], "big"), int.from_bytes(trace[8:], "big")
    return mix(mix(high) ^ low), trace
