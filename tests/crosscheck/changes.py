"""Changes of the step time: that there is one, and where, is a matter of statistics and is not decided here a second
time; what is said about it is computed from the steps themselves. Where steps say how long their threads waited for input
before them, what they take is that as well, but where a change is of the steps alone."""

import numbering
import warmup


def compare_changes(report, run, compare):
    detailed = report["detailed_metrics"]
    shifts = {series["mode"]: series["shift"] for series in detailed["series"]}
    phases = {series["mode"]: series["shift"] for series in detailed["phase_series"]}
    paths = {}
    for row in report["sections"]:
        paths.setdefault(row.get("phase"), []).append(row["path"])
    for change in detailed["changes"]:
        mode, step = change["mode"], change["step"]
        where, shift = f"change of {mode} steps at {step}", shifts[mode]
        points = points_of(run.steps_of(mode), shift)
        starts = sorted(points)
        compare.equal(where, "step_numbers", change["step_numbers"], 1 << shift)
        for figure in ("from_step", "step"):
            compare.equal(where, f"{figure} is a point", change[figure] in starts, True)
        lasts = [start + (1 << shift) - 1 for start in starts]
        compare.equal(where, "to_step is the end of a point", change["to_step"] in lasts, True)
        ordered = change["from_step"] <= step <= change["to_step"] and (change["kind"] == "gradual") == (change["from_step"] == step)
        compare.equal(where, "order of steps", ordered, True)
        says_input = any(step.input_before is not None for point in points.values() for step in point)
        with_input = change["duration_before_ns"] is not None
        compare.equal(where, "duration_after_ns is known", change["duration_after_ns"] is not None, with_input)
        compare.equal(where, "no input is said", with_input and not says_input, False)
        time = taken if with_input else alone
        compare.equal(where, "p_value is small", 0 < change["p_value"] <= 1e-3, True)
        before = [points[start] for start in starts if change["from_step"] <= start < step]
        after = [points[start] for start in starts if step <= start <= change["to_step"]]
        compare.equal(where, "steps_before", change["steps_before"], sum(map(len, before)))
        compare.equal(where, "steps_after", change["steps_after"], sum(map(len, after)))
        if change["in_every"] is not None:
            period = period_of(report, mode, change["in_every"])
            if period is None:
                compare.missing(where, f"no period of {change['in_every']} steps")
                continue
            inside = [start for start in starts if change["from_step"] <= start <= change["to_step"]]
            # The last round ends where the next level begins.
            inside += [start for start in starts if start > change["to_step"]][:1]
            sides = lambda time: [rounds(side, points, period, inside, step, time) for side in ("before", "after")]
        elif change["means_over"] is not None:
            compare.equal(where, "means_over is more than one", change["means_over"] >= 2, True)
            sides = lambda time: [in_a_row(side, change["means_over"], time) for side in (before, after)]
        else:
            sides = lambda time: [[mean(point, time) for point in side] for side in (before, after)]
        if change["kind"] == "sudden":
            for figure, expected in zip(("before_ns", "after_ns"), map(level, sides(time))):
                compare.equal(where, figure, change[figure], expected)
        is_single = change["in_every"] is None and change["means_over"] is None
        if with_input and (change["kind"] == "sudden" or is_single):
            levels = [level(side) for side in sides(alone)] if change["kind"] == "sudden" else ends(sides(alone)[1])
            for figure, expected in zip(("duration_before_ns", "duration_after_ns"), levels):
                compare.equal(where, figure, change[figure], expected)
        cause(change, run.steps_of(mode), phases.get(mode, 0), paths, where, compare)


def alone(step):
    """What a step takes without the input before it."""
    return step.duration


def taken(step):
    """What a step takes with the input before it."""
    return step.duration + (step.input_before or 0)


def mean(steps, time):
    return sum(map(time, steps)) // len(steps)


def period_of(report, mode, every):
    periodic = (row for row in report["detailed_metrics"]["periodic"] if row["mode"] == mode)
    return next((period for row in periodic for period in row["periods"] if period["every"] == every), None)


