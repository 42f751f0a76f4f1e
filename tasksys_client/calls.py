"""Each call of the API as a value: what to send, and how to read the answer. Pure; opens nothing.

A write's event id is in its call, so that however often it is sent, it is one event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import msgspec

from tasksys_client.errors import Problem, problem_from
from tasksys_client.events import Event, UserQuestion, new_event_id
from tasksys_client.shapes import EventOutcome, ExplainedUser, Forgotten, PublishedConfig, Step, UserTasks

Answer = TypeVar("Answer")
Shape = TypeVar("Shape", bound=msgspec.Struct)
ROOT = "/api/v1"
OK, NOT_MODIFIED = 200, 304


@dataclass(frozen=True)
class Reply:
    """`headers` by their names in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Call(Generic[Answer]):
    """`read` is given a reply with one of the statuses in `good`; what it raises is a BadAnswer."""

    method: str
    path: str
    read: Callable[[Reply], Answer]
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | None = None
    is_write: bool = False
    event_id: str = ""
    """Of a write of one event."""
    good: tuple[int, ...] = (OK,)


def tasks(
    uid: int, status: Iterable[str] = (), lang: str = "", attributes: Mapping[str, Any] | None = None, with_values: bool = False
) -> Call[UserTasks]:
    query = _query(status=",".join(status), lang=lang, reasons="values" if with_values else "", attributes=_text(attributes))
    return Call("GET", f"/users/{uid}/tasks", _of(UserTasks), query)


def prompts(uid: int, limit: int | None = None, lang: str = "", attributes: Mapping[str, Any] | None = None) -> Call[UserTasks]:
    query = _query(limit="" if limit is None else str(limit), lang=lang, attributes=_text(attributes))
    return Call("GET", f"/users/{uid}/prompts", _of(UserTasks), query)


def record_event(event: Event) -> Call[EventOutcome]:
    body = msgspec.to_builtins(event)
    del body["uid"]
    return _write(f"/users/{event.uid}/events", body, _of(EventOutcome), event.event_id)


def step(uid: int, code: str, what: str, event_id: str | None, at: datetime | None, **more: Any) -> Call[Step]:
    """`what`: complete, accept, claim, revert. `more`: further fields of the body; None is left out."""
    event_id = event_id or new_event_id()
    body = {"event_id": event_id, "at": at, **more}
    return _write(f"/users/{uid}/tasks/{quote(code, safe='')}/{what}", body, _of(Step), event_id)


def erase(uid: int, event_id: str | None = None) -> Call[Forgotten]:
    event_id = event_id or new_event_id()
    return Call("DELETE", f"/users/{uid}", _of(Forgotten), headers={"Idempotency-Key": event_id}, is_write=True, event_id=event_id)


def tasks_of_many(
    users: Sequence[int | UserQuestion], status: Iterable[str] = (), lang: str = "", with_values: bool = False
) -> Call[list[UserTasks | Problem]]:
    items = [UserQuestion(each) if isinstance(each, int) else each for each in users]
    query = _query(status=",".join(status), lang=lang, reasons="values" if with_values else "")
    return Call("POST", "/users:batchGet", _items(UserTasks), query, *_json({"items": items}))


def record_events(events: Sequence[Event]) -> Call[list[EventOutcome | Problem]]:
    return Call("POST", "/events:batch", _items(EventOutcome), {}, *_json({"items": events}), is_write=True)


def config(etag: str = "") -> Call[PublishedConfig | None]:
    """None: it is still the one with this ETag."""
    headers = {"If-None-Match": etag} if etag else {}
    return Call("GET", "/config", _config, headers=headers, good=(OK, NOT_MODIFIED))


def revision(number: int) -> Call[PublishedConfig]:
    def read(reply: Reply) -> PublishedConfig:
        return PublishedConfig(reply.headers.get("etag", ""), _json_object(reply.body))

    return Call("GET", f"/config/revisions/{number}", read)


def explain(
    uid: int,
    at: datetime | None = None,
    attributes: Mapping[str, Any] | None = None,
    codes: Sequence[str] | None = None,
    draft: int | None = None,
    lang: str = "",
) -> Call[ExplainedUser]:
    body = {"uid": uid, "at": at, "attributes": attributes, "tasks": codes, "draft": draft}
    return Call("POST", "/explain", _of(ExplainedUser), _query(lang=lang), *_json(_said(body)))


def _write(path: str, body: Mapping[str, Any], read: Callable[[Reply], Answer], event_id: str) -> Call[Answer]:
    return Call("POST", path, read, {}, *_json(_said(body)), is_write=True, event_id=event_id)


def _json(body: Any) -> tuple[Mapping[str, str], bytes]:
    return {"Content-Type": "application/json"}, msgspec.json.encode(body)


def _said(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if value is not None}


def _query(**values: str) -> dict[str, str]:
    return {name: value for name, value in values.items() if value}


def _text(attributes: Mapping[str, Any] | None) -> str:
    return msgspec.json.encode(attributes).decode() if attributes else ""


def _of(shape: type[Shape]) -> Callable[[Reply], Shape]:
    decoder = _decoders.setdefault(shape, msgspec.json.Decoder(shape))
    return lambda reply: decoder.decode(reply.body)


_decoders: dict[type, Any] = {}


class _Item(msgspec.Struct, frozen=True):
    result: msgspec.Raw = msgspec.Raw()
    problem: dict[str, Any] | None = None


class _Items(msgspec.Struct, frozen=True):
    items: list[_Item]


def _items(shape: type[Shape]) -> Callable[[Reply], list[Shape | Problem]]:
    def read_item(item: _Item) -> Shape | Problem:
        if item.problem is not None:
            return problem_from(item.problem)
        if not item.result:
            raise ValueError("an item has neither a result nor a problem")
        return msgspec.json.decode(item.result, type=shape)

    return lambda reply: [read_item(item) for item in msgspec.json.decode(reply.body, type=_Items).items]


def _config(reply: Reply) -> PublishedConfig | None:
    return None if reply.status == NOT_MODIFIED else PublishedConfig(reply.headers.get("etag", ""), _json_object(reply.body))


def _json_object(body: bytes) -> bytes:
    msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    return body
