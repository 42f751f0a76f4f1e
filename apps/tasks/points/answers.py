"""What an answer of the points system means for the grant that was sent. Pure.

A 2xx confirms; so does 409, which says that it has this grant already. Another 4xx refuses the grant for good, except those that are about
us (401, 403, 404, 405: a wrong secret or address must not reject every grant) or about the moment (408, 425, 429). What cannot have
reached it is sent again; after silence it may have been applied all the same, so the grant is asked again under the same id.
"""

from __future__ import annotations

import enum
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import NamedTuple

LONGEST_HOLD_S = 3_600.0
"""A Retry-After is obeyed so long at most: a mistyped one must not stop delivery for a year."""
ABOUT_US = frozenset({401, 403, 404, 405, 407})
ABOUT_THE_MOMENT = frozenset({408, 425, 429})


class Outcome(enum.StrEnum):
    CONFIRMED = "confirmed"
    REJECTED = "rejected"
    AGAIN = "again"
    """It does not have it, as far as it says."""
    UNKNOWN = "unknown"
    """No answer: it may have it."""


class Answer(NamedTuple):
    """What came back. `status` 0: no answer, and `left` says whether the request may have reached it."""

    status: int
    text: str = ""
    retry_after: str = ""
    left: bool = True


class Meaning(NamedTuple):
    outcome: Outcome
    error: str = ""
    hold_s: float = 0.0
    """Nothing is to be sent for so long, whoever's grant it is."""
    is_away: bool = False
    """The points system failed, not this grant."""


def meaning_of(answer: Answer, now: float) -> Meaning:
    """`now`: epoch seconds, for a Retry-After that names a moment."""
    status = answer.status
    error = f"{status} {answer.text}".strip() if status else answer.text
    if status == 0:
        return Meaning(Outcome.UNKNOWN if answer.left else Outcome.AGAIN, error, is_away=True)
    if 200 <= status < 300 or status == 409:
        return Meaning(Outcome.CONFIRMED)
    if status in ABOUT_THE_MOMENT or status >= 500:
        return Meaning(Outcome.AGAIN, error, hold_s=_seconds(answer.retry_after, now), is_away=status >= 500)
    if status in ABOUT_US or status < 400:
        return Meaning(Outcome.AGAIN, error, is_away=True)
    return Meaning(Outcome.REJECTED, error)


def _seconds(retry_after: str, now: float) -> float:
    """Of a Retry-After: a number of seconds, or a date. 0 where it is neither."""
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return min(float(text[:9]), LONGEST_HOLD_S)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return min(max(0.0, (moment - datetime.fromtimestamp(now, timezone.utc)).total_seconds()), LONGEST_HOLD_S)
