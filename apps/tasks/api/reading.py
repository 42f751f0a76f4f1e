"""What is read from a request: uid, language, states, event id, body. Everything wrong becomes a Problem that points at it."""

from __future__ import annotations

import re
from binascii import a2b_qp
from collections.abc import Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from django.conf import settings
from django.http import HttpRequest
from django.utils.translation import gettext as _

from apps.tasks.api.bodies import EventItem, EventsBody, UserItem, UsersBody
from apps.tasks.api.problems import Problem
from apps.tasks.config.limits import FIRST_YEAR, LAST_YEAR
from apps.tasks.evaluation.reasons import STATUSES
from workers.protocol import PERIOD_KEY, BadArgument, parse_event_id, parse_uid

LARGEST_BODY_BYTES = 64 * 1024
LARGEST_BATCH_BYTES = 1024 * 1024
MAX_ITEMS = 500
LANGUAGES = tuple(code for code, _name in settings.LANGUAGES)

_attributes = msgspec.json.Decoder(dict[str, Any])

Body = TypeVar("Body", bound=msgspec.Struct)
Batch = TypeVar("Batch", EventsBody, UsersBody)


def read_uid(text: str, pointer: str = "path/uid") -> int:
    try:
        uid = parse_uid(text.encode())
    except (BadArgument, UnicodeEncodeError):
        raise Problem("bad_request", _("A uid is a number from 1 to 9223372036854775807."), pointer) from None
    if uid >= settings.RESERVED_FROM_UID:
        raise Problem(
            "bad_request", _("The uids from %(first)s on are reserved for the canary.") % {"first": settings.RESERVED_FROM_UID}, pointer
        )
    return uid


def read_uid_of(item: EventItem | UserItem) -> int:
    """Of one item of a batch. Most are plain numbers, and there are many of them."""
    uid = item.uid
    return uid if isinstance(uid, int) and 0 < uid < settings.RESERVED_FROM_UID else read_uid(str(uid), "#/uid")


def read_explained_moment(at: datetime | None, now: datetime) -> datetime:
    """Any moment of a calendar that people use: who explains may travel in time."""
    if at is None:
        return now
    if not FIRST_YEAR <= at.year <= LAST_YEAR:
        raise Problem(
            "bad_request", _("“at” must lie between the years %(first)s and %(last)s.") % {"first": FIRST_YEAR, "last": LAST_YEAR}, "#/at"
        )
    return at


def read_query(request: HttpRequest) -> dict[str, str]:
    """What follows the question mark; of a name that is there twice the last value. Half the price of request.GET."""
    query: dict[str, str] = {}
    for part in request.META.get("QUERY_STRING", "").split("&"):
        if part:
            name, _equals, value = part.partition("=")
            name = _plain(name, "query")
            query[name] = _plain(value, f"query/{name}")
    return query


def _plain(text: str, pointer: str) -> str:
    """Without its escapes. `%7B` is quoted-printable's `=7B`, which Python decodes in C: attributes are made of escapes."""
    if "%" not in text and "+" not in text:
        return text
    try:
        return a2b_qp(text.encode("latin-1").replace(b"+", b" ").replace(b"=", b"=3D").replace(b"%", b"=")).decode()
    except UnicodeError:
        raise Problem("bad_request", _("The query must be UTF-8."), pointer) from None


def read_attributes(query: Mapping[str, str]) -> dict[str, Any]:
    """What the caller says of the user, `attributes={"level":30}`; nothing without it."""
    text = query.get("attributes")
    if text is None:
        return {}
    try:
        return _attributes.decode(text.encode())
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Problem("bad_request", _("attributes must be a JSON object."), "query/attributes") from None


def read_reasons(query: Mapping[str, str]) -> bool:
    """Whether reasons are to bring the values that decided, `reasons=values`."""
    wanted = query.get("reasons")
    if wanted not in (None, "values"):
        raise Problem("bad_request", _("reasons must be “values”, or not be there."), "query/reasons")
    return wanted is not None


