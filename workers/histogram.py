"""Counting by size: how many values fell under each bound, since the run began.

Pure. A value costs one bisection and one addition, so that the front can afford it for every read.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import TypedDict


class HistogramJson(TypedDict):
    """`counts` has one place more than `bounds`: `counts[i]` values lay above `bounds[i - 1]` and at or below `bounds[i]`."""

    bounds: list[float]
    counts: list[int]
    sum: float


class Histogram:
    __slots__ = ("bounds", "counts", "sum")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, value: float, times: int = 1) -> None:
        self.counts[bisect_left(self.bounds, value)] += times
        self.sum += value * times

    def as_json(self, every: int = 1) -> HistogramJson:
        """With `every` only each so-many-th bound, the last among them."""
        places = range((len(self.bounds) - 1) % every, len(self.bounds), every)
        edges = [0, *(place + 1 for place in places), len(self.counts)]
        return {
            "bounds": [round(self.bounds[place], 3) for place in places],
            "counts": [sum(self.counts[start:end]) for start, end in pairwise(edges)],
            "sum": round(self.sum, 3),
        }


def sum_of(*histograms: Histogram) -> Histogram:
    """All of them together; they have the same bounds."""
    whole = Histogram(histograms[0].bounds)
    whole.counts = [sum(counts) for counts in zip(*(each.counts for each in histograms), strict=True)]
    whole.sum = sum(each.sum for each in histograms)
    return whole


def quantile(counts: Sequence[int], bounds: Sequence[float], share: float) -> float | None:
    """The bound below which `share` of the values lie; None without values."""
    left = share * sum(counts)
    if not left:
        return None
    for count, bound in zip(counts, bounds, strict=False):
        left -= count
        if left <= 0:
            return round(bound, 3)
    return round(bounds[-1], 3)