def rounds(side, points, period, starts, step, time):
    """The means of points from one periodic step to before the next one, on one side of a step."""
    periodic = [start for start in starts if warmup.is_of(start, period)]
    ends = [(a, b) for a, b in zip(periodic, periodic[1:]) if (b <= step if side == "before" else a >= step)]
    means = lambda a, b: [mean(points[at], time) for at in starts if a <= at < b]
    return [sum(means(a, b)) // len(means(a, b)) for a, b in ends]


def in_a_row(points, count, time):
    """The means of so many points in a row each."""
    means = [mean(point, time) for point in points]
    return [sum(means[at : at + count]) // count for at in range(0, len(means) - count + 1, count)]


def points_of(steps, shift):
    points = {}
    for step in steps:
        if step.number is not None:
            points.setdefault(numbering.point(step, shift), []).append(step)
    return points


def ends(means):
    """The ends of a line through the levels of the first and the last third."""
    third = len(means) // 3
    before, after = level(means[:third]), level(means[-third:])
    further = abs(after - before) // 4
    if before < after:
        return max(0, before - further), after + further
    return before + further, max(0, after - further)


def level(means):
    """The mean of the middle two fifths of the points' means, rounded down."""
    means = sorted(means)
    outside = len(means) * 3 // 10
    middle = means[outside : len(means) - outside]
    return sum(middle) // len(middle)


def cause(change, steps, shift, paths, where, compare):
    """Of whole steps, in points that lie on one side as a whole; of a drift the first and the last third."""
    first, step, last = change["from_step"], change["step"], change["to_step"]
    third = (last - first) // 3
    sides = ((first, first + third), (last - third, last)) if change["kind"] == "gradual" else ((first, step - 1), (step, last))
    with_input = change["duration_before_ns"] is not None
    means = [side_of(steps, shift, *side, with_input) for side in sides]
    if None in means:
        compare.equal(where, "cause", change["cause"], None)
        return
    (before, step_before), (after, step_after) = means
    sign = 1 if change["after_ns"] > change["before_ns"] else -1
    names = {*before, *after}
    moved = {name: sign * (after.get(name, 0) - before.get(name, 0)) for name in names}
    most = max(moved.values())
    if most <= 0:
        compare.equal(where, "cause", change["cause"], None)
        return
    got = change["cause"]
    name = BETWEEN if got["is_between"] else got["phase"]
    compare.equal(where, "phase of what is between the steps", got["is_between"] and got["phase"] != "data_wait", False)
    compare.equal(where, "phase moved most", moved.get(name), most)
    for figure, expected in (
        ("before_ns", before.get(name, 0)),
        ("after_ns", after.get(name, 0)),
        ("step_before_ns", step_before),
        ("step_after_ns", step_after),
    ):
        compare.equal(where, f"cause {figure}", got[figure], expected)
    if got["is_between"]:
        compare.equal(where, "cause section", got["section"], None)
        return
    section = [sections_of(steps, shift, *side) for side in sides]
    compare_section(got["section"], section, paths.get(got["phase"], ()), sign, where, compare)


# What is waited for input before the steps, beside the phases of the steps.
BETWEEN = ("data_wait", "before the step")

# Sections that a point tells apart.
SECTIONS = 64


def compare_section(got, sides, paths, sign, where, compare):
    """The section of the cause's phase that moved most. Where a point may hold too many it need not be known."""
    before, after = sides
    if len({*before, *after}) > SECTIONS:
        return
    moved = {path: sign * (after.get(path, 0) - before.get(path, 0)) for path in sorted(paths)}
    most = max(moved.values(), default=0)
    path = next((path for path in moved if moved[path] == most), None)
    expected = {"path": path, "before_ns": before.get(path, 0), "after_ns": after.get(path, 0)} if most > 0 else None
    compare.equal(where, "cause section", got, expected)


def sections_of(steps, shift, first, last):
    """Mean exposed time by section."""
    mine, sums = of_side(steps, shift, first, last), {}
    for step in mine:
        for path, ns in step.spent.items():
            sums[path] = sums.get(path, 0) + ns
    return {path: ns // len(mine) for path, ns in sums.items()}


def of_side(steps, shift, first, last):
    """The whole steps in points that lie on one side as a whole."""
    return [
        step for step in steps
        if step.is_whole and step.number is not None
        and numbering.point(step, shift) >= first and numbering.point(step, shift) + (1 << shift) - 1 <= last
    ]


def side_of(steps, shift, first, last, with_input):
    """Mean exposed time by phase (None: what none covers), and mean duration; None without steps. With the input before the
    steps, where that counts."""
    mine = of_side(steps, shift, first, last)
    if not mine:
        return None
    sums = {None: sum(step.unattributed for step in mine), BETWEEN: sum(step.input_before or 0 for step in mine) if with_input else 0}
    for step in mine:
        for phase, figures in step.phases.items():
            sums[phase] = sums.get(phase, 0) + figures[0]
    return {name: ns // len(mine) for name, ns in sums.items()}, sum(map(taken if with_input else alone, mine)) // len(mine)
