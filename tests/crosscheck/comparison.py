"""Collects comparisons: how many, of what, and every difference."""

from fractions import Fraction

import stats

QUANTILES = {"p50": (1, 2), "p90": (9, 10), "p95": (95, 100), "p99": (99, 100)}


class Comparison:
    """Counts figures and keeps differences."""

    def __init__(self):
        self.figures = 0
        self.differences = []

    def missing(self, where, what):
        self.figures += 1
        self.differences.append(f"{where}: {what}")

    def differ(self, where, figure, got, expected, why=""):
        self.differences.append(f"{where}: {figure}: report {show(got)}, spans {show(expected)}{why}")

    def pairs(self, where, of, reported, mine):
        """(key, the report's, ours) of what both have; what one of them lacks is a difference."""
        for key in sorted(set(reported) | set(mine), key=str):
            if key in reported and key in mine:
                yield key, reported[key], mine[key]
            else:
                self.missing(where, f"{of} {key} is only in the {'spans' if key in mine else 'report'}")

    def equal(self, where, figure, got, expected):
        self.figures += 1
        if got != expected:
            self.differ(where, figure, got, expected)

    def close(self, where, figure, got, expected, relative=Fraction(1, 10**9), absolute=0):
        """`got` within the given error of `expected`; absent only where the other is."""
        self.figures += 1
        if got is None or expected is None:
            if got is not expected:
                self.differ(where, figure, got, expected)
            return
        allowed = abs(Fraction(expected)) * relative + absolute
        if abs(Fraction(got) - Fraction(expected)) > allowed:
            self.differ(where, figure, got, expected, f" (more than {float(allowed):.6g} apart)")

    def quantile(self, where, figure, got, ordered, numerator, denominator, is_exact):
        """Equal, or within the error of the histogram where the report says so; rounding adds half a unit."""
        expected = stats.quantile(ordered, numerator, denominator)
        if is_exact:
            self.equal(where, figure, got, expected)
        else:
            self.close(where, figure, got, expected, stats.HISTOGRAM_ERROR, Fraction(1, 2))

    def step_times(self, where, got, steps):
        """A block of figures of what steps take."""
        deep = [step.duration for step in steps if step.is_deep]
        self.stats(where, got, [step.duration for step in steps if not step.is_deep], deep)

    def stats(self, where, got, values, counted=()):
        """A block of figures of one set of integers; those `counted` are in the count and the total alone."""
        ordered = sorted(values)
        self.equal(where, "count", got["count"], len(ordered) + len(counted))
        self.equal(where, "total", got["total"], sum(ordered) + sum(counted))
        self.equal(where, "min", got["min"], ordered[0] if ordered else None)
        self.equal(where, "max", got["max"], ordered[-1] if ordered else None)
        mean, std = stats.mean(ordered), stats.std(ordered)
        self.close(where, "mean", got["mean"], mean)
        self.close(where, "std", got["std"], std)
        if mean and std is not None:
            self.close(where, "cv", got["cv"], std / mean)
        if len(ordered) <= stats.EXACT_VALUES:
            self.equal(where, "is_exact", got["is_exact"], True)
        for figure, (numerator, denominator) in QUANTILES.items():
            self.quantile(where, figure, got[figure], ordered, numerator, denominator, got["is_exact"])

    def throughput(self, where, got, steps):
        """Work of a set of steps by their own time and by the clock. What several processes do together counts once."""
        where = f"throughput of {where}"
        elapsed = max((s.end for s in steps), default=0) - min((s.start for s in steps), default=0)
        self.equal(where, "elapsed_ns", got["elapsed_ns"], elapsed)
        if elapsed:
            self.close(where, "steps_per_second", got["steps_per_second"], Fraction(done_together(steps) * 10**9, elapsed))
        for unit in ("samples", "tokens", "bytes"):
            saying = [step for step in steps if step.work[unit] is not None]
            done, own = sum(step.work[unit] for step in saying), sum(step.duration for step in saying)
            # Of steps that do not say it, and were not read whole, nobody knows.
            is_known = saying and all(step.is_whole or step.work[unit] is not None for step in steps)
            self.equal(where, unit, got[unit], done if is_known else None)
            for figure, time, is_told in ((f"{unit}_per_step_second", own, saying), (f"{unit}_per_second", elapsed, is_known)):
                self.close(where, figure, got[figure], Fraction(done * 10**9, time) if is_told and time else None)


def done_together(steps):
    """How many steps there are, where all processes number theirs and share some of the numbers: of the process with most."""
    numbers = {}
    for step in steps:
        numbers.setdefault(step.instance, []).append(step.number)
    if any(number is None for listed in numbers.values() for number in listed):
        return len(steps)
    is_shared = max(map(min, numbers.values()), default=0) <= min(map(max, numbers.values()), default=0)
    return max(map(len, numbers.values()), default=0) if is_shared else len(steps)


def show(value):
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"{float(value):.12g}"
    return "nothing" if value is None else str(value)
