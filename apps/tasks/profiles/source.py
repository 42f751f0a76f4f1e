"""The external profile system, asked over HTTP: one question for many users, one answer, in bounded time.

    POST url   {"uids": ["42", …], "attributes": ["level", …]}   ->   200 {"profiles": {"42": {"level": 30, …}, "43": null}}

uids are texts on both sides: JSON readers round large numbers. `null` is a user whom the system does not know; who is missing was not
answered. httpx's errors are translated here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import httpx
import msgspec

CONNECTIONS = 8
LARGEST_ANSWER_BYTES = 4 * 1024 * 1024


class SourceFailed(Exception):
    """The profile system gave no answer that could be used. Asking again does no harm."""


class SourceSlow(SourceFailed):
    """It did not answer in time."""


class SourceDead(SourceFailed):
    """It could not be reached, or broke off."""


class SourceWrong(SourceFailed):
    """It answered something else than docs/profiles.md says: another status, no JSON, another shape."""


class _Answer(msgspec.Struct):
    profiles: dict[str, Any]


_decode = msgspec.json.Decoder(_Answer).decode
Said = Mapping[int, Mapping[str, object]]
"""By user, what the system said of him; a user who is missing was not answered."""


class ProfileSource:
    """Shared by threads; a forked child makes its own."""

    def __init__(self, url: str, token: str, timeout_ms: int) -> None:
        self._url = url
        self._timeout_s = timeout_ms / 1000
        self._client = httpx.Client(
            # Not compressed: what is read is then no more than what was sent.
            headers={"Accept-Encoding": "identity", **({"Authorization": f"Bearer {token}"} if token else {})},
            timeout=self._timeout_s,
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            trust_env=False,  # a proxy of the host's environment is no part of the configuration
            verify=url.startswith("https:"),  # certificates take a third of a second to load
        )

    def ask(self, uids: Sequence[int], names: Sequence[str]) -> Said:
        """Raises SourceFailed. A user of whom the system knows nothing has every attribute as None."""
        until = time.monotonic() + self._timeout_s
        question = msgspec.json.encode({"uids": [str(uid) for uid in uids], "attributes": names})
        try:
            with self._client.stream("POST", self._url, content=question, headers={"Content-Type": "application/json"}) as response:
                if response.status_code != 200:
                    raise SourceWrong(f"status {response.status_code}")
                body = self._read(response, until)
        except httpx.TimeoutException as error:
            raise SourceSlow(f"no answer within {1000 * self._timeout_s:.0f} ms") from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SourceDead(str(error) or type(error).__name__) from error
        try:
            profiles = _decode(body).profiles
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise SourceWrong(f"the answer is not of the agreed shape: {error}") from error
        return _by_user(profiles, uids, names)

    def close(self) -> None:
        self._client.close()

    def _read(self, response: httpx.Response, until: float) -> bytes:
        # httpx's time-out is for each piece; one that comes byte by byte must end too.
        body = bytearray()
        for piece in response.iter_raw():
            body += piece
            if len(body) > LARGEST_ANSWER_BYTES:
                raise SourceWrong(f"the answer has more than {LARGEST_ANSWER_BYTES} bytes")
            if time.monotonic() > until:
                raise SourceSlow(f"the answer was not complete within {1000 * self._timeout_s:.0f} ms")
        return bytes(body)


def _by_user(profiles: Mapping[str, object], uids: Sequence[int], names: Sequence[str]) -> Said:
    said: dict[int, Mapping[str, object]] = {}
    for uid in uids:
        text = str(uid)
        if text not in profiles:
            continue
        profile = profiles[text]
        if profile is None:
            said[uid] = dict.fromkeys(names)
        elif isinstance(profile, dict):
            said[uid] = profile
        # Anything else is no word about him: what was known of him stands.
    return said
