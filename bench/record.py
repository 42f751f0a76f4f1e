"""var/bench/latest.json: the newest figures of every part, each with the moment and the machine's load when it was measured.

A run of one part leaves the others' figures as they were; a run of a part replaces all that this part said before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.measures import Measure
from tasksys_site.configuration import PROJECT

FOLDER = PROJECT / "var" / "bench"
LATEST = FOLDER / "latest.json"

BUSY = 0.15
"""Of the machine."""

Record = dict[str, Any]


@dataclass(frozen=True)
class Circumstances:
    """Of a run: `at` as ISO 8601 in UTC; `load` is the machine's one-minute load average before anything was started.

    `others`: the share of the machine that other programs took while a part was measured; None before that.
    """

    at: str
    load: float
    cores: int
    others: float | None = None

    @property
    def is_busy(self) -> bool:
        """Other programs were at work: ratios are doubtful, absolute figures more so."""
        return self.load > self.cores * BUSY or (self.others is not None and self.others > BUSY)

    def as_json(self) -> Record:
        return {"at": self.at, "load": self.load, "cores": self.cores, "others": self.others, "busy": self.is_busy}


def merge(
    before: Record,
    part: str,
    measures: Iterable[Measure],
    comparison: Iterable[Mapping[str, Any]],
    run: Circumstances,
    parts: Sequence[str],
) -> Record:
    """`before` with what `part` measured now, in the order of `parts`. What belongs to none of `parts` (an older bench's) goes."""

    def stays(entry: Mapping[str, Any]) -> bool:
        return entry.get("part") in parts and entry.get("part") != part

    kept = {name: entry for name, entry in before.get("measures", {}).items() if stays(entry)}
    new = {measure.name: _as_json(measure, part, run) for measure in measures}
    cells = [cell for cell in before.get("comparison", []) if stays(cell)]
    cells += [{**cell, "part": part, **run.as_json()} for cell in comparison]
    in_order = sorted((kept | new).items(), key=lambda item: parts.index(item[1]["part"]))  # stable: a part keeps its own order
    return {"measures": dict(in_order), "comparison": cells}


def _as_json(measure: Measure, part: str, run: Circumstances) -> Record:
    return {
        "value": measure.value,
        "unit": measure.unit,
        "against": measure.against_mean,
        "ratio": measure.ratio,
        "bar": measure.bar,
        "ok": measure.ok,
        "aim": measure.aim,
        "at_most": measure.at_most,
        "against_what": measure.against_what,
        "against_runs": list(measure.against),
        "part": part,
        **run.as_json(),
    }


def read(path: Path) -> Record:
    """What stands there; nothing when there is none, or when it is no record."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def write(path: Path, record: Record) -> None:
    """At once or not at all: an interrupted run leaves the former record."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(path)
