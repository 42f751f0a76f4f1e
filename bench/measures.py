"""What a bench measured: a value beside something real that was measured in the same run, and the bar for their ratio.

Pure, except for printing. The record of a run is `bench.record`'s.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean


@dataclass(frozen=True)
class Measure:
    """`against` is what the value is compared with, in the same unit, as often as it was measured; none is no comparison.

    `bar` bounds the ratio to their mean, or the value where there is no comparison; `aim` is what we would like, and fails nothing.
    """

    name: str
    value: float
    unit: str
    against: Sequence[float] = ()
    against_what: str = ""
    bar: float | None = None
    aim: float | None = None
    at_most: bool = False

    @property
    def against_mean(self) -> float | None:
        return fmean(self.against) if self.against else None

    @property
    def ratio(self) -> float | None:
        """None also for a comparison that came out as nothing."""
        return self.value / self.against_mean if self.against_mean else None

    @property
    def ok(self) -> bool | None:
        """None where there is no bar."""
        return None if self.bar is None else self._keeps(self.bar)

    @property
    def reaches_aim(self) -> bool | None:
        return None if self.aim is None else self._keeps(self.aim)

    def _keeps(self, bound: float) -> bool:
        if self.against and self.ratio is None:
            return False  # nothing to compare with: unknown is not good
        compared = self.value if self.ratio is None else self.ratio
        return compared <= bound if self.at_most else compared >= bound

    def row(self) -> tuple[str, ...]:
        sign = "≤" if self.at_most else "≥"
        verdict = {None: "", True: "ok", False: "SHORT"}[self.ok]
        return (
            self.name,
            f"{three_digits(self.value)} {self.unit}".rstrip(),
            self._against_text(),
            "" if self.ratio is None else f"{self.ratio:.2f}",
            "" if self.bar is None else f"{sign} {self.bar:g}",
            "" if self.aim is None else f"{sign} {self.aim:g}",
            verdict + (", aim" if self.ok and self.reaches_aim else ""),
        )

    def _against_text(self) -> str:
        if self.against_mean is None:
            return ""
        runs = f" ({' … '.join(three_digits(each) for each in self.against)})" if len(self.against) > 1 else ""
        return f"{three_digits(self.against_mean)}{runs} {self.against_what}"


HEADINGS = ("measure", "value", "against (before … after)", "ratio", "bar", "aim", "")


def print_table(rows: Iterable[Sequence[str]]) -> None:
    """The first row is the headings."""
    rows = list(rows)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
