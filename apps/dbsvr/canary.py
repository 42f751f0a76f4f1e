"""The canary: a few reserved users who are written and read on the normal way, to see the promises kept with one's own eyes.

One round adds 1 to one user's progress, reads him through every route again and again, until a replica has served the new state, or
for READ_FOR_S, and repeats the event. Every answer is held against what was promised before: no state older than one acknowledged
or seen, no acknowledged write missing, none applied twice. An error is no violation: a request may be refused, an answer may not lie.

Leans on DbInterface and the wire; knows neither Django nor when the next round is due. Rounds of one user must not overlap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import msgspec

from apps.dbsvr.db_interface import DbInterface
from workers.protocol import MAX_TASK, Change, DBSvrError, Snapshot, WriteAnswer

TASK, PERIOD = MAX_TASK, "once"
READ_FOR_S = 2.0
LEAST_LOOKS = 8
PAUSES_S = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1)
"""Before each look; the last again and again. Short at first, so that a short delay is measured as such."""
ASK_WITHIN_MS = 1_000

OLD, LOST, TWICE = "old", "lost", "twice"

Route = Callable[[int], Snapshot]


class Known(msgspec.Struct, frozen=True):
    """A state of the user that nobody may be shown anything older than. Versions count within a generation."""

    generation: int
    version: int
    progress: int


class Violation(msgspec.Struct, frozen=True):
    """A promise that was broken: `kind` is old, lost or twice."""

    kind: str
    route: str
    served_by: str
    promised: Known
    seen: Known


class Round(msgspec.Struct, frozen=True):
    """What one round has found.

    `known`: the state after the write as it was acknowledged, else the newest seen, if any: what the next round holds the DBSvr to. (Of an
    older timeline that was lost it is told once, not for ever.) `delay_ms`: from the acknowledgement to the first
    answer of a replica; None when none came. `margin_ticks`: how far that replica was past the user's stamp right after it.
    """

    uid: int
    known: Known | None = None
    reads: int = 0
    replica_reads: int = 0
    violations: tuple[Violation, ...] = ()
    errors: int = 0
    error: str = ""
    delay_ms: float | None = None
    margin_ticks: int | None = None


def known_of(snapshot: Snapshot) -> Known:
    progress = next((record.progress for record in snapshot.tasks if (record.task, record.period) == (TASK, PERIOD)), 0)
    return Known(snapshot.generation, snapshot.version, progress)


def newer(one: Known | None, other: Known) -> Known:
    return other if one is None or (other.generation, other.version) > (one.generation, one.version) else one


def judge(promised: Known, seen: Known) -> str:
    """The kind of the violation when `seen` is shown after `promised`; empty when it may be. Only the canary writes these users."""
    if (seen.generation, seen.version) < (promised.generation, promised.version):
        return OLD
    if seen.generation > promised.generation:
        return ""  # transactions were lost with the old timeline; the DBSvr counts and names them
    if seen.progress < promised.progress:
        return LOST
    # Each version is one write, and each write adds 1.
    return TWICE if seen.progress - promised.progress > seen.version - promised.version else ""


def judge_write(before: Known, after: Known) -> str:
    """The same for the state right after one write: nothing else may have happened in between."""
    kind = judge(before, after)
    if kind or after.generation != before.generation:
        return kind
    rise = after.progress - before.progress
    return LOST if rise < 1 else TWICE if rise > 1 else ""


def routes_of(interface: DbInterface, node: str) -> dict[str, Route]:
    """Every way on which a user is read. `node` is a cache node's name."""

    def read_many(uid: int) -> Snapshot:
        (answer,) = interface.get_many([uid], node, deadline_ms=ASK_WITHIN_MS)
        if isinstance(answer, DBSvrError):
            raise answer
        return answer

    return {"get": lambda uid: interface.get(uid, node, deadline_ms=ASK_WITHIN_MS), "get_many": read_many}


def run_round(interface: DbInterface, node: str, uid: int, promised: Known | None = None) -> Round:
    """One round with this user; `promised` is what earlier rounds know of him. Raises nothing that the DBSvr may answer."""
    return _Round(interface, node, uid, promised).run()


