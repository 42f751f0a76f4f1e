"""API keys: how one is made, revoked and recognised.

A key is `tsk_<prefix>_<secret>`. The secret has 192 random bits, so one SHA-256 over the whole is enough to store: there is nothing
to guess.
Recognising one is a look into a table that this process holds (see watch.py): no query, and a revoked key dies within about a second.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from django.db.models import Q
from django.utils import timezone

from apps.tasks.change_signals import KEYS
from apps.tasks.limits import Limit
from apps.tasks.models import ApiKey
from apps.tasks.scopes import SCOPES, unknown_scopes
from apps.tasks.watch import Held, NotKnownYet, watch

KEY_FORM = re.compile(r"^tsk_[a-z0-9]{8}_[A-Za-z0-9_-]{32}$")
STANDS_FOR_S = 600.0
"""How long the table stands while the database cannot be asked; a process that is cut off must not honour a key for ever."""


@dataclass(frozen=True, slots=True)
class KnownKey:
    """What the API needs to know of a valid key."""

    number: int
    name: str
    scopes: frozenset[str]
    limit: Limit | None = None
    """None: it may ask as often as it likes."""

    is_authenticated = True  # what Django REST framework asks of a user


def new_key_text() -> str:
    alphabet = "abcdefghijklmnopqrstuvwxyz0123456789"
    prefix = "".join(secrets.choice(alphabet) for _ in range(8))
    return f"tsk_{prefix}_{secrets.token_urlsafe(24)}"


def prefix_of(key: str) -> str:
    return key[: len("tsk_") + 8]


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def create_api_key(name: str, scopes: Iterable[str], requests_per_s: int | None = None, burst: int | None = None) -> tuple[ApiKey, str]:
    """A new key and its text, which is shown now or never. Raises ValueError for an unknown or no scope."""
    wanted = list(dict.fromkeys(scopes))
    if not wanted or unknown_scopes(wanted):
        raise ValueError(f"scopes must be some of {', '.join(SCOPES)}, not {', '.join(wanted) or 'none'}")
    text = new_key_text()
    key = ApiKey.objects.create(
        name=name, prefix=prefix_of(text), sha256=digest(text), scopes=wanted, requests_per_s=requests_per_s, burst=burst
    )
    return key, text


def revoke_api_key(key: ApiKey) -> None:
    """From now on the key opens nothing. Revoking it again keeps the first moment."""
    if key.revoked_at is None:
        key.revoked_at = timezone.now()
        key.save(update_fields=["revoked_at"])


def recognise(text: str) -> KnownKey | None:
    """The valid key that was shown, or None. Raises NotKnownYet when the table is missing or too old to be trusted."""
    table = _keys.get()
    if _keys.age_s() > STANDS_FOR_S:
        raise NotKnownYet("the API keys could not be read for ten minutes")
    if not KEY_FORM.match(text):
        return None
    # Looking up by the digest gives away nothing by its time that would help to guess the key.
    key = table.get(digest(text))
    if key is not None:
        _used.add(key.number)
    return key


def _load_keys() -> Mapping[str, KnownKey]:
    rows = ApiKey.objects.filter(revoked_at__isnull=True).values_list("sha256", "id", "name", "scopes", "requests_per_s", "burst")
    return {
        sha256: KnownKey(number, name, frozenset(scopes), Limit(per_s, burst or per_s) if per_s else None)
        for sha256, number, name, scopes, per_s, burst in rows
    }


class _UsedKeys:
    """Which keys were used today, written down once a day per key and process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._new: set[int] = set()
        self._written: tuple[date | None, set[int]] = (None, set())

    def add(self, number: int) -> None:
        day, written = self._written
        if number not in written or day != timezone.now().date():
            with self._lock:
                self._new.add(number)

    def write_down(self) -> None:
        with self._lock:
            new, self._new = self._new, set()
        if not new:
            return
        today = timezone.now().date()
        ApiKey.objects.filter(Q(last_used_on__isnull=True) | Q(last_used_on__lt=today), id__in=new).update(last_used_on=today)
        day, written = self._written
        self._written = (today, new | (written if day == today else set()))


_keys: Held[Mapping[str, KnownKey]] = watch.register(Held(KEYS, _load_keys))
_used = _UsedKeys()
watch.register_chore(_used.write_down)
