"""The reference profile system keeps the contract that the product's own adapter reads, and breaks it when it is told to."""

from __future__ import annotations

import json
import threading
import urllib.request
from collections.abc import Iterator
from datetime import datetime, timezone

import pytest

from apps.tasks.demo import demo_configuration
from apps.tasks.evaluation.attributes import Registry
from apps.tasks.profiles.source import ProfileSource, SourceDead, SourceSlow, SourceWrong
from deploy.reference.profiles import ProfilesApplication, made_up
from deploy.reference.server import ReferenceServer

NAMES = ["level", "vip", "region", "registered_on", "zone"]


@pytest.fixture
def server() -> Iterator[ReferenceServer]:
    server = ReferenceServer(ProfilesApplication(), port=0, token="t")
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def put(server: ReferenceServer, path: str, body: object) -> None:
    headers = {"Authorization": "Bearer t"}
    urllib.request.urlopen(urllib.request.Request(server.url + path, json.dumps(body).encode(), headers, method="PUT"), timeout=30).close()


def source_of(server: ReferenceServer, timeout_ms: int = 5_000, token: str = "t") -> ProfileSource:
    return ProfileSource(f"{server.url}/profiles", token, timeout_ms)


def test_it_answers_every_attribute_of_the_demo_in_its_type_and_the_same_each_time(server: ReferenceServer) -> None:
    uids = [1_000_000_000_000 + number for number in range(100)]

    said = source_of(server).ask(uids, NAMES)

    assert said == source_of(server).ask(uids, NAMES)
    registry = Registry(demo_configuration(datetime.now(timezone.utc)).attributes)
    assert set(said) == set(uids)
    for uid in uids:
        known = made_up(uid)
        assert said[uid] == (dict.fromkeys(NAMES) if known is None else known)
        assert known is None or all(registry.read(said[uid])[name] is not None for name in NAMES)


def test_a_user_can_be_changed_and_taken_away(server: ReferenceServer) -> None:
    put(server, "/profiles/42", {"level": 35})
    assert source_of(server).ask([42], ["level"]) == {42: {"level": 35}}

    put(server, "/profiles/42", {"user": None})
    assert source_of(server).ask([42], ["level"]) == {42: {"level": None}}


def test_it_can_be_made_slow_wrong_and_dead_and_well_again(server: ReferenceServer) -> None:
    put(server, "/faults", {"slow_ms": 2_000})
    with pytest.raises(SourceSlow):
        source_of(server, timeout_ms=100).ask([42], NAMES)
    put(server, "/faults", {"garbled": 1.0})
    with pytest.raises(SourceWrong):
        source_of(server).ask([42], NAMES)
    put(server, "/faults", {"dead": True})
    with pytest.raises(SourceDead):
        source_of(server).ask([42], NAMES)
    put(server, "/faults", {})
    assert source_of(server).ask([42], ["level"]) == {42: {"level": 2}}
    with pytest.raises(SourceWrong):
        source_of(server, token="another").ask([42], NAMES)
