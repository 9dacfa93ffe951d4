"""The report's memory: ends and extremes over the steps, trends, the processes' own gauges, and growth that goes on.
Trends are computed here from the definitions that `crates/analyze/src/trend.rs` names: the slope of P. K. Sen (1968)
through levels of blocks, and the error of a line through a walk under noise against Student's distribution, which is
computed here from the incomplete beta function."""

import math
from fractions import Fraction

import names
import numbering
import stats

# Below so many points there is no trend.
MIN_POINTS = 4

# Blocks, and whether the smallest value of each stands for it or its median.
VIEWS = ((16, False), (10, True), (5, True))

# By how much variances are multiplied, and the smallest probability that is told.
LINE, SMALLEST_P = Fraction(6, 5), 1e-9

# How exactly probabilities are known: those of the series that the report uses are differences from one.
P_ERROR, P_SLACK = Fraction(1, 10**6), Fraction(1, 10**13)

# Growth that begins late: groups that the hinge is drawn through, points and share of all on either side of it, what it
# must leave of a line's deviations at most, the rate before it at most, and by how much its probability is multiplied.
GROUPS, SIDE, LEAST, LEAST_SHARE, BETTER, LEVEL, PLACES = 64, 20, 32, 16, 0.6, 0.5, 8

# What makes a trend growth, as `stepscope explain memory_growth` lists it.
MAX_P_VALUE = 0.01
MIN_BYTES_PER_STEP = 64
MIN_GROWTH_BYTES = {"live": 1_000_000, "rss": 33_554_432}
MIN_TAIL_RATIO = 0.5
MIN_FREED_RATIO = 2
MIN_STEPS = 100
MIN_READ_STEPS = 30


def compare_memory(report, run, sums, beginnings, compare):
    primary, listed = report["summary"]["mode"], report["memory"]
    shift = next((series["shift"] for series in report["detailed_metrics"]["series"] if series["mode"] == primary), 0)
    if listed is None:
        compare.equal("memory", "gauges", len(sums.gauge_processes()), 0)
        compare.equal("memory", "steps that say it", largest_at_steps(run, primary), [None, None])
        compare.equal("leaks", "listed", report["leaks"], [])
        return
    for figure in ("live", "rss"):
        expected = pair(run, primary, shift, figure, beginnings)
        if expected and kinds(report).get(primary) == "repeated":
            expected |= {"whole": None, "tail": None, "late": None}
        pair_of(listed[figure], figure, expected, compare)
    known = sums.gauge_processes()
    at_steps = largest_at_steps(run, primary) if len(known | set(run.processes)) == 1 else (None, None)
    expected = sorted((gauges(process, sums, *at_steps) for process in known), key=str)
    figures = ("rank", "rss_last_bytes", "rss_max_bytes", "live_last_bytes", "live_max_bytes")
    got = sorted((tuple(item[figure] for figure in figures) for item in listed["processes"]), key=str)
    compare.equal("memory", "processes", got, expected)
    growths(report, run, compare)


def kinds(report):
    """How the steps of each mode are numbered."""
    return {row["mode"]: row.get("numbers") for row in report["detailed_metrics"]["modes"]}


def gauges(process, sums, rss_at_steps, live_at_steps):
    """Last and largest of both gauges. Where all steps are one process's, their ends count for the largest too."""
    rss, live = sums.gauge(process, names.PROCESS_MEMORY), sums.gauge(process, names.LIVE_MEMORY)
    (rss_last, rss_most), (live_last, live_most) = rss, live
    return process.rank, rss_last, most(rss_most, rss_at_steps), live_last, most(live_most, live_at_steps)


def most(seen, at_steps):
    return seen if seen is None or at_steps is None else max(seen, at_steps)


def largest_at_steps(run, mode):
    steps = [step for step in run.steps_of(mode) if step.number is not None]
    values = ([step.rss for step in steps], [step.live for step in steps])
    return [max((value for value in of if value is not None), default=None) for of in values]


