"""The report's call paths: counts, times, quantiles, allocations, and their part in steps."""

from fractions import Fraction
from math import isqrt

import names
import stats
from comparison import QUANTILES
from shared import Shared


def compare_sections(listed, run, sums, compare):
    merged = sums.sections()
    reported = {section["path"]: section for section in listed}
    compare.equal("sections", "number of different paths", len(reported), len(listed))
    shared = Shared(merged, run.sections)
    if shared.is_used:
        shared.compare_row("section (other)", reported.pop(names.OTHER_PATHS, None), compare)
        del merged[names.OTHER_PATHS]
    for path in sorted(set(reported) | set(run.sections) | set(merged)):
        where = f"section {path}"
        got, section, aggregate = reported.get(path), run.sections.get(path), merged.get(path)
        if got is None:
            compare.missing(where, "not in the report")
            continue
        if got["source"] == "aggregates":
            if aggregate is None:
                compare.missing(where, "the report has it from aggregates that are not there")
                continue
            by_aggregates(where, got, section, aggregate, compare)
            # Calls that no span shows: their own time is not known either.
            has_all = section is not None and section.count == aggregate.get(names.SECTION_COUNT)
        elif section is None:
            compare.missing(where, "only in the report")
            continue
        else:
            by_spans(where, got, section, run.knows_self(path), compare)
            has_all = True
        if section is not None:
            by_both(where, got, section, has_all, compare)
            own(where, got, section, has_all, run.knows_self(path), compare)
        of_histogram = aggregate and aggregate.get(names.SECTION_DURATION)
        if has_all or not of_histogram:
            quantiles(where, got, sorted(section.durations), compare)
        else:
            quantiles(where, got, stats.middles(of_histogram), compare)
        derived(where, got, compare)


def quantiles(where, got, ordered, compare):
    for quantile, (numerator, denominator) in QUANTILES.items():
        compare.quantile(where, quantile, got[quantile], ordered, numerator, denominator, got["is_exact"])
    compare.mad(where, got["mad"], ordered, got["is_exact"])
    slow_excess(where, got, ordered, compare)


def slow_excess(where, got, ordered, compare):
    """What values of more than twice the median are above it. Of a histogram's each is known to the error, and so is the
    border."""
    median, found = stats.quantile(ordered, 1, 2), got["slow_excess_ns"]
    if median is None or found is None:
        compare.equal(where, "slow_excess_ns", found, median)
        return
    error = 0 if got["is_exact"] else stats.HISTOGRAM_ERROR
    least = sum(v - median for v in ordered if v > 2 * median * (1 + 2 * error))
    beyond = [v for v in ordered if v > 2 * median * (1 - 2 * error)]
    most = sum(v - median for v in beyond)
    slack = sum((v + median) * error + Fraction(1, 2) for v in beyond) if error else 0
    compare.close(where, "slow_excess_ns", found, max(least, min(most, found)), 0, slack)


def derived(where, got, compare):
    """Figures that follow from others of the same row."""
    known = got["mean"] and got["std"] is not None
    compare.close(where, "cv", got["cv"], Fraction(got["std"]) / Fraction(got["mean"]) if known else None)
    known = got["mad"] is not None and got["p50"]
    compare.close(where, "robust_cv", got["robust_cv"], Fraction(got["mad"], got["p50"]) if known else None)
    alloc = got["alloc"]
    if alloc is not None:
        both = alloc["self_alloc_bytes"] is not None and alloc["self_free_bytes"] is not None
        net = alloc["self_alloc_bytes"] - alloc["self_free_bytes"] if both else None
        compare.equal(where, "self_net_bytes", alloc["self_net_bytes"], net)


