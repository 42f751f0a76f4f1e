"""The rules about replicas: late, standing still, silent, gone, refused, held, too little used.

Pure. A late replica harms nobody: its users' reads go to the master. So lag alone is for attention, and becomes a fault only when the
master has little room left.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from apps.dbsvr.figures import Figures, ReplicaFigures
from apps.dbsvr.findings import ATTENTION, FAULT, MAINTENANCE, Finding
from apps.dbsvr.rule import Rule, Scene, Tier, Told
from apps.dbsvr.window import Answer

SERVING = ("serving", "catching_up")
GONE = ("silent", "down")
UNCERTAIN = (*GONE, "refused")
"""The lag means nothing, and nothing is served."""
IDLE = (*UNCERTAIN, "held")
"""Nothing is served."""
PAST_THE_FORK = "past the fork"
"""In the words with which a DBSvr refuses a replica that holds what the master lacks. It will not heal; all other refusals may."""
LATE = ("recent_write", "replica_lag", "handed_back")
"""Reasons of a master read for which the replica's lag is to blame."""
STEADY_MS_PER_S = 50.0
"""Lag that changes by less than this each second neither falls nor grows."""


def lag(name: str) -> Callable[[Figures], float | None]:
    """The lag of a replica; unknown while it does not answer, whatever was computed for it."""

    def pick(figures: Figures) -> float | None:
        replica = figures.replicas.get(name)
        return None if replica is None or replica.state in UNCERTAIN else replica.lag_ms

    return pick


def lag_is(name: str, test: Callable[[float], bool]) -> Callable[[Figures], Answer]:
    def ask(figures: Figures) -> Answer:
        value = lag(name)(figures)
        return None if value is None else test(value)

    return ask


def replica_is(name: str, test: Callable[[ReplicaFigures], bool]) -> Callable[[Figures], Answer]:
    def ask(figures: Figures) -> Answer:
        replica = figures.replicas.get(name)
        return None if replica is None else test(replica)

    return ask


def is_halted(replica: ReplicaFigures) -> bool:
    return replica.state == "stopped" or (replica.state not in UNCERTAIN and False in (replica.io_running, replica.sql_running))


def is_silent(scene: Scene, replica: ReplicaFigures) -> bool:
    return replica.state == "silent" or (replica.answer_age_ms or 0.0) >= scene.limits.silent_after_ms


def waiting_share(scene: Scene) -> float | None:
    """Share of all reads that the master answers because a replica does not have the user's write yet."""
    reads = scene.window.mean(lambda figures: figures.reads)
    late = scene.window.mean(lambda figures: None if figures.reads is None else sum(figures.reasons.get(key, 0.0) for key in LATE))
    return min(1.0, late / reads) if reads and late is not None else None


def master_facts(scene: Scene) -> dict[str, float] | None:
    """How much the master answers now; None without reads."""
    reads = scene.window.mean(lambda figures: figures.reads)
    master = scene.window.mean(lambda figures: figures.reads_master)
    if not reads or master is None or not scene.most.master_reads:
        return None
    return {"master_share": min(1.0, master / reads), "most_share": min(1.0, master / scene.most.master_reads)}


# ---- replica.lag, replica.lag.growing


def lag_rises(scene: Scene, name: str) -> float | None:
    return scene.window.held(lag_is(name, lambda value: value >= scene.limits.lag_ms), scene.limits.lag_for)


def lag_clears(scene: Scene, name: str) -> bool:
    return scene.window.held(lag_is(name, lambda value: value < scene.limits.lag_clear_ms), scene.limits.lag_clear_for) is not None


def growing_rises(scene: Scene, name: str) -> float | None:
    limits, window = scene.limits, scene.window
    points = window.known(lag(name), limits.lag_growing_for)
    if len(points) < limits.lag_growing_for or points[-1][1] < limits.lag_growing_ms:
        return None
    slope = window.slope(lag(name), limits.lag_growing_for)
    facts = master_facts(scene)
    busy = facts is not None and facts["most_share"] >= limits.lag_growing_share
    return points[0][0] if slope is not None and slope > 0 and busy else None


def growing_clears(scene: Scene, name: str) -> bool:
    below = lag_is(name, lambda value: value < scene.limits.lag_growing_clear_ms)
    return scene.window.held(below, scene.limits.lag_growing_clear_for) is not None


def tell_lag(scene: Scene, name: str, finding: Finding) -> Told:
    lag_ms = scene.window.worst(lag(name), 1) or 0.0
    slope = scene.window.slope(lag(name)) or 0.0
    facts: dict[str, float | int | str] = {"replica": name, "lag_ms": lag_ms}
    case = "growing" if slope > STEADY_MS_PER_S else "falling" if slope < -STEADY_MS_PER_S else "steady"
    if case == "falling":
        left_s = lag_ms / -slope
        facts |= {"left_ms": left_s * 1000, "look_minute": math.ceil((scene.now + left_s) / 60) * 60}
    if case == "growing":
        facts["slope_s"] = slope / 1000
        busy = master_facts(scene)
        return (case, {**facts, **busy}) if busy else (case + "_quiet", facts)
    share = waiting_share(scene)
    return (case, {**facts, "late_share": share}) if share is not None else (case + "_quiet", facts)