class _Round:
    def __init__(self, interface: DbInterface, node: str, uid: int, promised: Known | None) -> None:
        self._interface = interface
        self._node = node
        self._uid = uid
        self._routes: Mapping[str, Route] = routes_of(interface, node)
        self._promised = promised
        self._newest: Known | None = None
        """The newest seen in this round: less than promised when something was lost."""
        self._reads = 0
        self._replica_reads = 0
        self._violations: list[Violation] = []
        self._errors = 0
        self._error = ""
        self._acknowledged: Known | None = None
        self._acknowledged_at: float | None = None
        self._delay_ms: float | None = None
        self._margin_ticks: int | None = None

    def run(self) -> Round:
        self._look_everywhere()
        if self._newest is not None:
            # Named after the state that it is written on: should an earlier round's write, of unknown outcome, still be under way,
            # this is that very event, and only one of the two is applied.
            event_id = f"canary-{self._newest.generation}-{self._newest.version}"
            if self._write(event_id):
                self._read_on()
                self._repeat(event_id)
        return Round(
            self._uid,
            self._acknowledged or self._promised,
            self._reads,
            self._replica_reads,
            tuple(self._violations),
            self._errors,
            self._error,
            self._delay_ms,
            self._margin_ticks,
        )

    def _look_everywhere(self) -> None:
        for name, route in self._routes.items():
            self._read(name, route)

    def _write(self, event_id: str) -> bool:
        """Add 1; True when it was acknowledged."""
        answer = self._finish(event_id)
        if answer is None:
            return False
        self._acknowledged_at = time.monotonic()
        # It may say `applied: false`, when it had to be sent twice; the user's progress tells the truth.
        self._see("finish", answer.snapshot, judge_write)
        return True

    def _repeat(self, event_id: str) -> None:
        """Send the same event again: it must change nothing."""
        answer = self._finish(event_id)
        if answer is None:
            return
        if answer.applied:
            self._accuse(TWICE, "finish", "master", known_of(answer.snapshot))
        self._see("finish", answer.snapshot, judge)
        self._look_everywhere()

    def _finish(self, event_id: str) -> WriteAnswer | None:
        try:
            answer = self._interface.finish(self._uid, self._node, event_id, [Change(TASK, PERIOD, "add", value=1)])
        except DBSvrError as error:
            self._note(error)
            return None
        self._acknowledged = known_of(answer.snapshot)
        return answer

    def _read_on(self) -> None:
        until = time.monotonic() + READ_FOR_S
        looks = 0
        while time.monotonic() < until and not (looks >= LEAST_LOOKS and self._delay_ms is not None):
            time.sleep(PAUSES_S[min(looks, len(PAUSES_S) - 1)])
            self._look_everywhere()
            looks += 1

    def _read(self, name: str, route: Route) -> None:
        try:
            snapshot = route(self._uid)
        except DBSvrError as error:
            self._note(error)
            return
        now = time.monotonic()
        self._reads += 1
        is_right = self._see(name, snapshot, judge)
        if snapshot.served_by != "master":
            self._replica_reads += 1
            if is_right and self._acknowledged_at is not None and self._delay_ms is None:
                self._delay_ms = (now - self._acknowledged_at) * 1000
                self._margin_ticks = self._margin(snapshot.served_by or "")

    def _see(self, route: str, snapshot: Snapshot, judged_by: Callable[[Known, Known], str]) -> bool:
        """Hold an answer against what is promised; True when it may be. What it shows is promised from now on."""
        seen = known_of(snapshot)
        kind = judged_by(self._promised, seen) if self._promised is not None else ""
        if kind:
            self._accuse(kind, route, snapshot.served_by or "master", seen)
        self._promised = newer(self._promised, seen)
        self._newest = newer(self._newest, seen)
        return not kind

    def _accuse(self, kind: str, route: str, served_by: str, seen: Known) -> None:
        self._violations.append(Violation(kind, route, served_by, self._promised or seen, seen))

    def _note(self, error: DBSvrError) -> None:
        self._errors += 1
        self._error = self._error or f"{error.code} {error}"

    def _margin(self, replica: str) -> int | None:
        try:
            margin = self._interface.explain(self._uid, deadline_ms=ASK_WITHIN_MS)["servers"].get(replica, {}).get("margin_ticks")
        except DBSvrError:
            return None  # a figure for the curious; the round goes on without it
        return margin if isinstance(margin, int) else None