def by_both(where, got, section, has_all, compare):
    """What only spans can tell."""
    compare.equal(where, "name", got["name"], section.name)
    compare.equal(where, "depth", got["depth"], section.depth)
    compare.equal(where, "kind", got["kind"], section.kind)
    compare.equal(where, "errors", got["errors"], section.errors)
    compare.equal(where, "device_calls", got["device_calls"], section.on_device)
    compare.equal(where, "collapsed_calls", got["collapsed_calls"], section.collapsed)
    for figure in ("busy_ns", "idle_ns", "cpu_ns", "run_queue_ns", "samples", "tokens", "bytes", "flops"):
        reported = got[figure] and (got[figure]["spans"], got[figure]["sum"])
        compare.equal(where, figure, reported, section.sums.get(figure))
    if got["alloc"] is not None:
        compare.equal(where, "peak_bytes", got["alloc"]["peak_bytes"], section.peak)
        compare.equal(where, "alloc spans", got["alloc"]["spans"], section.sums.get("alloc_bytes", (0, 0))[0])
    listed = {part["mode"]: part for part in got["in_steps"]}
    for mode in sorted(set(listed) | set(section.in_steps)):
        part, mine = listed.get(mode), section.in_steps.get(mode)
        if part is None or mine is None:
            compare.missing(where, f"in {mode} steps only by the {'spans' if part is None else 'report'}")
            continue
        for figure, expected in (
            ("steps", mine.steps),
            ("calls", mine.calls),
            ("max_calls", mine.max_calls),
            ("total_ns", mine.total),
            ("driving_ns", mine.driving),
            ("exposed_ns", mine.exposed),
        ):
            compare.equal(where, f"{figure} in {mode} steps", part[figure], expected)


def own(where, got, section, has_all, is_known, compare):
    """Own time: where parts may be in other traces, only if the sums show no less (within 5 %)."""
    expected = section.self_ns if has_all and not section.selfless else None
    if expected is not None and not is_known:
        busy = got["self_busy_ns"]
        idle = section.sums.get("idle_ns", (0, 0))[1]
        if busy is None or expected * 95 > (busy + idle) * 100:
            expected = None
    compare.equal(where, "self_ns", got["self_ns"], expected)


def by_spans(where, got, section, knows_self, compare):
    durations = list(section.durations)
    compare.equal(where, "count", got["count"], section.count)
    compare.equal(where, "total", got["total"], section.total)
    compare.equal(where, "min", got["min"], min(durations))
    compare.equal(where, "max", got["max"], max(durations))
    compare.equal(where, "self_busy_ns", got["self_busy_ns"], None)
    compare.close(where, "mean", got["mean"], stats.mean(durations))
    compare.close(where, "std", got["std"], stats.std(durations))
    if section.count <= stats.EXACT_VALUES:
        compare.equal(where, "is_exact", got["is_exact"], True)
    alloc = got["alloc"] or {}
    for figure in ("alloc_bytes", "free_bytes", "alloc_count"):
        compare.equal(where, figure, alloc.get(figure), section.sum(figure))
    if got["alloc"] is not None:
        compare.equal(where, "self_alloc_bytes", alloc["self_alloc_bytes"], section.self_alloc if knows_self else None)
        compare.equal(where, "self_free_bytes", alloc["self_free_bytes"], section.self_free if knows_self else None)


def by_aggregates(where, got, section, sums, compare):
    count, total = sums.get(names.SECTION_COUNT), sums.get(names.SECTION_TOTAL)
    compare.equal(where, "count", got["count"], count)
    compare.equal(where, "total", got["total"], total)
    compare.equal(where, "self_busy_ns", got["self_busy_ns"], sums.get(names.SECTION_SELF_BUSY))
    compare.equal(where, "min", got["min"], sums.get(names.SECTION_MIN))
    compare.equal(where, "max", got["max"], sums.get(names.SECTION_MAX))
    alloc = got["alloc"] or {}
    for figure, metric in (
        ("alloc_bytes", names.SECTION_ALLOC),
        ("free_bytes", names.SECTION_FREE),
        ("alloc_count", names.SECTION_ALLOC_COUNT),
        ("self_alloc_bytes", names.SECTION_SELF_ALLOC),
        ("self_free_bytes", names.SECTION_SELF_FREE),
    ):
        compare.equal(where, figure, alloc.get(figure), sums.get(metric))
    if section is not None and section.count == count:
        durations = list(section.durations)
        compare.close(where, "mean", got["mean"], stats.mean(durations))
        compare.close(where, "std", got["std"], stats.std(durations))
    elif section is None or not section.collapsed:
        # Spans were lost: the sums alone must do.
        compare.close(where, "mean", got["mean"], Fraction(total, count))
        low, high = sums.get(names.SECTION_SQUARES_LOW), sums.get(names.SECTION_SQUARES_HIGH, 0)
        if low is not None and count > 1:
            numerator = count * ((high << 63) + low) - total * total
            denominator = count * (count - 1)
            std = Fraction(isqrt((numerator * denominator) << 128), denominator << 64)
            compare.close(where, "std", got["std"], std)
