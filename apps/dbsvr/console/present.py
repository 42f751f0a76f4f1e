"""From the state to the texts of the Overview: tiles, table of servers, processes.

Each figure is a text under a key; the page puts it into the node with that key, first by the server, then once a second by a script.
Four nothings look different: 0 is known, "—" is not yet, "?" is unknown, and a word says that it does not apply.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import NamedTuple

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from apps.dbsvr.canary import READ_FOR_S
from apps.dbsvr.canary_rules import CanaryNow
from apps.dbsvr.figures import MASTER, Figures, ReplicaFigures
from apps.dbsvr.quantities import clock, count, digits, duration, lag, share
from apps.dbsvr.replica_rules import GONE, PAST_THE_FORK, UNCERTAIN
from apps.dbsvr.segments import AWAY, HOME, NOBODY, TAKING, put_together
from apps.dbsvr.state import InstanceNow, State
from apps.dbsvr.stats import Endpoint, Takeover

NOT_YET, UNKNOWN = "—", "?"
STALE_AFTER_ROUNDS = 6


class ServerRow(NamedTuple):
    name: str
    values: dict[str, str]


class ProcessRow(NamedTuple):
    key: str
    name: str
    word: str
    well: str
    """"yes", "no" or "unknown": the shape before the word."""


def rate(value: float | None) -> str:
    return UNKNOWN if value is None else _("%(rate)s /s") % {"rate": digits(value)}


def milliseconds(value: float | None, language: str) -> str:
    return UNKNOWN if value is None else duration(value, language)


def part(value: float | None, whole: float | None, language: str) -> str:
    """A share; with nothing to share it does not apply."""
    if value is None or whole is None:
        return UNKNOWN
    return _("no reads") if not whole else share(min(1.0, value / whole), language, 1)


def percentiles(p50: float | None, p99: float | None, language: str) -> str:
    if p50 is None or p99 is None:
        return _("none in the last 10 s")
    return f"p50 {duration(p50, language)} · p99 {duration(p99, language)}"


def tiles(now: InstanceNow | None, language: str, age_limit_ms: int) -> dict[str, str]:
    """The six tiles: a figure and a line below it."""
    if now is None or now.figures is None:
        keys = ("share", "reads", "writes", "oldest", "lag", "users")
        return {f"{key}{line}": NOT_YET if not line else "" for key in keys for line in ("", "_sub")}
    it = now.figures
    lags = {name: replica.lag_ms for name, replica in sorted(it.replicas.items()) if replica.state not in UNCERTAIN}
    known = [value for value in lags.values() if value is not None]
    query = it.queues.get("query")
    safe = part(it.safe, it.reads, language)
    return {
        "share": NOT_YET if it.reads is None else part(it.replica_reads, it.reads, language),
        "share_sub": _("%(share)s were safe") % {"share": safe} if it.reads and it.safe is not None else "",
        "reads": NOT_YET if it.reads is None else rate(it.reads),
        "reads_sub": percentiles(it.read_p50_ms, it.read_p99_ms, language),
        "writes": NOT_YET if it.writes is None else rate(it.writes),
        "writes_sub": percentiles(it.write_p50_ms, it.write_p99_ms, language),
        "oldest": milliseconds(query.oldest_ms if query else None, language),
        "oldest_sub": _("limit %(limit)s") % {"limit": duration(age_limit_ms, language)},
        "lag": lag(max(known), language) if known else UNKNOWN,
        "lag_sub": " · ".join(f"{name} {UNKNOWN if value is None else lag(value, language)}" for name, value in lags.items())
        if len(it.replicas) > 1 and lags
        else _("no replica answers")
        if not lags
        else _("nobody sees old data"),
        "users": count(it.stamps),
        "users_sub": _("%(users)s with a write in flight") % {"users": count(it.in_flight)},
    }


def canary_tile(canary: CanaryNow | None, users: int, every_s: float, now: float, zone: tzinfo, language: str) -> dict[str, str]:
    """The canary's tile: the last violation, or that there was none. When rounds have stopped coming it claims nothing."""
    if not users:
        return {"canary": _("off"), "canary_sub": ""}
    if canary is None:
        return {"canary": NOT_YET, "canary_sub": _("no round yet")}
    age_s = now - canary.newest_at
    if age_s > STALE_AFTER_ROUNDS * every_s:
        return {"canary": UNKNOWN, "canary_sub": _("last round %(age)s ago") % {"age": duration(round(age_s) * 1000, language)}}
    if canary.violation_at is not None:
        below = ngettext("last violation, %(count)s round in 24 h", "last violation, %(count)s rounds in 24 h", canary.violations)
        return {"canary": clock(canary.violation_at, zone), "canary_sub": below % {"count": count(canary.violations)}}
    rounds = ngettext("in %(count)s round", "in %(count)s rounds", canary.rounds) % {"count": count(canary.rounds)}
    if canary.errors:
        newest = _("the newest round got errors")
    elif canary.delay_ms is None:
        newest = _("no replica had it within %(time)s") % {"time": duration(READ_FOR_S * 1000, language)}
    else:
        newest = _("on a replica after %(delay)s") % {"delay": duration(canary.delay_ms, language)}
    return {"canary": _("no violation"), "canary_sub": f"{rounds} · {newest}"}


