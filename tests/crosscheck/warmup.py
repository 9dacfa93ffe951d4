"""Which steps are warm-up, by their definition: the beginning of a process and mode that is most above what is usual after
it, beyond how that scatters, most of its steps above that, and slower than all but a few stretches that follow. Steps from
which on all are slower say nothing of it, nor do those that follow a slower level, which is none."""

import numbering

# The first steps that are looked at, and how many of them are warm-up at most: as many, and this share of all. What lasts
# longer is none.
FIRST, MOST, LARGEST_SHARE = 256, 224, 4

# A border above the usual step: this part of it (of fewer than so many steps another), and as many median deviations.
LEAST_SHARE, FEW, LEAST_SHARE_OF_FEW, DEVIATIONS = 10, 20, 2, 4

# Steps scatter by at least what this share of them is exceeded by above the usual one, and by so many times that at most,
# unless that is more than this share of the usual one.
HIGH, MOST_OF_HIGH, LEVELS_APART = (7, 8), (5, 2), (5, 4)

# Usual steps in a row that end it, and one in how many stretches may be as slow.
IN_A_ROW, RARE = 3, 50

# As many steps as this share of all, within bounds, that stay slower and take less than so many times the usual one are a
# level.
LEVEL_SHARE, LEVEL_BOUNDS, LEVEL_FACTOR = 6, (40, 100), 2

# Steps on either side of a rise, and how many of them may be as those on the other side.
BESIDE, MAY_BE = 32, (1, 8)

# Of its steps, the share that lies half as far above the usual one as the border does, at least.
MOST_ABOVE = 3, 4


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
    risen = next((at for at in range(BESIDE, len(times)) if is_rise(times, at)), None)
    if risen is None:
        length = length_of(times, most, count)
    else:
        length = length_of(times[:risen], min(most, risen - BESIDE), count)
        length = 0 if is_done_again(times, risen, length) else length
    return told[length - 1][0] + 1 if length else 0


def length_of(times, most, count):
    """Each slower level that is none is looked at by itself."""
    while True:
        length, is_one = leading_of(times, most, count)
        if length == 0 or is_one:
            return length
        times, most = times[:length], min(most, max(0, length - BESIDE))


