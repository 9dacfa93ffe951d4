"""What threads that drive steps do from the first step after warm-up to the last one of their process, and in no step of it.

Of a thread the first sections and the last ones are looked at one by one, as are the first steps of each mode. All other
sections are known by stretches of time. What may lie beside steps that are not known is taken to do so for as large a part
as sections of its phase beside known steps, and all of it takes no longer than steps leave."""

from collections import Counter
from fractions import Fraction
from math import ceil, floor, inf

import names
import warmup

# Sections of a thread that are looked at one by one, at either end, and stretches of time for the others.
KEPT, STRETCHES = 512, 64
# What is missing of less than this part is rounding.
ROUNDING = Fraction(1, 100)


class Sum:
    """Outermost sections of one phase, and the time exposed in it inside of any."""

    def __init__(self):
        self.durations, self.calls, self.total, self.exposed = [], 0, 0, 0
        # The part of it inside of what is done for another mode, by phase.
        self.others = dict.fromkeys(names.MODES_OF_PHASES, 0)

    def add(self, other):
        self.durations += other.durations
        self.calls, self.total, self.exposed = self.calls + other.calls, self.total + other.total, self.exposed + other.exposed
        self.others = {phase: ns + other.others[phase] for phase, ns in self.others.items()}

    def leave(self, share):
        """So much of its sections."""
        self.calls, self.total = ceil(self.calls * share), floor(self.total * share)
        if not self.calls:
            self.durations, self.total = [], 0

    def leave_exposed(self, share):
        self.exposed = floor(self.exposed * share)
        self.others = {phase: floor(ns * share) for phase, ns in self.others.items()}


class Sums(dict):
    """Sums by phase."""

    def __init__(self):
        # Input of other modes than the one that is looked at.
        self.given = Counter()

    def of(self, phase):
        return self.setdefault(phase, Sum())

    def add(self, section, part):
        """So much of a section."""
        span, _, phase, shares = section
        own = self.of(phase)
        # What it is done for, if that is no training: by its phase, or by what it says.
        said = next((other for other, mode in names.MODES_OF_PHASES.items() if mode == span.get(names.MODE)), None)
        of_other = phase if phase in names.MODES_OF_PHASES else said
        own.durations.append(part)
        own.calls += 1
        own.total += part
        for inner, ns in shares.items():
            ns = ns * part // span.duration if part < span.duration else ns
            self.of(inner).exposed += ns
            if of_other is not None:
                self.of(inner).others[of_other] += ns

    def merge(self, other):
        for phase, one in other.items():
            self.of(phase).add(one)
        self.given += other.given

    @property
    def total(self):
        return sum(one.total for one in self.values())


def of_process(run, process, steady, mode):
    """{phase: its sum} of a process, and whether more than a little of it was estimated."""
    steps = [step for step in run.steps if step.instance == process]
    drivers = {step.thread for step in steps}
    begin, end = min((s.start for s in steady), default=0), max((s.end for s in steady), default=inf)
    known, until = first_steps(steps)
    room = end - begin - sum(step.duration for step in steady) - other_steps([s for s in steps if s.mode != mode], steady)
    if any(later[0] < earlier[1] for earlier, later in zip(known, known[1:])):
        # Of steps that overlap it is not known which other threads wait for.
        known, until, room = [], inf, None
    elif not steady or room < 0:
        room = None
    threads = {}
    for section in run.outside:
        if section[0].instance == process and section[1] in drivers:
            threads.setdefault(section[1], []).append(section)
    between, inside, unknown = Sums(), Sums(), Sums()
    for of in threads.values():
        of.sort(key=lambda section: (section[0].start, section[0].end, section[0].trace, section[0].id))
        first, rest = of[:KEPT], of[KEPT:]
        folded, last = rest[: max(0, len(rest) - KEPT)], rest[max(0, len(rest) - KEPT) :]
        for stretch in stretches(folded):
            if max(span.end for span, *_ in stretch) > begin and stretch[0][0].start < end:
                for section in stretch:
                    unknown.add(section, section[0].duration)
        for section in first + last:
            start, stop = max(begin, section[0].start), min(end, section[0].end)
            if section[0].end <= begin or section[0].start >= end:
                continue
            if section[0].end > until:
                unknown.add(section, stop - start)
                continue
            inside.add(section, stop - start)
            beside = sum(max(0, min(stop, b) - max(start, a)) for a, b in known)
            if stop - start - beside > 0 or stop == start:
                between.add(section, stop - start - beside)
    is_estimated = estimate(unknown, between, inside, room)
    between.merge(unknown)
    give_back(between, mode)
    return between, is_estimated


def estimate(unknown, between, inside, room):
    before = unknown.total
    for phase, one in unknown.items():
        if phase in inside:
            part = between.get(phase, Sum())
            for leave, some, whole in (
                (one.leave, part.total, inside[phase].total),
                (one.leave_exposed, part.exposed, inside[phase].exposed),
            ):
                if some < whole * (1 - ROUNDING):
                    leave(Fraction(some, whole))
    if room is not None and max(0, room - between.total) < unknown.total:
        share = Fraction(max(0, room - between.total), unknown.total)
        for one in unknown.values():
            one.leave(share)
            one.leave_exposed(share)
    return unknown.total < before * (1 - ROUNDING)


def give_back(sums, mode):
    """What evaluation waits for is not waited for by training."""
    for phase, other in names.MODES_OF_PHASES.items():
        if other != mode:
            moved = 0
            for inner in names.INPUTS & set(sums):
                moved += sums[inner].others[phase]
                sums[inner].exposed -= sums[inner].others[phase]
            if moved:
                sums.of(phase).exposed += moved
                sums.given[other] += moved


def stretches(sections):
    """The sections by stretches of time, each as long as the smallest power of two that makes few enough."""
    length = 1
    while len({section[0].start // length for section in sections}) > STRETCHES:
        length *= 2
    found = {}
    for section in sections:
        found.setdefault(section[0].start // length, []).append(section)
    return found.values()


def first_steps(steps):
    """Start and end of the first steps of each mode, as long as they are known of all modes, and until when they are."""
    by_mode = {mode: sorted((s.start, s.end) for s in steps if s.mode == mode) for mode in {s.mode for s in steps}}
    until = min((times[warmup.FIRST - 1][0] for times in by_mode.values() if len(times) > warmup.FIRST), default=inf)
    first = sorted(time for times in by_mode.values() for time in times[: warmup.FIRST])
    return [time for time in first if time[0] <= until], until


def other_steps(others, steady):
    """Time of steps of other modes from the first to the last of `steady`: of the first 256 of a mode each by itself."""
    if not steady:
        return 0
    first, last = steady[0].start, max(step.end for step in steady)
    common = lambda start, end: max(0, min(end, last) - max(start, first))
    found = 0
    for mode in {step.mode for step in others}:
        steps = sorted((step for step in others if step.mode == mode), key=lambda step: step.start)
        later = steps[warmup.FIRST :]
        found += sum(common(step.start, step.end) for step in steps[: warmup.FIRST])
        if later:
            all_of_it = sum(step.duration for step in later)
            found += min(all_of_it, common(later[0].start, max(step.end for step in later)))
    return found
