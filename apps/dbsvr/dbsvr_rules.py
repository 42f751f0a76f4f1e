"""The rules about the master, what was lost with it, the three queues and overload.

Pure. What a rule says when the DBSvr gives no answer at all is not here: see `blindness`.
"""

from __future__ import annotations

from collections.abc import Callable

from apps.dbsvr.figures import Figures
from apps.dbsvr.findings import ATTENTION, FAULT, Finding
from apps.dbsvr.replica_rules import master_facts
from apps.dbsvr.rule import Rule, Scene, Tier, Told
from apps.dbsvr.thresholds import Thresholds
from apps.dbsvr.window import Answer

# ---- master.down, master.beat


def master_down_rises(scene: Scene, name: str) -> float | None:
    """Not up, and no commit for three seconds: by the age of its last beat where that is known, else by counting."""
    last = scene.window.last
    if last is None or last.master.state == "up":
        return None
    since = scene.window.held(lambda figures: figures.master.state != "up", 1)
    age_ms = last.master.beat_age_ms
    if since is not None and age_ms is not None and age_ms >= scene.limits.master_down_s * 1000:
        return min(since, scene.now - age_ms / 1000)
    counted = scene.window.held(lambda figures: figures.master.state != "up", round(scene.limits.master_down_s))
    return counted if age_ms is None else None


def master_down_clears(scene: Scene, name: str) -> bool:
    """Five commits in a row: five samples, each with the master up and another tick than the one before."""
    newest = [figures for _at, figures in scene.window.answered][-scene.limits.master_up_for :]
    ticks = [figures.master.tick for figures in newest]
    moved = None not in ticks and len(set(ticks)) == len(ticks) == scene.limits.master_up_for
    return moved and all(figures.master.state == "up" for figures in newest)


def tell_master_down(scene: Scene, name: str, finding: Finding) -> Told:
    last = scene.window.last
    # Counted on from one second to the next: the window is shorter than an outage may be.
    refused = float(finding.facts.get("refused", 0)) + (last.errors.get("MASTERDOWN", 0.0) if last else 0.0)
    facts: dict[str, float | int | str] = {"age_ms": (scene.now - finding.since) * 1000, "refused": refused}
    if last is not None and last.master.state == "up":
        return "back", facts
    return ("refusing" if refused >= 1 else "quiet"), facts


def beat_rises(times: Callable[[Thresholds], int]) -> Callable[[Scene, str], float | None]:
    def rises(scene: Scene, name: str) -> float | None:
        limit_ms = times(scene.limits) * scene.limits.beat_ms

        def late(figures: Figures) -> Answer:
            age_ms = figures.master.beat_age_ms
            return None if figures.master.state != "up" or age_ms is None else age_ms > limit_ms

        return scene.window.held(late, 1)

    return rises


def beat_clears(scene: Scene, name: str) -> bool:
    limit_ms = scene.limits.beat_clear * scene.limits.beat_ms

    def fresh(figures: Figures) -> Answer:
        age_ms = figures.master.beat_age_ms
        return None if age_ms is None else age_ms < limit_ms

    return scene.window.held(fresh, scene.limits.beat_clear_for) is not None


def tell_beat(scene: Scene, name: str, finding: Finding) -> Told:
    last = scene.window.last
    age_ms = last.master.beat_age_ms if last else None
    if age_ms is None or age_ms < scene.limits.beat_clear * scene.limits.beat_ms:
        return "back", {}
    return "late", {"age_ms": age_ms}


# ---- queue.*.age


def oldest(queue: str) -> Callable[[Figures], float | None]:
    return lambda figures: figures.queues[queue].oldest_ms if queue in figures.queues else None


def age_tier(queue: str, level: str, limit: Callable[[Thresholds], float], clear: Callable[[Thresholds], float], times: int = 0) -> Tier:
    """Rises when the oldest waits longer than `limit` for `age_for` samples (or `times`), clears below `clear`."""
    pick = oldest(queue)

    def rises(scene: Scene, name: str) -> float | None:
        def late(figures: Figures) -> Answer:
            value = pick(figures)
            return None if value is None else value > limit(scene.limits)

        return scene.window.held(late, times or scene.limits.age_for)

    def clears(scene: Scene, name: str) -> bool:
        def short(figures: Figures) -> Answer:
            value = pick(figures)
            return None if value is None else value < clear(scene.limits)

        return scene.window.held(short, scene.limits.age_clear_for) is not None

    return Tier(level, rises, clears)


def tell_age(queue: str) -> Callable[[Scene, str, Finding], Told]:
    def tell(scene: Scene, name: str, finding: Finding) -> Told:
        last = scene.window.last
        facts: dict[str, float | int | str] = {
            "wait_ms": scene.window.worst(oldest(queue)) or 0.0,
            "waiting": last.queues[queue].waiting if last and queue in last.queues else 0,
        }
        busy = master_facts(scene) if queue == "query" else None
        return ("busy", {**facts, **busy}) if busy else ("waiting", facts)

    return tell


