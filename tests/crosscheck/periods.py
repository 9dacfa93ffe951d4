"""Steps that take longer every so often: that they do is a matter of statistics and is not decided here a second time;
what is said about them is computed from the steps themselves."""

import numbering
import report_steps
import warmup

# Steps of each process that are kept singly: its first ones, and its slowest after warm-up.
FIRST, SLOWEST = 256, 10


def compare_periods(report, run, compare):
    for row in report["detailed_metrics"]["periodic"]:
        name, where = row["mode"], f"periodic {row['mode']} steps"
        steps = run.steps_of(name)
        begun = report_steps.warmups_of(report, name, steps, compare)
        compare_mode(where, row, steps, *report_steps.split(steps, begun), compare)


def compare_mode(where, row, steps, excluded, steady, compare):
    begins = report_steps.steady_step(excluded, steady) or 0
    longest = {}
    for step in steps:
        if step.number is not None and numbering.at(step) >= begins:
            longest[numbering.at(step)] = max(longest.get(numbering.at(step), 0), step.duration)
    periods = row["periods"]
    # The rarest first.
    order = [-period["every"] for period in periods]
    compare.equal(where, "order of periods", order, sorted(order))
    of = {number: next((at for at, period in enumerate(periods) if warmup.is_of(number, period)), None) for number in longest}
    compare.stats(f"usual {where}", row["usual"], [ns for number, ns in longest.items() if of[number] is None])
    everywhere = sorted({numbering.at(step) for step in steps if step.number is not None})
    everywhere = [number for number in everywhere if any(warmup.is_of(number, period) for period in periods)]
    kept = first_of(steps)
    usual = means(kept, {number for number in longest if of[number] is None})
    for at, period in enumerate(periods):
        place = f"{where}, every {period['every']}"
        mine = {number: ns for number, ns in longest.items() if of[number] == at}
        # All of the warm-up, or some after it; of no rarer period in any case.
        own = (number for number in everywhere if next(p for p in periods if warmup.is_of(number, p)) is period)
        compare.equal(place, "first_step", period["first_step"], min(mine, default=min(own, default=None)))
        since = period["since_step"]
        later = (numbering.at(step) for step in steps if step.number is not None and warmup.is_of(numbering.at(step), period))
        compare.equal(place, "since_step", since, None if since is None else min(later, default=None))
        compare.equal(place, "steps", period["steps"], len(mine))
        ordered = sorted(mine.values())
        compare.equal(place, "median_ns", period["median_ns"], ordered[(len(ordered) - 1) // 2] if ordered else None)
        compare.equal(place, "above_ns", period["above_ns"], sum(max(0, ns - row["usual"]["p50"]) for ns in ordered))
        cause(place, period["cause"], usual, means(kept + slowest_of(steady), set(mine)), compare)


def by_process(steps):
    processes = {}
    for step in steps:
        processes.setdefault(step.instance, []).append(step)
    return processes.values()


def first_of(steps):
    """The first steps of each process."""
    key = lambda step: (step.start, step.number is not None, step.number or 0)
    return [step for mine in by_process(steps) for step in sorted(mine, key=key)[:FIRST]]


def slowest_of(steady):
    return [step for mine in by_process(steady) for step in sorted(mine, key=lambda step: -step.duration)[:SLOWEST]]


def means(steps, numbers):
    """Mean exposed time by phase (None: what none covers) of the whole ones, of each number the longest, of equals the earliest;
    None without."""
    longest, length = {}, lambda step: (-step.duration, step.start, step.trace, step.id)
    for step in steps:
        if not step.is_whole or step.number is None or numbering.at(step) not in numbers:
            continue
        number = numbering.at(step)
        if number not in longest or length(step) < length(longest[number]):
            longest[number] = step
    if not longest:
        return None
    sums = {}
    for step in longest.values():
        times = {phase: figures[0] for phase, figures in step.phases.items()} | {None: step.unattributed}
        for phase, ns in times.items():
            sums[phase] = sums.get(phase, 0) + ns
    return {phase: ns // len(longest) for phase, ns in sums.items()}


def cause(where, got, usual, periodic, compare):
    if usual is None or periodic is None:
        compare.equal(where, "cause", got, None)
        return
    more = {phase: ns - usual.get(phase, 0) for phase, ns in periodic.items()}
    most = max(more.values())
    if most <= 0:
        compare.equal(where, "cause", got, None)
        return
    compare.equal(where, "phase of most of it", more.get(got["phase"]), most)
    compare.equal(where, "cause usual_ns", got["usual_ns"], usual.get(got["phase"], 0))
    compare.equal(where, "cause periodic_ns", got["periodic_ns"], periodic.get(got["phase"], 0))