# ---- replica.stopped


def stands_still(scene: Scene, name: str) -> float | None:
    """Its tick has not moved for a second while the master's has: a lock, a long transaction or a delay holds it."""
    before = [(at, figures) for at, figures in scene.window.answered if at <= scene.now][-2:]
    if len(before) < 2:
        return None
    (then, old), (at, new) = before
    replica, was = new.replicas.get(name), old.replicas.get(name)
    if replica is None or was is None or replica.state in UNCERTAIN or None in (replica.tick, was.tick, new.master.tick, old.master.tick):
        return None
    same = replica.tick == was.tick and old.run_id == new.run_id and at - then >= scene.limits.still_for_s * 0.9
    # The replica shows a tick a moment after the master does, so "behind" is asked of its lag too.
    behind = (replica.lag_ms or 0.0) >= scene.limits.still_for_s * 1000
    return then if same and behind and new.master.tick != old.master.tick else None


def stopped_rises(scene: Scene, name: str) -> float | None:
    halted = scene.window.held(replica_is(name, is_halted), 1)
    return halted if halted is not None else stands_still(scene, name)


def stopped_clears(scene: Scene, name: str) -> bool:
    if stands_still(scene, name) is not None:
        return False

    def well(figures: Figures) -> Answer:
        replica = figures.replicas.get(name)
        if replica is None or replica.lag_ms is None:
            return None
        return not is_halted(replica) and replica.state not in UNCERTAIN and replica.lag_ms < scene.limits.lag_clear_ms

    return scene.window.held(well, scene.limits.lag_clear_for) is not None


def others_serving(scene: Scene, name: str) -> list[str]:
    replicas = scene.window.last.replicas if scene.window.last else {}
    return sorted(other for other, it in replicas.items() if other != name and it.state in SERVING and not is_halted(it))


def last_one_rises(scene: Scene, name: str) -> float | None:
    return None if others_serving(scene, name) else scene.window.held(replica_is(name, is_halted), 1)


def last_one_clears(scene: Scene, name: str) -> bool:
    return last_one_rises(scene, name) is None


def tell_stopped(scene: Scene, name: str, finding: Finding) -> Told:
    replica = scene.window.replica(name)
    others = others_serving(scene, name)
    facts: dict[str, float | int | str] = {"replica": name, "since_at": finding.since, "others": ",".join(others)}
    lag_ms = scene.window.worst(lag(name), 1)
    if lag_ms is not None:
        facts["lag_ms"] = lag_ms
    if replica is None or not is_halted(replica):
        held = stands_still(scene, name) is not None
        return ("still" if held else "recovering") if lag_ms is not None else "unclear", facts
    if replica.sql_running and replica.io_running is False and not replica.last_error:
        return "cut", facts
    # A stopped replica is still right for everybody who has not written since.
    serving = scene.window.worst(lambda figures: figures.replicas[name].reads if name in figures.replicas else None, 3)
    way = "serving" if serving else "shared" if others else "alone"
    if replica.last_error:
        code = re.search(r"\b(1\d{3})\b", replica.last_error)
        return f"error_{way}", {**facts, "error": code.group(1) if code else replica.last_error[:80]}
    return f"by_hand_{way}", facts


# ---- replica.silent, replicas.none


def silent_rises(scene: Scene, name: str) -> float | None:
    reported = scene.window.held(replica_is(name, lambda it: is_silent(scene, it)), 1)
    gone = scene.window.held(replica_is(name, lambda it: it.state in GONE), scene.limits.silent_for)
    return reported if reported is not None else gone


def silent_clears(scene: Scene, name: str) -> bool:
    good = replica_is(name, lambda it: it.state not in GONE and not is_silent(scene, it))
    return scene.window.held(good, scene.limits.silent_clear_for) is not None


def tell_silent(scene: Scene, name: str, finding: Finding) -> Told:
    replica = scene.window.replica(name)
    age_ms = max(replica.answer_age_ms or 0.0 if replica else 0.0, (scene.now - finding.since) * 1000)
    facts: dict[str, float | int | str] = {"replica": name, "age_ms": age_ms, "dbsvr": scene.window.instance}
    if replica is not None and replica.state in GONE:
        return ("no_worker" if not replica.running else "silent"), facts
    return "back", facts


def none_serves(figures: Figures) -> Answer:
    return all(replica.state in IDLE for replica in figures.replicas.values()) if figures.replicas else None


def none_rises(scene: Scene, name: str) -> float | None:
    return scene.window.held(none_serves, scene.limits.none_for)


