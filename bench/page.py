"""`python -m bench.page` prints the record as Markdown tables, for docs/benchmarks.md: with each part's moment and what disturbed it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from bench import compare
from bench.measures import three_digits
from bench.record import LATEST, Record, read


def page(record: Record) -> Iterator[str]:
    """Its lines."""
    measures = record.get("measures", {})
    parts = list(dict.fromkeys(entry["part"] for entry in measures.values()))
    for part in parts:
        yield f"- {part}: {_circumstances(next(entry for entry in measures.values() if entry['part'] == part))}"
    yield ""
    yield from _table(("measure", "value", "against", "ratio", "bar", "aim", ""), (_row(*item) for item in measures.items()))
    cells = record.get("comparison", [])
    if cells:
        headings, *rows = compare.rows(cells)
        yield ""
        yield f"Comparison: {_circumstances(cells[0])}"
        yield ""
        yield from _table(headings, rows)


def _circumstances(entry: Mapping[str, Any]) -> str:
    others = "" if entry["others"] is None else f", other programs took {entry['others']:.0%} of the machine"
    return f"{entry['at'][:16].replace('T', ' ')} UTC, {entry['cores']} cores, load {entry['load']:.1f} at the start{others}"


def _row(name: str, entry: Mapping[str, Any]) -> Sequence[str]:
    sign = "≤" if entry["at_most"] else "≥"
    against = "" if entry["against"] is None else f"{three_digits(entry['against'])} ({entry['against_what']})"
    return (
        name,
        f"{three_digits(entry['value'])} {entry['unit']}".rstrip(),
        against,
        "" if entry["ratio"] is None else f"{entry['ratio']:.2f}",
        "" if entry["bar"] is None else f"{sign} {entry['bar']:g}",
        "" if entry["aim"] is None else f"{sign} {entry['aim']:g}",
        {None: "", True: "ok", False: "short"}[entry["ok"]],
    )


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(headings)} |"
    yield "|" + "---|" * len(headings)
    for row in rows:
        yield f"| {' | '.join(row)} |"


if __name__ == "__main__":
    print("\n".join(page(read(LATEST))))
