"""Memory: ends and extremes over the steps, and the processes' own gauges."""

import names
import numbering

FIGURES = ("rank", "rss_last_bytes", "rss_max_bytes", "live_last_bytes", "live_max_bytes")


def compare_memory(report, run, sums, compare):
    mode, listed = report["summary"]["mode"], report["memory"]
    steps = [step for step in run.steps_of(mode) if step.number is not None]
    largest = {figure: max(said(steps, figure), default=None) for figure in ("live", "rss")}
    if listed is None:
        compare.equal("memory", "gauges", len(sums.gauge_processes()), 0)
        compare.equal("memory", "steps that say it", largest, {"live": None, "rss": None})
        return
    shift = next((row["shift"] for row in report["detailed_metrics"]["series"] if row["mode"] == mode), 0)
    for figure in ("live", "rss"):
        over_steps(f"memory, {figure}", listed[figure], numbering.points(steps, shift), figure, compare)
    # The ends of a process' steps count for its largest too. Rows of processes whose steps alone tell of memory have no gauges.
    own = {process: [step for step in steps if step.instance == process] for process in sums.gauge_processes()}
    expected = [
        gauges(process, sums, {figure: max(said(its, figure), default=None) for figure in ("live", "rss")})
        for process, its in own.items()
    ]
    expected = sorted(expected, key=str)
    got = [tuple(item[figure] for figure in FIGURES) for item in listed["processes"]]
    got = sorted((row for row in got if any(value is not None for value in row[1:])), key=str)
    compare.equal("memory", "processes", got, expected)


def said(steps, figure):
    return [getattr(step, figure) for step in steps if getattr(step, figure) is not None]


def gauges(process, sums, at_steps):
    """Last and largest of both gauges."""
    found = [process.rank]
    for metric, figure in ((names.PROCESS_MEMORY, "rss"), (names.LIVE_MEMORY, "live")):
        last, most = sums.gauge(process, metric)
        found += [last, most if most is None else max(most, at_steps.get(figure) or most)]
    return tuple(found)


def over_steps(where, got, points, figure, compare):
    """What the steps said: the means of the first point and of the last, and the largest of all."""
    values = {at: said(steps, figure) for at, steps in points.items()}
    values = {at: of for at, of in values.items() if of}
    compare.equal(where, "in the report", got is not None, bool(values))
    if got is None or not values:
        return
    means = [sum(values[at]) // len(values[at]) for at in (min(values), max(values))]
    for name, expected in zip(("first_bytes", "last_bytes", "max_bytes"), (*means, max(map(max, values.values())))):
        compare.equal(where, name, got[name], expected)
