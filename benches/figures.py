"""Figures from a list of values, and how they are printed."""

import math


def percentile(ordered, percent):
    """The smallest of ascending values that at least `percent` of them do not exceed."""
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


def median(values):
    """The middle one."""
    return percentile(sorted(values), 50)


def us(nanoseconds):
    """Nanoseconds as microseconds."""
    return f"{nanoseconds / 1e3:.1f}"


def ms(nanoseconds):
    """Nanoseconds as milliseconds."""
    return f"{nanoseconds / 1e6:.1f}"
