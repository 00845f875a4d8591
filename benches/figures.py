"""Figures from a list of values, and how they are printed."""

import math
from statistics import median

__all__ = ["median", "percentile", "us"]


def percentile(ordered, percent):
    """The smallest of ascending values that at least `percent` of them do not exceed."""
    return ordered[max(math.ceil(len(ordered) * percent / 100), 1) - 1]


def us(nanoseconds):
    """Nanoseconds as microseconds."""
    return f"{nanoseconds / 1e3:.1f}"