def pair(run, mode, shift, figure, beginnings):
    """What the steps' memory was: extremes of all of them, trends of those after every process' warm-up."""
    points, starts, warm = {}, {}, set()
    for step in run.steps_of(mode):
        if step.start < beginnings.get(step.instance, 0):
            warm.add(step.instance)
        elif step.start == beginnings.get(step.instance):
            starts[step.instance] = step
        if step.number is None:
            continue
        value = getattr(step, figure)
        if value is not None:
            points.setdefault(numbering.point(step, shift), []).append(value)
    if not points:
        return None
    # From the first steady step of each process that had a warm-up.
    first = (starts[process] for process in warm if process in starts)
    first_steady = max((numbering.at(step) for step in first if step.number is not None), default=0)
    means = [(key, sum(values) // len(values)) for key, values in sorted(points.items())]
    steady = [point for point in means if point[0] >= first_steady]
    whole = trend(steady)
    return {
        "first_bytes": means[0][1],
        "last_bytes": means[-1][1],
        "max_bytes": max(map(max, points.values())),
        "whole": whole,
        "tail": trend(last_third(steady)),
        "late": whole and late(steady, whole),
    }


def last_third(points):
    if not points:
        return []
    begin, end = points[0][0], points[-1][0]
    return [point for point in points if 3 * (end - point[0]) <= end - begin]


def trend(points):
    """The clearest line of (x, y) in ascending x, as the report has it; None of too few."""
    found = [line for blocks, is_floor in VIEWS if (line := view(points, blocks, is_floor))]
    if not found:
        return None
    clearest = min(found, key=lambda line: line["p_value"])
    return clearest | {"p_value": min(1.0, clearest["p_value"] * len(VIEWS))}


def view(points, blocks, is_floor):
    count = len(points)
    if count < MIN_POINTS:
        return None
    blocks = min(blocks, count)
    parts = [points[at * count // blocks : (at + 1) * count // blocks] for at in range(blocks)]
    if is_floor:
        levels = [min(part, key=lambda point: point[1]) for part in parts]
    else:
        levels = [(Fraction(sum(x for x, _ in part), len(part)), stats.middle([y for _, y in part])) for part in parts]
    pairs = [(a, b) for at, a in enumerate(levels) for b in levels[at + 1 :]]
    slope = stats.middle([Fraction(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairs])
    offset = stats.middle([y - slope * x for x, y in levels])
    # What the line leaves of the increments.
    rest = [b[1] - a[1] - slope * (b[0] - a[0]) for a, b in zip(levels, levels[1:])]
    steps = len(rest)
    variance = Fraction(sum(one * one for one in rest), steps - 1)
    neighbours = Fraction(sum(a * b for a, b in zip(rest, rest[1:])), steps - 1)
    walk, noise = max(variance + 2 * neighbours, 0), max(-neighbours, 0)
    error = math.sqrt(LINE * steps * (walk + 12 * noise / (blocks * (blocks + 1)))) / float(levels[-1][0] - levels[0][0])
    p_value, freedom = 1.0, blocks // 2
    if slope:
        p_value = max(SMALLEST_P, stats.student(abs(float(slope)) / error, freedom) if error else 0)
    reach = stats.student_quantile(0.05, freedom) * error
    ends = [max(0, stats.rounded(offset + slope * x, 0)) for x in (points[0][0], points[-1][0])]
    return {
        "n": count,
        "from_step": points[0][0],
        "to_step": points[-1][0],
        "first_bytes": int(ends[0]),
        "last_bytes": int(ends[1]),
        "slope_per_step": float(slope),
        "confidence_interval": [float(slope) - reach, float(slope) + reach],
        "p_value": p_value,
    }


def late(points, whole):
    """Growth from some point on, where a level that goes over into a line describes the points better than a line."""
    values = [value for _, value in points]
    found = hinge(values)
    if found is None:
        return None
    off, place = found
    before, after = points[:place], points[place:]
    slope = whole["slope_per_step"]
    offsets = [value - slope * step for step, value in points]
    offset = stats.middle(offsets)
    if len(after) < max(LEAST, len(points) // LEAST_SHARE) or off >= BETTER * sum(abs(one - offset) for one in offsets):
        return None
    growth, half = trend(after), len(before) // 2
    (x1, y1), (x2, y2) = ([stats.middle(list(one)) for one in zip(*part)] for part in (before[:half], before[half:]))
    if growth["slope_per_step"] <= 0 or float(y2 - y1) / float(x2 - x1) > LEVEL * growth["slope_per_step"]:
        return None
    highest = freed = 0
    for group in groups(values[:place], len(values)):
        highest = max(highest, lower_median(group))
        freed = max(freed, highest - lower_median(group))
    growth["p_value"] = min(1.0, growth["p_value"] * PLACES)
    return {"growth": growth, "tail": trend(last_third(after)), "freed_bytes": freed}


def groups(values, count):
    size = max(1, -(-count // GROUPS))
    return [values[start : start + size] for start in range(0, len(values), size)]


def lower_median(values):
    return sorted(values)[(len(values) - 1) // 2]


def hinge(values):
    """(sum of deviations, place) of the level and the line that leave least: the median before, least squares after."""
    best, start, middles = None, 0, []
    for group in groups(values, len(values)):
        middles.append((start + (len(group) - 1) / 2, lower_median(group)))
        start += len(group)
    for place in range(-(-len(values) // GROUPS), len(values), -(-len(values) // GROUPS)):
        if not SIDE <= place <= len(values) - SIDE:
            continue
        level = lower_median(values[:place])
        along = [(at - place, value - level) for at, value in middles if at > place]
        slope = sum(at * value for at, value in along) / sum(at * at for at, _ in along)
        off = sum(abs(value - (level + slope * max(0, at - place))) for at, value in enumerate(values))
        if best is None or off < best[0]:
            best = off, place
    return best


def pair_of(got, figure, expected, compare):
    where = f"memory, {figure}"
    if got is None or expected is None:
        compare.equal(where, "in the report", got is not None, expected is not None)
        return
    for name in ("first_bytes", "last_bytes", "max_bytes"):
        compare.equal(where, name, got[name], expected[name])
    parts = [("whole", got["whole"], expected["whole"]), ("tail", got["tail"], expected["tail"])]
    compare.equal(where, "late", got["late"] is not None, expected["late"] is not None)
    if got["late"] and expected["late"]:
        compare.equal(where, "freed_bytes", got["late"]["freed_bytes"], expected["late"]["freed_bytes"])
        parts += [(f"late {part}", got["late"][part], expected["late"][part]) for part in ("growth", "tail")]
    for part, mine, theirs in parts:
        trend_of(f"{where}, {part} trend", mine, theirs, compare)


def trend_of(where, got, expected, compare):
    if got is None or expected is None:
        compare.equal(where, "in the report", got is not None, expected is not None)
        return
    for name in ("n", "from_step", "to_step"):
        compare.equal(where, name, got[name], expected[name])
    # A half may be rounded up or down.
    for name in ("first_bytes", "last_bytes"):
        compare.close(where, name, got[name], expected[name], Fraction(1, 10**12), Fraction(1, 2))
    compare.close(where, "slope_per_step", got["slope_per_step"], expected["slope_per_step"])
    # As exact as the slope: an interval may begin near zero.
    slack = abs(Fraction(expected["confidence_interval"][1])) * Fraction(1, 10**9)
    for end, mine in zip(got["confidence_interval"], expected["confidence_interval"]):
        compare.close(where, "confidence_interval", end, mine, absolute=slack)
    compare.close(where, "p_value", got["p_value"], expected["p_value"], P_ERROR, P_SLACK)


def lines(pair):
    """The lines that growth may be, each with its last third: one that begins late first."""
    late = pair["late"]
    if late and grown(late["growth"]) >= MIN_FREED_RATIO * late["freed_bytes"]:
        yield late["growth"], late["tail"]
    if pair["whole"] and pair["tail"]:
        yield pair["whole"], pair["tail"]


def grown(line):
    return max(0, line["last_bytes"] - line["first_bytes"])


def growth(pair, figure):
    """The line of growth that goes on, with its last third."""
    for line, tail in lines(pair) if pair else ():
        if (
            line["p_value"] <= MAX_P_VALUE
            and line["confidence_interval"][0] > 0
            and line["slope_per_step"] >= MIN_BYTES_PER_STEP
            and grown(line) >= MIN_GROWTH_BYTES[figure]
            and tail["slope_per_step"] >= MIN_TAIL_RATIO * line["slope_per_step"]
        ):
            return line, tail
    return None


def growths(report, run, compare):
    """The leak is the growth of live memory, or else of resident memory; its figures are the trend's, rounded."""
    where, listed = "leaks", report["leaks"]
    mode = report["summary"]["mode"]
    numbers = [numbering.at(step) for step in run.steps_of(mode) if step.number is not None]
    span = max(numbers) - min(numbers) if numbers else 0
    figure = None
    coverage = report["summary"]["coverage"]
    stand_for_all = (coverage["recorded_steps"] or 0) > coverage["read_steps"] and span >= MIN_STEPS
    is_known = kinds(report).get(mode) != "repeated"
    if is_known and report["summary"]["steps"] >= (MIN_READ_STEPS if stand_for_all else MIN_STEPS):
        figure = next((name for name in ("live", "rss") if growth(report["memory"][name], name)), None)
    verdicts = {"live": ["growing"], "rss": ["suspected"], None: []}
    compare.equal(where, "verdicts", [leak["verdict"] for leak in listed], verdicts[figure])
    for leak in listed[: figure is not None]:
        line, _ = growth(report["memory"][figure], figure)
        ends = zip(leak["confidence_interval"], line["confidence_interval"])
        for got, mine in ((leak["bytes_per_step"], line["slope_per_step"]), *ends):
            compare.close(where, "slope and its interval", got, stats.rounded(mine, 3))
        compare.equal(where, "p_value", leak["p_value"], line["p_value"])
        compare.equal(where, "live_bytes", leak["live_bytes"], report["memory"][figure]["last_bytes"])
        # The finding's is computed.
        sections = [finding["section"] for finding in report["findings"] if finding["rule"] == "memory_growth"]
        compare.equal(where, "section", [leak["section"]], sections)
