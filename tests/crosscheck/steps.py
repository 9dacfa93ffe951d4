"""Steps: by mode and by process, their phases, throughput, and the slowest. Which of the first steps are warm-up is a
matter of statistics: it is taken from the report, and everything else is computed with it."""

from collections import Counter
from fractions import Fraction

import exposure
import loaders
import names
import numbering
import stats
from records import Process
from sections import SUMS

# Those in which a rank waits for others.
EXCHANGE = ("communication", "synchronization")


class Step:
    """One step, and what its phases took of it: {phase: (exposed, union over threads, self, sections)}. Where it is
    not whole nobody knows: it has a duration and no phases."""

    def __init__(self, root, nodes, exposed, is_whole):
        span = root.span
        self.trace, self.id, self.instance, self.thread = span.trace, span.id, span.instance, root.thread
        self.mode = mode_of(root)
        # One recorded in more detail: counted and in totals, and in no other figure of what steps take.
        self.is_deep = bool(span.get(names.STEP_DEEP))
        self.epoch, self.number = span.get(names.EPOCH), span.get(names.STEP)
        # What numbering adds to the number where that begins anew.
        self.offset = 0
        self.start, self.duration = span.start, span.duration
        # Of a step whose sections were not all read, what it says itself.
        said_by = nodes if is_whole else [root]
        self.work = {key: work(said_by, SUMS[key]) for key in ("samples", "tokens", "bytes")}
        self.run_queue, self.input_before = span.get(names.RUN_QUEUE_NS), span.get(names.INPUT_BEFORE_NS)
        self.live, self.rss = span.get(names.LIVE_BYTES), span.get(names.RSS_BYTES)
        prefix = names.VALUE_PREFIX
        self.values = {key[len(prefix) :]: value for key, value in span.attributes.items() if key.startswith(prefix)}
        waits = [node for node in nodes if loaders.is_wait(node) and node.is_driving]
        self.wait = sum(loaders.waited(node, exposed if is_whole else None) for node in waits)
        self.is_whole = is_whole
        shares = exposure.by_phase(exposed)
        self.unattributed = shares.get(None, 0)
        self.phases = {}
        for phase in {node.phase for node in nodes if is_whole} - {None}:
            inside = [node for node in nodes if node.phase == phase]
            end = max(span.start, span.end)
            union = stats.union((max(span.start, n.span.start), min(end, n.span.end)) for n in inside)
            self.phases[phase] = (shares.get(phase, 0), union, sum(n.self_ns for n in inside), len(inside))

    @property
    def end(self):
        return self.start + self.duration

    def without(self, phases):
        """What it takes less the time exposed in these phases."""
        return self.duration - sum(self.phases.get(phase, (0,))[0] for phase in phases)


def mode_of(root):
    """What a step names, else training; but that of its sections where all of these evaluate or all infer, input aside, and
    take half of it."""
    named = root.span.get(names.MODE, names.DEFAULT_MODE)
    if named in ("eval", "inference"):
        return named
    said = names.MODES_OF_PHASES
    working = [child for child in root.children if child.phase not in names.INPUTS]
    modes = {said.get(child.phase) for child in working}
    duration = root.span.end - root.span.start
    is_most = 2 * sum(child.span.end - child.span.start for child in working) >= duration
    return modes.pop() if is_most and len(modes) == 1 and None not in modes else names.DEFAULT_MODE


def work(nodes, key):
    """Samples, tokens or bytes of a step: of the outermost sections that say so."""
    total, counted = None, set()
    for node in nodes:
        if node.parent in counted:
            counted.add(node)
        elif node.span.get(key) is not None:
            counted.add(node)
            total = (total or 0) + node.span.get(key)
    return total


def process_of(resource):
    """The process that a row of the report is about."""
    level, id = resource["level"] or None, resource["service_instance_id"] or None
    return Process(id, resource["pid"], resource["rank"], level, resource["service_name"] or None)


def order(step):
    """Steps of a process follow each other as they started."""
    return step.start, -1 if step.number is None else step.number, step.trace, step.id


def by_process(steps):
    """{process: its steps in their order}."""
    processes = {}
    for step in sorted(steps, key=order):
        processes.setdefault(step.instance, []).append(step)
    return processes


