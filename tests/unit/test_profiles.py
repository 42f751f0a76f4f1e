"""Profiles: how long a value may be used, what a failing system may do to a caller, and whose word wins."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

import msgspec
import pytest

from apps.tasks.config.bundle_document import BundleDocument, PublishedTask
from apps.tasks.config.documents import Attribute, Condition, Period
from apps.tasks.evaluation.attributes import Profile
from apps.tasks.evaluation.bundle import Bundle, load_bundle
from apps.tasks.profiles.asked import asked_by, asked_by_all
from apps.tasks.profiles.fetching import Fetching, Flight
from apps.tasks.profiles.kept import AGAIN_MS, Kept, KeptValue, decode_kept, due, encode_kept, take, usable
from apps.tasks.profiles.reading import Profiles, not_passed
from apps.tasks.profiles.source import ProfileSource, SourceDead, SourceSlow, SourceWrong
from tasksys_site import configuration
from tests.stack.profile_system import TOKEN, ProfileSystem
from tests.stack.waiting import eventually

NOW = 1_800_000_000_000
ASKED = {"level": 300_000, "version": 60_000}
STALE_MS = 3_600_000


def said(value: object, ago_ms: int) -> KeptValue:
    return KeptValue(value, NOW - ago_ms, NOW - ago_ms)


# What a kept value is worth


def test_a_value_is_asked_for_again_when_its_own_time_to_live_has_passed() -> None:
    kept = {"level": said(30, 61_000), "version": said("1.2", 61_000)}

    assert due(kept, ASKED, NOW) == ("version",)
    assert due({}, ASKED, NOW) == ("level", "version")


def test_an_old_value_is_used_within_the_stale_limit_marked_so_and_unknown_after_it() -> None:
    within = usable({"level": said(30, 300_000 + STALE_MS - 1)}, ASKED, STALE_MS, NOW)
    after = usable({"level": said(30, 300_000 + STALE_MS)}, ASKED, STALE_MS, NOW)

    assert within == ({"level": 30}, frozenset({"level"}))
    assert after == ({}, frozenset())


def test_null_is_a_word_and_an_attribute_left_out_is_none() -> None:
    kept = {"level": said(30, 400_000), "version": said("1.2", 400_000)}

    taken = take(kept, {"level": None}, ASKED, NOW)

    assert usable(taken, ASKED, STALE_MS, NOW) == ({"version": "1.2"}, frozenset({"version"}))
    assert due(taken, ASKED, NOW + AGAIN_MS - 1) == ()
    assert due(taken, ASKED, NOW + AGAIN_MS) == ("version",)


def test_what_is_of_no_type_is_kept_small_and_stays_unknown() -> None:
    taken = take({}, {"level": {"a": ["list"] * 1000}, "version": "1" * 5000}, ASKED, NOW)

    assert [each.value for each in taken.values()] == [[], []]
    assert len(encode_kept(taken)) < 120


def test_a_value_from_the_future_of_a_stepped_clock_is_asked_for() -> None:
    assert due({"level": said(30, -3_600_000)}, {"level": 300_000}, NOW) == ("level",)


def test_what_lies_on_a_node_is_read_back_and_what_is_not_ours_is_nothing() -> None:
    kept = take({}, {"level": 30, "version": "1.2"}, ASKED, NOW)

    assert decode_kept(encode_kept(kept)) == kept
    assert decode_kept(None) == decode_kept(b"[1") == decode_kept(b'{"level": 3}') == decode_kept(b"\xff") == {}


# What is asked for


def bundle(*conditions: str, period_zone: str = "UTC", zones: Mapping[str, Attribute] | None = None, **attributes: Attribute) -> Bundle:
    """A task for each attribute that is asked for."""
    began = datetime(2026, 1, 1, tzinfo=timezone.utc)
    tasks = tuple(
        PublishedTask(
            code=f"task-{number}",
            number=number,
            starts_at=began,
            period=Period(kind="daily", zone=period_zone),
            conditions=((Condition(attribute=name, operator="exists"),),),
        )
        for number, name in enumerate(conditions, 1)
    )
    document = BundleDocument(
        schema=1, revision=1, published_at=began, tasks=tasks, attributes={**attributes, **(zones or {})}, events={}, lists={}
    )
    return load_bundle(msgspec.json.encode(document))


def of_profile(name: str, **fields: Any) -> Attribute:
    return Attribute(name=name, type="number", **fields)


def test_only_registered_attributes_of_the_profile_system_that_conditions_ask_for_are_fetched() -> None:
    found = bundle(
        "level",
        "gone",
        "device",
        level=of_profile("level", ttl_s=60),
        unused=of_profile("unused"),
        device=of_profile("device", source="request"),
    )

    assert asked_by_all(found) == {"level": 60_000}
    assert asked_by(found, [found.by_code["task-3"]]) == {}


def test_the_zone_is_fetched_where_a_period_is_in_the_users_own() -> None:
    zone = Attribute(name="zone", type="text")

    assert asked_by_all(bundle("level", zones={"zone": zone})) == {}
    assert asked_by_all(bundle("level", period_zone="user", zones={"zone": zone})) == {"zone": 300_000}


# The system over HTTP


@pytest.fixture
def system() -> Iterator[ProfileSystem]:
    system = ProfileSystem().start()
    system.profiles[42] = {"level": 30, "version": "1.2", "secret": 1}
    yield system
    system.behave()
    system.stop()


def test_a_user_is_answered_not_known_or_left_out(system: ProfileSystem) -> None:
    source = ProfileSource(system.url, TOKEN, 1_000)

    assert source.ask([42, 2**60], ["level"]) == {42: {"level": 30}, 2**60: {"level": None}}
    assert system.questions == [{"uids": ["42", str(2**60)], "attributes": ["level"]}]

    system.say(200, {"profiles": {"42": "what?"}})
    assert source.ask([42, 43], ["level"]) == {}


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, {"profiles": {}}),
        (500, b""),
        (200, b"no json"),
        (200, {"profiles": []}),
        (200, []),
        (200, b"\xff"),
        (200, b"[" * 100_000),
        (302, b""),
    ],
)
def test_whatever_is_not_of_the_agreed_shape_is_a_failure(system: ProfileSystem, status: int, body: object) -> None:
    system.say(status, body)

    with pytest.raises(SourceWrong):
        ProfileSource(system.url, TOKEN, 1_000).ask([42], ["level"])


def test_a_wrong_token_a_slow_a_dripping_and_a_dead_system_fail_in_time(system: ProfileSystem) -> None:
    source = ProfileSource(system.url, TOKEN, 200)
    with pytest.raises(SourceWrong, match="401"):
        ProfileSource(system.url, "another", 1_000).ask([42], ["level"])
    began = time.monotonic()

    system.drips = True
    with pytest.raises(SourceSlow):
        source.ask([42], ["level"])
    system.behave()
    system.delay_s = 3
    with pytest.raises(SourceSlow):
        source.ask([42], ["level"])
    assert time.monotonic() - began < 2.5

    system.stop()
    with pytest.raises(SourceDead):
        ProfileSource(system.url, TOKEN, 1_000).ask([42], ["level"])
    with pytest.raises(SourceDead):
        ProfileSource("no address", TOKEN, 1_000).ask([42], ["level"])


# Once for all who want him


class Scripted:
    """A source that answers when it is told to."""

    def __init__(self) -> None:
        self.questions: list[tuple[list[int], list[str]]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.fails = False

    def ask(self, uids: Sequence[int], names: Sequence[str]) -> Mapping[int, Mapping[str, object]]:
        self.questions.append((list(uids), list(names)))
        assert self.may_answer.wait(30)
        if self.fails:
            raise SourceDead("told to")
        return {uid: dict.fromkeys(names, uid) for uid in uids}


class Nodes:
    """Cache nodes that keep profiles; of TaskInterface the part that is needed."""

    def __init__(self) -> None:
        self.kept: dict[int, bytes] = {}

    def profiles(self, uids: Sequence[int]) -> dict[int, bytes]:
        return {uid: self.kept[uid] for uid in uids if uid in self.kept}

    def put_profiles(self, profiles: Mapping[int, bytes], ttl_ms: int) -> None:
        self.kept |= profiles


def until(seconds: float) -> float:
    return time.monotonic() + seconds


def test_a_crowd_that_wants_one_user_asks_once_and_who_comes_meanwhile_is_asked_together() -> None:
    source, kept = Scripted(), list[Flight]()
    fetching = Fetching(source, 100, kept.extend)
    source.may_answer.clear()
    first = [fetching.start(42, ["level"]) for _ in range(20)]
    eventually(lambda: source.questions)
    blocked = [fetching.start(uid, ["level"]) for uid in range(100, 103)]  # the other threads
    eventually(lambda: len(source.questions) >= 2)
    others = [fetching.start(uid, ["version"]) for uid in range(1_000, 1_300)]

    source.may_answer.set()

    assert all(flight is not None and flight.wait(until(10)) for flight in [*first, *blocked, *others])
    assert sum(42 in uids for uids, _names in source.questions) == 1
    assert max(len(uids) for uids, _names in source.questions) == 100
    assert len(source.questions) < 20
    eventually(lambda: len(kept) == 304)


def test_a_failing_system_is_left_alone_and_one_prober_finds_out_when_it_is_back() -> None:
    source = Scripted()
    source.fails = True
    fetching = Fetching(source, 100, lambda flights: None)
    for _ in range(3):
        flight = fetching.start(42, ["level"])
        assert flight is not None
        assert not flight.wait(until(10))
        eventually(lambda: not fetching._flights)

    assert fetching.start(42, ["level"]) is None
    assert fetching.trouble == "told to"
    eventually(lambda: len(source.questions) > 3)  # the prober's

    source.fails = False
    eventually(lambda: fetching.start(42, ["level"]), within_s=30)
    assert fetching.trouble == ""


# All of it, without a stack


def profiles_over(source: object, nodes: Nodes, **fields: Any) -> Profiles:
    settings = configuration.Profiles(url="http://somewhere", **{"timeout_ms": 5_000, **fields})
    return Profiles(nodes, source, settings)  # type: ignore[arg-type]


def one(profiles: Profiles, nodes: Nodes, uid: int, passed: dict[str, object] | None = None) -> Profile:
    return profiles.complete([(uid, passed or {})], nodes.profiles([uid]), ASKED)[0]


def test_the_callers_word_wins_is_marked_and_is_not_fetched() -> None:
    source, nodes = Scripted(), Nodes()
    profiles = profiles_over(source, nodes)

    profile = one(profiles, nodes, 42, {"level": 99, "version": None, "device": "pad"})

    assert profile == Profile(42, {"level": 99, "version": 42, "device": "pad"}, frozenset({"level", "device"}))
    assert source.questions == [([42], ["version"])]
    assert not_passed(ASKED, {"level": 1, "version": 2}) == {}


def test_one_user_twice_in_a_batch_is_asked_for_once_and_each_has_what_was_said_of_him_there() -> None:
    source, nodes = Scripted(), Nodes()
    profiles = profiles_over(source, nodes)

    one, other = profiles.complete([(42, {"level": 99}), (42, {})], {}, ASKED)

    assert (one.attributes, other.attributes) == ({"level": 99, "version": 42}, {"level": 42, "version": 42})
    assert sum(len(uids) for uids, _names in source.questions) <= 2


def test_what_was_fetched_is_kept_on_the_node_and_not_fetched_again() -> None:
    source, nodes = Scripted(), Nodes()
    one(profiles_over(source, nodes), nodes, 42)
    eventually(lambda: 42 in nodes.kept)

    again = one(profiles_over(source, nodes), nodes, 42)

    assert again.attributes == {"level": 42, "version": 42}
    assert len(source.questions) == 1


def test_while_the_system_fails_old_values_are_used_and_marked_and_without_any_all_is_unknown() -> None:
    source, nodes = Scripted(), Nodes()
    source.fails = True
    now_ms = time.time_ns() // 1_000_000
    nodes.kept[42] = encode_kept({"level": KeptValue(30, now_ms - 400_000, now_ms - 400_000)})

    old = one(profiles_over(source, nodes), nodes, 42)
    beyond = one(profiles_over(source, nodes, stale_limit_s=10), nodes, 42)

    assert (old.attributes, old.outdated) == ({"level": 30}, frozenset({"level"}))
    assert (beyond.attributes, beyond.outdated) == ({}, frozenset())


def test_nobody_waits_longer_than_the_deadline_and_what_comes_late_is_for_the_next(system: ProfileSystem) -> None:
    source, nodes = Scripted(), Nodes()
    source.may_answer.clear()
    profiles = profiles_over(source, nodes, timeout_ms=100)
    began = time.monotonic()

    many = profiles.complete([(uid, {}) for uid in range(1, 300)], {}, ASKED)

    assert time.monotonic() - began < 3
    assert all(profile.attributes == {} for profile in many)
    source.may_answer.set()
    eventually(lambda: len(nodes.kept) == 299)
    assert one(profiles, nodes, 42).attributes == {"level": 42, "version": 42}


def test_another_processs_newer_word_on_another_attribute_is_not_lost() -> None:
    source, nodes = Scripted(), Nodes()
    profiles = profiles_over(source, nodes)
    source.may_answer.clear()
    thread = threading.Thread(target=lambda: profiles.complete([(42, {})], {}, {"level": 300_000}))
    thread.start()
    eventually(lambda: source.questions)
    now_ms = time.time_ns() // 1_000_000
    nodes.kept[42] = encode_kept({"version": KeptValue("2.0", now_ms, now_ms)})

    source.may_answer.set()
    thread.join(30)

    eventually(lambda: set(_kept(nodes, 42)) == {"level", "version"})


def _kept(nodes: Nodes, uid: int) -> Kept:
    return decode_kept(nodes.kept.get(uid))
