"""Which steps are warm-up, by their definition: the beginning of a process and mode that is most above what is usual after
it, beyond how that scatters, and slower than all but a few stretches of as many steps that follow."""

import numbering

# The first steps that are looked at, and how many of them are warm-up at most: as many, and this share of all. What lasts
# longer is none.
FIRST, MOST, LARGEST_SHARE = 256, 224, 4

# A border above the usual step: this part of it (of fewer than so many steps another), and as many median deviations.
LEAST_SHARE, FEW, LEAST_SHARE_OF_FEW, DEVIATIONS = 10, 20, 2, 4

# Usual steps in a row that end it, and one in how many stretches may be as slow.
IN_A_ROW, RARE = 3, 50


def order(step):
    """Steps of a process follow each other as they started."""
    return step.start, -1 if step.number is None else step.number, step.trace, step.id


def by_process(steps):
    """{process: its steps in their order}."""
    processes = {}
    for step in sorted(steps, key=order):
        processes.setdefault(step.instance, []).append(step)
    return processes


def lower_median(values):
    return sorted(values)[(len(values) - 1) // 2]


def warm_up(durations, count, periodic=()):
    """How many of the first steps; `periodic` are the places of those that say nothing."""
    told = [(place, ns) for place, ns in enumerate(durations[:FIRST]) if place not in periodic]
    share = min(count // LARGEST_SHARE, MOST)
    times, most = [ns for _, ns in told], sum(place < share for place, _ in told)
    length, start = 0, most
    for _ in range(2):
        if start == len(times):
            return 0
        usual, border = level(times[start:], count)
        length = leading([ns - usual for ns in times], border)
        start = min((length + len(times)) // 2, most)
    if not 0 < length <= most or not is_rare([max(0, ns - usual) for ns in times], length):
        return 0
    return told[length - 1][0] + 1


def level(after, count):
    usual = lower_median(after)
    deviation = lower_median([abs(ns - usual) for ns in after])
    return usual, max(usual // (LEAST_SHARE_OF_FEW if count < FEW else LEAST_SHARE), DEVIATIONS * deviation, 1)


def leading(above, border):
    """The end of the beginning with the largest sum above the border."""
    total, best, length = 0, 0, 0
    for place, ns in enumerate(above):
        total += max(-border, min(border, ns - border))
        if total > best:
            best, length = total, place + 1
        elif best - total > IN_A_ROW * border:
            break
    return length


def is_rare(above, length):
    """Whether hardly any stretch after it is as slow, what is higher than its mean cut to that."""
    mean = sum(above[:length]) // length
    cut = [min(ns, mean) for ns in above]
    sums = [sum(cut[at : at + length]) for at in range(length, len(cut) - length + 1)]
    return RARE * sum(one >= sum(cut[:length]) for one in sums) <= len(sums)


def periodic_of(steps, first, periods):
    """Places of the steps that are as long as those of a period are: less than one and a half times the longest other one of it."""
    longest = {}
    for step in steps:
        if step.number is not None:
            longest[numbering.at(step)] = max(longest.get(numbering.at(step), 0), step.duration)
    found = set()
    for place, step in enumerate(first):
        number = None if step.number is None else numbering.at(step)
        of = next((one for one in periods if number is not None and (number - one["first_step"]) % one["every"] == 0), None)
        if of is None:
            continue
        others = (ns for other, ns in longest.items() if other != number and (other - of["first_step"]) % of["every"] == 0)
        if 2 * step.duration < 3 * max(others, default=0):
            found.add(place)
    return found


def counts(steps, periods, listed, where, compare):
    """{process: steps that are warm-up}; `periods` are those that are told of the mode."""
    found = {}
    for process, of in by_process(steps).items():
        first = of[:FIRST]
        found[process] = warm_up([step.duration for step in first], len(of), periodic_of(steps, first, periods))
        if process in listed:
            compare.equal(f"{where} of {process}", "warm-up", listed[process], found[process])
    return found
