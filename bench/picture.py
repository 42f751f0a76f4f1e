"""`python -m bench.picture FILE` draws the recorded comparison.

Replica share, stale reads and latencies, by lag and share of writes, for each way.

Shares are bars from zero. Latencies span four powers of ten, so they are points on a logarithmic axis: it has no zero for a bar to
stand on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")  # a file, no window

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter

from bench.compare import Cell
from bench.record import LATEST, read
from bench.workload import RATE, USERS

# Okabe and Ito's colours, which also the colour-blind can tell apart; peers get the last ones.
COLOURS = ("#0072B2", "#999999", "#D55E00", "#E69F00", "#F0E442", "#009E73", "#CC79A7", "#56B4E9", "#000000")
PLAN = f"{RATE:,} operations a second on {USERS:,} users, drawn alike for every way."
ALL_BUT = 0.98
WIDTH = 0.86
"""Of a lag's group of bars."""


def draw(cells: Sequence[Cell], path: Path) -> None:
    """From the record's cells. A row for each of: from the replica, stale, latency; a column for each share of writes."""
    ways = list(dict.fromkeys(cell["way"] for cell in cells))
    lags = sorted({cell["lag_s"] for cell in cells})
    write_shares = sorted({cell["write_share"] for cell in cells})
    figure, axes = plt.subplots(3, len(write_shares), figsize=(6.0 * len(write_shares), 9.6), sharex="col", sharey="row", squeeze=False)
    for column, write_share in enumerate(write_shares):
        here = [cell for cell in cells if cell["write_share"] == write_share]
        share, stale, latency = axes[:, column]
        share.set_title(f"{write_share:.0%} writes", fontsize=11)
        _bars(share, here, ways, lags, "replica_share")
        _bars(stale, here, ways, lags, "stale_share")
        _points(latency, here, ways, lags)
        latency.set_xticks(range(len(lags)), [_lag_text(here, lag_s) for lag_s in lags])
        latency.set_xlabel("lag of the replica: asked for, and seen")
    for axis, label in zip(axes[:, 0], ("reads served by the replica, %", "stale reads, %", "read latency, ms (log)"), strict=True):
        axis.set_ylabel(label)
    axes[0, 0].set_ylim(0, 112)
    highest = max(100 * cell["stale_share"] for cell in cells)
    axes[1, 0].set_ylim(0, max(5.0, 1.18 * highest))
    axes[2, 0].set_yscale("log")
    axes[2, 0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    handles = [Patch(color=_colour(number)) for number in range(len(ways))]
    figure.legend(handles, ways, loc="upper center", ncols=len(ways), frameon=False, bbox_to_anchor=(0.5, 0.972), fontsize=10)
    run = cells[0]
    others = "unknown" if run["others"] is None else f"{run['others']:.0%} of the machine"
    busy = " (busy: latencies are doubtful)" if run["busy"] else ""
    figure.suptitle("Reads from an asynchronous replica: who serves them, and how old they are", y=0.99, fontsize=13)
    figure.text(
        0.5,
        0.008,
        f"{run['at'][:16]} UTC, {run['cores']} cores, load {run['load']:.1f} at the start, others {others} meanwhile{busy}. {PLAN} "
        "\nLatency: p50 filled, p99 hollow, from when a read was due; a percentage: so much of the plan was done in time.",
        ha="center",
        fontsize=8,
    )
    figure.tight_layout(rect=(0, 0.035, 1, 0.955))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _lag_text(cells: Sequence[Cell], lag_s: int) -> str:
    """With the least and the most that any way's slot had."""
    seen = [cell["lag_seen_s"] for cell in cells if cell["lag_s"] == lag_s and cell["lag_seen_s"] is not None]
    return f"{lag_s} s\n" + (f"{min(seen):.2f} … {max(seen):.2f} s" if seen else "unknown")


def _bars(axis: Axes, cells: Sequence[Cell], ways: Sequence[str], lags: Sequence[int], key: str) -> None:
    for number, way in enumerate(ways):
        for place, lag_s in enumerate(lags):
            for cell in cells:
                if (cell["way"], cell["lag_s"]) != (way, lag_s):
                    continue
                at, percent = _at(place, number, len(ways)), 100 * cell[key]
                axis.bar(at, percent, WIDTH / len(ways) * 0.92, color=_colour(number))
                axis.annotate(_percent(percent), (at, percent), (0, 2), textcoords="offset points", ha="center", fontsize=7.5)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


def _points(axis: Axes, cells: Sequence[Cell], ways: Sequence[str], lags: Sequence[int]) -> None:
    for cell in cells:
        number = ways.index(cell["way"])
        at, colour = _at(lags.index(cell["lag_s"]), number, len(ways)), _colour(number)
        p50, p99 = cell["read_p50_ms"], cell["read_p99_ms"]
        axis.plot([at, at], [p50, p99], color=colour, linewidth=1.5, alpha=0.7)
        axis.plot(at, p50, "o", color=colour, markersize=6, markeredgecolor="#333333", markeredgewidth=0.5)
        if cell["done_share"] < ALL_BUT:
            axis.annotate(f"{cell['done_share']:.0%}", (at, p50), (0, -14), textcoords="offset points", ha="center", fontsize=7.5)
        axis.plot(at, p99, "o", color=colour, markersize=6, markerfacecolor="white", markeredgewidth=1.6)
    axis.grid(axis="y", alpha=0.3)


def _at(place: int, number: int, ways: int) -> float:
    return place + WIDTH * ((number + 0.5) / ways - 0.5)


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _percent(value: float) -> str:
    """Zero only for none at all."""
    if value == 0 or value >= 9.95:
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 0.05 else "<0.1"


if __name__ == "__main__":
    draw(read(LATEST)["comparison"], Path(sys.argv[1]))