def server_rows(now: InstanceNow | None, language: str) -> list[ServerRow]:
    """Replicas first, as they are what one looks for, then the master."""
    if now is None or now.figures is None:
        return []
    it = now.figures
    rows = [_replica_row(name, replica, it, language) for name, replica in sorted(it.replicas.items())]
    words = {"up": _("healthy"), "starting": _("starting"), "down": _("no answer")}
    state = words.get(it.master.state, it.master.state)
    master = {
        "state": _("two masters") if it.master.warning else state,
        "endpoint": _endpoints(it.master.endpoint, it.master.endpoints),
        "lag": _("is the master"),
        "reads": UNKNOWN if it.reads_master is None else digits(it.reads_master),
        "share": part(it.reads_master, it.reads, language),
        "why": _reasons(it) + (" · " + _("generation %(generation)s") % {"generation": it.generation} if (it.generation or 0) > 1 else ""),
    }
    return [*rows, ServerRow(MASTER, master)]


def _replica_row(name: str, replica: ReplicaFigures, it: Figures, language: str) -> ServerRow:
    words = {
        "serving": _("healthy"),
        "catching_up": _("catching up"),
        "stopped": _("stopped"),
        "refused": _("refused"),
        "held": _("not used"),
        "silent": _("no answer"),
        "down": _("away"),
    }
    unknown = replica.state in UNCERTAIN or replica.lag_ms is None
    behind = UNKNOWN if unknown else lag(replica.lag_ms or 0.0, language)
    if replica.state == "refused":
        why = _("it holds what the master lacks") if PAST_THE_FORK in replica.refusal else _("it has not shown yet that it goes along")
    elif replica.state == "held":
        hold = replica.hold
        why = _("held by %(by)s: %(reason)s") % {"by": hold.by if hold else UNKNOWN, "reason": hold.why if hold else UNKNOWN}
    elif unknown:
        why = _("its lag is unknown")
    elif replica.state == "stopped":
        why = _("stopped: only for users who have not written since")
    elif (replica.lag_ms or 0.0) >= 1000:
        why = _("users wrote within %(lag)s") % {"lag": behind}
    else:
        why = _("nothing holds it back")
    values = {
        "state": words.get(replica.state, replica.state),
        "endpoint": _endpoints(replica.endpoint, replica.endpoints),
        "lag": behind,
        "reads": UNKNOWN if replica.reads is None else digits(replica.reads),
        "share": part(replica.reads, it.reads, language),
        "why": why,
    }
    return ServerRow(name, values)


def _endpoints(in_use: str, endpoints: tuple[Endpoint, ...]) -> str:
    """The one in use, and how the others are."""
    words = {"in use": _("in use"), "fit": _("ready"), "away": _("does not answer"), "unknown": _("not looked at")}
    if len(endpoints) < 2:
        return in_use or (endpoints[0].endpoint if endpoints else UNKNOWN)
    return " · ".join(f"{it.endpoint} {words.get(it.state, it.state)}" for it in endpoints)


class SegmentRow(NamedTuple):
    name: str
    values: dict[str, str]


def segment_rows(state: State, zone: tzinfo) -> list[SegmentRow]:
    """Who owns which users, over all DBSvrs."""
    figures = {name: it.figures for name, it in state.instances.items() if it.figures is not None}
    answering = {name for name, it in state.instances.items() if it.answers}
    words = {HOME: _("at home"), AWAY: _("away from home"), TAKING: _("being taken over"), NOBODY: _("its owner does not answer")}
    return [
        SegmentRow(
            it.name,
            {
                "users": f"{count(it.row.first)} – {count(it.row.last)}",
                "home": it.row.home,
                "owner": it.row.owner,
                "epoch": count(it.row.epoch),
                "state": words.get(it.state, _("unknown")),
                "change": _change(it.last, state.judged_at, zone),
            },
        )
        for it in put_together(figures, answering)
    ]


