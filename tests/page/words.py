"""Figures in words, read back into numbers, by rules of the tests' own."""

import re

SCALES = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
          "PiB": 2**50, "EiB": 2**60, "%": 0.01, "": 1}
LONG = {"d": 86400e9, "h": 3600e9, "min": 60e9, "s": 1e9}


def says(words, value):
    """Whether words say a value: rounding to the last digit that is shown is fine, anything else is not."""
    words = words.replace("−", "-").replace(",", "").strip()
    if words == "< 0.01 %":
        return 0 < abs(value) < 0.0001
    if words == "< 0.001":
        return value < 0.001
    long = re.fullmatch(r"(\d+) (min|h|d) (\d+) (s|min|h)", words)
    if long:
        shown = int(long[1]) * LONG[long[2]] + int(long[3]) * LONG[long[4]]
        return abs(shown - value) <= LONG[long[4]] * 1.001
    match = re.fullmatch(r"([+-]?\d+(?:\.(\d+))?(?:e[+-]?\d+)?) ?(.*)", words)
    if not match:
        return False
    rare = re.fullmatch(r"(?:samples|tokens|steps)/(min|h|d)", match[3])
    unit = re.sub(r"^([kMGTPE]?) ?(samples|tokens|steps)/s$", r"\1#", match[3]).replace("/s", "")
    if rare:
        scale = 1e9 / LONG[rare[1]]
    elif unit.endswith("#"):
        scale = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}[unit[:-1]]
    elif unit in SCALES:
        scale = SCALES[unit]
    else:
        return False
    digit = 10.0 ** -len(match[2] or "")
    if "e" in match[1]:
        return abs(float(match[1]) - value) <= abs(value) * 1e-3
    # Shares are rounded to six decimals first, as the report holds most.
    return abs(float(match[1]) * scale - value) <= 0.5001 * digit * scale + (5e-7 if unit == "%" else 1e-12)
