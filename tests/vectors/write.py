"""The published vectors: cases with the answers of this code, one JSON object per file in docs/vectors/."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from apps.tasks.config.compile import compile_bundle
from apps.tasks.config.documents import Attribute
from apps.tasks.evaluation.attributes import Registry
from apps.tasks.evaluation.bundle import clock_in, load_bundle
from apps.tasks.evaluation.conditions import compile_row, outcome_of
from apps.tasks.evaluation.evaluator import Decision, Profile, evaluate
from apps.tasks.evaluation.events import Event, feed
from apps.tasks.evaluation.periods import PeriodOfTime
from apps.tasks.evaluation.release import bucket_of
from apps.tasks.evaluation.standing import User
from apps.tasks.evaluation.user_periods import user_period_at
from tasksys_site.configuration import PROJECT
from tests.vectors import cases
from workers.protocol import Snapshot, TaskRecord

FOLDER = PROJECT / "docs" / "vectors"

OUTCOMES = {True: "met", False: "unmet", None: "unknown"}


def periods() -> dict[str, Any]:
    return {
        "about": "period_at(period, zone, at): key, first moment, first moment after it. "
        "user_cases: the zone is the user's own, `keys` are those of his records.",
        "cases": [
            {"period": _plain(period), "zone": zone, "at": _moment(at), **_period(clock_in(period, zone).period_at(at))}
            for period, zone, at in cases.periods()
        ],
        "user_cases": [
            {
                "period": _plain(period),
                "zone": zone,
                "at": _moment(at),
                "keys": keys,
                **_period(user_period_at(clock_in(period, zone), at, keys)),
            }
            for period, zone, at, keys in cases.user_periods()
        ],
    }


def conditions() -> dict[str, Any]:
    return {
        "about": "One row over an attribute `it` of this type: met, unmet or unknown. Only met satisfies. given null: nothing was given.",
        "cases": [
            {"type": kind, "operator": row.operator, "value": row.value, "given": given, "outcome": _outcome(kind, row, given)}
            for kind, row, given in cases.conditions()
        ],
    }


def release() -> dict[str, Any]:
    return {
        "about": "bucket = MurmurHash3 x86 32 bit (seed 0) of the UTF-8 text `salt:uid`, unsigned, modulo 10,000. "
        "Released when bucket < percentage_bp.",
        "cases": [{"salt": salt, "uid": str(uid), "bucket": bucket_of(salt, uid)} for salt, uid in cases.releases()],
    }


def decisions() -> dict[str, Any]:
    configuration = cases.configuration()
    numbers = {code: number for number, code in enumerate(sorted(configuration.tasks), 1)}
    data = compile_bundle(configuration, numbers, cases.UIDS, 7, cases.NOW, history_counts=True)
    bundle = load_bundle(data)
    found = []
    for user in cases.users():
        records = [TaskRecord(numbers[code], period, progress, state, None, None, 7) for code, period, progress, state in user["records"]]
        snapshot = Snapshot(user["uid"], 1, len(records), 0, records)
        quotas = user["quotas"] and {(numbers[code], key): used for (code, key), used in user["quotas"].items()}
        quotas = {} if user["quotas"] == {} else quotas
        decided = evaluate(bundle, Profile(user["uid"], user["attributes"]), snapshot, user["now"], quotas)
        found.append(
            {
                "uid": str(user["uid"]),
                "attributes": user["attributes"],
                "records": [{"task": each.task, "period": each.period, "progress": each.progress, "state": each.state} for each in records],
                "now": _moment(user["now"]),
                "quotas": None if quotas is None else [{"task": task, "key": key, "used": used} for (task, key), used in quotas.items()],
                "decisions": {decision.task.code: _decision(decision) for decision in decided},
            }
        )
    return {
        "about": "evaluate(bundle, profile, snapshot, now, quotas): for each user the decision on each task. Records are of revision 7.",
        "bundle": json.loads(data),
        "cases": found,
    }


def events() -> dict[str, Any]:
    configuration = cases.event_configuration()
    numbers = {code: number for number, code in enumerate(sorted(configuration.tasks), 1)}
    data = compile_bundle(configuration, numbers, {}, 7, cases.NOW, history_counts=True)
    bundle = load_bundle(data)
    found = []
    for case in cases.events():
        records = [
            TaskRecord(numbers[code], period, progress, state, None, None, 7, granted)
            for code, period, progress, state, granted in case["records"]
        ]
        user = User(bundle, Profile(42), Snapshot(42, 1, len(records), 0, records), case["at"], None)
        feeding = feed(Event("match", case["value"], case["attributes"]), user, case["received_at"])
        found.append(
            {
                "value": case["value"],
                "attributes": case["attributes"],
                "at": _moment(case["at"]),
                "received_at": _moment(case["received_at"]),
                "records": [msgspec.to_builtins(each) for each in records],
                "changes": [msgspec.to_builtins(change) for change in feeding.changes],
                "not_counted": {each.task.code: [reason.code for reason in each.reasons] for each in feeding.not_fed},
            }
        )
    return {
        "about": "feed(event, user, received_at): the changes that an event `match` of user 42 makes, in one write, and why other tasks "
        "that listen are not fed. Fields of a change that have their default are left out.",
        "bundle": json.loads(data),
        "cases": found,
    }


FILES: dict[str, Callable[[], dict[str, Any]]] = {
    "periods.json": periods,
    "conditions.json": conditions,
    "release.json": release,
    "decisions.json": decisions,
    "events.json": events,
}


def content(name: str) -> str:
    """A case a line, so that a change of one shows as one."""
    parts = []
    for key, value in FILES[name]().items():
        if isinstance(value, list):
            lines = ",\n".join(json.dumps(each, ensure_ascii=False) for each in value)
            parts.append(f"{json.dumps(key)}: [\n{lines}\n]")
        else:
            parts.append(f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def write_all(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        (folder / name).write_text(content(name), encoding="utf-8")


def _outcome(kind: Any, row: Any, given: Any) -> str:
    registry = Registry({"it": Attribute(name="it", type=kind)})
    values = registry.read({} if given is None else {"it": given})
    return OUTCOMES[outcome_of(compile_row(row, registry.attributes["it"]), values)]


def _decision(decision: Decision) -> dict[str, Any]:
    streak = decision.streak
    said: dict[str, Any] = {
        "status": decision.status,
        "reasons": [{key: _said(value) for key, value in msgspec.to_builtins(reason).items()} for reason in decision.reasons],
        **_period(decision.period),
        "progress": decision.progress,
        "target": decision.target,
        "points": decision.points,
    }
    if not decision.is_accepted:
        said["accepted"] = False
    if streak is not None:
        said["streak"] = {"run": streak.run, "in_row": streak.in_row, "length": streak.length, "fills": streak.fills}
    if decision.claim_until is not None:
        said["claim_until"] = _moment(decision.claim_until)
    if decision.still_claimable:
        said["still_claimable"] = [
            {"period": each.period.key, "until": _moment(each.until), "points": each.points} for each in decision.still_claimable
        ]
    if decision.caps_left is not None:
        said["caps_left"] = msgspec.to_builtins(decision.caps_left)
    return said


def _said(value: Any) -> Any:
    return _moment(value) if isinstance(value, datetime) else value


def _period(period: PeriodOfTime) -> dict[str, Any]:
    return {"key": period.key, "starts_at": _moment(period.starts_at), "resets_at": _moment(period.resets_at)}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat().replace("+00:00", "Z")


def _plain(document: msgspec.Struct) -> Any:
    return msgspec.to_builtins(document, order="deterministic")
