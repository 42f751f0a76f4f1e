"""The block Segments: what the DBSvrs tell of the owners, as it comes over the wire, and as the page shows it."""

from __future__ import annotations

from datetime import timezone
from typing import Any

import msgspec
import pytest
from django.utils.translation import override

from apps.dbsvr.console import present
from apps.dbsvr.figures import figures
from apps.dbsvr.segments import AWAY, HOME, NOBODY, TAKING, UNKNOWN, put_together
from apps.dbsvr.state import InstanceNow, State
from apps.dbsvr.stats import MirrorTo, Peer, Segment, Takeover
from tasksys_site.configuration import MAX_UID
from tests.unit.samples_of_a_dbsvr import START, healthy, stats
from workers.pair import Takeover as SeenByTheFront

LOW, HIGH = Segment(1, 99, "a", "a", 0, "ours"), Segment(100, MAX_UID, "b", "b", 2, "theirs")


def told(**segments: Segment) -> Any:
    return healthy(segments=segments)


def test_what_a_front_tells_is_understood() -> None:
    """A key that is renamed on one side would else be an empty text on the page."""
    change = SeenByTheFront("low", "a", "b", 3, "taken over", START)
    rows = {"low": {"first": 1, "last": MAX_UID, "home": "a", "owner": "b", "epoch": 3, "state": "theirs", "lease_left_ms": 0.0}}

    known = figures(None, stats(segments=rows, takeovers=[change._asdict()]), 1.0)

    assert known.segments == {"low": Segment(1, MAX_UID, "a", "b", 3, "theirs")}
    assert known.takeovers == (Takeover("low", 3, "a", "b", "taken over", START),)


def test_the_segments_stand_in_the_order_of_their_users() -> None:
    found = put_together({"a": told(high=HIGH, low=LOW)}, {"a"})

    assert [it.name for it in found] == ["low", "high"]


@pytest.mark.parametrize(
    ("row", "answering", "state"),
    [
        (Segment(1, 9, "a", "a", 1, "ours"), {"a", "b"}, HOME),
        (Segment(1, 9, "a", "a", 1, "taking"), {"a", "b"}, TAKING),
        (Segment(1, 9, "b", "a", 1, "ours"), {"a", "b"}, AWAY),
        (Segment(1, 9, "b", "b", 1, "theirs"), {"a"}, NOBODY),
        (Segment(1, 9, "b", "b", 1, "theirs"), set(), UNKNOWN),
    ],
)
def test_how_a_segment_is(row: Segment, answering: set[str], state: str) -> None:
    (found,) = put_together({"a": told(low=row), "b": healthy()}, answering)

    assert found.state == state


def test_the_page_shows_users_owner_and_the_last_change_with_its_cause() -> None:
    change = Takeover("high", 2, "a", "b", "given back", START)
    a = msgspec.structs.replace(told(low=LOW, high=HIGH), takeovers=(change,))
    state = State(1, START + 5, instances={"a": InstanceNow(a, START, answers=True)})

    with override("en"):
        low, high = present.segment_rows(state, timezone.utc)

    assert low.values["users"] == "1 – 99"
    assert (low.values["state"], low.values["change"]) == ("at home", "none seen")
    assert high.values["users"].startswith("100 – 9,223,372")
    assert high.values["change"] == "00:53:20 a → b, given back"


def test_a_change_of_owner_of_long_ago_has_its_day() -> None:
    a = msgspec.structs.replace(told(low=LOW), takeovers=(Takeover("low", 0, "b", "a", "configured", START),))
    state = State(1, START + 90_000, instances={"a": InstanceNow(a, START, answers=True)})

    with override("en"):
        (low,) = present.segment_rows(state, timezone.utc)

    assert low.values["change"] == "2026-11-30 00:53 b → a, configured anew"


def rows_of(**replica: Any) -> dict[str, dict[str, str]]:
    master = {"state": "up", "pid": 1, "endpoint": "db-1:3306", "warning": replica.pop("warning", "")}
    known = figures(None, stats(generation=2, master=master, replicas={"r1": {"state": "serving", "lag_ms": 1.0, **replica}}), 1.0)
    with override("en"):
        return {row.name: row.values for row in present.server_rows(InstanceNow(known, START, answers=True), "en")}


def test_the_table_of_servers_shows_the_address_in_use_and_how_the_others_are() -> None:
    two = [{"endpoint": "db-2:3306", "state": "away", "why": "refused"}, {"endpoint": "db-3:3306", "state": "in use", "why": ""}]

    assert rows_of(endpoint="db-3:3306", endpoints=two)["r1"]["endpoint"] == "db-2:3306 does not answer · db-3:3306 in use"
    assert rows_of(endpoint="db-3:3306", endpoints=two[1:])["r1"]["endpoint"] == "db-3:3306"
    assert rows_of()["master"]["endpoint"] == "db-1:3306"


def test_the_table_of_servers_shows_a_refused_replica_and_a_second_master() -> None:
    forked = rows_of(state="refused", refusal="… past the fork at 5: it holds what the master lacks", warning="two writable masters")

    assert (forked["r1"]["state"], forked["r1"]["lag"], forked["r1"]["why"]) == ("refused", "?", "it holds what the master lacks")
    assert forked["master"]["state"] == "two masters"
    assert "generation 2" in forked["master"]["why"]
    assert "not shown yet" in rows_of(state="refused", refusal="the DBSvr has no fresh tick yet")["r1"]["why"]


def test_the_ways_between_the_dbsvrs_show_connection_writes_and_mirror() -> None:
    a = healthy(peers={"b": Peer("up", forwarded=1_200, failed=3)}, mirror={"b": MirrorTo(lag_ms=0.4, is_level=True)})
    b = healthy(peers={"a": Peer("silent")}, mirror={"a": MirrorTo(lag_ms=1_500.0, is_level=False)})
    state = State(1, START, instances={"a": InstanceNow(a, START, answers=True), "b": InstanceNow(b, START, answers=True)})
    blind = State(1, START, instances={"a": InstanceNow(a, START, answers=False)})

    with override("en"):
        rows = [row.values for row in present.way_rows(state, "en")]
        (unknown,) = present.way_rows(blind, "en")

    assert rows == [
        {"way": "a → b", "state": "connected", "forwarded": "1,200 · 3 failed", "mirror": "level"},
        {"way": "b → a", "state": "owes answers", "forwarded": "0", "mirror": "1.5 s behind"},
    ]
    assert unknown.values == {"way": "a → b", "state": "?", "forwarded": "?", "mirror": "?"}
