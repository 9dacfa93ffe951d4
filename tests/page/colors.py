"""How far colours are apart for people with any kind of colour vision, and how well words on them are read."""

import math
import re

# Machado, Oliveira and Fernandes 2009, full deficiency: none, protanopia, deuteranopia, tritanopia.
VISIONS = (
    ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
)


def linear(color):
    """Of `rgb(1, 2, 3)`."""
    values = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
    return [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in values]


def luminance(color):
    red, green, blue = linear(color)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def oklab(rgb):
    red, green, blue = (max(value, 0) for value in rgb)
    cones = (0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue,
             0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue,
             0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue)
    long, middle, short = (cone ** (1 / 3) for cone in cones)
    return (0.2104542553 * long + 0.7936177850 * middle - 0.0040720468 * short,
            1.9779984951 * long - 2.4285922050 * middle + 0.4505937099 * short,
            0.0259040371 * long + 0.7827717662 * middle - 0.8086757660 * short)


def distance(one, other):
    """Between two colours in OKLab, to the vision to which they are nearest."""
    seen = lambda color, vision: oklab([sum(a * b for a, b in zip(row, linear(color))) for row in vision])
    return min(math.dist(seen(one, vision), seen(other, vision)) for vision in VISIONS)