def none_clears(scene: Scene, name: str) -> bool:
    one_serves = lambda figures: any(it.state in SERVING for it in figures.replicas.values())  # noqa: E731
    return scene.window.held(one_serves, scene.limits.none_clear_for) is not None


def tell_none(scene: Scene, name: str, finding: Finding) -> Told:
    if scene.window.last is not None and not none_serves(scene.window.last):
        return "back", {}
    facts = master_facts(scene)
    return ("busy", {"most_share": facts["most_share"]}) if facts else ("quiet", {})


# ---- replica.refused


def is_refused(replica: ReplicaFigures) -> bool:
    return replica.state == "refused"


def refused_rises(scene: Scene, name: str) -> float | None:
    """Said only when it lasts: right after a start, or a change of master, every replica is refused for a moment."""
    return scene.window.held(replica_is(name, is_refused), scene.limits.refused_for)


def past_fork_rises(scene: Scene, name: str) -> float | None:
    return scene.window.held(replica_is(name, lambda it: is_refused(it) and PAST_THE_FORK in it.refusal), 1)


def refused_clears(scene: Scene, name: str) -> bool:
    return scene.window.held(replica_is(name, lambda it: not is_refused(it)), scene.limits.refused_clear_for) is not None


def tell_refused(scene: Scene, name: str, finding: Finding) -> Told:
    replica = scene.window.replica(name)
    facts: dict[str, float | int | str] = {"replica": name, "dbsvr": scene.window.instance, "instance": scene.window.instance}
    if replica is None or not is_refused(replica):
        return "back", facts
    facts["refusal"] = replica.refusal
    return ("fork" if PAST_THE_FORK in replica.refusal else "waiting"), facts


# ---- replica.held


def is_held(replica: ReplicaFigures) -> bool:
    return replica.state == "held"


def held_rises(scene: Scene, name: str) -> float | None:
    return scene.window.held(replica_is(name, is_held), 1)


def held_clears(scene: Scene, name: str) -> bool:
    return scene.window.held(replica_is(name, lambda it: not is_held(it)), 1) is not None


def tell_held(scene: Scene, name: str, finding: Finding) -> Told:
    """What was told last stands while it is away: it is held still."""
    replica = scene.window.replica(name)
    others = others_serving(scene, name)
    facts: dict[str, float | int | str] = {**finding.facts, "replica": name, "others": ",".join(others)}
    if replica is not None and replica.hold is not None:
        facts |= {"reason": replica.hold.why, "held_by": replica.hold.by, "held_at": replica.hold.since}
    return ("shared" if others else "alone"), facts


# ---- replica.share


def served_share(scene: Scene) -> Callable[[Figures], float | None]:
    def pick(figures: Figures) -> float | None:
        served, safe = figures.replica_reads, figures.safe
        return None if served is None or safe is None or safe < scene.limits.share_min_safe else served / safe

    return pick


def share_is(scene: Scene, test: Callable[[float], bool]) -> Callable[[Figures], Answer]:
    pick = served_share(scene)

    def ask(figures: Figures) -> Answer:
        share = pick(figures)
        return None if share is None else test(share)

    return ask


def share_rises(scene: Scene, name: str) -> float | None:
    return scene.window.held(share_is(scene, lambda share: share < scene.limits.share), scene.limits.share_for)


def share_clears(scene: Scene, name: str) -> bool:
    return scene.window.held(share_is(scene, lambda share: share > scene.limits.share_clear), scene.limits.share_clear_for) is not None


def tell_share(scene: Scene, name: str, finding: Finding) -> Told:
    share = scene.window.mean(served_share(scene))
    spill = scene.window.mean(lambda figures: figures.reasons.get("spill", 0.0) if figures.reads is not None else None)
    return "low", {"served_share": share or 0.0, "spill_rate": spill or 0.0}


RULES = (
    Rule("replica.lag", (Tier(ATTENTION, lag_rises, lag_clears),), tell_lag, of_replica=True),
    Rule("replica.lag.growing", (Tier(FAULT, growing_rises, growing_clears),), tell_lag, of_replica=True),
    Rule(
        "replica.stopped",
        (Tier(ATTENTION, stopped_rises, stopped_clears), Tier(FAULT, last_one_rises, last_one_clears)),
        tell_stopped,
        of_replica=True,
    ),
    Rule("replica.silent", (Tier(ATTENTION, silent_rises, silent_clears),), tell_silent, of_replica=True),
    Rule(
        "replica.refused",
        (Tier(ATTENTION, refused_rises, refused_clears), Tier(FAULT, past_fork_rises, refused_clears)),
        tell_refused,
        of_replica=True,
    ),
    Rule("replica.held", (Tier(MAINTENANCE, held_rises, held_clears),), tell_held, of_replica=True),
    Rule("replicas.none", (Tier(FAULT, none_rises, none_clears),), tell_none),
    Rule("replica.share", (Tier(ATTENTION, share_rises, share_clears),), tell_share),
)
