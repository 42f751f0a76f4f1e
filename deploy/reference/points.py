"""A points system, as docs/points.md describes it: what every grant gave is kept in SQLite, and no grant counts twice.

POST /grants                          a grant, or (with "sends": "totals") a user's newest total
GET  /grants/totals?day=2026-11-30    how many grants and points of a day; also from_ms=…&to_ms=…
GET  /grants/list?from_ms=…&to_ms=…   the grants themselves, for who looks for a difference
GET  /balances/{uid}                  what a user has; for people and tests, no part of the contract
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from http import HTTPStatus
from pathlib import Path

from deploy.reference.server import Answer, Request

LIST_LIMIT = 1_000
TABLES = """
CREATE TABLE IF NOT EXISTS grants (
    grant_id TEXT PRIMARY KEY, uid INTEGER NOT NULL, points INTEGER NOT NULL, total INTEGER NOT NULL, version INTEGER NOT NULL,
    task TEXT NOT NULL, period TEXT NOT NULL, tier INTEGER NOT NULL, at_ms INTEGER NOT NULL, received_ms INTEGER NOT NULL,
    repeats INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS grants_at ON grants (at_ms);
CREATE TABLE IF NOT EXISTS balances (
    uid INTEGER PRIMARY KEY, balance INTEGER NOT NULL, version INTEGER NOT NULL, grants INTEGER NOT NULL
);
"""
FIELDS: Mapping[str, type] = {
    "grant_id": str,
    "uid": int,
    "points": int,
    "total": int,
    "version": int,
    "task": str,
    "period": str,
    "tier": int,
    "at": str,
}


class PointsApplication:
    """Called from many threads. One connection behind a lock: a commit on the disk is all that a request costs."""

    spared = ("/balances/",)

    def __init__(self, database: Path) -> None:
        database.parent.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self._connection = sqlite3.connect(database, check_same_thread=False, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.executescript(TABLES)

    def __call__(self, request: Request) -> Answer:
        with self._lock:
            if request.method == "POST" and request.path == "/grants":
                return self._grant(request)
            if request.method == "GET" and request.path == "/grants/totals":
                return self._totals(request)
            if request.method == "GET" and request.path == "/grants/list":
                return self._list(request)
            if request.method == "GET" and request.path.startswith("/balances/"):
                return self._balance(request.path.rpartition("/")[2])
        return Answer(HTTPStatus.NOT_FOUND, {"error": "there is no such path"})

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _grant(self, request: Request) -> Answer:
        body = request.json()
        if not isinstance(body, dict) or any(not isinstance(body.get(name), kind) for name, kind in FIELDS.items()):
            return Answer(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": f"the body needs {', '.join(FIELDS)}"})
        if request.headers.get("idempotency-key") != body["grant_id"]:
            return Answer(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "Idempotency-Key is not the grant's id"})
        try:
            at_ms = round(datetime.fromisoformat(body["at"]).timestamp() * 1000)
        except ValueError:
            return Answer(HTTPStatus.UNPROCESSABLE_ENTITY, {"error": "at is no moment"})
        execute = self._connection.execute
        execute("BEGIN IMMEDIATE")
        try:
            values = (*(body[name] for name in FIELDS if name != "at"), at_ms, round(time.time() * 1000))
            try:
                execute(
                    "INSERT INTO grants (grant_id, uid, points, total, version, task, period, tier, at_ms, received_ms)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    values,
                )
            except sqlite3.IntegrityError:
                execute("UPDATE grants SET repeats = repeats + 1 WHERE grant_id = ?", (body["grant_id"],))
                execute("COMMIT")
                return Answer(HTTPStatus.CONFLICT, {"grant_id": body["grant_id"], "duplicate": True})
            execute("INSERT OR IGNORE INTO balances VALUES (?, 0, 0, 0)", (body["uid"],))
            if body.get("sends") == "totals":
                # The newest total stands, whatever came on the way in what order.
                execute(
                    "UPDATE balances SET grants = grants + 1, balance = iif(? >= version, ?, balance), version = max(version, ?)"
                    " WHERE uid = ?",
                    (body["version"], body["total"], body["version"], body["uid"]),
                )
            else:
                execute(
                    "UPDATE balances SET grants = grants + 1, balance = balance + ?, version = max(version, ?) WHERE uid = ?",
                    (body["points"], body["version"], body["uid"]),
                )
            execute("COMMIT")
        except BaseException:
            execute("ROLLBACK")
            raise
        return Answer(HTTPStatus.CREATED, {"grant_id": body["grant_id"]})

    def _totals(self, request: Request) -> Answer:
        between = _between(request.query)
        if between is None:
            return Answer(HTTPStatus.BAD_REQUEST, {"error": "say day=YYYY-MM-DD, or from_ms and to_ms"})
        row = self._connection.execute(
            "SELECT count(*), coalesce(sum(points), 0) FROM grants WHERE at_ms >= ? AND at_ms < ?", between
        ).fetchone()
        return Answer(HTTPStatus.OK, {"grants": row[0], "points": row[1]})

    def _list(self, request: Request) -> Answer:
        between = _between(request.query)
        if between is None:
            return Answer(HTTPStatus.BAD_REQUEST, {"error": "say from_ms and to_ms"})
        rows = self._connection.execute(
            "SELECT grant_id, uid, points FROM grants WHERE at_ms >= ? AND at_ms < ? AND grant_id > ? ORDER BY grant_id LIMIT ?",
            (*between, request.query.get("after", ""), LIST_LIMIT),
        ).fetchall()
        items = [{"grant_id": grant_id, "uid": uid, "points": points} for grant_id, uid, points in rows]
        return Answer(HTTPStatus.OK, {"items": items, "next": rows[-1][0] if len(rows) == LIST_LIMIT else None})

    def _balance(self, uid: str) -> Answer:
        if not uid.isdigit():
            return Answer(HTTPStatus.BAD_REQUEST, {"error": "a uid is a number"})
        row = self._connection.execute("SELECT balance, grants FROM balances WHERE uid = ?", (int(uid),)).fetchone() or (0, 0)
        return Answer(HTTPStatus.OK, {"uid": int(uid), "balance": row[0], "grants": row[1]})


def _between(query: Mapping[str, str]) -> tuple[int, int] | None:
    """The interval asked for, in ms; None where it is none."""
    try:
        if "day" in query:
            begins = datetime.fromisoformat(query["day"]).replace(tzinfo=timezone.utc)
            return round(begins.timestamp() * 1000), round((begins + timedelta(days=1)).timestamp() * 1000)
        return int(query["from_ms"]), int(query["to_ms"])
    except (KeyError, ValueError):
        return None