class WarmUp:
    """How many of each process' first steps are warm-up, by what the report says."""

    def __init__(self, report, run):
        primary = report["summary"]["mode"]
        self.counts = {primary: {process_of(row["resource"]): row["warmup_steps"] for row in report["ranks"]}}
        for row in report["detailed_metrics"]["modes"]:
            processes = {step.instance for step in run.steps_of(row["mode"])}
            warmup = row["warmup"]
            # Of other modes it has the sum over processes and the largest: enough where all have as many.
            if row["mode"] != primary and warmup["steps"] == len(processes) * warmup["max_per_instance"]:
                self.counts[row["mode"]] = dict.fromkeys(processes, warmup["max_per_instance"])

    def split(self, steps, mode):
        """(warm-up, the others) of the steps of a mode; None where the report does not tell which."""
        if mode not in self.counts:
            return None
        warm, steady = [], []
        for process, of in by_process(steps).items():
            count = self.counts[mode].get(process, 0)
            warm += of[:count]
            steady += of[count:]
        return warm, steady


def steady_by_process(report, run, warm_up):
    """{process: its steps of the primary mode after warm-up}."""
    mode = report["summary"]["mode"]
    return by_process(warm_up.split(run.steps_of(mode), mode)[1])


def compare_steps(report, run, sums, warm_up, compare):
    detailed, primary = report["detailed_metrics"], report["summary"]["mode"]
    modes = {mode["mode"]: mode for mode in detailed["modes"]}
    compare.equal("steps", "modes", sorted(modes), sorted({step.mode for step in run.steps}))
    steady = steady_by_process(report, run, warm_up)
    for row in report["ranks"]:
        compare_process(row, steady.get(process_of(row["resource"]), []), compare)
    kinds = numbering.assign(run, detailed["series"])
    for name, mode in modes.items():
        compare.equal(f"{name} steps", "numbers", mode["numbers"], kinds.get(name))
        compare_mode(mode, run.steps_of(name), warm_up.split(run.steps_of(name), name), compare)
    if primary in modes:
        summary(report["summary"], modes[primary], detailed["between_steps"], sums, run, compare)
    coverage(report["summary"]["coverage"], run, sums, compare)


