"""How critical paths go on through waits into the making of the batches: while a batch was being made, the path of a wait
that links to it goes through the sections that made it. Of more than 256 batches those with the smallest hashes of their
trace ids stand for all."""

import critical
import names

BATCHES = 256
WAITS = 8
PIECES = 64
WORD = (1 << 64) - 1


class Linked:
    """Waits by the batch that they link to, and how that was made."""

    def __init__(self):
        self.waits = {}
        self.made = {}
        # {(mode, section): time of all waits on paths that link to a batch}
        self.totals = {}

    def add_step(self, pieces, mode):
        """Pieces of a path: (section, start, end)."""
        for node, start, end in pieces:
            batch = batch_of(node) if is_wait(node) else None
            if batch is None or start >= end:
                continue
            key = mode, node.path
            self.totals[key] = self.totals.get(key, 0) + end - start
            self.waits.setdefault(batch, set()).add((start, end, KINDS.index(mode), node.path))

    def add_batch(self, root):
        """A batch with all that is in it."""
        pieces = []
        critical.path(root, pieces)
        pieces = sorted((piece for piece in pieces if piece[1] < piece[2]), key=lambda piece: piece[1], reverse=True)
        nodes = [node if at < PIECES - 1 else root for at, (node, _, _) in enumerate(pieces)]
        self.made[root.span.trace] = [(start, end, node.path) for node, (_, start, end) in zip(nodes, pieces)]

    def through(self, mode):
        """({section: (time away, time to it, batches)}, what the report says of it), of steps of one mode."""
        kept = sorted(set(self.waits) | set(self.made), key=lambda batch: (draw(batch), batch))[:BATCHES]
        known, parts = {}, {}
        for batch in kept:
            in_batch = {}
            for start, end, kind, path in sorted(self.waits.get(batch, ()))[:WAITS]:
                if kind != KINDS.index(mode):
                    continue
                known[path] = known.get(path, 0) + end - start
                for begin, finish, made in self.made.get(batch, ()):
                    length = min(finish, end) - max(begin, start)
                    if length > 0:
                        in_batch[path, made] = in_batch.get((path, made), 0) + length
            for pair, length in in_batch.items():
                time, batches = parts.get(pair, (0, 0))
                parts[pair] = time + length, batches + 1
        moved, away = {}, {}
        totals = {path: total for (of, path), total in self.totals.items() if of == mode}
        for (path, made), (length, batches) in parts.items():
            scaled = length * totals[path] // known[path]
            there, back, calls = moved.get(made, (0, 0, 0))
            moved[made] = there, back + scaled, calls + batches * totals[path] // known[path]
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


KINDS = ["train", "eval", "inference"]


def is_wait(node):
    """A wait for a batch in no other such wait."""
    is_inside = node.parent is not None and node.parent.phase == names.DATA_WAIT
    return node.own_phase == names.DATA_WAIT and node.kind != "batch" and not is_inside


def batch_of(node):
    """The trace that a wait links to; of several the smallest."""
    return min((trace for trace, _ in node.span.links if trace != node.span.trace), default=None)


def mix(value):
    """The mixer of the identities."""
    value ^= value >> 30
    value = value * 0xBF58476D1CE4E5B9 & WORD
    value ^= value >> 27
    value = value * 0x94D049BB133111EB & WORD
    return value ^ value >> 31


def draw(trace):
    high, low = int.from_bytes(trace[:8], "big"), int.from_bytes(trace[8:], "big")
    return mix(mix(high) ^ low)