def is_rise(times, at):
    """Whether nearly all of the next steps are slower by a tenth than nearly all of those before, and later ones are not
    quicker than those."""
    before, after, rest = times[at - BESIDE : at], times[at : at + BESIDE], times[at:]
    few = lambda of: sorted(of)[(len(of) - 1) * MAY_BE[0] // MAY_BE[1]]
    most = lambda of: sorted(of)[(len(of) - 1) * (MAY_BE[1] - MAY_BE[0]) // MAY_BE[1]]
    larger = lambda ns: ns + ns // LEAST_SHARE
    return len(after) == BESIDE and few(after) > larger(most(before)) and larger(few(rest)) >= few(before)


def is_done_again(times, at, length):
    """Whether the steps from a rise on go as the first ones did, in their first third and in their last one, and come back to
    what was before it."""
    most = lambda of: sorted(of)[(len(of) - 1) * (MAY_BE[1] - MAY_BE[0]) // MAY_BE[1]]
    larger = lambda ns: ns + ns // LEAST_SHARE
    usual, rest = larger(most(times[at - BESIDE : at])), times[at:]
    if not 0 < length <= len(rest):
        return False
    third = max(1, length // 3)
    thirds = [[lower_median(of[:third]), lower_median(of[length - third : length])] for of in (times, rest)]
    if any(larger(first) < again or larger(again) < first for first, again in zip(*thirds)):
        return False
    return any(most(rest[start : start + BESIDE]) <= usual for start in range(len(rest) - BESIDE + 1))


def leading_of(times, most, count):
    """How many of the first steps stand out, and whether they are warm-up; a level is none."""
    length, start = 0, most
    for _ in range(2):
        if start == len(times):
            return 0, False
        usual, border = level(times[start:], count)
        above = [ns - usual for ns in times]
        length = leading(above, border)[0]
        start = min((length + len(times)) // 2, most)
    if length == 0 or MOST_ABOVE[1] * sum(2 * ns > border for ns in above[:length]) < MOST_ABOVE[0] * length:
        return 0, False
    if not is_rare([max(0, ns) for ns in above], length) or not is_rarely_as_clear(above, border, length):
        return 0, False
    if length <= most and not is_level(times[:length], usual, border, count):
        return length, True
    return (length if length < len(times) else 0), False


def level(after, count):
    usual = lower_median(after)
    deviation = lower_median([abs(ns - usual) for ns in after])
    high = sorted(after)[(len(after) - 1) * HIGH[0] // HIGH[1]] - usual
    border = DEVIATIONS * deviation
    if high * LEVELS_APART[1] <= usual * LEVELS_APART[0]:
        border = max(min(border, high * MOST_OF_HIGH[0] // MOST_OF_HIGH[1]), high)
    return usual, max(usual // (LEAST_SHARE_OF_FEW if count < FEW else LEAST_SHARE), border, 1)


def leading(above, border):
    """The end of the beginning with the largest sum above the border, and that sum."""
    total, best, length = 0, 0, 0
    for place, ns in enumerate(above):
        total += max(-border, min(border, ns - border))
        if total > best:
            best, length = total, place + 1
        elif best - total > IN_A_ROW * border:
            break
    return length, best


def is_level(warm, usual, border, count):
    """Whether many steps are less than twice as slow, and at their end as much as at the beginning."""
    third, slow = len(warm) // 3, lower_median(warm)
    least = min(max(count // LEVEL_SHARE, LEVEL_BOUNDS[0]), LEVEL_BOUNDS[1])
    if len(warm) < least or slow >= LEVEL_FACTOR * usual:
        return False
    return 2 * abs(lower_median(warm[:third]) - lower_median(warm[-third:])) * usual <= border * slow


def is_rare(above, length):
    """Whether hardly any stretch after it is as slow in the mean, what is higher than its mean cut to that."""
    mean = sum(above[:length]) // length
    cut = [min(ns, mean) for ns in above]
    after, warm = cut[length:], sum(cut[:length])
    window = max(1, min(length, len(after) // 2))
    sums = [sum(after[at : at + window]) for at in range(len(after) - window + 1)]
    return RARE * sum(one * length >= warm * window for one in sums) <= len(sums)


def is_rarely_as_clear(above, border, length):
    """Whether hardly any later beginning has as large a sum above the border while it is nine tenths as slow in the mean."""
    mean = sum(max(0, ns) for ns in above[:length]) // length
    cut = [min(max(0, ns), mean) for ns in above]
    best, warm, others = leading(above, border)[1], sum(cut[:length]), 0
    for at in range(length, len(above)):
        end, total = leading(above[at:], border)
        others += total >= best and 10 * length * sum(cut[at : at + end]) >= 9 * warm * end
    return RARE * others <= len(above) - length


def is_of(number, period):
    """Whether a step number is one of a period's."""
    return number >= (period["since_step"] or 0) and (number - period["first_step"]) % period["every"] == 0


def period_of(steps, periods):
    """Tells of a step of which period it is, if it is as long as the steps of one are: less than one and a half times the
    longest other one of it. None otherwise."""
    longest = {}
    for step in steps:
        if step.number is not None:
            longest[numbering.at(step)] = max(longest.get(numbering.at(step), 0), step.duration)
    # Of each period the numbers and times of its longest ones.
    of = [sorted(((ns, number) for number, ns in longest.items() if is_of(number, period)), reverse=True)[:2] for period in periods]

    def tell(step):
        number = None if step.number is None else numbering.at(step)
        at = next((at for at, period in enumerate(periods) if number is not None and is_of(number, period)), None)
        if at is None:
            return None
        others = max((ns for ns, other in of[at] if other != number), default=0)
        return at if 2 * step.duration < 3 * others else None

    return tell


def periodic_of(steps, first, periods):
    """Places of the steps that are as long as those of a period are."""
    tell = period_of(steps, periods)
    return {place for place, step in enumerate(first) if tell(step) is not None}


def counts(steps, periods, listed, where, compare):
    """{process: steps that are warm-up}; `periods` are those that are told of the mode."""
    found = {}
    for process, of in by_process(steps).items():
        first = of[:FIRST]
        found[process] = warm_up([step.duration for step in first], len(of), periodic_of(steps, first, periods))
        if process in listed:
            compare.equal(f"{where} of {process}", "warm-up", listed[process], found[process])
    return found
