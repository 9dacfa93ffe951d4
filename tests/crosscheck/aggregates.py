"""The cumulative sums of sections that the program itself exported, and whether they equal the spans'."""

import names
import stats


class Aggregates:
    """The latest point of each (process, labels, metric); labels are a call path, or a sink and a reason."""

    def __init__(self):
        self.points = {}
        self.gauges = {}

    def add(self, point):
        if point.metric in (names.PROCESS_MEMORY, names.LIVE_MEMORY):
            time, value, most = self.gauges.get((point.instance, point.metric), (0, 0, 0))
            latest = max((time, value), (point.time, point.value))
            self.gauges[point.instance, point.metric] = (*latest, max(most, point.value))
        if not point.metric.startswith((names.SECTION_PREFIX, names.SPANS_PREFIX)):
            return
        labels = tuple(point.attributes.get(label) for label in (names.PATH, names.SINK, names.LOSS_REASON))
        key = (point.instance, labels, point.metric)
        known = self.points.get(key)
        if known is None or point.time >= known.time:
            self.points[key] = point

    def latest(self, wanted, process=None):
        """The sum over processes, or of one, of a metric without call paths; None where nobody gave it."""
        values = [
            point.value
            for (instance, _, metric), point in self.points.items()
            if metric == wanted and process in (None, instance)
        ]
        return sum(values) if values else None

    def gauge_processes(self):
        """Those that said what memory they have."""
        return {instance for instance, _ in self.gauges}

    def gauge(self, process, metric):
        """The last value of a process' gauge and its largest; None twice where it has none."""
        return self.gauges.get((process, metric), (None, None, None))[1:]

    def processes(self):
        """Those that counted their spans."""
        return {instance for instance, _, metric in self.points if metric.startswith(names.SPANS_PREFIX)}

    def spans_by(self, wanted, process=None):
        """{(sink, reason): spans} of a metric, the processes together or one, without zeros."""
        counts = {}
        for (instance, (_, sink, reason), metric), point in self.points.items():
            if metric == wanted and point.value and process in (None, instance):
                counts[sink, reason] = counts.get((sink, reason), 0) + point.value
        return counts

    def sections(self):
        """{path: figures}, the processes merged."""
        merged = {}
        for (_, (path, _, _), metric), point in self.points.items():
            if path is None:
                continue
            into = merged.setdefault(path, {})
            value = point.value
            known = into.get(metric)
            if known is None:
                into[metric] = dict(value) if isinstance(value, dict) else value
            elif metric == names.SECTION_MIN:
                into[metric] = min(known, value)
            elif metric == names.SECTION_MAX:
                into[metric] = max(known, value)
            elif isinstance(value, dict):
                into[metric] = merge(known, value)
            else:
                into[metric] = known + value
        return merged


def merge(a, b):
    if a["scale"] != b["scale"]:
        raise ValueError("histograms of different scales")
    buckets = dict(a["buckets"])
    for index, count in b["buckets"].items():
        buckets[index] = buckets.get(index, 0) + count
    least = [x["min"] for x in (a, b) if x["min"] is not None]
    most = [x["max"] for x in (a, b) if x["max"] is not None]
    return {
        "count": a["count"] + b["count"],
        "sum": (a["sum"] or 0) + (b["sum"] or 0),
        "scale": a["scale"],
        "zero_count": a["zero_count"] + b["zero_count"],
        "min": min(least, default=None),
        "max": max(most, default=None),
        "buckets": buckets,
    }


def against_spans(aggregates, run, compare):
    """Every figure that both know. Where spans were lost or never made, the sums count more than the spans show,
    and nothing smaller than a span or longer than all. So they do where sections had not ended with the run: what is
    inside of them lacks the beginning of its path."""
    emitted = aggregates.latest(names.SPANS_EMITTED)
    if emitted is not None and emitted < run.spans:
        # Of a program that was killed the sums are older than the spans.
        return
    merged = aggregates.sections()
    has_all = aggregates.latest(names.SPANS_EMITTED) in (None, run.spans) and not run.has_basic
    has_all &= not any(section.orphans for section in run.sections.values())
    # Calls of paths for which the process had no room are counted together: which, only spans can tell.
    has_room = names.OTHER_PATHS not in merged or names.OTHER_PATHS in run.sections
    if not has_room:
        del merged[names.OTHER_PATHS]
    for path in sorted(set(merged) | set(run.sections)):
        where = f"aggregates of {path}"
        sums, section = merged.get(path), run.sections.get(path)
        if not has_all and (section is None or section.orphans):
            continue
        if not has_room and (sums is None or section.count > sums.get(names.SECTION_COUNT, 0)):
            continue
        if sums is None or section is None:
            compare.missing(where, "only in the spans" if sums is None else "only in the aggregates")
            continue
        if not has_all and sums.get(names.SECTION_COUNT) != section.count:
            for figure, metric, least in (("count", names.SECTION_COUNT, section.count), ("total", names.SECTION_TOTAL, section.total)):
                compare.equal(where, f"{figure} of all is at least the spans'", sums.get(metric, 0) >= least, True)
            continue
        squares = None
        if names.SECTION_SQUARES_LOW in sums:
            # Low words of several processes carry.
            squares = (sums.get(names.SECTION_SQUARES_HIGH, 0) << 63) + sums[names.SECTION_SQUARES_LOW]
        durations = section.durations
        for figure, got, expected in (
            ("count", sums.get(names.SECTION_COUNT), section.count),
            ("total", sums.get(names.SECTION_TOTAL), section.total),
            ("min", sums.get(names.SECTION_MIN), min(durations)),
            ("max", sums.get(names.SECTION_MAX), max(durations)),
            ("squares", squares, sum(duration * duration for duration in durations)),
            ("alloc bytes", sums.get(names.SECTION_ALLOC), section.sum("alloc_bytes")),
            ("free bytes", sums.get(names.SECTION_FREE), section.sum("free_bytes")),
            ("alloc count", sums.get(names.SECTION_ALLOC_COUNT), section.sum("alloc_count")),
        ):
            if got is not None:
                compare.equal(where, figure, got, 0 if expected is None else expected)
        histogram = sums.get(names.SECTION_DURATION)
        if histogram is not None:
            zeros, buckets = stats.histogram(durations)
            least, most = min(durations), max(durations)
            mine = {"count": section.count, "min": least, "max": most, "scale": 6, "zero_count": zeros, "buckets": buckets}
            for figure, expected in mine.items():
                compare.equal(where, f"histogram {figure}", histogram[figure], expected)
