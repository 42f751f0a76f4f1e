"""Counters become rates: never negative, never over a gap, never across a restart."""

from __future__ import annotations

import msgspec
import pytest

from apps.dbsvr.figures import figures
from apps.dbsvr.stats import decode_stats
from tests.unit.samples_of_a_dbsvr import stats

EARLIER = stats()
LATER = stats(
    reads={"total": 300, "by_server": {"master": 100, "r1": 200}, "by_reason": {"spill": 100}, "safe": 210},
    writes={"total": 20, "batches": 4, "commit_ms_total": 10.0},
    clears={"total": 2},
    errors={"OVERLOADED": 6},
)


def test_rates_are_the_difference_over_the_time_between() -> None:
    seen = figures(EARLIER, LATER, elapsed_s=2.0)

    assert (seen.reads, seen.reads_master, seen.safe) == (150.0, 50.0, 105.0)
    assert seen.replica_reads == 100.0
    assert seen.replicas["r1"].reads == 100.0
    assert seen.reasons == {"spill": 50.0}
    assert (seen.writes, seen.clears, seen.errors) == (10.0, 1.0, {"OVERLOADED": 3.0})
    assert seen.commit_ms == 2.5
    assert seen.queues["query"].waiting == 5


def test_the_first_answer_gives_no_rates() -> None:
    seen = figures(None, LATER, elapsed_s=0.0)

    assert (seen.reads, seen.reads_master, seen.writes, seen.safe, seen.replica_reads) == (None, None, None, None, None)
    assert seen.replicas["r1"].reads is None
    assert seen.reasons == {}
    assert seen.queues["query"].oldest_ms == 4.0


def test_a_restart_gives_no_rates_although_the_counters_are_higher() -> None:
    seen = figures(EARLIER, msgspec.structs.replace(LATER, run_id=8), elapsed_s=1.0)

    assert seen.reads is None
    assert seen.errors == {}


@pytest.mark.parametrize("elapsed_s", [0.0, -1.0, 3.1, 600.0])
def test_a_gap_or_a_clock_set_back_gives_no_rates(elapsed_s: float) -> None:
    assert figures(EARLIER, LATER, elapsed_s).reads is None


def test_a_counter_that_shrank_is_unknown_and_the_others_are_not() -> None:
    seen = figures(LATER, msgspec.structs.replace(LATER, reads=EARLIER.reads), elapsed_s=1.0)

    assert seen.reads is None
    assert seen.writes == 0.0


def test_a_second_without_commits_has_no_commit_time() -> None:
    assert figures(EARLIER, EARLIER, elapsed_s=1.0).commit_ms is None


def test_a_reason_that_appears_later_counts_from_nothing() -> None:
    more = stats(reads={"total": 5, "by_server": {"master": 5}, "by_reason": {"spill": 0, "aged": 5}, "safe": 0})

    assert figures(EARLIER, more, elapsed_s=1.0).reasons == {"spill": 0.0, "aged": 5.0}


def test_a_newer_answer_with_more_keys_is_read() -> None:
    document = msgspec.json.decode(msgspec.json.encode(EARLIER)) | {"weather": "fine"}

    assert decode_stats(msgspec.json.encode(document)).instance == "a"


def test_an_answer_without_its_counters_is_refused_rather_than_taken_as_zero() -> None:
    document = msgspec.json.decode(msgspec.json.encode(EARLIER))
    del document["reads"]

    with pytest.raises(msgspec.ValidationError):
        decode_stats(msgspec.json.encode(document))


def test_logic_processes_behind_the_newest_revision_are_those_with_a_name_that_still_ask() -> None:
    def follower(name: str, using: int, asked_age_ms: float = 500.0) -> dict[str, object]:
        return {"name": name, "using": using, "asked_age_ms": asked_age_ms}

    followers = [follower("a/1", 43), follower("b/2", 42), follower("", 1), follower("c/3", 41, 6_000.0), follower("d/4", 44)]
    config = {"revision": 43, "etag": "…", "look_age_ms": 10.0, "why": "", "damage": "", "followers": followers}
    found = figures(None, stats(config=config), 1.0).config

    assert found is not None
    assert (found.revision, found.behind) == (43, {"b/2": 42})
    assert figures(None, stats(), 1.0).config is None
