"""Figures over step numbers: step times, phases, and what the user recorded. How many numbers share a point is the
report's choice."""

from fractions import Fraction
from math import isfinite

import numbering

# Where the numbers of a whole epoch share a point, points begin where epochs do, and those may share some too.
ALL_NUMBERS = 63


def compare_series(detailed, run, compare):
    for series in detailed["series"]:
        step_times(series, run.steps_of(series["mode"]), compare)
    for series in detailed["phase_series"]:
        phases(series, run.steps_of(series["mode"]), compare)
    values(detailed["values"], run.steps, compare)


def points_of(where, listed, points, compare):
    """Pairs of a point and its steps, where both have it."""
    compare.equal(where, "points", [point["step"] for point in listed], sorted(points))
    return [(point, points[point["step"]]) for point in listed if point["step"] in points]


def step_times(series, steps, compare):
    where = f"series of {series['mode']} steps"
    for point, mine in points_of(where, series["points"], numbering.points(steps, series["shift"]), compare):
        ordinary = [step for step in mine if not step.is_deep]
        durations = [step.duration for step in ordinary]
        expected = {
            "count": len(ordinary),
            "duration_sum_ns": sum(durations),
            "duration_min_ns": min(durations, default=0),
            "duration_max_ns": max(durations, default=0),
            "samples": sum_of(step.work["samples"] for step in ordinary),
            "wait_ns": sum(step.wait for step in ordinary),
            "run_queue_ns": sum_of(step.run_queue for step in ordinary),
            "input_before_ns": sum_of(step.input_before for step in ordinary),
            "live_bytes": gauge(step.live for step in mine),
            "rss_bytes": gauge(step.rss for step in mine),
        }
        for figure, value in expected.items():
            compare.equal(where, f"{figure} of point {point['step']}", point[figure], value)


def sum_of(values):
    """None of nothing."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def gauge(values):
    """Count, extremes and the mean rounded down; None of nothing."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"count": len(known), "min": min(known), "max": max(known), "mean": sum(known) // len(known)}


def phases(series, steps, compare):
    if series["shift"] == ALL_NUMBERS:
        return
    where, steps = f"phases over {series['mode']} steps", [step for step in steps if step.is_whole]
    for point, mine in points_of(where, series["points"], numbering.points(steps, series["shift"]), compare):
        exposed = {}
        for step in mine:
            for phase, figures in step.phases.items():
                if figures[0]:
                    exposed[phase] = exposed.get(phase, 0) + figures[0]
        expected = {
            "steps": len(mine),
            "total_ns": sum(step.duration for step in mine),
            "unattributed_ns": sum(step.unattributed for step in mine),
            "input_before_ns": sum_of(step.input_before for step in mine),
        }
        for figure, value in expected.items():
            compare.equal(where, f"{figure} of point {point['step']}", point[figure], value)
        listed = {row["phase"]: row["exposed_ns"] for row in point["exposed"]}
        compare.equal(where, f"exposed of point {point['step']}", listed, exposed)


def values(listed, steps, compare):
    """The user's own values."""
    reported = {item["name"]: item for item in listed}
    of_steps = {name for step in steps for name in step.values}
    compare.equal("values", "names", sorted(reported), sorted(of_steps))
    for name in sorted(of_steps & set(reported)):
        where, item = f"value {name}", reported[name]
        saying = [step for step in steps if name in step.values]
        finite = [step for step in saying if isfinite(step.values[name])]
        compare.equal(where, "not_finite", item["not_finite"], len(saying) - len(finite))
        for point, mine in points_of(where, item["points"], numbering.points(finite, item["shift"]), compare):
            mine.sort(key=lambda step: (step.epoch or 0, step.number, step.start))
            of = [step.values[name] for step in mine]
            expected = {"count": len(of), "min": min(of), "max": max(of), "last": of[-1]}
            for figure, value in expected.items():
                compare.equal(where, f"{figure} of point {point['step']}", point[figure], value)
            compare.close(where, f"mean of point {point['step']}", point["mean"], sum(map(Fraction, of)) / len(of))
