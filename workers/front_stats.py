"""The answers to TASK.STATS and TASK.EXPLAIN: what the dispatch knows, as JSON values. docs/protocol.md describes each key."""

from __future__ import annotations

import time
from typing import Any

import msgspec

from workers.dispatch import Dispatch
from workers.lease_clock import boottime
from workers.lost_writes import LostWrites
from workers.messages import Hold
from workers.requests import Lane


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def stats(dispatch: Dispatch, connections: int, now: float) -> dict[str, Any]:
    servers, lanes = dispatch.servers, dispatch.lanes
    master, clock = servers.master, servers.clock
    depths = lanes.depths()
    beat_age = master.beat_age_ms(now)
    return {
        "instance": dispatch.instance,
        "run_id": dispatch.run_id,
        "now": time.time(),
        "started_at": dispatch.started_at,
        "generation": dispatch.servers.generation,
        "base": dispatch.servers.base or None,
        "tick": master.tick,
        "floor": dispatch.users.floor,
        "master": {
            "state": master.state,
            "why": master.sentence,
            "warning": master.warning,
            "endpoint": master.endpoint,
            "endpoints": _endpoints(master.endpoints),
            "server_id": dispatch.servers.server_id or None,
            "pid": master.pid,
            "epoch": master.epoch,
            "tick": master.tick,
            "beat_age_ms": None if beat_age is None else round(beat_age, 3),
        },
        "replicas": {
            replica.name: {
                "state": replica.state(clock, now),
                "refusal": replica.refusal,
                "hold": _hold(replica.hold),
                "endpoint": replica.endpoint,
                "endpoints": _endpoints(replica.endpoints),
                "pid": replica.pid,
                "tick": replica.tick,
                "lag_ms": _milliseconds(dispatch.servers.lag_s(replica, now)),
                "answer_age_ms": _milliseconds(now - replica.reported_at) if replica.reported_at else None,
                "io_running": replica.io_running,
                "sql_running": replica.sql_running,
                "last_error": replica.last_error,
            }
            for replica in dispatch.servers.replicas.values()
        },
        **dispatch.counts.as_json(),
        "queues": {
            "finish": _queue(depths["finish"], [lanes.finish], now),
            "query": _queue(depths["query"], [lanes.master, lanes.replica], now),
            "clear": _queue(depths["clear"], [lanes.clear], now),
        },
        "users": {"stamps": len(dispatch.users), "in_flight": dispatch.users.users_in_flight, "trails": len(dispatch.trails)},
        "purges": {"committed": dispatch.purges.committed, "trails_lost": list(dispatch.trails.lost(now))},
        "config": dispatch.bundles.as_json(now),
        "connections": {
            "now": connections,
            "accepted": dispatch.counts.connections_accepted,
            "cut": dispatch.counts.connections_cut,
            "refused": dispatch.counts.connections_refused,
        },
        "floor_rises": dict(dispatch.users.floor_rises),
        "lost": _lost(dispatch.time.lost),
        "segments": dispatch.pair.as_json(boottime()),
        "takeovers": [takeover._asdict() for takeover in dispatch.pair.takeovers],
        "peers": dispatch.forwarding.as_json(now),
        "mirror": dispatch.takeovers.mirrors.as_json(now),
    }


def _lost(lost: LostWrites | None) -> dict[str, Any] | None:
    if lost is None:
        return None
    return {**msgspec.structs.asdict(lost), "named": [write._asdict() for write in lost.named]}


def _hold(hold: Hold | None) -> dict[str, Any] | None:
    return None if hold is None else {"why": hold.reason, "by": hold.by, "since": hold.since_ms / 1000}


def _endpoints(endpoints: list[tuple[str, str, str]]) -> list[dict[str, str]]:
    return [{"endpoint": endpoint, "state": state, "why": why} for endpoint, state, why in endpoints]


def _queue(depth: int, lanes: list[Lane], now: float) -> dict[str, Any]:
    arrivals = [at for lane in lanes if (at := lane.oldest_arrival()) is not None]
    return {
        "depth": depth,
        "backlog": sum(lane.users_in_line for lane in lanes),
        "oldest_ms": round((now - min(arrivals)) * 1000, 3) if arrivals else 0.0,
    }


def explain(dispatch: Dispatch, uid: int, now: float) -> dict[str, Any]:
    """Which servers may serve this user now, and why not the others."""
    users, clock = dispatch.users, dispatch.servers.clock
    stamp, in_flight = users.stamp(uid), users.is_in_flight(uid)
    master = dispatch.servers.master
    servers: dict[str, dict[str, Any]] = {"master": {"may_serve": master.is_ready, "why": master.sentence or master.state}}
    for replica in dispatch.servers.replicas.values():
        if in_flight:
            may, why = False, "a write of this user is in flight"
        elif not dispatch.servers.base:
            may, why = False, "the DBSvr has no fresh tick yet"
        elif replica.hold is not None:
            may, why = False, f"held by {replica.hold.by}: {replica.hold.reason}"
        elif not replica.may_serve(now) or replica.tick is None:
            may, why = False, replica.refusal or replica.last_error or replica.state(clock, now)
        elif replica.tick < stamp:
            may, why = False, f"it shows tick {replica.tick}, the user's stamp is {stamp}"
        else:
            may, why = True, f"it shows tick {replica.tick}, at or past the user's stamp {stamp}"
        margin = None if replica.tick is None or not dispatch.servers.base else replica.tick - stamp
        servers[replica.name] = {"may_serve": may, "why": why, "margin_ticks": margin}
    return {
        "uid": uid if uid <= 2**53 else str(uid),
        "generation": dispatch.servers.generation,
        "stamp": stamp,
        "stamp_is": "recorded" if users.recorded_stamp(uid) == stamp and stamp else "floor",
        "in_flight": in_flight,
        "servers": servers,
    }
