"""A profile system, as docs/profiles.md describes it: what is made up of a user is drawn from his uid, the same at every call.

POST /profiles         the contract: {"uids": ["42"], "attributes": ["level"]} -> {"profiles": {"42": {"level": 30}}}
GET  /profiles/{uid}   all of one user; for people and tests, no part of the contract
PUT  /profiles/{uid}   sets some of his attributes until the server ends; a null takes one away, "user": null the whole user
"""

from __future__ import annotations

import random
import threading
from datetime import date, timedelta
from http import HTTPStatus

from deploy.reference.server import Answer, Request

MOST_UIDS = 500
UNKNOWN_ONE_IN = 50
"""One user in so many is unknown here, as in life."""
LARGEST_UID = 2**63 - 1
ZONES = {"cn": "Asia/Shanghai", "eu": "Europe/Berlin", "na": "America/New_York", "sea": "Asia/Singapore"}


def made_up(uid: int) -> dict[str, object] | None:
    """What this system knows of a user; None: nobody of this uid."""
    drawn = random.Random(uid)
    if drawn.randrange(UNKNOWN_ONE_IN) == 0:
        return None
    region = drawn.choice(sorted(ZONES))
    return {
        "level": drawn.randint(1, 60),
        "vip": drawn.random() < 0.2,
        "region": region,
        "registered_on": (date(2026, 1, 1) + timedelta(days=drawn.randrange(300))).isoformat(),
        "zone": ZONES[region],
    }


class ProfilesApplication:
    """Called from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._set: dict[int, dict[str, object] | None] = {}

    def profile_of(self, uid: int) -> dict[str, object] | None:
        with self._lock:
            return self._set[uid] if uid in self._set else made_up(uid)

    def __call__(self, request: Request) -> Answer:
        if request.method == "POST" and request.path == "/profiles":
            return self._answer(request.json())
        head, _, text = request.path.rpartition("/")
        uid = _uid_in(text)
        if head != "/profiles" or uid is None:
            return Answer(HTTPStatus.NOT_FOUND, {"error": "there is nothing here"})
        if request.method == "PUT":
            return self._change(uid, request.json())
        profile = self.profile_of(uid)
        return Answer(HTTPStatus.OK if profile is not None else HTTPStatus.NOT_FOUND, profile or {"error": "nobody has this uid"})

    def _answer(self, question: object) -> Answer:
        match question:
            case {"uids": list(uids), "attributes": list(names)} if len(uids) <= MOST_UIDS:
                numbers = {uid: number for uid in uids if isinstance(uid, str) and (number := _uid_in(uid)) is not None}
                if len(numbers) == len(set(map(str, uids))):
                    return Answer(HTTPStatus.OK, {"profiles": {uid: self._said(number, names) for uid, number in numbers.items()}})
        wanted = f'{{"uids": ["42", …], "attributes": ["level", …]}}, with at most {MOST_UIDS} uids'
        return Answer(HTTPStatus.BAD_REQUEST, {"error": f"send {wanted}"})

    def _said(self, uid: int, names: list[object]) -> dict[str, object] | None:
        profile = self.profile_of(uid)
        return None if profile is None else {name: profile.get(name) for name in names if isinstance(name, str)}

    def _change(self, uid: int, changes: object) -> Answer:
        if not isinstance(changes, dict):
            return Answer(HTTPStatus.BAD_REQUEST, {"error": "send a JSON object of attributes"})
        now = None if changes.get("user", changes) is None else {**(self.profile_of(uid) or {}), **changes}
        with self._lock:
            self._set[uid] = now
        return Answer(HTTPStatus.OK, now)


def _uid_in(text: str) -> int | None:
    is_number = text.isascii() and text.isdigit() and len(text) <= 19
    return int(text) if is_number and 1 <= int(text) <= LARGEST_UID else None
