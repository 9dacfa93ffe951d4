"""Collects comparisons: how many, of what, and every difference."""

from fractions import Fraction

import stats


class Comparison:
    """Counts figures and keeps differences."""

    def __init__(self):
        self.figures = 0
        self.places = set()
        self.differences = []

    def missing(self, where, what):
        self.places.add(where)
        self.figures += 1
        self.differences.append(f"{where}: {what}")

    def differ(self, where, figure, got, expected, why=""):
        self.differences.append(f"{where}: {figure}: report {show(got)}, spans {show(expected)}{why}")

    def counted(self, where):
        self.places.add(where)
        self.figures += 1

    def equal(self, where, figure, got, expected):
        self.counted(where)
        if got != expected:
            self.differ(where, figure, got, expected)

    def close(self, where, figure, got, expected, relative=Fraction(1, 10**9), absolute=0):
        """`got` within the given error of `expected`; absent only where the other is."""
        self.counted(where)
        if got is None or expected is None:
            if got is not expected:
                self.differ(where, figure, got, expected)
            return
        allowed = abs(Fraction(expected)) * relative + absolute
        if abs(Fraction(got) - Fraction(expected)) > allowed:
            self.differ(where, figure, got, expected, f" (more than {float(allowed):.6g} apart)")

    def quantile(self, where, figure, got, ordered, numerator, denominator):
        """Exact for few values, else within the error of the histogram; rounding adds half a unit."""
        expected = stats.quantile(ordered, numerator, denominator)
        if len(ordered) <= stats.EXACT_VALUES:
            self.equal(where, figure, got, expected)
        else:
            self.close(where, figure, got, expected, stats.HISTOGRAM_ERROR, Fraction(1, 2))


def show(value):
    if isinstance(value, Fraction):
        return str(value) if value.denominator == 1 else f"{float(value):.12g}"
    return "nothing" if value is None else str(value)
