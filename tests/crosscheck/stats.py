"""Exact statistics of lists of integers: nearest-rank quantiles, moments, logarithmic buckets."""

from fractions import Fraction
from functools import cache
from math import exp, floor, isqrt, lgamma, log, log1p

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
    n = len(values)
    if n < 2:
        return None
    numerator = n * sum(value * value for value in values) - sum(values) ** 2
    # sqrt(a / b) = sqrt(a b) / b, in units of 2^-64.
    denominator = n * (n - 1)
    return Fraction(isqrt((numerator * denominator) << 128), denominator << 64)


def rounded(value, decimals):
    """To so many decimals, halves up, as the report rounds what is not negative."""
    return floor(float(value) * 10**decimals + 0.5) / 10**decimals


def mad(ordered):
    """Median absolute deviation from the nearest-rank median."""
    median = quantile(ordered, 1, 2)
    return None if median is None else quantile(sorted(abs(value - median) for value in ordered), 1, 2)


def unknown_below(median):
    """What a median absolute deviation is below that may be untold where times are known by buckets: the width of two."""
    return median * ((1 + HISTOGRAM_ERROR) ** 4 - 1)


def middle(values):
    """The median; of an even number of values, the mean of the middle two."""
    ordered, half = sorted(values), len(values) // 2
    if len(values) % 2:
        return ordered[half]
    pair = ordered[half - 1] + ordered[half]
    return pair / 2 if isinstance(pair, float) else Fraction(pair, 2)


def student(t, freedom):
    """Probability outside of ±t of Student's distribution: the incomplete beta function at f / (f + t²) of f / 2 and 1 / 2,
    by the continued fraction of DLMF 8.17.22, evaluated from its end."""
    a, b, x = freedom / 2, 0.5, freedom / (freedom + t * t)
    if x >= (a + 1) / (a + b + 2):
        return 1 - beta(b, a, 1 - x)
    return beta(a, b, x)


def beta(a, b, x, depth=400):
    """The regularised incomplete beta function for x below its mean."""
    if x <= 0:
        return 0.0
    value = 1.0
    for term in range(depth, 0, -1):
        half = term // 2
        if term % 2:
            factor = -(a + half) * (a + b + half) / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            factor = half * (b - half) / ((a + 2 * half - 1) * (a + 2 * half))
        value = 1 + factor * x / value
    whole = lgamma(a + b) - lgamma(a) - lgamma(b)
    return exp(whole + a * log(x) + b * log1p(-x)) / (a * value)


@cache
def student_quantile(probability, freedom):
    """The t outside of which is this probability."""
    low, high = 0.0, 1000.0
    for _ in range(64):
        half = (low + high) / 2
        low, high = (half, high) if student(half, freedom) > probability else (low, half)
    return high


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


def below(index):
    """The largest integer below a bucket: floor(2^(index/64)), by six square roots."""
    if index < 0:
        return 0
    root = 1 << index
    for _ in range(6):
        root = isqrt(root)
    return root


def borders(values):
    """The smallest and the largest integer of each bucket that holds some: 0 is in the first, and where the last is 128
    buckets or more behind the first of values, 2, 4, 8, ... are one."""
    found = {bucket(value) if value else -1 for value in values}
    size = 1
    while found and max(found) // size - min(found) // size >= 128:
        size *= 2
    starts = sorted({index // size * size for index in found})
    return [[below(start) + 1 if start >= 0 else 0, below(start + size)] for start in starts]


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
