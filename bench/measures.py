"""What a bench measured: a value beside something real that was measured in the same run, and the bar for their ratio."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measure:
    """`against` is what the value is compared with, in the same unit; `bar` bounds their ratio, or the value where there is none."""

    name: str
    value: float
    unit: str
    against: float | None = None
    against_what: str = ""
    bar: float | None = None
    at_most: bool = False

    @property
    def ratio(self) -> float | None:
        return self.value / self.against if self.against else None

    @property
    def ok(self) -> bool | None:
        """None where there is no bar."""
        if self.bar is None:
            return None
        compared = self.value if self.ratio is None else self.ratio
        return compared <= self.bar if self.at_most else compared >= self.bar

    def row(self) -> tuple[str, ...]:
        bar = "" if self.bar is None else f"{'≤' if self.at_most else '≥'} {self.bar:g}"
        return (
            self.name,
            f"{_three_digits(self.value)} {self.unit}",
            "" if self.against is None else f"{_three_digits(self.against)} ({self.against_what})",
            "" if self.ratio is None else f"{self.ratio:.2f}",
            bar,
            {None: "", True: "ok", False: "SHORT"}[self.ok],
        )


def print_table(measures: Iterable[Measure]) -> None:
    rows = [("measure", "value", "against", "ratio", "bar", ""), *(measure.row() for measure in measures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def write_json(measures: Iterable[Measure], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    values = {
        each.name: {
            "value": each.value,
            "unit": each.unit,
            "against": each.against,
            "ratio": each.ratio,
            "bar": each.bar,
            "ok": each.ok,
        }
        for each in measures
    }
    path.write_text(json.dumps({"measures": values}, indent=1) + "\n", encoding="utf-8")


def _three_digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
