"""What a loader did after warm-up, and at the times at which it was waited for."""

import math
from fractions import Fraction

# Stretches of time that are kept at most, and batches that one has on average at least.
STRETCHES, BATCHES = 128, 32
# In how many parts of one, as a power of two, waits are without a break, and what of each is waited at least.
PARTS, WAITED = 2, 20


def begins(start, shift):
    """When the stretch begins."""
    return start >> shift << shift



def shift_of(starts):
    """The shortest stretches, as a power of two nanoseconds, of which there are few enough."""
    shift = 0
    while len({start >> shift for start in starts}) > STRETCHES:
        shift += 1
    return shift


def lifetimes(threads):
    """(times of threads from their first batch to their last summed, time for which there was one), by the batches of each."""
    bounds = [(min(batch.start for batch in own), max(batch.end for batch in own)) for own in threads]
    places = sorted({place for bound in bounds for place in bound})
    pieces = zip(places, places[1:])
    covered = sum(until - since for since, until in pieces if any(first <= since and until <= last for first, last in bounds))
    return sum(last - first for first, last in bounds), covered


def at_once(total, covered):
    """How many threads there are as long as there are any."""
    return max(1, math.floor(Fraction(total, covered) + Fraction(1, 2))) if covered else 1


def slowest(processes, times, warm_until):
    """(rank, threads at once, figures) of the process whose threads are slowest together, where that is by a quarter slower
    than the lower median of all; of equals the lowest rank."""
    found = []
    for instance, threads in processes.items():
        after = Steady([batch for own in threads for batch in own], warm_until).figures()
        if after:
            there = at_once(*times[instance])
            found.append((after[0] // there, (instance.rank, there, after)))
    if len(found) < 2:
        return None
    every = sorted(ns for ns, _ in found)
    most = min(found, key=lambda one: (-one[0], one[1][0] is not None, one[1][0] or 0))
    return most[1] if most[0] and 4 * most[0] >= 5 * every[(len(every) - 1) // 2] else None


class Steady:
    """What a loader made after warm-up, in stretches of time."""

    def __init__(self, batches, warm_until):
        self.warm_until = warm_until
        inside = [wait for batch in batches for wait in batch.waits]
        self.shift = shift_of([batch.start for batch in batches] + [start for start, _ in inside])
        self.batches = [batch for batch in batches if begins(batch.start, self.shift) >= warm_until]
        self.inside = [wait for wait in inside if begins(wait[0], self.shift) >= warm_until]
        threads = {}
        for batch in batches:
            threads.setdefault((batch.instance, batch.thread), []).append(batch)
        bounds = [(max(warm_until, min(batch.start for batch in own)), max(batch.end for batch in own), own) for own in threads.values()]
        self.bounds = [(first, last, any(batch.slot_wait is not None for batch in own)) for first, last, own in bounds if last > warm_until]
        self.processes = len({batch.instance for batch in batches})

    def starts(self, shift):
        return {start >> shift for start in [batch.start for batch in self.batches] + [start for start, _ in self.inside]}

    def of(self, stretch, shift):
        """(its batches, time that its threads worked at them)."""
        own = [batch for batch in self.batches if batch.start >> shift == stretch]
        made, waiting = sum(batch.duration for batch in own), sum(time for start, time in self.inside if start >> shift == stretch)
        return own, min(sum(batch.busy for batch in own), max(0, made - waiting))

    def figures(self):
        """(mean time to make a batch, share of its time that it was busy, share for which it waited for places), without
        the longest batch."""
        if len(self.batches) < 2:
            return None
        longest = max(batch.duration for batch in self.batches)
        made, waiting = sum(batch.duration for batch in self.batches) - longest, sum(time for _, time in self.inside)
        busy = min(max(0, sum(batch.busy for batch in self.batches) - longest), max(0, made - waiting))
        possible = max(0, sum(last - first for first, last, _ in self.bounds) - longest)
        said = max(0, sum(last - first for first, last, says in self.bounds if says) - longest)
        slots = sum(batch.slot_wait or 0 for batch in self.batches)
        return (
            made // (len(self.batches) - 1),
            Fraction(min(busy, possible), possible) if possible else None,
            Fraction(min(slots, said), said) if said else None,
        )

    def while_awaited(self, waits):
        """(share of its time that it was busy, mean time to make a batch without the longest one, the most that was waited
        without a break), of each stretch by what was waited in it for the loader. Waits are (start, time)."""
        fine = shift_of([start for start, _ in waits])
        waits = [wait for wait in waits if begins(wait[0], fine) >= self.warm_until]
        shift = max(self.shift, fine)
        while len(self.starts(shift)) > max(1, len(self.batches) // BATCHES):
            shift += 1
        busy = possible = making = count = 0
        for stretch in self.starts(shift):
            weight = sum(time for start, time in waits if start >> shift == stretch)
            begin, end = stretch << shift, (stretch + 1) << shift
            own, working = self.of(stretch, shift)
            busy += weight * working
            possible += weight * sum(max(0, min(last, end) - max(first, begin)) for first, last, _ in self.bounds)
            longest = max((batch.duration for batch in own), default=0)
            making += weight * (sum(batch.duration for batch in own) - longest)
            count += weight * max(0, len(own) - 1)
        if not possible or not count:
            return None
        return Fraction(min(busy, possible), possible), making // count, self.at_once(waits, max(fine, shift - PARTS))

    def at_once(self, waits, shift):
        """The most that a process waited in stretches that follow each other, unless they are the last ones."""
        sums, runs = {}, []
        for start, time in waits:
            sums[start >> shift] = sums.get(start >> shift, 0) + time
        for stretch in sorted(sums):
            if sums[stretch] >= max(1, (1 << shift) * self.processes // WAITED):
                follows = runs and runs[-1][1] == stretch - 1
                runs[-1:] = [(runs[-1][0] + sums[stretch], stretch)] if follows else runs[-1:] + [(sums[stretch], stretch)]
        most = max(runs, default=None)
        return most[0] // self.processes if most and most[1] not in sorted(sums)[-2:] else None


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
