"""The points system over HTTP: one grant out, one answer back; and what it says for the reconciliation. docs/points.md is the contract.

Leans on httpx: connections are kept, and every request has a deadline. Its errors are translated here, into an `Answer` that says whether
the request may have reached the points system.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

import httpx

from apps.tasks.points.answers import Answer
from apps.tasks.points.states import Grant
from tasksys_site.configuration import Points, in_project, read_secret

TEXT_LENGTH = 200
MOST_BYTES = 64 * 1024
RECONCILE_TIMEOUT_S = 10.0
TIME_OUT, CUT, UNREACHABLE = "no answer in time", "the connection was cut", "it cannot be reached"


class PointsUnreadable(Exception):
    """The points system did not say what was asked for the reconciliation; the message says why."""


class PointsClient:
    """Used by many threads. `senders`: how many requests there are at once."""

    def __init__(self, settings: Points, senders: int) -> None:
        self._url = settings.url.rstrip("/")
        self._sends = settings.sends
        self._deadline_s = settings.timeout_ms / 1000
        headers = {"User-Agent": "tasksys"}
        if settings.token_file is not None:
            headers["Authorization"] = f"Bearer {read_secret(in_project(settings.token_file))}"
        limits = httpx.Limits(max_connections=senders + 2, max_keepalive_connections=senders + 2, keepalive_expiry=20)
        # No redirects: a POST that is sent elsewhere as GET would be confirmed by a page that knows of nothing.
        self._http = httpx.Client(headers=headers, limits=limits, timeout=self._deadline_s, follow_redirects=False, trust_env=False)

    def close(self) -> None:
        self._http.close()

    def send(self, grant: Grant, task: str) -> Answer:
        """Never raises: whatever happens is an answer, or none."""
        body = {
            "grant_id": grant.grant_id,
            "uid": grant.uid,
            "points": grant.points,
            "task": task,
            "period": grant.period_key,
            "tier": grant.tier,
            "total": grant.total,
            "version": grant.version,
            "at": moment(grant.created_ms),
            "sends": self._sends,
        }
        until = time.monotonic() + self._deadline_s
        try:
            with self._http.stream("POST", self._url, json=body, headers={"Idempotency-Key": grant.grant_id}) as response:
                # The status decides; the text is for people, and the rest of it is not waited for beyond the deadline.
                text = b""
                for chunk in response.iter_bytes():
                    text += chunk
                    if len(text) > MOST_BYTES or time.monotonic() > until:
                        break
                said = " ".join(text[: 4 * TEXT_LENGTH].decode("utf-8", "replace").split())[:TEXT_LENGTH]
                return Answer(response.status_code, said, response.headers.get("Retry-After", ""))
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            return Answer(0, f"{UNREACHABLE}: {error}"[:TEXT_LENGTH], left=False)
        except httpx.TimeoutException:
            return Answer(0, TIME_OUT)
        except httpx.HTTPError as error:
            return Answer(0, f"{CUT}: {error}"[:TEXT_LENGTH])

    def totals_of_day(self, day: str) -> tuple[int, int]:
        """Grants and points that it has of a day in UTC."""
        return _totals(self._read("/totals", {"day": day}))

    def totals_between(self, from_ms: int, to_ms: int) -> tuple[int, int]:
        return _totals(self._read("/totals", {"from_ms": str(from_ms), "to_ms": str(to_ms)}))

    def grants_between(self, from_ms: int, to_ms: int, most: int) -> dict[str, tuple[int, int]]:
        """Grant id -> uid and points; not more than about `most` of them."""
        found: dict[str, tuple[int, int]] = {}
        after = ""
        while len(found) < most:
            page = self._read("/list", {"from_ms": str(from_ms), "to_ms": str(to_ms), "after": after})
            try:
                found |= {str(item["grant_id"]): (int(item["uid"]), int(item["points"])) for item in page["items"]}
                following = page.get("next")
            except (KeyError, TypeError, ValueError) as error:
                raise PointsUnreadable(f"its list is not as agreed: {error}") from error
            if not following or following == after:
                break
            after = str(following)
        return found

    def _read(self, path: str, query: Mapping[str, str]) -> Any:
        try:
            response = self._http.get(self._url + path, params=dict(query), timeout=RECONCILE_TIMEOUT_S)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise PointsUnreadable(f"{UNREACHABLE}: {error}"[:TEXT_LENGTH]) from error
        if response.status_code != 200:
            raise PointsUnreadable(f"{path} answers {response.status_code}")
        try:
            return response.json()
        except ValueError as error:
            raise PointsUnreadable(f"{path} answers what is no JSON") from error


def moment(at_ms: int) -> str:
    """In UTC, with milliseconds."""
    return datetime.fromtimestamp(at_ms / 1000, timezone.utc).isoformat(timespec="milliseconds")


def _totals(answer: Any) -> tuple[int, int]:
    try:
        return int(answer["grants"]), int(answer["points"])
    except (KeyError, TypeError, ValueError) as error:
        raise PointsUnreadable("its totals are not as agreed: grants and points are wanted") from error