# ---- master.two, writes.lost


def has_warning(figures: Figures) -> Answer:
    return bool(figures.master.warning)


def two_masters_rises(scene: Scene, name: str) -> float | None:
    return scene.window.held(has_warning, 1)


def two_masters_clears(scene: Scene, name: str) -> bool:
    return scene.window.held(lambda figures: not has_warning(figures), scene.limits.warning_clear_for) is not None


def tell_two_masters(scene: Scene, name: str, finding: Finding) -> Told:
    warning = scene.window.last.master.warning if scene.window.last else ""
    return ("now", {"warning": warning}) if warning else ("back", {})


def lost_rises(scene: Scene, name: str) -> float | None:
    lost = scene.window.last.lost if scene.window.last else None
    if lost is None or (not lost.writes and lost.is_complete) or scene.most.lost_generation != lost.generation:
        return None
    return scene.most.lost_at if scene.now - scene.most.lost_at < scene.limits.lost_for_s else None


def lost_clears(scene: Scene, name: str) -> bool:
    """By time alone: a front that is started again knows nothing of it, and the writes are lost all the same."""
    return scene.now - scene.most.lost_at >= scene.limits.lost_for_s


def tell_lost(scene: Scene, name: str, finding: Finding) -> Told:
    lost = scene.window.last.lost if scene.window.last else None
    facts = finding.facts
    if lost is not None and (lost.writes or not lost.is_complete):
        facts = {"dbsvr": scene.window.instance, "cause": lost.cause, "generation": lost.generation, "writes": lost.writes}
        facts |= {"file": lost.file, "complete": int(lost.is_complete)}
    return ("unnamed" if not facts.get("writes") else "named" if facts.get("complete") else "some"), facts


# ---- overload


def turned_away(figures: Figures) -> float | None:
    return None if figures.reads is None else figures.errors.get("OVERLOADED", 0.0)


def refuses(figures: Figures) -> Answer:
    rate = turned_away(figures)
    return None if rate is None else rate > 0


def overload_rises(scene: Scene, name: str) -> float | None:
    limits, window = scene.limits, scene.window
    if window.count(refuses, limits.overload_of) < limits.overload_in:
        return None
    return next(at for at, figures in window.answered[-limits.overload_of - 3 :] if refuses(figures))


def overload_clears(scene: Scene, name: str) -> bool:
    def accepts(figures: Figures) -> Answer:
        refused = refuses(figures)
        return None if refused is None else not refused

    return scene.window.held(accepts, scene.limits.overload_clear_for) is not None


def tell_overload(scene: Scene, name: str, finding: Finding) -> Told:
    window = scene.window
    refused = sum(rate for _at, rate in window.known(turned_away, 10))
    answered = window.mean(lambda figures: None if figures.reads is None else figures.reads + (figures.writes or 0.0)) or 0.0
    away = window.mean(turned_away) or 0.0
    facts: dict[str, float | int | str] = {
        "dbsvr": window.instance,
        "refused": refused,
        "demand_rate": answered + away,
        "most_rate": scene.most.reads,
    }
    return ("refusing" if refused else "over"), facts


RULES = (
    Rule("master.down", (Tier(FAULT, master_down_rises, master_down_clears),), tell_master_down),
    Rule("master.two", (Tier(FAULT, two_masters_rises, two_masters_clears),), tell_two_masters),
    Rule("writes.lost", (Tier(FAULT, lost_rises, lost_clears),), tell_lost),
    Rule(
        "master.beat",
        (
            Tier(ATTENTION, beat_rises(lambda limits: limits.beat_attention), beat_clears),
            Tier(FAULT, beat_rises(lambda limits: limits.beat_fault), beat_clears),
        ),
        tell_beat,
    ),
    Rule(
        "queue.query.age",
        (
            age_tier("query", ATTENTION, lambda it: it.age_limit_ms, lambda it: it.age_limit_ms / 2),
            age_tier("query", FAULT, lambda it: it.query_fault_ms, lambda it: it.query_fault_ms / 2),
        ),
        tell_age("query"),
    ),
    Rule(
        "queue.finish.age",
        (
            age_tier("finish", ATTENTION, lambda it: it.finish_ms, lambda it: it.finish_ms / 2),
            age_tier("finish", FAULT, lambda it: it.finish_fault_ms, lambda it: it.finish_fault_ms / 2),
        ),
        tell_age("finish"),
    ),
    Rule(
        "queue.clear.age",
        (
            age_tier("clear", ATTENTION, lambda it: it.clear_ms, lambda it: it.clear_clear_ms, times=1),
            age_tier("clear", FAULT, lambda it: it.clear_fault_ms, lambda it: it.clear_clear_ms, times=1),
        ),
        tell_age("clear"),
    ),
    Rule("overload", (Tier(FAULT, overload_rises, overload_clears),), tell_overload),
)
