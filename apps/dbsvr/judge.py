"""The light: a pure function from the last minutes to what is so now.

`judge(samples, previous, now)` reads no clock and keeps nothing: whoever asks keeps the judgement and passes it in again. The sampler
does; so every page, and later every message, shows the same. The rules stand in `replica_rules`, `dbsvr_rules`, `config_rules`,
`segment_rules`, `canary_rules`, `cache_rules`, `diff_rules`, `points_rules`, `profiles_rules`, `sweep_rules` and `blindness`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from apps.dbsvr import (
    blindness,
    cache_rules,
    canary_rules,
    config_rules,
    dbsvr_rules,
    diff_rules,
    points_rules,
    profiles_rules,
    replica_rules,
    segment_rules,
    sweep_rules,
)
from apps.dbsvr.cache_rules import CacheNow
from apps.dbsvr.canary_rules import CanaryNow
from apps.dbsvr.diff_rules import DiffNow
from apps.dbsvr.figures import Sample
from apps.dbsvr.findings import NOTICE, OK, Fact, Finding, severity
from apps.dbsvr.points_rules import PointsNow
from apps.dbsvr.profiles_rules import ProfilesNow
from apps.dbsvr.rule import Most, Rule, Scene
from apps.dbsvr.sweep_rules import SweepsNow
from apps.dbsvr.thresholds import Thresholds
from apps.dbsvr.window import Window

RULES: tuple[Rule, ...] = replica_rules.RULES + dbsvr_rules.RULES + config_rules.RULES

HIDES: Mapping[str, frozenset[str]] = {
    "master.down": frozenset(
        {
            "master.beat",
            "replica.lag",
            "replica.lag.growing",
            # Its fetching thread has nobody to fetch from.
            "replica.stopped",
            "replica.share",
            "queue.query.age",
            "queue.finish.age",
            "queue.clear.age",
            "overload",
            "config.unseen",
        }
    ),
    "master.beat": frozenset({"config.unseen"}),
    "replica.lag.growing": frozenset({"replica.lag"}),
    "replica.stopped": frozenset({"replica.lag", "replica.lag.growing"}),
    "replica.silent": frozenset({"replica.lag", "replica.lag.growing", "replica.stopped"}),
    "replica.refused": frozenset({"replica.lag", "replica.lag.growing", "replica.stopped"}),
    "replica.held": frozenset({"replica.lag", "replica.lag.growing"}),
}
"""What one finding explains about the same subject, or about the replicas of its DBSvr. Blindness hides everything."""


OF_THE_DATABASE = frozenset(
    {
        "replica.lag",
        "replica.lag.growing",
        "replica.stopped",
        "replica.refused",
        "replica.held",
        "master.two",
        "master.down",
        "master.beat",
        "config.damaged",
        "config.unseen",
    }
)
"""What is found of a database, which all DBSvrs share: each finds the same, and it is shown once."""


class Judgement(msgspec.Struct, frozen=True):
    """Findings, hidden ones included, and the most that each DBSvr has shown."""

    findings: tuple[Finding, ...] = ()
    most: dict[str, Most] = {}


def judge(
    samples: Mapping[str, Sequence[Sample]],
    previous: Judgement,
    now: float,
    limits: Thresholds | None = None,
    canary: CanaryNow | None = None,
    cache: CacheNow | None = None,
    diff: DiffNow | None = None,
    points: PointsNow | None = None,
    profiles: ProfilesNow | None = None,
    sweeps: SweepsNow | None = None,
) -> Judgement:
    """What is so now, for every DBSvr in `samples`. There is always at least one finding, if only that all is well."""
    limits = limits or Thresholds()
    before = {finding.key: finding for finding in previous.findings}
    windows = [Window(instance, given, now) for instance, given in samples.items()]
    findings: list[Finding] = []
    most: dict[str, Most] = {}
    for window in windows:
        most[window.instance] = _most(window, previous.most.get(window.instance, Most()))
        scene = Scene(window, limits, most[window.instance])
        silence = blindness.look(window, before, limits)
        if silence is not None and silence.case != "back":
            # Nothing new is known about anything behind it. What was so is kept, for when we can see again.
            silences = (blindness.DOWN, blindness.BLIND)
            kept = [it for it in previous.findings if it.instance == window.instance and it.code not in silences]
            findings += [silence, *(msgspec.structs.replace(it, hidden_by=silence.code) for it in kept)]
            continue
        found = [finding for rule in RULES for finding in _apply(rule, scene, before)]
        findings += ([silence] if silence else []) + _hide(found)
    findings = _once(findings)
    gone = {finding.instance for finding in findings if finding.code == blindness.DOWN}
    findings += segment_rules.look(windows, limits, gone, before, now)
    findings += canary_rules.look(canary, before, now)
    findings += cache_rules.look(cache, before, now)
    findings += diff_rules.look(diff, before, now)
    findings += points_rules.look(points, before, now)
    findings += profiles_rules.look(profiles, before, now)
    findings += sweep_rules.look(sweeps, before, now)
    if not any(not finding.hidden_by for finding in findings):
        calm = _calm(windows, limits, now)
        was = next((finding for finding in previous.findings if finding.level == calm.level and not finding.subject), calm)
        findings.append(msgspec.structs.replace(calm, since=was.since))
    return Judgement(tuple(findings), most)


def _apply(rule: Rule, scene: Scene, before: Mapping[tuple[str, str], Finding]) -> Iterable[Finding]:
    last = scene.window.last
    names = (sorted(last.replicas) if last else []) if rule.of_replica else [""]
    for name in names:
        subject = f"{scene.window.instance}/{name}" if name else scene.window.instance
        was = before.get((rule.code, subject))
        level, since = "", None
        for tier in rule.tiers:
            rose_at = tier.rises(scene, name)
            stays = was is not None and severity(was.level) >= severity(tier.level) and not tier.clears(scene, name)
            if rose_at is not None or stays:
                level = tier.level
                since = rose_at if since is None else since
        if not level:
            continue
        since = was.since if was is not None else since if since is not None else scene.now
        draft = Finding(rule.code, level, subject, since, facts=was.facts if was else {})
        case, facts = rule.describe(scene, name, draft)
        yield msgspec.structs.replace(draft, case=case, facts=facts)


def _hide(found: list[Finding]) -> list[Finding]:
    def explains(cause: Finding, effect: Finding) -> bool:
        same = effect.subject == cause.subject or effect.subject.startswith(cause.subject + "/")
        return same and effect.code in HIDES.get(cause.code, ())

    return [
        msgspec.structs.replace(finding, hidden_by=next((cause.code for cause in found if explains(cause, finding)), ""))
        for finding in found
    ]


def _once(findings: list[Finding]) -> list[Finding]:
    """Of what several DBSvrs find of one database, the worst is shown, and of those the oldest."""
    shown: dict[tuple[str, str], Finding] = {}
    for finding in findings:
        key = (finding.code, finding.server)
        if finding.code in OF_THE_DATABASE and not finding.hidden_by:
            best = shown.get(key)
            if best is None or (-severity(finding.level), finding.since) < (-severity(best.level), best.since):
                shown[key] = finding
    return [
        msgspec.structs.replace(it, hidden_by=it.code)
        if it.code in OF_THE_DATABASE and not it.hidden_by and shown[it.code, it.server] is not it
        else it
        for it in findings
    ]


def _most(window: Window, most: Most) -> Most:
    reads = window.mean(lambda figures: figures.reads) or 0.0
    master = window.mean(lambda figures: figures.reads_master) or 0.0
    lost = window.last.lost if window.last else None
    known = Most(max(most.reads, reads), max(most.master_reads, master), most.lost_generation, most.lost_at)
    if lost is None or lost.generation <= most.lost_generation:
        return known
    return msgspec.structs.replace(known, lost_generation=lost.generation, lost_at=window.now)


def _calm(windows: Sequence[Window], limits: Thresholds, now: float) -> Finding:
    """All well, all well without traffic, or the first seconds in which nothing is known yet."""
    reads = [window.mean(lambda figures: figures.reads) for window in windows]
    writes = [window.mean(lambda figures: figures.writes) for window in windows]
    if not windows or None in reads or None in writes:
        return Finding("first", NOTICE, "", now)
    if all(_quiet_for(window, limits.idle_for_s, now) for window in windows):
        return Finding("idle", OK, "", now, "idle")
    read_rate, write_rate = sum(it or 0.0 for it in reads), sum(it or 0.0 for it in writes)
    facts: dict[str, Fact] = {"reads_rate": read_rate, "writes_rate": write_rate}
    replica = sum(window.mean(lambda figures: figures.replica_reads) or 0.0 for window in windows)
    lags = [window.worst(replica_rules.lag(name)) for window in windows if window.last for name in window.last.replicas]
    waits = [window.worst(dbsvr_rules.oldest(queue)) for window in windows for queue in ("query", "finish")]
    facts["wait_ms"] = max((wait for wait in waits if wait is not None), default=0.0)
    facts["lag_ms"] = max((lag for lag in lags if lag is not None), default=0.0)
    facts["replica_share"] = min(1.0, replica / read_rate) if read_rate else 0.0
    return Finding("ok", OK, "", now, "reads" if read_rate else "writes" if write_rate else "pause", facts)


def _quiet_for(window: Window, seconds: float, now: float) -> bool:
    """No read and no write, and we have been looking for that long (or since the DBSvr began)."""
    looked = [figures for at, figures in window.answered if at > now - seconds]
    began = window.answered[0][0] <= now - seconds + 2 if window.answered else False
    never = bool(looked) and looked[-1].reads_total == 0
    return (began or never) and all(not figures.reads and not figures.writes and not figures.clears for figures in looked)
