"""Which steps are warm-up, by their definition: the first steps of a process and mode, each longer than 1.5 times the
median of all of them; at most a quarter of them, and never more than 256."""

import stats

FACTOR = (3, 2)
LARGEST_SHARE = 4
MOST = 256


def order(step):
    """Steps of a process follow each other as they started."""
    return step.start, -1 if step.number is None else step.number, step.trace, step.id


def by_process(steps):
    """{process: its steps in their order}."""
    processes = {}
    for step in sorted(steps, key=order):
        processes.setdefault(step.instance, []).append(step)
    return processes


def bounds(steps):
    """The fewest and the most of the first steps of one process that are warm-up: a median of many values is known to
    the error of a histogram."""
    median = stats.quantile(sorted(step.duration for step in steps), 1, 2)
    slack = 0 if len(steps) <= stats.EXACT_VALUES else stats.HISTOGRAM_ERROR
    return tuple(leading(steps, median * (1 + sign * slack)) for sign in (1, -1))


def leading(steps, median):
    found, (times, of) = 0, FACTOR
    for step in steps[: min(len(steps) // LARGEST_SHARE, MOST)]:
        if step.duration * of <= median * times:
            break
        found += 1
    return found


def counts(steps, listed, where, compare):
    """{process: steps that are warm-up}; where two numbers are possible, that which is `listed`, if it is one."""
    found = {}
    for process, of in by_process(steps).items():
        fewest, most = bounds(of)
        found[process] = min(max(listed.get(process, fewest), fewest), most)
        if process in listed:
            compare.equal(f"{where} of {process}", "warm-up", listed[process], found[process])
    return found
