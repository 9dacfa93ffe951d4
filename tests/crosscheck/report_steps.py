"""The report's steps: by mode, with and without warm-up, their phases, throughput, series, and the slowest."""

from bisect import bisect_left, bisect_right
from collections import Counter
from fractions import Fraction
from math import isfinite

import between
import examples
import names
import numbering
import stats
import warmup
from records import Process

# What the quicker steps would take without these phases: figure -> phases.
QUICK = {
    "quick_without_waiting_ns": ("data_loading", "data_wait"),
    "quick_without_preparation_ns": ("preprocessing", "augmentation", "collate"),
}
# Those in which a rank waits for others.
EXCHANGE = ("communication", "synchronization")
# Steps that are listed as the slowest, and those that take longer every so often among them.
SLOWEST, PERIODIC, PAUSES = 10, 2, 3


def compare_steps(report, run, sums, compare):
    detailed, primary = report["detailed_metrics"], report["summary"]["mode"]
    modes = {mode["mode"]: mode for mode in detailed["modes"]}
    compare.equal("steps", "modes", sorted(modes), sorted({step.mode for step in run.steps}))
    begun = warmups(report, run, compare)
    of_primary = warmup.by_process(run.steps_of(primary))
    for instance in report["ranks"]:
        key = process_of(instance["resource"])
        where = f"steps of {key.id}"
        compare.equal(where, "warmup_steps", instance["warmup_steps"], begun.get(primary, {}).get(key, 0))
        steady = of_primary.get(key, [])[instance["warmup_steps"] :]
        compare.stats(where, instance["steps"], [step.duration for step in steady])
        compare.throughput(where, instance["throughput"], steady)
        compare.stats(f"{where} without exchange", instance["works"], [without(step, EXCHANGE) for step in whole(steady)[0]])
        communication = [step.phases.get("communication", (0,))[0] for step in whole(steady)[0]]
        mean = sum(communication) // len(communication) if communication else None
        compare.equal(where, "communication_per_step_ns", instance["communication_per_step_ns"], mean)
        compare.equal(where, "phases_per_step", phases_of(instance), means_of_phases(whole(steady)[0]))
        got = {time["phase"]: time["exposed_ns"] for time in instance["phases_between_steps"]}
        compare.equal(where, "phases_between_steps", got, between_steps(run, key, steady, primary))
        others = [step for step in run.steps if step.instance == key and step.mode != primary]
        compare.equal(where, "other_steps_ns", instance["other_steps_ns"], between.other_steps(others, steady))
        times = gaps([step for step in run.steps if step.instance == key])
        overlap = any(gap < 0 for gap in times)
        compare.equal(where, "steps_overlap", instance["steps_overlap"], overlap)
        usual = warmup.lower_median(times) if times and not overlap else None
        compare.equal(where, "usual_gap_ns", instance["usual_gap_ns"], usual)
    kinds = numbering.assign(run, report)
    for name, mode in modes.items():
        compare.equal(f"{name} steps", "numbers", mode["numbers"], kinds.get(name))
        periods = next((row["periods"] for row in detailed["periodic"] if row["mode"] == name), [])
        compare_mode(mode, run, begun.get(name, {}), periods, detailed["series"], compare)
    if primary in modes:
        ended = report["run"]["ended"]
        summary(report["summary"], modes[primary], detailed["outside"], report["sections"], ended, compare)
    coverage(report["summary"]["coverage"], run, sums, compare)
    examples.compare_examples(report, run, begun, compare)
    examples.compare_phase_series(detailed["phase_series"], run, compare)
    for series in detailed["series"]:
        compare_series(series, run.steps_of(series["mode"]), compare)
    compare_values(detailed["values"], run.steps, compare)


def phases_of(instance):
    return {time["phase"]: time["exposed_ns"] for time in instance["phases_per_step"]}


