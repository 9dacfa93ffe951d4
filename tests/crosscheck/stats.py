"""Exact statistics of lists of integers: nearest-rank quantiles, moments, logarithmic buckets."""

from fractions import Fraction
from math import isqrt

# A histogram of 64 buckets an octave answers with the bucket's geometric middle: off by at most 2^(1/128) - 1.
HISTOGRAM_ERROR = Fraction(55, 10_000)

# Up to so many values quantiles are exact.
EXACT_VALUES = 64


def quantile(ordered, numerator, denominator):
    """The value at 1-based rank ceil(q n) of a sorted list, at least the first; None of nothing."""
    if not ordered:
        return None
    rank = -(-len(ordered) * numerator // denominator)
    return ordered[max(rank, 1) - 1]


def mean(values):
    return Fraction(sum(values), len(values)) if values else None


def std(values):
    """Sample standard deviation, divisor n - 1, correct to far more digits than a double holds."""
    if len(values) < 2:
        return None
    return std_of_sums(len(values), sum(values), sum(value * value for value in values))


def std_of_sums(n, total, squares):
    # sqrt(a / b) = sqrt(a b) / b, in units of 2^-64.
    denominator = n * (n - 1)
    return Fraction(isqrt(((n * squares - total**2) * denominator) << 128), denominator << 64)


def bucket(value):
    """Index i with 2^(i/64) < value <= 2^((i+1)/64), in integers: 2^i < value^64 <= 2^(i+1)."""
    return (value**64 - 1).bit_length() - 1


def histogram(values):
    """(number of zeros, {bucket: count})."""
    zeros, counts, known = 0, {}, {}
    for value in values:
        if value == 0:
            zeros += 1
            continue
        index = known.get(value)
        if index is None:
            index = known[value] = bucket(value)
        counts[index] = counts.get(index, 0) + 1
    return zeros, counts


def middles(histogram):
    """The values of a histogram as well as it knows them, in order: a bucket's geometric middle, within the extremes."""
    values = [0] * histogram["zero_count"]
    for index, count in sorted(histogram["buckets"].items()):
        middle = round(2 ** ((2 * index + 1) / 2 ** (histogram["scale"] + 1)))
        values += [max(int(histogram["min"]), min(int(histogram["max"]), middle))] * count
    return values


def union(intervals):
    """Length of the union of (start, end) intervals."""
    covered, reached = 0, None
    for start, end in sorted(intervals):
        if end <= start:
            continue
        if reached is None or start > reached:
            covered += end - start
            reached = end
        elif end > reached:
            covered += end - reached
            reached = end
    return covered
