"""The client for threads. One may be shared by many; it keeps connections."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import TracebackType
from typing import Any, TypeVar

import httpx

from tasksys_client import calls
from tasksys_client.calls import ROOT, Call, Reply
from tasksys_client.connection import HEADERS, key_header, settings, was_sent
from tasksys_client.errors import Problem
from tasksys_client.events import Event, UserQuestion, new_event_id
from tasksys_client.exchange import Done, Exchange, Patience
from tasksys_client.shapes import EventOutcome, ExplainedUser, Forgotten, PublishedConfig, Step, UserTasks

Answer = TypeVar("Answer")


class TasksysClient:
    """Every call raises TasksysError. `addresses`: of one server, or of several that are tried in turn, like http://127.0.0.1:7380."""

    def __init__(self, addresses: str | Sequence[str], key: str, patience: Patience | None = None, connections: int = 32) -> None:
        self._addresses = (addresses,) if isinstance(addresses, str) else tuple(addresses)
        self._patience = patience or Patience()
        self._rnd = random.Random()
        self._http = httpx.Client(headers={**HEADERS, **key_header(key)}, **settings(self._addresses, connections))

    def tasks(
        self,
        uid: int,
        *,
        status: Iterable[str] = (),
        lang: str = "",
        attributes: Mapping[str, Any] | None = None,
        with_values: bool = False,
    ) -> UserTasks:
        """What he may do, and how far he is. `status`: these alone; `attributes`: what you know of him; `with_values`: reasons in full."""
        return self.send(calls.tasks(uid, status, lang, attributes, with_values))

    def prompts(self, uid: int, limit: int | None = None, *, lang: str = "", attributes: Mapping[str, Any] | None = None) -> UserTasks:
        """What to show him now."""
        return self.send(calls.prompts(uid, limit, lang, attributes))

    def tasks_of_many(
        self, users: Sequence[int | UserQuestion], *, status: Iterable[str] = (), lang: str = "", with_values: bool = False
    ) -> list[UserTasks | Problem]:
        """Of up to 500 users, in order, what `tasks` says, or the problem in its place."""
        return self.send(calls.tasks_of_many(users, status, lang, with_values))

    def record_event(
        self,
        uid: int,
        type: str,
        *,
        value: int = 1,
        event_id: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
        profile: Mapping[str, Any] | None = None,
    ) -> EventOutcome:
        """He did something: every task that listens counts it. `attributes` are the event's, `profile` is what you know of him."""
        event_id = event_id or new_event_id()
        event = Event(uid=uid, type=type, event_id=event_id, value=value, at=at, attributes=attributes or {}, profile=profile or {})
        return self.send(calls.record_event(event))

    def record_events(self, events: Sequence[Event]) -> list[EventOutcome | Problem]:
        """Up to 500, in order, each with an outcome of its own. Send those whose problem is retryable again, as they are."""
        return self.send(calls.record_events(events))

    def complete(
        self,
        uid: int,
        code: str,
        *,
        event_id: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Step:
        """Raises NotEligible, like the three that follow."""
        return self.send(calls.step(uid, code, "complete", event_id, at, attributes=attributes))

    def accept(
        self,
        uid: int,
        code: str,
        *,
        event_id: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Step:
        return self.send(calls.step(uid, code, "accept", event_id, at, attributes=attributes))

    def claim(
        self,
        uid: int,
        code: str,
        *,
        period: str | None = None,
        event_id: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Step:
        """`period`: an earlier one, as `still_claimable` says it."""
        return self.send(calls.step(uid, code, "claim", event_id, at, attributes=attributes, period=period))

    def revert(
        self,
        uid: int,
        code: str,
        *,
        value: int | None = None,
        member: str | int | float | bool | None = None,
        period: str | None = None,
        event_id: str | None = None,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> Step:
        """Take progress back. `member`: of mode distinct, what is not to count any more; `value`: of the others."""
        more = {"value": value, "member": member, "period": period}
        return self.send(calls.step(uid, code, "revert", event_id, at, attributes=attributes, **more))

    def erase(self, uid: int, *, event_id: str | None = None) -> Forgotten:
        return self.send(calls.erase(uid, event_id))

    def config(self, etag: str = "") -> PublishedConfig | None:
        """What is published; None while it is still the one with this ETag."""
        return self.send(calls.config(etag))

    def revision(self, number: int) -> PublishedConfig:
        return self.send(calls.revision(number))

    def explain(
        self,
        uid: int,
        *,
        at: datetime | None = None,
        attributes: Mapping[str, Any] | None = None,
        codes: Sequence[str] | None = None,
        draft: int | None = None,
        lang: str = "",
    ) -> ExplainedUser:
        """Why he may do what he may: all tasks, or those with these codes."""
        return self.send(calls.explain(uid, at, attributes, codes, draft, lang))

    def send(self, call: Call[Answer]) -> Answer:
        """One call, made by `calls`, with as many tries as its deadline allows."""
        exchange = Exchange(call, self._addresses, self._patience, time.monotonic(), self._rnd)
        while True:
            try:
                reply = self._try(exchange)
            except httpx.HTTPError as error:
                step: Any = exchange.not_answered(str(error) or type(error).__name__, time.monotonic(), was_sent(error))
            else:
                step = exchange.answered(reply, time.monotonic())
            if isinstance(step, Done):
                return step.answer  # type: ignore[no-any-return]
            time.sleep(step.seconds)

    def _try(self, exchange: Exchange[Any]) -> Reply:
        call, began = exchange.call, time.monotonic()
        try_s = exchange.try_s(began)
        url = exchange.address + ROOT + call.path
        with self._http.stream(
            call.method, url, params=call.query or None, headers=dict(call.headers), content=call.body, timeout=try_s
        ) as response:
            body = bytearray()
            for piece in response.iter_bytes():
                body += piece
                # httpx's time-out is for each piece; an answer that comes byte by byte must end too.
                if time.monotonic() - began > try_s:
                    raise httpx.ReadTimeout(f"the answer was not complete within {try_s:.1f} s")
            return Reply(response.status_code, {name.lower(): value for name, value in response.headers.items()}, bytes(body))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> TasksysClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()
