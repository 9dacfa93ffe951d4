"""Call paths: counts, times, quantiles, allocations, and their part in steps."""

from array import array
from fractions import Fraction

import names
import stats
import traces
from comparison import QUANTILES

# Figures that are summed over the sections that carry them, under the report's names.
SUMS = {
    "busy_ns": names.BUSY_NS,
    "idle_ns": names.IDLE_NS,
    "cpu_ns": names.CPU_NS,
    "run_queue_ns": names.RUN_QUEUE_NS,
    "samples": names.SAMPLES,
    "tokens": names.TOKENS,
    "bytes": names.BYTES,
    "flops": names.FLOPS,
    "alloc_bytes": names.ALLOC_BYTES,
    "free_bytes": names.FREE_BYTES,
    "alloc_count": names.ALLOC_COUNT,
}

# Those of them, and others, that processes sum up themselves.
METRICS = {
    "count": names.SECTION_COUNT,
    "total": names.SECTION_TOTAL,
    "min": names.SECTION_MIN,
    "max": names.SECTION_MAX,
    "self_busy_ns": names.SECTION_SELF_BUSY,
    "alloc_bytes": names.SECTION_ALLOC,
    "free_bytes": names.SECTION_FREE,
    "alloc_count": names.SECTION_ALLOC_COUNT,
    "self_alloc_bytes": names.SECTION_SELF_ALLOC,
    "self_free_bytes": names.SECTION_SELF_FREE,
}


class Section:
    """All sections of one call path."""

    def __init__(self, node):
        self.name = traces.short(node.span.name) if node.depth <= traces.MAX_DEPTH else traces.DEEPER
        self.depth, self.kind = node.depth, node.kind
        self.durations = array("Q")
        self.total = self.self_ns = self.collapsed = self.steps = self.orphans = self.errors = self.device_calls = 0
        # Spans in traces that are not whole, or with parts in other traces: what their children took is not known.
        self.selfless = 0
        # The longest outside of steps.
        self.outside = None
        self.sums = {}
        self.self_alloc = self.self_free = 0
        self.peak = None
        self.in_steps = {}
        # {mode: [time on critical paths, calls on them, slack of each call beside them]}
        self.critical = {}

    def add(self, node, is_whole):
        span = node.span
        self.self_ns += node.self_ns if is_whole else 0
        self.selfless += not is_whole or traces.is_long(span)
        if node.root.is_ours and traces.is_outside(node.root):
            self.outside = max(self.outside or 0, span.duration)
        self.errors += span.is_error
        # Its path begins where the trace was cut off.
        self.orphans += bool(node.root.span.parent)
        if span.get(names.ALLOC_BYTES) is not None:
            self.self_alloc += own(node, names.ALLOC_BYTES)
            self.self_free += own(node, names.FREE_BYTES)
        if node.collapsed:
            # A part of the section around it, which has the same path: no call of its own.
            self.collapsed += 1
            return
        self.durations.append(span.duration)
        self.device_calls += span.get(names.CATEGORY) in names.DEVICE_CATEGORIES
        self.steps += node.kind == "step"
        self.total += span.duration
        for name, key in SUMS.items():
            value = span.get(key)
            if value is not None:
                spans, total = self.sums.get(name, (0, 0))
                self.sums[name] = (spans + 1, total + value)
        peak = span.get(names.PEAK_BYTES)
        if peak is not None:
            self.peak = max(peak, self.peak or 0)

    def add_to_step(self, mode, node, exposed):
        part = self.in_steps.setdefault(mode, InSteps())
        part.exposed_ns += exposed
        # As everywhere, a section inside one of the same path is a part of that.
        if not node.collapsed:
            part.calls += 1
            part.total_ns += node.span.duration
            part.driving_ns += node.span.duration if node.is_driving else 0

    @property
    def count(self):
        return len(self.durations)

    def sum(self, name):
        return self.sums[name][1] if name in self.sums else None


class InSteps:
    """A call path's part in the steps of one mode, under the report's names."""

    def __init__(self):
        self.steps = self.calls = self.max_calls = self.total_ns = self.driving_ns = self.exposed_ns = 0


def own(node, key):
    """Without what sections inside did on the same thread: counters are the threads'."""
    inside = sum(child.span.get(key) or 0 for child in node.children if child.thread == node.thread)
    return max(0, (node.span.get(key) or 0) - inside)