def between_steps(run, process, steady, mode):
    """What sections of its driving threads from its first steady step to the last one spend exposed in phases, by a step."""
    sums, _ = between.of_process(run, process, steady, mode)
    means = {phase: one.exposed // len(steady) for phase, one in sums.items() if steady and phase is not None}
    return {phase: mean for phase, mean in means.items() if mean > 0}


def means_of_phases(steps):
    """Exposed time of whole steps by phase, without those of less than a nanosecond a step."""
    sums = Counter()
    for step in steps:
        sums.update({phase: figures[0] for phase, figures in step.phases.items()})
    return {phase: ns // len(steps) for phase, ns in sums.items() if ns >= len(steps)}


def gaps(steps):
    """Times between the first steps of a process, as far as they are known of all modes."""
    first, _ = between.first_steps(steps)
    return [later[0] - earlier[1] for earlier, later in zip(first, first[1:])]


def coverage(got, run, sums, compare):
    """How many steps there are: by the sums of their paths, without what is no step there, and as spans."""
    where, merged = "coverage", sums.sections()
    recorded, no_steps = [], 0
    for path, section in run.sections.items():
        if section.steps:
            no_steps += section.count - section.steps
            if path in merged:
                recorded.append(max(merged[path][names.SECTION_COUNT], section.count))
    compare.equal(where, "recorded_steps", got["recorded_steps"], sum(recorded) - no_steps if recorded else None)
    compare.equal(where, "read_steps", got["read_steps"], len(run.steps))
    compare.equal(where, "whole_steps", got["whole_steps"], sum(step.is_whole for step in run.steps))


def warmups(report, run, compare):
    """{mode: {process: how many of its first steps are warm-up}}."""
    return {mode: warmups_of(report, mode, run.steps_of(mode), compare) for mode in sorted({step.mode for step in run.steps})}


def warmups_of(report, mode, steps, compare):
    periods = [period for row in report["detailed_metrics"]["periodic"] if row["mode"] == mode for period in row["periods"]]
    return warmup.counts(steps, periods, listed(report, mode, steps), f"{mode} steps", compare)


def listed(report, mode, steps):
    """What the report says of processes: of its primary mode each, of another where its steps are one process's."""
    if mode == report["summary"]["mode"]:
        return {process_of(instance["resource"]): instance["warmup_steps"] for instance in report["ranks"]}
    of = {step.instance for step in steps}
    rows = [row for row in report["detailed_metrics"]["modes"] if row["mode"] == mode]
    return {process: rows[0]["warmup"]["steps"] for process in of} if len(of) == 1 and rows else {}


def beginnings(report, run):
    """When the first step after warm-up began, by process."""
    return {process: steps[0].start for process, steps in steady_steps(report, run).items()}


def steady_steps(report, run):
    listed = {process_of(row["resource"]): row["warmup_steps"] for row in report["ranks"]}
    by_process = warmup.by_process(run.steps_of(report["summary"]["mode"]))
    found = {process: steps[listed.get(process, 0) :] for process, steps in by_process.items()}
    return {process: steps for process, steps in found.items() if steps}


def pace(report, run):
    """(when the last process of those that warm up has done so, what a slower step takes)."""
    warm = {process_of(row["resource"]) for row in report["ranks"] if row["warmup_steps"]}
    begins = [steps[0].start for process, steps in steady_steps(report, run).items() if process in warm]
    mode = next((row for row in report["detailed_metrics"]["modes"] if row["mode"] == report["summary"]["mode"]), None)
    return max(begins, default=0), (mode["steady"]["p95"] if mode else None) or 0


def process_of(resource):
    return Process(resource["service_instance_id"] or None, resource["pid"], resource["rank"], resource["level"] or None)


def whole(steps):
    """The steps of which every section was read, as the report counts them."""
    found = [step for step in steps if step.is_whole]
    return found, {"steps": len(found), "total_ns": sum(step.duration for step in found)}


def without(step, phases):
    """What a step takes less the time exposed in these phases."""
    return step.duration - sum(step.phases.get(phase, (0,))[0] for phase in phases)


def split(steps, begun):
    """Each process's first ones, and the others."""
    excluded, steady = [], []
    for process, of in warmup.by_process(steps).items():
        excluded += of[: begun.get(process, 0)]
        steady += of[begun.get(process, 0) :]
    return excluded, steady


def steady_step(excluded, steady):
    """The step number at which the last process to warm up has done so: that of its first steady step."""
    warm, first = {step.instance for step in excluded}, {}
    for step in steady:
        if step.instance in warm and (step.instance not in first or step.start < first[step.instance].start):
            first[step.instance] = step
    return max((numbering.at(step) for step in first.values() if step.number is not None), default=None)


def usual_warmup(excluded, median, periods):
    """What as many usual steps take: of those of a period its median, if it has steps after warm-up."""

    def usual(step):
        mine = [period for period in periods if step.number is not None and warmup.is_of(numbering.at(step), period)]
        return mine[0]["median_ns"] if mine and mine[0]["median_ns"] is not None else median or 0

    return sum(map(usual, excluded))


def compare_mode(mode, run, begun, periods, series, compare):
    name = mode["mode"]
    where = f"{name} steps"
    steps = run.steps_of(name)
    compare.stats(f"all {where}", mode["all"], [step.duration for step in steps])
    numbers = [step.number for step in steps if step.number is not None]
    compare.equal(where, "step_range", mode["step_range"], [min(numbers), max(numbers)] if numbers else None)
    excluded, steady = split(steps, begun)
    compare.equal(where, "warm-up steps", mode["warmup"]["steps"], len(excluded))
    most = max(Counter(step.instance for step in excluded).values(), default=0)
    compare.equal(where, "warm-up max_per_instance", mode["warmup"]["max_per_instance"], most)
    compare.equal(where, "warm-up total_ns", mode["warmup"]["total_ns"], sum(step.duration for step in excluded))
    compare.equal(where, "warm-up usual_ns", mode["warmup"]["usual_ns"], usual_warmup(excluded, mode["steady"]["p50"], periods))
    expected = steady_step(excluded, steady) if mode["numbers"] != "repeated" else None
    compare.equal(where, "warm-up steady_step", mode["warmup"]["steady_step"], expected)
    compare.stats(f"steady {where}", mode["steady"], [step.duration for step in steady])
    compare_distribution(where, mode["distribution"], [step.duration for step in steady], compare)
    total = sum(step.duration for step in steady)
    compare.equal(where, "steady_ns", mode["steady_ns"], total)
    compare.equal(where, "whole_all", mode["whole_all"], whole(steps)[1])
    known, known_sums = whole(steady)
    compare.equal(where, "whole", mode["whole"], known_sums)
    unattributed = sum(step.unattributed for step in known)
    compare.equal(where, "unattributed_ns", mode["unattributed_ns"], unattributed)
    for figure, phases in QUICK.items():
        rest = sorted(without(step, phases) for step in known)
        compare.quantile(where, figure, mode[figure], rest, 1, 100, len(rest) <= stats.EXACT_VALUES)
    compare_phases(where, mode["phases"], known, known_sums["total_ns"], compare)
    compare.throughput(where, mode["throughput"], steady)
    compare_slowest(where, mode["slowest"], steady, (steps, periods, mode["numbers"] == "repeated"), compare)
    shift = next((row["shift"] for row in series if row["mode"] == name), 0)
    expected = pauses(run.steps, name, shift, expected or 0) if mode["numbers"] != "repeated" else []
    compare.equal(where, "pauses", mode["pauses"], expected)


def compare_distribution(where, listed, durations, compare):
    """Each bucket has the steps whose durations lie in it, and all of them together have all steps."""
    ordered = sorted(durations)
    got = [[bucket["from_ns"], bucket["to_ns"]] for bucket in listed]
    compare.equal(where, "borders of the distribution", got, stats.borders(ordered))
    for bucket in listed:
        first, last = bucket["from_ns"], bucket["to_ns"]
        inside = bisect_right(ordered, last) - bisect_left(ordered, first)
        compare.equal(where, f"steps of {first} to {last} ns", bucket["count"], inside)
    compare.equal(where, "steps of the distribution", sum(bucket["count"] for bucket in listed), len(ordered))


def pauses(all_steps, mode, shift, first):
    """The longest times from steps of the same numbers to the next ones, less the mean of what processes do in them."""
    mine, processes = {}, {step.instance for step in all_steps if step.mode == mode}
    for step in all_steps:
        if step.mode == mode and step.number is not None and numbering.point(step, shift) >= first:
            mine.setdefault(numbering.point(step, shift), []).append(step)
    others = {}
    for step in all_steps:
        if step.mode != mode and step.number is not None:
            others.setdefault((step.mode, numbering.at(step)), []).append(step)
    others = [(min(step.start for step in of), sum(step.duration for step in of)) for of in others.values()]
    points = [(at, min(step.start for step in of), sum(step.duration for step in of)) for at, of in sorted(mine.items())]
    found = []
    for (at, start, spent), (_, following, _) in zip(points, points[1:]):
        spent += sum(ns for begun, ns in others if start <= begun < following)
        found.append({
            "step": at, "step_numbers": 1 << shift, "start_ns": start,
            "pause_ns": max(0, following - start - spent // max(1, len(processes))),
        })
    found = [pause for pause in found if pause["pause_ns"]]
    return sorted(found, key=lambda pause: (-pause["pause_ns"], pause["step"]))[:PAUSES]


def compare_phases(where, listed, steady, total, compare):
    phases = {}
    for step in steady:
        for phase, figures in step.phases.items():
            phases[phase] = tuple(map(sum, zip(phases.get(phase, (0, 0, 0, 0)), figures)))
    reported = {phase["phase"]: phase for phase in listed}
    for phase in sorted(set(phases) | set(reported)):
        place = f"{where}, phase {phase}"
        got, mine = reported.get(phase), phases.get(phase)
        if got is None or mine is None:
            compare.missing(place, "not in the report" if got is None else "only in the report")
            continue
        for figure, expected in zip(("exposed_ns", "total_ns", "self_ns", "spans"), mine):
            compare.equal(place, figure, got[figure], expected)
        if total:
            compare.close(place, "exposed_share", got["exposed_share"], Fraction(mine[0], total))
            compare.close(place, "total_share", got["total_share"], Fraction(mine[1], total))


def slowest_of(steps, steady, periods, is_repeated=False):
    """The slowest after warm-up, of each number the longest, unless numbers do not tell steps apart. Where some take longer
    every so often, of those the slowest of each of two periods at most."""
    ordered = sorted(steady, key=lambda step: (-step.duration, warmup.order(step)))
    if not periods:
        if not is_repeated:
            numbers = set()
            ordered = [
                step for step in ordered
                if step.number is None or not (numbering.at(step) in numbers or numbers.add(numbering.at(step)))
            ]
        return ordered[:SLOWEST]
    tell, numbers, told, found, usual = warmup.period_of(steps, periods), set(), set(), [], 0
    for step in ordered:
        if step.number is not None:
            if numbering.at(step) in numbers:
                continue
            numbers.add(numbering.at(step))
        period = tell(step)
        if period is None and usual < SLOWEST:
            usual += 1
            found.append(step)
        elif period is not None and period not in told and len(told) < PERIODIC:
            told.add(period)
            found.append(step)
    return found[:SLOWEST]


def compare_slowest(where, listed, steady, told, compare):
    steps, periods, is_repeated = told
    expected = slowest_of(steps, steady, periods, is_repeated)
    compare.equal(where, "slowest durations", [step["duration_ns"] for step in listed], [step.duration for step in expected])
    by_trace = {step.trace.hex(): step for step in steady}
    for got in listed:
        step, place = by_trace.get(got["trace_id"]), f"{where}, slow step {got['step']}"
        if step is None:
            compare.missing(place, "no such trace")
            continue
        compare.equal(place, "duration_ns", got["duration_ns"], step.duration)
        compare.equal(place, "start_ns", got["start_ns"], step.start)
        compare.equal(place, "step", got["step"], step.number)
        compare.equal(place, "rank", got["rank"], step.instance.rank)
        phases = {phase["phase"]: (phase["exposed_ns"], phase["total_ns"]) for phase in got["phases"]}
        compare.equal(place, "phases", phases, {phase: figures[:2] for phase, figures in step.phases.items()})
        compare.equal(place, "unattributed_ns", got["unattributed_ns"], step.unattributed)


def summary(got, mode, outside, sections, ended, compare):
    """The summary repeats the primary mode."""
    where = "summary"
    compare.equal(where, "steps", got["steps"], mode["steady"]["count"])
    compare.equal(where, "warmup_steps", got["warmup_steps"], mode["warmup"]["steps"])
    for figure, value in (got["step_time"] or {}).items():
        compare.equal(where, f"step_time {figure}", value, mode["steady"][figure])
    for figure in ("throughput", "whole", "phases", "unattributed_ns"):
        compare.equal(where, figure, got[figure], mode[figure])
    compare.equal(where, "steps_ns", got["steps_ns"], mode["steady_ns"])
    sums = Sums(sections)
    by_sums = sums.tell_more(mode, got["coverage"], ended)
    compare.equal("input", "source", got["input"]["source"], "aggregates" if by_sums else "spans")
    phase_sums(got["phase_sums"], sums if by_sums else None, compare)
    if by_sums:
        inputs_by_sums(got["input"], sums, mode, compare)
    else:
        inputs(got["input"], mode, outside, compare)


class Sums:
    """Sections by the processes' own sums: those that begin a phase, each without the time of those next inside."""

    def __init__(self, sections):
        self.all = {tuple(section["path"].split("/")): section for section in sections}
        summed = {path: section for path, section in self.all.items() if section["source"] == "aggregates"}
        self.summed = summed
        steps = [section for section in summed.values() if section["kind"] == "step"]
        self.count, self.steps_ns = sum(step["count"] for step in steps), sum(step["total"] for step in steps)
        self.parts = {path: one for path, one in summed.items() if self.is_part(path) and self.begins(path, summed)}
        self.own = {path: one["total"] - sum(self.parts[inner]["total"] for inner in self.next_inside(path)) for path, one in self.parts.items()}
        self.own = {path: max(0, ns) for path, ns in self.own.items()}

    def kinds_around(self, path):
        return {self.all[path[:end]]["kind"] for end in range(1, len(path)) if path[:end] in self.all}

    def is_part(self, path):
        return self.all[path]["kind"] in ("section", "micro_step") and not self.kinds_around(path) & {"batch", "request"}

    def is_inside(self, path):
        return "step" in self.kinds_around(path)

    def begins(self, path, summed):
        phase = summed[path].get("phase")
        around = [summed[path[:end]].get("phase") for end in range(1, len(path)) if path[:end] in summed]
        return phase is not None and phase != next((one for one in reversed(around) if one), None)

    def around(self, path):
        """The next of the sections that begin a phase."""
        return next((path[:end] for end in range(len(path) - 1, 0, -1) if path[:end] in self.parts), None)

    def outermost(self, path):
        """The phase of the outermost section around that has one."""
        around = (self.summed.get(path[:end], {}).get("phase") for end in range(1, len(path)))
        return next((phase for phase in around if phase), None)

    def next_inside(self, path):
        return [inner for inner in self.parts if self.around(inner) == path]

    def tell_more(self, mode, coverage, ended):
        """Where no step was read whole, or less than 90 % of those recorded were: then only if the sums are the whole
        run's, and no section that begins a phase inside a step was seen on another thread."""
        if not self.count or not self.parts:
            return False
        if mode["whole"]["steps"] == 0:
            return True
        parts = [path for path in self.all if self.is_part(path) and self.is_inside(path)]
        steps = [section for section in self.all.values() if section["kind"] == "step"]
        is_complete = all(one["source"] == "aggregates" for one in steps + [self.all[path] for path in parts])
        is_beside = any(
            seen["total_ns"] != seen["driving_ns"]
            for path in self.parts
            if self.is_inside(path)
            for seen in self.all[path]["in_steps"]
        )
        few = 10 * coverage["whole_steps"] < 9 * (coverage["recorded_steps"] or 0)
        return few and ended is True and is_complete and not is_beside

    def inside(self):
        """Sections inside steps that have sums."""
        return {path for path, one in self.all.items() if one["source"] == "aggregates" and self.is_part(path) and self.is_inside(path)}

    def phase(self, names_of_phases, inside=True):
        return sum(ns for path, ns in self.own.items() if self.is_inside(path) == inside and self.parts[path]["phase"] in names_of_phases)


def phase_sums(listed, sums, compare):
    """The time of the steps by phase, by the sums."""
    expected = {}
    if sums:
        inside = {path: one for path, one in sums.parts.items() if sums.is_inside(path)}
        for path, one in inside.items():
            calls, ns = expected.get(one["phase"], (0, 0))
            expected[one["phase"]] = calls + one["count"], ns + sums.own[path]
        covered = sum(one["total"] for path, one in inside.items() if sums.around(path) not in inside)
        expected[None] = sums.count, max(0, sums.steps_ns - covered)
    reported = {item["phase"]: item for item in listed}
    compare.equal("phase sums", "phases", sorted(reported, key=str), sorted(expected, key=str))
    for phase in set(reported) & set(expected):
        where, got, (calls, ns) = f"phase sums, phase {phase}", reported[phase], expected[phase]
        compare.equal(where, "calls", got["calls"], calls)
        compare.equal(where, "total_ns", got["total_ns"], ns)
        compare.close(where, "share", got["share"], Fraction(ns, max(1, sums.steps_ns)))


def inputs_by_sums(got, sums, mode, compare):
    """The share of input by the sums."""
    inside = min(sums.phase(names.INPUTS), sums.steps_ns)
    others = [phase for phase, other in names.MODES_OF_PHASES.items() if other != mode["mode"]]
    waits = {path: ns for path, ns in sums.own.items() if not sums.is_inside(path) and sums.parts[path]["phase"] == names.DATA_WAIT}
    between = sum(ns for path, ns in waits.items() if sums.outermost(path) not in others)
    compare.equal("input", "in_steps_ns", got["in_steps_ns"], inside)
    compare.equal("input", "between_ns", got["between_ns"], between)
    compare.equal("input", "steps_ns", got["steps_ns"], sums.steps_ns)
    compare.equal("input", "steps", got["steps"], sums.count)
    share = Fraction(inside + between, sums.steps_ns + between) if sums.steps_ns + between else None
    compare.close("input", "share", got["share"], share)
    verdict = "unknown"
    if share is not None and got["steps"] >= got["min_steps"]:
        verdict = "no" if share < Fraction(5, 100) else "moderate" if share < Fraction(20, 100) else "high"
    compare.equal("input", "verdict", got["verdict"], verdict)


def inputs(got, mode, outside, compare):
    """The share of input: its time in whole steps, taken to be typical of all, and between the steps."""
    where, steady = "input", mode["steady_ns"]
    exposed = sum(phase["exposed_ns"] for phase in mode["phases"] if phase["phase"] in names.INPUTS)
    if mode["whole"]["total_ns"]:
        exposed = exposed * steady // mode["whole"]["total_ns"]
    between = sum(item["exposed_ns"] for item in outside if item["phase"] in names.INPUTS)
    compare.equal(where, "in_steps_ns", got["in_steps_ns"], exposed)
    compare.equal(where, "between_ns", got["between_ns"], between)
    compare.equal(where, "steps_ns", got["steps_ns"], steady)
    compare.equal(where, "steps", got["steps"], mode["steady"]["count"])
    has_phases = mode["phases"] or any(item["phase"] for item in outside)
    is_known = mode["whole"]["steps"] and has_phases and steady + between
    share = Fraction(exposed + between, steady + between) if is_known else None
    compare.close(where, "share", got["share"], share)
    verdict = "unknown"
    if is_known and got["steps"] >= got["min_steps"]:
        verdict = "no" if share < Fraction(5, 100) else "moderate" if share < Fraction(20, 100) else "high"
    compare.equal(where, "verdict", got["verdict"], verdict)


def compare_series(series, steps, compare):
    where, shift = f"series of {series['mode']} steps", series["shift"]
    points = {}
    for step in steps:
        if step.number is not None:
            points.setdefault(numbering.point(step, shift), []).append(step)
    compare.equal(where, "points", [point["step"] for point in series["points"]], sorted(points))
    if steps:
        places = {(step.epoch, step.number) for step in steps if step.number is not None}
        compare.equal(where, "smallest shift", numbering.is_least(places, shift, 65_536), True)
    for point in series["points"]:
        mine = points.get(point["step"])
        if mine is None:
            continue
        durations = [step.duration for step in mine]
        samples = [step.work["samples"] for step in mine if step.work["samples"] is not None]
        expected = {
            "count": len(mine),
            "duration_sum_ns": sum(durations),
            "duration_min_ns": min(durations),
            "duration_max_ns": max(durations),
            "samples": sum(samples) if samples else None,
        }
        expected["wait_ns"] = sum(step.wait for step in mine)
        for figure in ("run_queue", "input_before"):
            said = [ns for ns in (getattr(step, figure) for step in mine) if ns is not None]
            expected[f"{figure}_ns"] = sum(said) if said else None
        expected["live_bytes"] = gauge([step.live for step in mine])
        expected["rss_bytes"] = gauge([step.rss for step in mine])
        for figure, value in expected.items():
            compare.equal(where, f"{figure} of point {point['step']}", point[figure], value)


def gauge(values):
    """Count, extremes and the mean rounded down; None of nothing."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    return {"count": len(values), "min": min(values), "max": max(values), "mean": sum(values) // len(values)}


def compare_values(listed, steps, compare):
    """The user's own values by step number."""
    reported = {item["name"]: item for item in listed}
    names_of_values = {name for step in steps for name in step.values}
    compare.equal("values", "names", sorted(reported), sorted(names_of_values))
    for name, item in reported.items():
        where, shift, points = f"value {name}", item["shift"], {}
        not_finite = sum(name in step.values and not isfinite(step.values[name]) for step in steps)
        compare.equal(where, "not_finite", item["not_finite"], not_finite)
        for step in sorted(steps, key=lambda step: (step.epoch or 0, step.number or 0, step.start)):
            value = step.values.get(name)
            if value is not None and isfinite(value) and step.number is not None:
                points.setdefault(numbering.point(step, shift), []).append(value)
        compare.equal(where, "points", [point["step"] for point in item["points"]], sorted(points))
        for point in item["points"]:
            values = points.get(point["step"])
            if values:
                compare.equal(where, f"count of point {point['step']}", point["count"], len(values))
                compare.equal(where, f"min of point {point['step']}", point["min"], min(values))
                compare.equal(where, f"max of point {point['step']}", point["max"], max(values))
                compare.equal(where, f"last of point {point['step']}", point["last"], values[-1])
                mean = sum(map(Fraction, values)) / len(values)
                compare.close(where, f"mean of point {point['step']}", point["mean"], mean)
