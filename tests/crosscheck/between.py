"""What threads that drive steps do from the first step after warm-up to the last one of their process, and in no step of
it: sections outside of steps, by the phase of their root, without what of them lies beside steps."""

from collections import Counter
from fractions import Fraction
from math import inf

import names
from steps import process_of, steady_by_process

# The report knows so many sections of a thread one by one, and as many steps of each mode. Beyond that it estimates what of
# a section lies beside steps; it says so where that is more than a hundredth.
SECTIONS, STEPS, ROUNDING = 1024, 256, Fraction(2, 100)


class Between:
    """Sums by phase: times of the outermost sections, and the time exposed inside of any."""

    def __init__(self):
        self.durations, self.exposed = {}, Counter()
        # Input that other modes than the one that is looked at waited for, by mode.
        self.given = Counter()
        self.is_known = True

    def add_process(self, run, process, steady, mode):
        steps = [step for step in run.steps if step.instance == process]
        drivers = {step.thread for step in steps}
        begin, end = min((s.start for s in steady), default=0), max((s.end for s in steady), default=inf)
        times = [] if overlap(steps) else sorted((step.start, step.end) for step in steps)
        threads = Counter()
        for span, thread, phase, shares in run.outside:
            if span.instance != process or thread not in drivers:
                continue
            threads[thread] += 1
            start, stop = max(begin, span.start), min(end, span.end)
            if span.end <= begin or span.start >= end:
                continue
            part = stop - start - sum(max(0, min(stop, b) - max(start, a)) for a, b in times)
            if part > 0 or stop == start:
                self.add(span, phase, shares, part, mode)
        most = max(Counter(step.mode for step in steps).values(), default=0)
        self.is_known &= most <= STEPS and max(threads.values(), default=0) <= SECTIONS

    def add(self, span, phase, shares, part, mode):
        """So much of a section. What it is done for, if that is no training, is told by its phase or by what it says: what
        evaluation waits for is not waited for by training."""
        self.durations.setdefault(phase, []).append(part)
        said = next((other for other, of in names.MODES_OF_PHASES.items() if of == span.get(names.MODE)), None)
        purpose = phase if phase in names.MODES_OF_PHASES else said
        for inner, ns in shares.items():
            ns = ns * part // span.duration if part < span.duration else ns
            if purpose is not None and names.MODES_OF_PHASES[purpose] != mode and inner in names.INPUTS:
                self.given[names.MODES_OF_PHASES[purpose]] += ns
                inner = purpose
            self.exposed[inner] += ns


def overlap(steps):
    """Whether steps of a process overlap: then it is not known which other threads wait for."""
    times = sorted((step.start, step.end) for step in steps)
    return any(later[0] < earlier[1] for earlier, later in zip(times, times[1:]))


def compare_between(report, run, warm_up, compare):
    detailed, mode = report["detailed_metrics"], report["summary"]["mode"]
    steady = steady_by_process(report, run, warm_up)
    if "between_steps_estimated" in {limit["limit"] for limit in detailed.get("limits", [])}:
        return
    sums = Between()
    for process in run.processes:
        sums.add_process(run, process, steady.get(process, []), mode)
    same = lambda *figures: compare.close(*figures, 0 if sums.is_known else ROUNDING, len(run.outside) * (not sums.is_known))
    for row in detailed["modes"]:
        input_ns = sum(sums.exposed[phase] for phase in names.INPUTS)
        expected = input_ns if row["mode"] == mode else sums.given[row["mode"]]
        same(f"{row['mode']} steps", "input_between_ns", row["input_between_ns"], expected)
    phases = {phase: 0 for phase in [*sums.durations, *sums.exposed] if phase in sums.durations or sums.exposed[phase]}
    reported = {item["phase"]: item for item in detailed["between_steps"]}
    for phase, got, _ in compare.pairs("between steps", "phase", reported, phases):
        where, durations = f"between steps, phase {phase}", sums.durations.get(phase, [])
        same(where, "exposed_ns", got["exposed_ns"], sums.exposed[phase])
        same(where, "calls", got["stats"]["count"], len(durations))
        same(where, "time of the calls", got["stats"]["total"], sum(durations))
        if sums.is_known:
            compare.stats(where, got["stats"], durations)
    for row in report["ranks"]:
        process, own = process_of(row["resource"]), Between()
        where, mine = f"steps of {process.id}", steady.get(process, [])
        if process in run.processes and sums.is_known:
            own.add_process(run, process, mine, mode)
            means = {phase: ns // len(mine) for phase, ns in own.exposed.items() if mine and phase is not None}
            expected = {phase: ns for phase, ns in means.items() if ns > 0}
            listed = {time["phase"]: time["exposed_ns"] for time in row["phases_between_steps"]}
            compare.equal(where, "phases_between_steps", listed, expected)