def compare_sections(listed, run, sums, compare):
    merged = sums.sections()
    reported = {section["path"]: section for section in listed}
    compare.equal("sections", "number of different paths", len(reported), len(listed))
    if names.OTHER_PATHS in merged and names.OTHER_PATHS not in run.sections:
        # Calls of many paths, for which the process had no room.
        reported.pop(names.OTHER_PATHS, None)
        del merged[names.OTHER_PATHS]
    for path in sorted(set(reported) | set(run.sections) | set(merged)):
        where = f"section {path}"
        got, section, aggregate = reported.get(path), run.sections.get(path), merged.get(path)
        is_summed = got is not None and got["source"] == "aggregates"
        if got is None or (aggregate if is_summed else section) is None:
            compare.missing(where, "not in the report" if got is None else f"only in the report, by {got['source']}")
            continue
        row = of_sums(aggregate) if is_summed else of_spans(section, run.knows_self(path))
        for figure, expected in row.items():
            told = (got["alloc"] or {}).get(figure) if "alloc" in figure or "free" in figure else got[figure]
            compare.equal(where, figure, told, expected)
        mean_and_std(where, got, section, row, aggregate or {}, compare)
        # Calls that no span shows: their own time is not known either.
        has_all = not is_summed or section is not None and section.count == row["count"]
        if section is not None:
            by_both(where, got, section, compare)
            self_time(where, got, section, has_all, run.knows_self(path), compare)
        of_histogram = aggregate and aggregate.get(names.SECTION_DURATION)
        if has_all or not of_histogram:
            ordered = sorted(section.durations)
        else:
            ordered = stats.middles(of_histogram)
        for quantile, (numerator, denominator) in QUANTILES.items():
            compare.quantile(where, quantile, got[quantile], ordered, numerator, denominator, got["is_exact"])
        known = got["mean"] and got["std"] is not None
        compare.close(where, "cv", got["cv"], Fraction(got["std"]) / Fraction(got["mean"]) if known else None)


def by_both(where, got, section, compare):
    """What only spans can tell."""
    for figure in ("name", "depth", "kind", "errors", "device_calls"):
        compare.equal(where, figure, got[figure], getattr(section, figure))
    compare.equal(where, "collapsed_calls", got["collapsed_calls"], section.collapsed)
    for figure in ("busy_ns", "idle_ns", "cpu_ns", "run_queue_ns", "samples", "tokens", "bytes", "flops"):
        reported = got[figure] and (got[figure]["spans"], got[figure]["sum"])
        compare.equal(where, figure, reported, section.sums.get(figure))
    if got["alloc"] is not None:
        compare.equal(where, "peak_bytes", got["alloc"]["peak_bytes"], section.peak)
        compare.equal(where, "alloc spans", got["alloc"]["spans"], section.sums.get("alloc_bytes", (0, 0))[0])
    listed = {part["mode"]: part for part in got["in_steps"]}
    for mode, part, mine in compare.pairs(where, "in steps of mode", listed, section.in_steps):
        for figure, expected in vars(mine).items():
            compare.equal(where, f"{figure} in {mode} steps", part[figure], expected)


def self_time(where, got, section, has_all, is_known, compare):
    """Own time: where parts may be in other traces, only if the sums show no less (within 5 %)."""
    expected = section.self_ns if has_all and not section.selfless else None
    if expected is not None and not is_known:
        busy = got["self_busy_ns"]
        idle = section.sums.get("idle_ns", (0, 0))[1]
        if busy is None or expected * 95 > (busy + idle) * 100:
            expected = None
    compare.equal(where, "self_ns", got["self_ns"], expected)


def of_spans(section, knows_self):
    """{figure of a row: what it is} by spans."""
    alloc = {figure: section.sum(figure) for figure in ("alloc_bytes", "free_bytes", "alloc_count")}
    if section.sum("alloc_bytes") is not None or section.sum("free_bytes") is not None:
        alloc["self_alloc_bytes"] = section.self_alloc if knows_self else None
        alloc["self_free_bytes"] = section.self_free if knows_self else None
    least, most = min(section.durations), max(section.durations)
    return {"count": section.count, "total": section.total, "min": least, "max": most, "self_busy_ns": None, **alloc}


def of_sums(sums):
    """{figure of a row: what it is} by the process's own sums."""
    return {figure: sums.get(metric) for figure, metric in METRICS.items()}


def mean_and_std(where, got, section, row, sums, compare):
    """Of all calls where spans show these; where some were lost, the sums alone must do."""
    if section is not None and section.count == row["count"]:
        durations = list(section.durations)
        compare.close(where, "mean", got["mean"], stats.mean(durations))
        compare.close(where, "std", got["std"], stats.std(durations))
    elif section is None or not section.collapsed:
        count, total = row["count"], row["total"]
        compare.close(where, "mean", got["mean"], Fraction(total, count))
        low, high = sums.get(names.SECTION_SQUARES_LOW), sums.get(names.SECTION_SQUARES_HIGH, 0)
        if low is not None and count > 1:
            compare.close(where, "std", got["std"], stats.std_of_sums(count, total, (high << 63) + low))
