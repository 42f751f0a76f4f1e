"""Ways to read from a replica that lags, beside each other: how much it serves, how much of that is old, how long a read takes.

A cell is one lag and one share of writes. In a cell the ways take turns, a slot each, with steps drawn alike, so that the writes go on as
one steady stream through all slots. (With the very same steps in each slot the same users would be written again and again, and
windows that reach back over several slots would pin too few.)
"""

from __future__ import annotations

import itertools
import statistics
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from bench.counters import reads_of, shares
from bench.direct import FIRST_UID
from bench.measures import Measure, three_digits
from bench.progress import say
from bench.replica_lag import lag_s_now, make_lag
from bench.together import run_together
from bench.ways import OURS, Way, Writes
from bench.workload import USERS, Outcome, Step, earlier_writes, quantile, steps
from deploy.local.private_stack import PrivateStack

THREADS = 16
LAGS_S = (0, 1, 10)
WRITE_SHARES = (0.02, 0.10)
SLOT_S = 2.0
WARM_UP_S = 1.0
"""Beyond the lag."""
WATCH_EVERY_S = 0.1
WIDEST_WINDOW_S = 15.0

Cell = Mapping[str, Any]


def run_cells(stack: PrivateStack, ways: Sequence[Way]) -> Iterator[Cell]:
    """One for each way, lag and share of writes, as `cell` shapes it."""
    for lag_s in LAGS_S:
        say(f"compare: making a lag of {lag_s} s")
        make_lag(stack, lag_s)
        for write_share in WRITE_SHARES:
            say(f"compare: lag {lag_s} s, {write_share:.0%} writes, {len(ways)} ways")
            yield from run_cell(stack, ways, lag_s, write_share, SLOT_S)
    make_lag(stack, 0)


def run_cell(stack: PrivateStack, ways: Sequence[Way], lag_s: int, write_share: float, seconds: float) -> list[Cell]:
    """The replica's lag is made already, or about to build up."""
    seed = f"{lag_s} {write_share}"
    writes = Writes()
    for uid, version in stack.master.execute(
        f"SELECT uid, version FROM user_state WHERE uid BETWEEN {FIRST_UID} AND {FIRST_UID + USERS - 1}", "tasksys_user"
    ):
        writes.newest[uid - FIRST_UID] = version
    writes.written_at |= earlier_writes(f"{seed} before", write_share, time.monotonic(), WIDEST_WINDOW_S)
    run_slot(stack, ways[0], writes, steps(f"{seed} warm-up", write_share, lag_s + WARM_UP_S), "warm-up")
    cells = []
    for number, way in enumerate(ways):
        before = reads_of(stack)
        outcome = run_slot(stack, way, writes, steps(f"{seed} {way.name}", write_share, seconds), str(number))
        safe = shares(before, reads_of(stack))[1] if way.name == OURS else None
        cells.append(cell(way.name, lag_s, write_share, outcome, safe))
    return cells


def run_slot(stack: PrivateStack, way: Way, writes: Writes, plan: Sequence[Step], salt: str) -> Outcome:
    """All steps of `plan` by THREADS threads; who is free takes the next. What was not begun by its end is not done."""
    salt = f"c{time.monotonic_ns():x}-{salt}"
    following = itertools.count()
    total = Outcome(planned=len(plan))
    over = threading.Event()
    lags_s: list[float] = []

    def watch() -> None:
        while not over.wait(WATCH_EVERY_S):
            lag_s = lag_s_now(stack)
            if lag_s is not None:
                lags_s.append(lag_s)

    with ExitStack() as opened:
        seats = [way.sit(stack, writes, opened) for _ in range(THREADS)]
        began_at = time.monotonic() + 0.05
        until = began_at + plan[-1].after_s

        def work(number: int) -> None:
            own, seat = Outcome(0), seats[number]
            while (place := next(following)) < len(plan):
                step = plan[place]
                due_at = began_at + step.after_s
                early_s = due_at - time.monotonic()
                if early_s > 0:
                    time.sleep(early_s)
                    due_at = time.monotonic()  # how late the clock wakes us is no way's fault
                elif time.monotonic() > until:
                    break
                known = writes.newest[step.user]
                if step.is_write:
                    version = seat.write(step.user, f"{salt}-{place}")
                else:
                    version, from_replica = seat.read(step.user)
                    own.latencies_s.append(time.monotonic() - due_at)
                    own.reads += 1
                    own.from_replica += from_replica
                    own.stale += version < known
                own.done += 1
                writes.saw(step.user, version)
            with writes.lock:
                total.add(own)

        watching = threading.Thread(target=watch, daemon=True)
        watching.start()
        try:
            run_together(work, THREADS)
        finally:
            over.set()
            watching.join()
    total.lag_s = statistics.median(lags_s) if lags_s else None
    return total


def seconds_text(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds:.2f} s"


def cell(name: str, lag_s: int, write_share: float, outcome: Outcome, safe: float | None) -> Cell:
    """Shares are of 1. `lag_s` is the lag asked for, `lag_seen_s` the median of what was seen.

    `safe`: what the DBSvr could have let a replica serve; None for other ways.
    """
    return {
        "way": name,
        "lag_s": lag_s,
        "lag_seen_s": outcome.lag_s,
        "write_share": write_share,
        "reads": outcome.reads,
        "replica_share": outcome.replica_share,
        "safe_share": safe,
        "stale": outcome.stale,
        "stale_share": outcome.stale_share,
        "read_p50_ms": 1000 * quantile(outcome.latencies_s, 0.50),
        "read_p99_ms": 1000 * quantile(outcome.latencies_s, 0.99),
        "done_share": outcome.done_share,
    }


def measures(cells: Iterable[Cell]) -> Iterator[Measure]:
    """What of the comparison has a bar."""
    stale = sum(each["stale"] for each in cells if each["way"] == OURS)
    yield Measure("comparison: stale reads of ours, all lags and shares of writes", stale, "", bar=0, aim=0, at_most=True)


def rows(cells: Iterable[Cell]) -> Iterator[tuple[str, ...]]:
    """Of the table, with its headings."""
    yield ("lag", "seen", "writes", "way", "from the replica", "stale", "stale of reads", "p50 ms", "p99 ms", "done of plan")
    for each in cells:
        safe = "" if each["safe_share"] is None else f" ({100 * each['safe_share']:.1f} % safe)"
        yield (
            f"{each['lag_s']} s",
            seconds_text(each["lag_seen_s"]),
            f"{each['write_share']:.0%}",
            each["way"],
            f"{100 * each['replica_share']:.1f} %{safe}",
            str(each["stale"]),
            f"{100 * each['stale_share']:.1f} %" if each["stale"] else "0",
            three_digits(each["read_p50_ms"]),
            three_digits(each["read_p99_ms"]),
            f"{100 * each['done_share']:.0f} %",
        )
