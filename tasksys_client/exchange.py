"""One call with all its tries. Pure: told what came of a try and when, it says what comes next: the answer, a pause before another
try, or an error.

Another try is made when the server says `retryable`, or nobody answered; after `Retry-After`, else after a pause that doubles, with jitter;
never past the deadline. What one try may have done stays *unknown* until the server has answered: a later try that failed harmlessly
does not make it known.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import msgspec

from tasksys_client.calls import Call, Reply
from tasksys_client.errors import BadAnswer, Problem, TasksysError, Unanswered, problem_from

Answer = TypeVar("Answer")
FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0
PASSING = frozenset({429, 502, 503, 504})
"""Statuses that say: not now, also from a proxy that knows no problems."""
HARMLESS = frozenset({429})


@dataclass(frozen=True)
class Patience:
    """`deadline_s` for a call with all its tries, `try_s` for each of them; `tries` at most."""

    deadline_s: float = 10.0
    try_s: float = 3.5
    tries: int = 100


@dataclass(frozen=True)
class Done(Generic[Answer]):
    answer: Answer


@dataclass(frozen=True)
class Pause:
    seconds: float


class Exchange(Generic[Answer]):
    """`now` is a moment of one monotonic clock throughout. `addresses`: the tries go to one after the other."""

    def __init__(self, call: Call[Answer], addresses: Sequence[str], patience: Patience, now: float, rnd: random.Random) -> None:
        self.call = call
        self._addresses = addresses
        self._patience = patience
        self._until = now + patience.deadline_s
        self._rnd = rnd
        self._tries = 0
        self._may_have_happened = False

    @property
    def address(self) -> str:
        """Where this try goes."""
        return self._addresses[self._tries % len(self._addresses)]

    def try_s(self, now: float) -> float:
        """How long this try may take."""
        return max(0.001, min(self._patience.try_s, self._until - now))

    def answered(self, reply: Reply, now: float) -> Done[Answer] | Pause:
        """Raises TasksysError."""
        if reply.status in self.call.good:
            try:
                return Done(self.call.read(reply))
            except (ValueError, KeyError, TypeError, RecursionError) as error:  # msgspec's errors among them
                raise self._told(_bad_answer(reply, f"cannot be read: {error}", self.call), reply) from error
        return self._failed(self._told(_error_from(reply, self.call), reply), now)

    def not_answered(self, why: str, now: float, was_sent: bool = True) -> Pause:
        """`was_sent` False: the server cannot have heard of it. Raises TasksysError."""
        unknown = was_sent and self.call.is_write
        return self._failed(Unanswered(f"no answer: {why}", retryable=True, outcome_unknown=unknown), now)

    def _failed(self, error: TasksysError, now: float) -> Pause:
        self._tries += 1
        if not error.retryable:
            error.event_id = self.call.event_id
            raise error
        self._may_have_happened = error.outcome_unknown = self._may_have_happened or (error.outcome_unknown and self.call.is_write)
        pause_s = self._pause_s(error)
        if self._tries >= self._patience.tries or now + pause_s >= self._until:
            error.event_id = self.call.event_id
            raise error
        return Pause(pause_s)

    def _pause_s(self, error: TasksysError) -> float:
        asked_s = error.retry_after_s if isinstance(error, Problem) else None
        # To another server at once, unless it is the whole that is asked to be left alone.
        if asked_s is None and self._tries < len(self._addresses):
            return 0.0
        grown_s = min(FIRST_PAUSE_S * 2.0 ** min(self._tries, 20), LONGEST_PAUSE_S)
        jitter = self._rnd.uniform(0.5, 1.0)
        return grown_s * jitter if asked_s is None else asked_s * self._rnd.uniform(1.0, 1.1)

    def _told(self, error: TasksysError, reply: Reply) -> TasksysError:
        error.request_id = reply.headers.get("x-request-id", "")
        return error


def _error_from(reply: Reply, call: Call[Any]) -> TasksysError:
    body = _problem_in(reply)
    if body is not None:
        return problem_from({"status": reply.status, **body}, _seconds(reply.headers.get("retry-after")))
    if reply.status not in PASSING:
        return _bad_answer(reply, "is no problem of this API", call)
    unknown = call.is_write and reply.status not in HARMLESS
    sentence = {"code": "unavailable", "detail": f"status {reply.status} from something in between", "status": reply.status}
    return problem_from({**sentence, "retryable": True, "outcome_unknown": unknown}, _seconds(reply.headers.get("retry-after")))


def _problem_in(reply: Reply) -> dict[str, Any] | None:
    try:
        body = msgspec.json.decode(reply.body, type=dict[str, Any])
        if not isinstance(body["code"], str):
            return None
        problem_from(body)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return body


def _bad_answer(reply: Reply, why: str, call: Call[Any]) -> BadAnswer:
    return BadAnswer(f"the answer, status {reply.status}, {why}", retryable=False, outcome_unknown=call.is_write and reply.status != 404)


def _seconds(header: str | None) -> float | None:
    """A moment instead of seconds is passed over: our servers send none."""
    return float(header) if header is not None and header.isascii() and header.isdigit() else None
