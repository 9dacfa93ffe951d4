"""Numbers of steps: through the run, or anew in each epoch, so that series count on from epoch to epoch."""

from collections import Counter


def assign(run, report):
    """Tells every step what is added to its number. The shift of a series is the report's, and compared elsewhere."""
    shifts = {series["mode"]: series["shift"] for series in report["detailed_metrics"]["series"]}
    return {mode: of_mode(run.steps_of(mode), shifts.get(mode, 0)) for mode in {step.mode for step in run.steps}}


def of_mode(steps, shift):
    """How the steps of a mode are numbered; their offsets are set."""
    steps, width = [step for step in steps if step.number is not None], (1 << shift) - 1
    epochs = {}
    for step in steps:
        epochs.setdefault(step.epoch or 0, set()).add(step.number >> shift << shift)
    ranges = [(epoch, min(of), max(of)) for epoch, of in sorted(epochs.items())]
    if not ranges:
        return "unique"
    most = max(Counter(step.instance for step in steps).values())
    follows = all(before[2] <= after[1] for before, after in zip(ranges, ranges[1:]))
    first, last = min(one[1] for one in ranges), max(one[2] for one in ranges) + width
    if follows and most <= last - first + 1:
        return "unique"
    offsets, following = {}, 0
    for epoch, _, last in ranges:
        offsets[epoch] = following
        following += last + width + 1
    for step in steps:
        step.offset = offsets[step.epoch or 0]
    return "by_epoch" if most <= following - ranges[0][1] else "repeated"


def at(step):
    """The step's number, counted on."""
    return step.number + step.offset


def point(step, shift):
    """The number of the point that it is in."""
    return (step.number >> shift << shift) + step.offset


def fits(places, shift, bound):
    """Whether a series of these places, pairs of epoch and number, keeps to its bound with a shift."""
    keys = sorted({(epoch or 0, number >> shift) for epoch, number in places})
    numbers = [number for _, number in keys]
    runs_on = numbers == sorted(numbers)
    more = bound + min(8 * bound, 8_192)
    return len(keys) <= bound or runs_on and len(set(numbers)) <= bound and len(keys) <= more


def beginnings(steps, bound):
    """Epochs, each with the place of its point where a point holds all numbers: where the first of those begins that differ
    in no more bits than have to be left out."""
    offsets = {step.epoch or 0: step.offset for step in steps}
    bits = 0
    while len({epoch >> bits for epoch in offsets}) > bound + min(8 * bound, 8_192):
        bits += 1
    first = {}
    for epoch in sorted(offsets):
        first.setdefault(epoch >> bits, offsets[epoch])
    return {epoch: first[epoch >> bits] for epoch in offsets}


def is_least(places, shift, bound):
    """Whether a shift is the smallest with which they do; the largest stands for epochs that go together as well."""
    if shift == 63:
        return not fits(places, 62, bound)
    return fits(places, shift, bound) and (shift == 0 or not fits(places, shift - 1, bound))
