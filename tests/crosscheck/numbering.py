"""Numbers of steps: through the run, or anew in each epoch, so that series count on from epoch to epoch."""

from collections import Counter


def assign(run, series):
    """Tells every step what is added to its number; gives how the steps of each mode are numbered."""
    shifts = {one["mode"]: one["shift"] for one in series}
    return {mode: of_mode(run.steps_of(mode), shifts.get(mode, 0)) for mode in {step.mode for step in run.steps}}


def of_mode(steps, shift):
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


def points(steps, shift):
    """{number of a point: its steps}, of those that have a number."""
    found = {}
    for step in steps:
        if step.number is not None:
            found.setdefault((step.number >> shift << shift) + step.offset, []).append(step)
    return found
