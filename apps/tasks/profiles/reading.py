"""One user's profile, or many: what is kept on the cache node, what is due from the profile system, and over both what the caller passed.

Without an address of a profile system, or when no task asks for an attribute of it, nothing is looked up anywhere: the caller's word is
the profile. Reading a user together with his profile costs one round trip to his cache node.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping, Sequence, Set

from apps.cachesync.task_interface import TaskInterface, task_interface
from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import Bundle, LiveTask
from apps.tasks.live_bundle import live
from apps.tasks.profiles.asked import NOTHING, Asked, asked_by, asked_by_all
from apps.tasks.profiles.fetching import Fetching, Flight, Source
from apps.tasks.profiles.kept import Kept, decode_kept, due, encode_kept, life_ms, take, usable, without_forgotten
from apps.tasks.profiles.source import ProfileSource
from tasksys_site import configuration
from workers.protocol import Snapshot, WriteAnswer

Passed = Mapping[str, object]
Wanted = tuple[int, Passed]
"""A user, and what the caller says of him."""


class Profiles:
    """The profile system behind the cache nodes. Shared by threads; raises nothing for a system or a node that fails."""

    def __init__(self, tasks: TaskInterface, source: Source, settings: configuration.Profiles) -> None:
        self._tasks = tasks
        self._deadline_s = settings.timeout_ms / 1000
        self._stale_ms = 1000 * settings.stale_limit_s
        self._fetching = Fetching(source, settings.batch, self._keep)
        self._life_ms = life_ms(NOTHING, self._stale_ms)

    @property
    def trouble(self) -> str:
        """Why the profile system is being left alone; empty while it is not."""
        return self._fetching.trouble

    def close(self) -> None:
        self._fetching.close()

    def complete(self, wanted: Sequence[Wanted], texts: Mapping[int, bytes | None], asked: Asked) -> list[Profile]:
        """The profile of each, in order, by one deadline. `texts`: what their cache nodes keep."""
        until = time.monotonic() + self._deadline_s
        now_ms = time.time_ns() // 1_000_000
        self._life_ms = max(self._life_ms, life_ms(asked, self._stale_ms))
        kept = {uid: decode_kept(texts.get(uid)) for uid, _passed in wanted}
        flights: dict[Flight, None] = {}
        for uid, passed in wanted:
            names = due(kept[uid], not_passed(asked, passed), now_ms)
            flight = self._fetching.start(uid, names) if names else None
            if flight is not None:
                flights[flight] = None
        for flight in flights:
            if flight.wait(until) and flight.said is not None:
                kept[flight.uid] = take(kept[flight.uid], flight.said, flight.names, flight.asked_ms)
        return [self._profile(uid, passed, kept[uid], asked, now_ms) for uid, passed in wanted]

    def _profile(self, uid: int, passed: Passed, kept: Kept, asked: Asked, now_ms: int) -> Profile:
        values = usable(kept, not_passed(asked, passed), self._stale_ms, now_ms)
        # In this order: where the caller passed a null, what the system says counts.
        return Profile(uid, {**passed, **values.attributes}, said_by_caller(passed), values.outdated)

    def _keep(self, flights: Sequence[Flight]) -> None:
        """What has landed, onto the users' cache nodes. What another process has kept meanwhile stands where this knows nothing newer."""
        texts = self._tasks.profiles([flight.uid for flight in flights])
        kept = {}
        for flight in flights:
            if flight.said is not None:
                was = without_forgotten(decode_kept(texts.get(flight.uid)), self._life_ms, flight.asked_ms)
                kept[flight.uid] = encode_kept(take(was, flight.said, flight.names, flight.asked_ms))
        self._tasks.put_profiles(kept, self._life_ms)


def not_passed(asked: Asked, passed: Passed) -> Asked:
    if not passed:
        return asked
    return {name: ttl_ms for name, ttl_ms in asked.items() if passed.get(name) is None}


def said_by_caller(passed: Passed) -> Set[str]:
    """A null says nothing: what the profile system says counts then."""
    if None not in passed.values():
        return passed.keys()
    return frozenset(name for name, value in passed.items() if value is not None)


def profile_of(uid: int, passed: Passed, bundle: Bundle | None = None, tasks: Sequence[LiveTask] | None = None) -> Profile:
    """The user's profile, for what is live, or for this bundle, or for some of its tasks alone."""
    profiles = system()
    if profiles is None:
        return Profile(uid, passed, passed.keys())
    return _complete(profiles, [(uid, passed)], _asked(bundle, tasks))[0]


def profiles_of(wanted: Sequence[Wanted], bundle: Bundle | None = None) -> list[Profile]:
    """The profile of each, in order, by one deadline. A user may be there several times, with different things said of him."""
    profiles = system()
    if profiles is None:
        return [Profile(uid, passed, passed.keys()) for uid, passed in wanted]
    return _complete(profiles, wanted, _asked(bundle, None))


def user_with_profile(uid: int, passed: Passed, bundle: Bundle, tasks: Sequence[LiveTask] | None = None) -> tuple[Snapshot, Profile]:
    """The user as he is, and his profile: one round trip when both lie on his cache node. Raises TaskInterface's errors."""
    profiles = system()
    asked = NOTHING if profiles is None else _asked(bundle, tasks)
    if profiles is None or not not_passed(asked, passed):
        return task_interface().get(uid), Profile(uid, passed, said_by_caller(passed))
    snapshot, text = task_interface().get_with_profile(uid)
    return snapshot, profiles.complete([(uid, passed)], {uid: text}, asked)[0]


def profile_at_hand(uid: int, passed: Passed, bundle: Bundle, tasks: Sequence[LiveTask]) -> Profile | None:
    """The profile where the caller's word is all there is to know; None: the profile system has to be asked, or what is kept of it."""
    if system() is not None and not_passed(_asked(bundle, tasks), passed):
        return None
    return Profile(uid, passed, said_by_caller(passed))


def forget_profile(erased: WriteAnswer) -> None:
    """No cache node keeps the profile of the user whom this write has erased. Raises TimedOut."""
    if system() is not None:
        task_interface().forget_profile(erased)


def state_in_words() -> str:
    """How this process finds the profile system, for /healthz; waits for nothing."""
    profiles = system()
    if profiles is None:
        return "none"
    return f"left alone, {profiles.trouble}" if profiles.trouble else "asked when needed"


def _complete(profiles: Profiles, wanted: Sequence[Wanted], asked: Asked) -> list[Profile]:
    uids = {uid for uid, passed in wanted if not_passed(asked, passed)}
    return profiles.complete(wanted, task_interface().profiles(list(uids)) if uids else {}, asked)


def _asked(bundle: Bundle | None, tasks: Sequence[LiveTask] | None) -> Asked:
    bundle = live().bundle if bundle is None else bundle
    return asked_by_all(bundle) if tasks is None else asked_by(bundle, tasks)


def system() -> Profiles | None:
    """The process's one way to the profile system, made of the configuration at first use; None where there is no such system."""
    return _of_process(os.getpid())


@functools.lru_cache(maxsize=1)
def _of_process(pid: int) -> Profiles | None:
    """A forked child must not share its parent's connections and threads, hence the pid."""
    settings = configuration.load().profiles
    if not settings.url:
        return None
    token = configuration.read_secret(settings.token_file) if settings.token_file else ""
    return Profiles(task_interface(), ProfileSource(settings.url, token, settings.timeout_ms), settings)
