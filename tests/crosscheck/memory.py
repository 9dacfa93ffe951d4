"""The report's memory: ends and extremes over the steps, trends, the processes' own gauges, and growth that goes on.
Trends are computed here from their published definitions: the slope of P. K. Sen (1968) with his confidence interval,
the test of H. B. Mann (1945) and M. G. Kendall (1975) with its correction for ties."""

import math
from fractions import Fraction

import names
import numbering
import stats

# Below so many points there is no trend; more than the most are averaged in groups of neighbours.
MIN_POINTS = 4
MAX_POINTS = 512

# Two-sided 95 % quantile of the normal distribution.
Z_95 = 1.959963984540054

# The report's p-values come from an approximation of the complementary error function of this relative error.
ERFC_ERROR = Fraction(1, 10**6)

# What makes a trend growth, as `stepscope explain memory_growth` lists it.
MAX_P_VALUE = 0.01
MIN_BYTES_PER_STEP = 64
MIN_GROWTH_BYTES = {"live": 1_000_000, "rss": 33_554_432}
MIN_TAIL_RATIO = 0.5
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
            expected |= {"whole": None, "tail": None}
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
    tail = []
    if steady:
        begin, end = steady[0][0], steady[-1][0]
        tail = [point for point in steady if 3 * (end - point[0]) <= end - begin]
    return {
        "first_bytes": means[0][1],
        "last_bytes": means[-1][1],
        "max_bytes": max(map(max, points.values())),
        "whole": trend(steady),
        "tail": trend(tail),
    }


def trend(points):
    """{n, slope, ends of its interval, p-value} of (x, y) in ascending x; None of too few."""
    if len(points) < MIN_POINTS:
        return None
    size = -(-len(points) // MAX_POINTS)
    groups = [points[start : start + size] for start in range(0, len(points), size)]
    xs = [Fraction(sum(x for x, _ in group), len(group)) for group in groups]
    ys = [Fraction(sum(y for _, y in group), len(group)) for group in groups]
    n, score, slopes = len(groups), 0, []
    # Exact, and quick where no group was averaged.
    if size == 1:
        xs, ys = list(map(int, xs)), list(map(int, ys))
    for later in range(n):
        for earlier in range(later):
            rise = ys[later] - ys[earlier]
            score += (rise > 0) - (rise < 0)
            slopes.append(float(rise / (xs[later] - xs[earlier])))
    slopes.sort()
    middle = len(slopes) // 2
    slope = slopes[middle] if len(slopes) % 2 else (slopes[middle - 1] + slopes[middle]) / 2
    ties = [ys.count(value) for value in set(ys)]
    variance = Fraction(n * (n - 1) * (2 * n + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties), 18)
    sigma = math.sqrt(variance)
    # The score is corrected by one for continuity, towards no trend.
    z = (abs(score) - 1) / sigma if sigma and score else 0
    spread = Z_95 * sigma
    # Ranks from 1: (N - spread) / 2 and (N + spread) / 2 + 1.
    low = max(math.floor((len(slopes) - spread) / 2), 1)
    high = min(math.ceil((len(slopes) + spread) / 2) + 1, len(slopes))
    return {
        "n": n,
        "slope_per_step": slope,
        "confidence_interval": [slopes[low - 1], slopes[high - 1]],
        "p_value": math.erfc(z / math.sqrt(2)),
    }


def pair_of(got, figure, expected, compare):
    where = f"memory, {figure}"
    if got is None or expected is None:
        compare.equal(where, "in the report", got is not None, expected is not None)
        return
    for name in ("first_bytes", "last_bytes", "max_bytes"):
        compare.equal(where, name, got[name], expected[name])
    for part in ("whole", "tail"):
        trend_of(f"{where}, {part} trend", got[part], expected[part], compare)


def trend_of(where, got, expected, compare):
    if got is None or expected is None:
        compare.equal(where, "in the report", got is not None, expected is not None)
        return
    compare.equal(where, "n", got["n"], expected["n"])
    compare.close(where, "slope_per_step", got["slope_per_step"], expected["slope_per_step"])
    for end, mine in zip(got["confidence_interval"], expected["confidence_interval"]):
        compare.close(where, "confidence_interval", end, mine)
    compare.close(where, "p_value", got["p_value"], expected["p_value"], ERFC_ERROR, Fraction(1, 10**300))


def grows(pair, figure, span):
    """Whether a trend is growth that goes on."""
    if pair is None or pair["whole"] is None or pair["tail"] is None:
        return False
    whole, slope = pair["whole"], pair["whole"]["slope_per_step"]
    return (
        whole["p_value"] <= MAX_P_VALUE
        and whole["confidence_interval"][0] > 0
        and slope >= MIN_BYTES_PER_STEP
        and slope * span >= MIN_GROWTH_BYTES[figure]
        and pair["tail"]["slope_per_step"] >= MIN_TAIL_RATIO * slope
    )


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
        figure = next((name for name in ("live", "rss") if grows(report["memory"][name], name, span)), None)
    verdicts = {"live": ["growing"], "rss": ["suspected"], None: []}
    compare.equal(where, "verdicts", [leak["verdict"] for leak in listed], verdicts[figure])
    for leak in listed[: figure is not None]:
        whole = report["memory"][figure]["whole"]
        ends = zip(leak["confidence_interval"], whole["confidence_interval"])
        for got, mine in ((leak["bytes_per_step"], whole["slope_per_step"]), *ends):
            compare.close(where, "slope and its interval", got, stats.rounded(mine, 3))
        compare.equal(where, "p_value", leak["p_value"], whole["p_value"])
        compare.equal(where, "live_bytes", leak["live_bytes"], report["memory"][figure]["last_bytes"])
        # The finding's is computed.
        sections = [finding["section"] for finding in report["bottlenecks"] if finding["rule"] == "memory_growth"]
        compare.equal(where, "section", [leak["section"]], sections)
