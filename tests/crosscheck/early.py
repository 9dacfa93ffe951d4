"""What of the sections' part in steps is warm-up: in whole steps before the number at which no process warms up, of the first
numbers; and the longest call of a section in the others."""

import numbering
import warmup

# Numbers that are kept with what sections take, sections of each, and numbers whose longest calls are kept.
NUMBERS, SECTIONS, LONGEST = 256, 2048, 16
# Steps of one of those that are kept, each by its longest call.
TOGETHER = 256
FIGURES = ("calls", "total_ns", "driving_ns", "exposed_ns")


def place(step):
    return step.epoch or 0, step.number


def is_cut(report):
    """Of paths that were cut nothing is kept by step."""
    return any("depth" in limit for limit in report["detailed_metrics"].get("limits", []))


def compare_early(report, run, compare):
    modes = {mode["mode"]: mode for mode in report["detailed_metrics"]["modes"]}
    periodic, warm = report["detailed_metrics"]["periodic"], {}
    for name, mode in modes.items():
        whole = [step for step in run.steps_of(name) if step.is_whole and step.number is not None]
        places = set(sorted({place(step) for step in whole})[:NUMBERS])
        first = mode["warmup"]["steady_step"]
        early = [step for step in whole if place(step) in places and first is not None and numbering.at(step) < first]
        early = [] if is_cut(report) else early
        expected = {"steps": len(early), "total_ns": sum(step.duration for step in early)}
        compare.equal(f"{name} steps", "whole_warmup", mode["whole_warmup"], expected)
        if all(len(step.parts) <= SECTIONS for step in early):
            warm[name] = early
        if name == report["summary"]["mode"] and report["critical_path"] is not None:
            compare.equal("critical path", "warmup_other_ns", report["critical_path"]["warmup_other_ns"], sum(step.own for step in early))
        for row in report["sections"]:
            for part in row["in_steps"]:
                if part["mode"] == name:
                    calls = compare_part(row["path"], part, whole, warm.get(name), first, mode["numbers"] == "repeated", compare)
                    periods = [period for item in periodic if item["mode"] == name for period in item["periods"]]
                    compare_slow(row, part, calls, periods, compare)


def compare_part(path, part, whole, early, first, is_repeated, compare):
    where = f"section {path}"
    if early is not None:
        sums = [sum(step.parts.get(path, (0, 0, 0, 0))[at] for step in early) for at in range(4)]
        for figure, expected in zip(FIGURES, sums):
            compare.equal(where, f"warmup_{figure}", part[f"warmup_{figure}"], expected)
    calls = {}
    for step in whole:
        if path in step.longest:
            calls.setdefault((place(step), numbering.at(step)), []).append(step.longest[path])
    kept = sorted((-max(of), at, number) for (at, number), of in calls.items())[:LONGEST]
    steady = [(at, number) for _, at, number in kept if first is None or number >= first]
    bound = -kept[-1][0] if len(kept) == LONGEST else None
    longest = max(calls[steady[0]]) if steady else bound
    compare.equal(where, "longest_steady_ns", part["longest_steady_ns"], longest)
    heaviest = max((together(calls[key], bound) for key in steady if not is_repeated), default=(None, None))
    compare.equal(where, "heaviest_steady_ns", part["heaviest_steady_ns"], heaviest[0])
    compare.equal(where, "heaviest_steady_calls", part["heaviest_steady_calls"], heaviest[1] and -heaviest[1])
    return None if heaviest[0] is None else {key[1]: kept_of(calls[key], bound) for key in steady}


def compare_slow(row, part, calls, periods, compare):
    """What the longest calls by number take above the median where that is more than it, and those in periodic steps."""
    slow = periodic = None
    if calls is not None and row["p50"] is not None:
        above = {number: sum(ns - row["p50"] for ns in of if ns > 2 * row["p50"]) for number, of in calls.items()}
        slow = sum(above.values())
        periodic = sum(ns for number, ns in above.items() if any(warmup.is_of(number, period) for period in periods))
    compare.equal(f"section {row['path']}", "longest_slow_ns", part["longest_slow_ns"], slow)
    compare.equal(f"section {row['path']}", "longest_periodic_ns", part["longest_periodic_ns"], periodic)


def together(calls, bound):
    """What the longest call and those beyond the bound take, and, of equals the fewest, how many they are, negative."""
    of = kept_of(calls, bound)
    return sum(of), -len(of)


def kept_of(calls, bound):
    first, *more = sorted(calls, reverse=True)
    return [first] + [ns for ns in more if bound is None or ns > bound][: TOGETHER - 1]
