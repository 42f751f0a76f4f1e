"""Whether the profile system answers, found out for the console by one process: it is asked for nobody, every few seconds.

Web processes find that out for themselves, by what they need of it; their findings are their own.
"""

from __future__ import annotations

import functools
import threading
import time
from typing import Protocol

from apps.dbsvr.profiles_rules import ProfilesNow
from apps.tasks.profiles.source import ProfileSource, Said, SourceDead, SourceFailed, SourceSlow
from tasksys_site import configuration

EVERY_S = 5.0
LONGEST_REASON = 200


class Source(Protocol):
    def ask(self, uids: list[int], names: list[str]) -> Said: ...


class ProfileWatch:
    """Looks in a thread of its own, a daemon; `now` waits for nothing."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.now: ProfilesNow | None = None
        """None: not looked yet."""

    def start(self) -> ProfileWatch:
        threading.Thread(target=self._run, name="profile watch", daemon=True).start()
        return self

    def look(self) -> None:
        trouble = reason = ""
        try:
            self._source.ask([], [])
        except SourceFailed as error:
            trouble = "slow" if isinstance(error, SourceSlow) else "dead" if isinstance(error, SourceDead) else "wrong"
            reason = str(error)[:LONGEST_REASON]
        at, was = time.time(), self.now
        since = was.since if was is not None and was.trouble and trouble else at
        self.now = ProfilesNow(at, trouble, reason, since if trouble else 0.0)

    def _run(self) -> None:
        while True:
            self.look()
            time.sleep(EVERY_S)


def profiles_now() -> ProfilesNow | None:
    """As this process last found it; None without a profile system, and before the first look."""
    watch = _watch()
    return None if watch is None else watch.now


@functools.lru_cache(maxsize=1)
def _watch() -> ProfileWatch | None:
    settings = configuration.load().profiles
    if not settings.url:
        return None
    token = configuration.read_secret(settings.token_file) if settings.token_file else ""
    return ProfileWatch(ProfileSource(settings.url, token, settings.timeout_ms)).start()