def read_event_id(text: str, pointer: str) -> str:
    try:
        return parse_event_id(text.encode())
    except (BadArgument, UnicodeEncodeError):
        raise Problem(
            "bad_request", _("An event_id is 1 to 64 letters, digits and ._:@/+=-, and begins with a letter or digit."), pointer
        ) from None


def read_language(query: Mapping[str, str]) -> str | None:
    """The language asked for; None: not said."""
    language = query.get("lang")
    if language is None:
        return None
    if language.lower() not in LANGUAGES:
        raise Problem("bad_request", _("lang must be one of: %(names)s.") % {"names": ", ".join(LANGUAGES)}, "query/lang")
    return language.lower()


def read_states(query: Mapping[str, str]) -> frozenset[str] | None:
    """The states asked for, `status=available,in_progress`; None: not said."""
    text = query.get("status")
    if text is None:
        return None
    states = frozenset(part.strip() for part in text.split(","))
    if not states <= set(STATUSES):
        raise Problem("bad_request", _("status must be some of: %(names)s.") % {"names": ", ".join(STATUSES)}, "query/status")
    return states


def read_period(key: str | None, pointer: str = "#/period") -> str | None:
    if key is not None and not PERIOD_KEY.match(key):
        raise Problem("bad_request", _("period must be a period key, as it stands in an answer."), pointer)
    return key


def read_limit(query: Mapping[str, str], default: int, most: int) -> int:
    """How many are wanted at most, `limit=3`."""
    text = query.get("limit")
    if text is None:
        return default
    if not text.isascii() or not text.isdigit() or len(text) > 9 or not 1 <= int(text) <= most:
        raise Problem("bad_request", _("limit must be a number from 1 to %(most)s.") % {"most": most}, "query/limit")
    return int(text)


def read_body(request: HttpRequest, form: type[Body], limit: int = LARGEST_BODY_BYTES) -> Body:
    """The JSON body as `form`. Content-Type must be JSON; the sentence of a fault names the field."""
    body = read_bytes(request, limit)
    try:
        return msgspec.json.decode(body, type=form)
    except msgspec.ValidationError as error:
        sentence, _at, place = str(error).partition(" - at `$")
        raise Problem("bad_request", sentence + ".", _pointer(place.rstrip("`"), sentence)) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise Problem("bad_request", _("The body is no JSON."), "#") from None


def read_items(request: HttpRequest, form: type[Batch]) -> Batch:
    """A body with `items`, of which there may be MAX_ITEMS."""
    body = read_body(request, form, LARGEST_BATCH_BYTES)
    if len(body.items) > MAX_ITEMS:
        raise Problem("too_big", _("A batch may have %(limit)s items.") % {"limit": MAX_ITEMS}, "#/items")
    return body


def read_bytes(request: HttpRequest, limit: int) -> bytes:
    """The body, declared as JSON, of at most `limit` bytes. Nothing is read of a larger one."""
    content_length = request.META.get("CONTENT_LENGTH") or "0"
    if content_length == "0":
        raise Problem("bad_request", _("A JSON body is needed, sent with its Content-Length."), "#")
    if request.content_type != "application/json":
        raise Problem("unsupported_media_type", _("Send the body with Content-Type: application/json."), "header/Content-Type")
    if not content_length.isdigit() or int(content_length) > limit:
        raise Problem("too_big", _("A body may have %(limit)s bytes.") % {"limit": limit})
    # Not request.body: that refuses what is larger than a form may be.
    return request.read(int(content_length))


def read_number(text: str | None, pointer: str) -> int:
    """A revision's or a draft's number."""
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 9:
        raise Problem("bad_request", _("This must be a number, of a revision or a draft."), pointer)
    return int(text)


def _pointer(place: str, sentence: str) -> str:
    """msgspec says `.items[3].uid`, and names a missing or unknown field in the sentence only: Object missing required field `event_id`."""
    pointer = "#" + re.sub(r"\[([0-9.]+)\]", r"/\1", place).replace("/...", "").replace(".", "/")
    parts = sentence.split("`")
    return f"{pointer}/{parts[1]}" if "field" in sentence and len(parts) == 3 else pointer