def compare_process(row, steady, compare):
    """The steps of a process after warm-up."""
    where = f"steps of {process_of(row['resource']).id}"
    compare.step_times(where, row["steps"], steady)
    compare.throughput(where, row["throughput"], steady)
    known, _ = whole(steady)
    ordinary = [step.without(EXCHANGE) for step in known if not step.is_deep]
    compare.stats(f"{where} without exchange", row["work_time"], ordinary)
    exchanged = [step.phases.get("communication", (0,))[0] for step in known]
    mean = sum(exchanged) // len(exchanged) if exchanged else None
    compare.equal(where, "communication_per_step_ns", row["communication_per_step_ns"], mean)
    means = Counter()
    for step in known:
        means.update({phase: figures[0] for phase, figures in step.phases.items()})
    expected = {phase: ns // len(known) for phase, ns in means.items() if ns >= len(known)}
    listed = {time["phase"]: time["exposed_ns"] for time in row["phases_per_step"]}
    compare.equal(where, "phases_per_step", listed, expected)


def whole(steps):
    """The steps of which every section was read, as the report counts them."""
    found = [step for step in steps if step.is_whole]
    return found, {"steps": len(found), "total_ns": sum(step.duration for step in found)}


def compare_mode(mode, steps, split, compare):
    where = f"{mode['mode']} steps"
    compare.step_times(f"all {where}", mode["all"], steps)
    compare.equal(where, "deep_steps", mode["deep_steps"], sum(step.is_deep for step in steps))
    numbers = [step.number for step in steps if step.number is not None]
    compare.equal(where, "step_range", mode["step_range"], [min(numbers), max(numbers)] if numbers else None)
    compare.equal(where, "whole_all", mode["whole_all"], whole(steps)[1])
    if split is None:
        return
    warm, steady = split
    warmup = mode["warmup"]
    compare.equal(where, "warm-up steps", warmup["steps"], len(warm))
    most = max(Counter(step.instance for step in warm).values(), default=0)
    compare.equal(where, "warm-up max_per_instance", warmup["max_per_instance"], most)
    compare.equal(where, "warm-up total_ns", warmup["total_ns"], sum(step.duration for step in warm))
    first = first_steady_number(warm, steady) if mode["numbers"] != "repeated" else None
    compare.equal(where, "warm-up steady_step", warmup["steady_step"], first)
    compare.step_times(f"steady {where}", mode["steady"], steady)
    compare.equal(where, "steady_ns", mode["steady_ns"], sum(step.duration for step in steady))
    known, known_sums = whole(steady)
    compare.equal(where, "whole", mode["whole"], known_sums)
    unattributed = sum(step.unattributed for step in known)
    compare.equal(where, "unattributed_ns", mode["unattributed_ns"], unattributed)
    compare_phases(where, mode["phases"], known, known_sums["total_ns"], compare)
    compare.throughput(where, mode["throughput"], steady)
    compare_slowest(where, mode["slowest"], steady, compare)


def first_steady_number(warm, steady):
    """The number at which the last process to warm up has done so: that of its first steady step."""
    processes = {step.instance for step in warm}
    first = [of[0] for process, of in by_process(steady).items() if process in processes]
    return max((numbering.at(step) for step in first if step.number is not None), default=None)


def compare_phases(where, listed, known, total, compare):
    phases = {}
    for step in known:
        for phase, figures in step.phases.items():
            phases[phase] = tuple(map(sum, zip(phases.get(phase, (0, 0, 0, 0)), figures)))
    reported = {phase["phase"]: phase for phase in listed}
    for phase, got, mine in compare.pairs(where, "phase", reported, phases):
        place = f"{where}, phase {phase}"
        for figure, expected in zip(("exposed_ns", "total_ns", "self_ns", "spans"), mine):
            compare.equal(place, figure, got[figure], expected)
        if total:
            compare.close(place, "exposed_share", got["exposed_share"], Fraction(mine[0], total))
            compare.close(place, "total_share", got["total_share"], Fraction(mine[1], total))


def compare_slowest(where, listed, steady, compare):
    """The first of them is the slowest after warm-up, and each is as the step was."""
    durations = [step["duration_ns"] for step in listed]
    compare.equal(where, "order of the slowest", durations, sorted(durations, reverse=True))
    slowest = max((step.duration for step in steady if not step.is_deep), default=None)
    compare.equal(where, "the slowest", durations[0] if durations else None, slowest)
    by_trace = {step.trace.hex(): step for step in steady}
    for got in listed:
        step, place = by_trace.get(got["trace_id"]), f"{where}, slow step {got['step']}"
        if step is None:
            compare.missing(place, "no such step")
            continue
        compare.equal(place, "duration_ns", got["duration_ns"], step.duration)
        compare.equal(place, "start_ns", got["start_ns"], step.start)
        compare.equal(place, "step", got["step"], step.number)
        compare.equal(place, "rank", got["rank"], step.instance.rank)
        phases = {phase["phase"]: (phase["exposed_ns"], phase["total_ns"]) for phase in got["phases"]}
        compare.equal(place, "phases", phases, {phase: figures[:2] for phase, figures in step.phases.items()})
        compare.equal(place, "unattributed_ns", got["unattributed_ns"], step.unattributed)


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


def summary(got, mode, outside, sums, run, compare):
    """The summary repeats the primary mode, and says what share of it is input."""
    where = "summary"
    compare.equal(where, "steps", got["steps"], mode["steady"]["count"])
    compare.equal(where, "warmup_steps", got["warmup_steps"], mode["warmup"]["steps"])
    for figure, value in (got["step_time"] or {}).items():
        compare.equal(where, f"step_time {figure}", value, mode["steady"][figure])
    for figure in ("throughput", "whole", "phases", "unattributed_ns"):
        compare.equal(where, figure, got[figure], mode[figure])
    compare.equal(where, "steps_ns", got["steps_ns"], mode["steady_ns"])
    where, told, is_known = "input", got["input"], True
    if told["source"] == "spans":
        # Its time in whole steps, taken to be typical of all, and between the steps.
        count, time = mode["steady"]["count"], mode["steady_ns"]
        inside = sum(phase["exposed_ns"] for phase in mode["phases"] if phase["phase"] in names.INPUTS)
        if mode["whole"]["total_ns"]:
            inside = inside * time // mode["whole"]["total_ns"]
        between = sum(item["exposed_ns"] for item in outside if item["phase"] in names.INPUTS)
        compare.equal(where, "in_steps_ns", told["in_steps_ns"], inside)
        compare.equal(where, "between_ns", told["between_ns"], between)
        is_known = mode["whole"]["steps"] and (mode["phases"] or any(item["phase"] for item in outside))
    else:
        merged = sums.sections()
        of_steps = [merged[path] for path, section in run.sections.items() if section.kind == "step" and path in merged]
        count, time = (sum(one[key] for one in of_steps) for key in (names.SECTION_COUNT, names.SECTION_TOTAL))
    compare.equal(where, "steps", told["steps"], count)
    compare.equal(where, "steps_ns", told["steps_ns"], time)
    time += told["between_ns"]
    share = Fraction(told["in_steps_ns"] + told["between_ns"], time) if is_known and time else None
    compare.close(where, "share", told["share"], share)