def way_rows(state: State, language: str) -> list[SegmentRow]:
    """From each DBSvr to each other one: the connection, what was handed on, and the mirror. Unknown where nobody answers."""
    words = {"up": _("connected"), "silent": _("owes answers"), "away": _("not connected")}
    rows = []
    for name, now in state.instances.items():
        for peer, way in sorted(now.figures.peers.items() if now.figures else ()):
            mirror = now.figures.mirror.get(peer) if now.figures else None
            level = _("level") if mirror and mirror.is_level else ""
            values = {
                "state": words.get(way.state, way.state),
                "forwarded": count(way.forwarded) + (" · " + _("%(failed)s failed") % {"failed": count(way.failed)} if way.failed else ""),
                "mirror": level or (UNKNOWN if mirror is None else _("%(lag)s behind") % {"lag": duration(mirror.lag_ms, language)}),
            }
            rows.append(
                SegmentRow(f"{name}-{peer}", {"way": f"{name} → {peer}", **(values if now.answers else dict.fromkeys(values, UNKNOWN))})
            )
    return rows


def _change(last: Takeover | None, now: float, zone: tzinfo) -> str:
    if last is None or last.at is None:
        return _("none seen")
    causes = {
        "taken over": _("taken over: its owner stood still"),
        "given": _("given"),
        "given back": _("given back"),
        "configured": _("configured anew"),
    }
    at = clock(last.at, zone) if now - last.at < 86_400 else datetime.fromtimestamp(last.at, zone).strftime("%Y-%m-%d %H:%M")
    return f"{at} {last.before} → {last.after}, {causes.get(last.cause, last.cause)}"


def _reasons(it: Figures) -> str:
    """What the master's reads are for, in reads/s, the most frequent first."""
    words = {
        "recent_write": _("own writes"),
        "in_flight": _("in flight"),
        "replica_lag": _("replica late"),
        "handed_back": _("handed back"),
        "replica_down": _("replica away"),
        "spill": _("spill"),
        "aged": _("waited too long"),
        "fresh_start": _("just started"),
        "not_owner": _("another DBSvr's user"),
    }
    found = sorted(((value, name) for name, value in it.reasons.items() if value >= 0.05), reverse=True)
    return " · ".join(f"{digits(value)} {words.get(name, name)}" for value, name in found[:4]) or _("it answers no reads")


def processes(state: State, instances: Iterable[str], history_age_s: float | None, language: str) -> list[ProcessRow]:
    """Every process that this page has evidence of, in words."""
    rows = [ProcessRow("web", _("web"), _("answers: you see this page"), "yes")]
    blind = any(finding.code == "console.blind" and not finding.subject for finding in state.findings)
    rows.append(ProcessRow("sampler", "sampler", _("no sample arrives") if blind else _("looks once a second"), "no" if blind else "yes"))
    for instance in instances:
        rows += _dbsvr_processes(instance, state.instances.get(instance), blind)
    if history_age_s is None:
        word, well = _("no history yet"), "unknown"
    elif history_age_s <= 60:
        word, well = _("history was written %(age)s ago") % {"age": duration(round(history_age_s) * 1000, language)}, "yes"
    else:
        word, well = _("history stands still for %(age)s") % {"age": duration(round(history_age_s) * 1000, language)}, "no"
    rows.append(ProcessRow("celery", _("Celery and broker"), word, well))
    return rows


def _dbsvr_processes(instance: str, now: InstanceNow | None, blind: bool) -> list[ProcessRow]:
    it = now.figures if now else None
    answers = now is not None and now.answers
    word = _("answers") if answers else _("unknown: the sampler does not look") if blind else _("no answer")
    rows = [ProcessRow(f"front_{instance}", f"front {instance}", word, "yes" if answers else "unknown" if blind else "no")]
    if it is not None:
        rows.append(_worker(f"master_db_svr_{instance}", f"master_db_svr {instance}", answers, it.master.running, it.master.state))
        for name, replica in sorted(it.replicas.items()):
            key = f"slave_db_svr_{instance}_{name}"
            rows.append(_worker(key, f"slave_db_svr {instance} {name}", answers, replica.running, replica.state))
    return rows


def _worker(key: str, name: str, answers: bool, running: bool, state: str) -> ProcessRow:
    if not answers:
        return ProcessRow(key, name, _("unknown: the front does not answer"), "unknown")
    if not running:
        return ProcessRow(key, name, _("does not run"), "no")
    words = {
        "up": _("commits its beat"),
        "starting": _("starts"),
        "serving": _("serves"),
        "catching_up": _("serves, its replica is late"),
        "stopped": _("runs, its replica is stopped"),
        "refused": _("runs, its replica is refused"),
        "held": _("runs, its replica is held"),
        "silent": _("runs, its database does not answer"),
        "down": _("runs, its database does not answer"),
    }
    # The list is about processes: one whose replica is stopped does its work.
    well = "no" if state in GONE else "unknown" if state == "starting" else "yes"
    return ProcessRow(key, name, words.get(state, state), well)
