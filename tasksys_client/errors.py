"""What can go wrong. Each error answers two questions: may it be sent again (`retryable`), may it have happened all the same
(`outcome_unknown`)? The client has sent again already what may be, as long as its deadline allowed; so a retryable error says: later.

After an error with `outcome_unknown`, repeat the call with its `event_id` until there is an answer: nothing is ever counted twice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from tasksys_client.shapes import Reason


class TasksysError(Exception):
    """The call has failed. `event_id`: of a write, the one to repeat it with."""

    def __init__(self, sentence: str, *, retryable: bool, outcome_unknown: bool) -> None:
        super().__init__(sentence)
        self.retryable = retryable
        self.outcome_unknown = outcome_unknown
        self.event_id = ""
        self.request_id = ""
        """Under which the server's log knows the last try."""


class Unanswered(TasksysError):
    """Nobody answered in time, or the connection broke."""


class BadAnswer(TasksysError):
    """The answer is none of this API: something else answers at this address, or in between."""


class Problem(TasksysError):
    """The server says what is wrong. `code` is stable; `pointer` says where in the request."""

    def __init__(self, body: Mapping[str, Any], retry_after_s: float | None = None) -> None:
        super().__init__(
            f"{body['code']}: {body.get('detail') or body.get('title') or ''}",
            retryable=bool(body.get("retryable")),
            outcome_unknown=bool(body.get("outcome_unknown")),
        )
        self.code = str(body["code"])
        self.status = int(body.get("status") or 0)
        self.detail = str(body.get("detail") or "")
        self.pointer = str(body.get("pointer") or "")
        self.retry_after_s = retry_after_s
        self.reasons: Sequence[Reason] = msgspec.convert(body.get("reasons") or (), tuple[Reason, ...])
        self.body = dict(body)
        """All of it, also what is not named here."""


class NotEligible(Problem):
    """The task cannot be done at that moment; `reasons` say why."""


def problem_from(body: Mapping[str, Any], retry_after_s: float | None = None) -> Problem:
    return (NotEligible if body.get("code") == "not_eligible" else Problem)(body, retry_after_s)
