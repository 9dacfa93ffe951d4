"""What a loader did at the times at which it was waited for."""

from fractions import Fraction

# Stretches of time that are kept at most, and batches that one has on average at least.
STRETCHES, BATCHES = 128, 32


def shift_of(starts):
    """The shortest stretches, as a power of two nanoseconds, of which there are few enough."""
    shift = 0
    while len({start >> shift for start in starts}) > STRETCHES:
        shift += 1
    return shift


def while_awaited(batches, waits):
    """(share of its time that it was busy, mean time to make a batch), of each stretch by what was waited in it for the
    loader that made these batches. Waits are (start, time)."""
    inside = [wait for batch in batches for wait in batch.waits]
    starts = [batch.start for batch in batches] + [start for start, _ in inside]
    shift = max(shift_of(starts), shift_of([start for start, _ in waits]))
    while len({start >> shift for start in starts}) > max(1, len(batches) // BATCHES):
        shift += 1
    threads = {}
    for batch in batches:
        threads.setdefault((batch.instance, batch.thread), []).append(batch)
    bounds = [(min(batch.start for batch in own), max(batch.end for batch in own)) for own in threads.values()]
    busy = possible = making = count = 0
    for stretch in {start >> shift for start in starts}:
        weight = sum(time for start, time in waits if start >> shift == stretch)
        begin, end = stretch << shift, (stretch + 1) << shift
        own = [batch for batch in batches if batch.start >> shift == stretch]
        made, waiting = sum(batch.duration for batch in own), sum(time for start, time in inside if start >> shift == stretch)
        busy += weight * min(sum(batch.busy for batch in own), max(0, made - waiting))
        possible += weight * sum(max(0, min(last, end) - max(first, begin)) for first, last in bounds)
        making, count = making + weight * made, count + weight * len(own)
    return (Fraction(min(busy, possible), possible), making // count) if possible and count else None


def unused(batches, taken, warm_until, step):
    """By how many batches the queue could have been shorter, of (time at which one was taken, time for which it lay ready, depth of
    the queue): after warm-up, and not while threads fill it that have just begun."""
    shift, begun, stretches = shift_of([end for end, _, _ in taken]), {}, {}
    for batch in batches:
        begun[batch.instance, batch.thread] = min(batch.start, begun.get((batch.instance, batch.thread), batch.start))
    filling = {(start >> shift) + after for start in begun.values() for after in (0, 1)}
    for end, *figures in taken:
        stretches.setdefault(end >> shift, []).append(figures)
    found, before = [], None
    for stretch, of in sorted(stretches.items()):
        time, depth = (min((one for one in figures if one is not None), default=0) for figures in zip(*of))
        more = max(time // step if step else 0, depth - 1, 0)
        before = more if stretch in filling or before is not None and before < more else None
        if before is None and stretch << shift >= warm_until:
            found.append(more)
    return min(found, default=None)
