"""The light: when each finding appears, when it ends, what it hides."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import pytest

from apps.dbsvr.figures import ConfigFigures, Figures, MasterFigures, QueueFigures, Sample
from apps.dbsvr.findings import LEVELS, Finding, light, shown
from apps.dbsvr.judge import Judgement, judge
from apps.dbsvr.replica_rules import PAST_THE_FORK
from apps.dbsvr.rule import Most
from apps.dbsvr.stats import Hold, Lost, Peer, Segment, Takeover
from tests.unit.samples_of_a_dbsvr import START, healthy, missed, replica, sample
from workers.messages import Ready
from workers.servers import Servers
from workers.watermark import Watermark

Change = Callable[[int], dict[str, Any]]


def watch(samples: Iterable[Sample], before: Judgement | None = None) -> list[Judgement]:
    """Judges second by second, as the sampler does."""
    judgement, seen, history = before or Judgement(), [], []
    for one in samples:
        seen.append(one)
        judgement = judge({"a": seen}, judgement, one.at)
        history.append(judgement)
    return history


def seconds(count: int, change: Change = lambda second: {}, start: int = 0) -> list[Sample]:
    return [sample(second, **change(second)) for second in range(start, start + count)]


def levels(judgement: Judgement) -> dict[str, str]:
    """What is shown, by code."""
    return {finding.code: finding.level for finding in shown(judgement.findings)}


def find(judgement: Judgement, code: str) -> Finding:
    return next(finding for finding in judgement.findings if finding.code == code)


def first_with(history: list[Judgement], code: str) -> int | None:
    return next((second for second, judgement in enumerate(history) if code in levels(judgement)), None)


def r1(**changes: Any) -> Change:
    """r1 is like that; its tick keeps moving unless the test says otherwise."""
    return lambda second: {"replicas": {"r1": replica(**{"tick": 1000 + second * 10, **changes}), "r2": replica(tick=1000 + second * 10)}}


def queue(name: str, oldest_ms: float) -> Change:
    return lambda second: {"queues": {**healthy().queues, name: QueueFigures(12, oldest_ms)}}


def lag_from(values: list[float]) -> Change:
    return lambda second: r1(lag_ms=values[min(second, len(values) - 1)], state="catching_up")(second)


# ---- when all is well


def test_all_well_with_the_figures_of_now() -> None:
    judgement = watch(seconds(70))[-1]

    assert levels(judgement) == {"ok": "ok"}
    facts = find(judgement, "ok").facts
    assert (facts["reads_rate"], facts["replica_share"], facts["lag_ms"], facts["wait_ms"]) == (200.0, 0.9, 20.0, 4.0)


def test_all_well_has_a_since_that_does_not_wander() -> None:
    history = watch(seconds(200))

    assert {find(judgement, "ok").since for judgement in history[2:]} == {find(history[2], "ok").since}


def test_without_traffic_for_a_minute_it_is_idle_and_not_before() -> None:
    quiet: dict[str, Any] = {"reads": 0.0, "writes": 0.0, "reads_master": 0.0, "safe": 0.0, "reads_total": 5}
    history = watch(seconds(5) + [sample(second, **quiet) for second in range(5, 70)])

    assert first_with(history, "idle") == pytest.approx(64, abs=2)
    assert find(history[30], "ok").case == "pause"


def test_a_dbsvr_that_never_had_a_read_is_idle_at_once() -> None:
    quiet: dict[str, Any] = {"reads": 0.0, "writes": 0.0, "reads_master": 0.0, "safe": 0.0, "reads_total": 0}

    assert levels(watch([sample(second, **quiet) for second in range(3)])[-1]) == {"idle": "ok"}


def test_the_first_second_knows_nothing_and_says_so() -> None:
    judgement = watch([sample(0, reads=None, writes=None, reads_master=None, safe=None)])[-1]

    assert levels(judgement) == {"first": "notice"}


# ---- replicas


@pytest.mark.parametrize(
    ("lag_ms", "appears"),
    [(4_999.0, None), (5_000.0, 9), (12_000.0, 9)],
)
def test_a_late_replica_is_for_attention_after_ten_seconds(lag_ms: float, appears: int | None) -> None:
    history = watch(seconds(20, r1(lag_ms=lag_ms, state="catching_up")))

    assert first_with(history, "replica.lag") == appears
    if appears is not None:
        assert levels(history[-1]) == {"replica.lag": "attention"}
        assert find(history[-1], "replica.lag").subject == "a/r1"
        assert find(history[-1], "replica.lag").since == START


def test_lag_ends_only_below_two_seconds_for_fifteen() -> None:
    lags = [12_000.0] * 12 + [3_000.0] * 30 + [1_000.0] * 40
    history = watch(seconds(80, lag_from(lags)))

    assert "replica.lag" in levels(history[41])
    assert "replica.lag" in levels(history[42 + 13])
    assert "replica.lag" not in levels(history[42 + 14])


def test_lag_that_wavers_around_its_threshold_does_not_flicker() -> None:
    history = watch(seconds(60, lambda second: r1(lag_ms=5_500.0 if second < 12 or second % 2 else 1_900.0, state="catching_up")(second)))

    assert all("replica.lag" in levels(judgement) for judgement in history[12:])


def test_missing_samples_neither_help_nor_harm() -> None:
    late = r1(lag_ms=9_000.0, state="catching_up")
    mixed = [missed(second) if second % 3 == 2 else sample(second, **late(second)) for second in range(16)]

    assert first_with(watch(mixed), "replica.lag") == 13


@pytest.mark.parametrize(
    ("each_second_ms", "case"),
    [(1_000.0, "growing"), (-400.0, "falling"), (0.0, "steady")],
)
def test_the_words_for_lag_know_its_direction(each_second_ms: float, case: str) -> None:
    history = watch(seconds(30, lambda second: r1(lag_ms=20_000.0 + second * each_second_ms, state="catching_up")(second)))
    finding = find(history[-1], "replica.lag")

    assert finding.case == case
    if case == "falling":
        assert finding.facts["left_ms"] == pytest.approx(21_000, rel=0.1)


def test_lag_without_reads_has_words_without_shares() -> None:
    quiet = {"reads": 0.0, "reads_master": 0.0, "safe": 0.0}
    history = watch(seconds(30, lambda second: {**r1(lag_ms=20_000.0, state="catching_up")(second), **quiet}))

    assert find(history[-1], "replica.lag").case == "steady_quiet"


def test_growing_lag_is_a_fault_only_when_the_master_has_no_room() -> None:
    growing = seconds(200, lambda second: {**r1(lag_ms=second * 900.0, state="catching_up")(second), "reads_master": 160.0, "safe": 40.0})
    room = watch(growing, Judgement(most={"a": Most(reads=5_000.0, master_reads=4_000.0)}))
    full = watch(growing, Judgement(most={"a": Most(reads=250.0, master_reads=180.0)}))

    assert levels(room[-1]) == {"replica.lag": "attention"}
    assert levels(full[-1]) == {"replica.lag.growing": "fault"}
    assert find(full[-1], "replica.lag").hidden_by == "replica.lag.growing"


@pytest.mark.parametrize("halt", [{"state": "stopped"}, {"sql_running": False}, {"io_running": False}])
def test_a_stopped_replica_shows_at_the_first_sample(halt: dict[str, Any]) -> None:
    history = watch(seconds(3) + seconds(1, r1(**halt), start=3))

    assert levels(history[-1]) == {"replica.stopped": "attention"}


def test_the_last_replica_that_stops_is_a_fault_until_it_runs_again() -> None:
    def alone(second: int) -> dict[str, Any]:
        return {"replicas": {"r1": replica(state="stopped", sql_running=False, lag_ms=second * 1000.0, reads=0.0)}}

    def again(second: int) -> dict[str, Any]:
        return {"replicas": {"r1": replica(tick=1000 + second * 10)}}

    history = watch(seconds(3, again) + seconds(20, alone, start=3) + seconds(20, again, start=23))

    assert levels(history[3]) == {"replica.stopped": "fault"}
    assert find(history[15], "replica.lag").hidden_by == "replica.stopped"
    assert levels(history[23]) == {"replica.stopped": "attention"}
    assert find(history[23], "replica.stopped").case == "recovering"
    assert find(history[23], "replica.stopped").since == START + 3
    assert "replica.stopped" not in levels(history[23 + 14])


@pytest.mark.parametrize(
    ("changes", "case"),
    [
        ({"reads": 0.0}, "by_hand_shared"),
        ({"reads": 5.0}, "by_hand_serving"),
        ({"reads": 0.0, "last_error": "Error 1062: Duplicate entry"}, "error_shared"),
        ({"reads": 7.0, "last_error": "something else"}, "error_serving"),
        ({"sql_running": True, "io_running": False}, "cut"),
    ],
)
def test_the_words_for_a_stopped_replica_know_who_serves(changes: dict[str, Any], case: str) -> None:
    history = watch(seconds(5, r1(**{"state": "stopped", "sql_running": False, **changes})))

    assert find(history[-1], "replica.stopped").case == case


def test_a_stopped_replica_that_is_alone_and_serves_nobody() -> None:
    history = watch(seconds(5, lambda second: {"replicas": {"r1": replica(state="stopped", reads=0.0)}}))

    assert find(history[-1], "replica.stopped").case == "by_hand_alone"


def test_a_replica_that_stands_still_while_its_threads_run_is_found_by_its_tick() -> None:
    history = watch(seconds(4) + seconds(4, r1(tick=1030, lag_ms=1_500.0, state="catching_up"), start=4))

    assert first_with(history, "replica.stopped") == 4
    assert find(history[-1], "replica.stopped").case == "still"


def test_a_replica_whose_master_stands_still_is_not_stopped() -> None:
    def frozen(second: int) -> dict[str, Any]:
        return {
            "master": MasterFigures("up", tick=1000, beat_age_ms=second * 1000.0),
            "replicas": {"r1": replica(tick=1000, lag_ms=2_000.0)},
        }

    assert "replica.stopped" not in levels(watch(seconds(5, frozen))[-1])


@pytest.mark.parametrize(("state", "appears"), [("silent", 0), ("down", 2)])
def test_a_silent_replica_is_unknown_and_not_in_step(state: str, appears: int) -> None:
    history = watch(seconds(6, r1(state=state, lag_ms=0.0)))

    assert first_with(history, "replica.silent") == appears
    assert levels(history[-1]) == {"replica.silent": "attention"}


def test_a_silent_replica_ends_after_five_good_answers() -> None:
    history = watch(seconds(4, r1(state="silent")) + seconds(8, start=4))

    assert "replica.silent" in levels(history[4 + 3])
    assert find(history[4], "replica.silent").case == "back"
    assert "replica.silent" not in levels(history[4 + 4])


def test_when_no_replica_serves_it_is_a_fault_after_three_seconds() -> None:
    gone = {"r1": replica(state="down"), "r2": replica(state="silent")}
    history = watch(seconds(6, lambda second: {"replicas": gone}))

    assert first_with(history, "replicas.none") == 2
    assert light(history[-1].findings) == "fault"


def test_replicas_that_leave_their_reads_to_the_master_are_for_attention_after_a_minute() -> None:
    history = watch(seconds(70, lambda second: {"reads_master": 100.0, "safe": 180.0}))

    assert first_with(history, "replica.share") == 59


def test_a_share_of_hardly_any_reads_is_noise() -> None:
    history = watch(seconds(70, lambda second: {"reads": 5.0, "reads_master": 4.0, "safe": 4.0}))

    assert "replica.share" not in levels(history[-1])


# ---- master


def test_a_master_that_is_down_is_a_fault_after_three_seconds_without_a_commit() -> None:
    def down(second: int) -> dict[str, Any]:
        return {"master": MasterFigures("down", tick=1040, beat_age_ms=(second - 4) * 1000.0), "errors": {"MASTERDOWN": 50.0}}

    history = watch(seconds(5) + seconds(8, down, start=5))
    finding = find(history[-1], "master.down")

    assert first_with(history, "master.down") == 7
    assert finding.since == START + 4
    assert (finding.case, finding.facts["refused"]) == ("refusing", 300.0)


def test_a_master_that_starts_slowly_counts_seconds_when_its_beat_is_unknown() -> None:
    history = watch(seconds(5, lambda second: {"master": MasterFigures("starting")}))

    assert first_with(history, "master.down") == 2


def test_a_master_that_is_down_explains_queues_lag_and_overload() -> None:
    def down(second: int) -> dict[str, Any]:
        return {
            "master": MasterFigures("down", beat_age_ms=9_000.0),
            "replicas": {"r1": replica(lag_ms=9_000.0), "r2": replica(state="stopped", io_running=False)},
            "queues": {**healthy().queues, "finish": QueueFigures(9_000, 1_900.0)},
            "errors": {"OVERLOADED": 9.0, "MASTERDOWN": 0.0},
        }

    judgement = watch(seconds(20, down))[-1]

    assert levels(judgement) == {"master.down": "fault"}
    assert {finding.code for finding in judgement.findings if finding.hidden_by == "master.down"} == {
        "queue.finish.age",
        "overload",
        "replica.lag",
        "replica.stopped",
    }


def test_a_master_is_back_after_five_commits_in_a_row() -> None:
    history = watch(seconds(4, lambda second: {"master": MasterFigures("down", beat_age_ms=5_000.0)}) + seconds(7, start=4))

    assert find(history[4], "master.down").case == "back"
    assert "master.down" in levels(history[4 + 3])
    assert "master.down" not in levels(history[4 + 4])


@pytest.mark.parametrize(("beat_age_ms", "level"), [(900.0, None), (1_001.0, "attention"), (3_001.0, "fault")])
def test_a_master_that_misses_its_beat(beat_age_ms: float, level: str | None) -> None:
    judgement = watch(seconds(3, lambda second: {"master": MasterFigures("up", tick=1000, beat_age_ms=beat_age_ms)}))[-1]

    assert levels(judgement).get("master.beat") == level


# ---- queues and overload


@pytest.mark.parametrize(
    ("name", "oldest_ms", "level", "appears"),
    [
        ("query", 200.0, None, None),
        ("query", 201.0, "attention", 4),
        ("query", 1_001.0, "fault", 4),
        ("finish", 101.0, "attention", 4),
        ("finish", 1_500.0, "fault", 4),
        ("clear", 60_000.0, None, None),
        ("clear", 600_001.0, "attention", 0),
        ("clear", 3_600_001.0, "fault", 0),
    ],
)
def test_requests_that_wait_too_long(name: str, oldest_ms: float, level: str | None, appears: int | None) -> None:
    history = watch(seconds(8, queue(name, oldest_ms)))
    code = f"queue.{name}.age"

    assert levels(history[-1]).get(code) == level
    assert first_with(history, code) == appears


def test_waiting_reads_step_down_from_fault_to_attention_to_nothing() -> None:
    worst = seconds(6, queue("query", 2_000.0))
    half = seconds(16, queue("query", 300.0), start=6)
    calm = seconds(16, queue("query", 20.0), start=22)
    history = watch(worst + half + calm)

    assert [levels(history[second]).get("queue.query.age") for second in (5, 19, 21, 35, 37)] == [
        "fault",
        "fault",
        "attention",
        "attention",
        None,
    ]


def test_three_refusing_seconds_of_five_are_overload_and_two_are_none() -> None:
    def refusing(*bad: int) -> list[Judgement]:
        return watch(seconds(5, lambda second: {"errors": {"OVERLOADED": 40.0 if second in bad else 0.0}}))

    assert levels(refusing(0, 2)[-1]) == {"ok": "ok"}
    assert levels(refusing(0, 2, 4)[-1]) == {"overload": "fault"}
    assert find(refusing(0, 2, 4)[-1], "overload").facts["refused"] == 120.0


def test_overload_ends_after_thirty_seconds_without_a_refusal() -> None:
    history = watch(seconds(45, lambda second: {"errors": {"OVERLOADED": 40.0 if second < 5 else 0.0}}))

    assert find(history[20], "overload").case == "over"
    assert "overload" in levels(history[5 + 28])
    assert "overload" not in levels(history[5 + 29])


# ---- a DBSvr that gives no answer


def test_silence_of_three_seconds_is_unknown_and_hides_what_was_found_behind_it() -> None:
    late = seconds(12, r1(lag_ms=9_000.0, state="catching_up"))
    history = watch(late + [missed(second) for second in range(12, 18)])

    assert levels(history[13]) == {"replica.lag": "attention"}
    assert levels(history[14]) == {"console.blind": "unknown"}
    assert find(history[14], "console.blind").since == START + 11
    assert find(history[-1], "replica.lag").hidden_by == "console.blind"


@pytest.mark.parametrize(
    ("silence", "code", "case"),
    [
        ([("unreachable", None)] + [("refused", None)] * 4, "dbsvr.down", "refused"),
        ([("timeout", 7)] * 5, "dbsvr.down", "still"),
        ([("timeout", 7 + second) for second in range(5)], "console.blind", ""),
        ([("timeout", None)] * 5, "console.blind", ""),
        ([("login", None)] * 5, "console.blind", ""),
    ],
)
def test_gone_or_only_unseen(silence: list[tuple[str, int | None]], code: str, case: str) -> None:
    history = watch(seconds(5) + [missed(5 + second, why, tick) for second, (why, tick) in enumerate(silence)])

    assert list(levels(history[-1])) == [code]
    assert find(history[-1], code).case == case


def test_a_dbsvr_that_never_answered_is_found_too() -> None:
    assert list(levels(watch([missed(second, "refused") for second in range(5)])[-1])) == ["dbsvr.down"]


def test_sight_is_back_after_five_answers() -> None:
    history = watch(seconds(3) + [missed(second) for second in range(3, 9)] + seconds(8, start=9))

    assert find(history[9], "console.blind").case == "back"
    assert "console.blind" in levels(history[9 + 3])
    assert levels(history[9 + 4]) == {"ok": "ok"}


def test_one_dbsvr_that_is_gone_does_not_darken_the_other() -> None:
    other = [Sample("b", one.at, one.figures) for one in seconds(6)]
    judgement = judge({"a": [missed(second, "refused") for second in range(6)], "b": other}, Judgement(), START + 5)

    assert [(finding.code, finding.subject) for finding in judgement.findings] == [("dbsvr.down", "a")]


# ---- refused replicas, two masters, lost writes


FORKED = "it has applied tick 9 of generation 1, past the fork at 5: it holds what the master lacks; rebuild it from the master"


def test_a_replica_that_holds_what_the_master_lacks_is_a_fault_at_once_and_explains_its_lag() -> None:
    history = watch(seconds(12, r1(state="refused", refusal=FORKED, lag_ms=9_000.0, sql_running=False)))

    assert levels(history[0]) == levels(history[-1]) == {"replica.refused": "fault"}
    assert find(history[0], "replica.refused").case == "fork"


def test_the_words_of_a_dbsvr_that_refuses_such_a_replica_are_known() -> None:
    servers = Servers(["r1"], 50, Watermark())
    servers.begin_life(Ready("db:1", 2, 20, 1, 5, 7, "promotion"), 0.0)
    servers.note_replica_tick("r1", 1, 9, 0.0)

    assert PAST_THE_FORK in servers.replicas["r1"].refusal


def test_a_replica_that_is_refused_for_another_reason_is_for_attention_when_it_lasts() -> None:
    refused = r1(state="refused", refusal="it has no row of this DBSvr yet")
    history = watch([*seconds(15, refused), *seconds(6, start=15)])

    assert first_with(history, "replica.refused") == 9
    assert levels(history[14]) == {"replica.refused": "attention"}
    assert find(history[16], "replica.refused").case == "back"
    assert "replica.refused" not in levels(history[19])


def test_a_held_replica_is_announced_work_with_its_reason_and_ends_with_its_release() -> None:
    held = r1(state="held", hold=Hold("3 rows differ", "wang", START - 60), lag_ms=9_000.0)
    history = watch([*seconds(12, held), *seconds(2, start=12)])

    assert levels(history[0]) == levels(history[11]) == {"replica.held": "maintenance"}, "and its lag is nobody's concern"
    finding = find(history[0], "replica.held")
    assert (finding.case, finding.facts["reason"], finding.facts["held_by"]) == ("shared", "3 rows differ", "wang")
    assert "replica.held" not in levels(history[12])


def test_replication_that_breaks_on_a_held_replica_is_told_all_the_same() -> None:
    broken = r1(state="held", hold=Hold("3 rows differ", "wang", START), sql_running=False, last_error="Error 1032", reads=0.0)

    history = watch([*seconds(3, broken), *seconds(20, r1(state="held", hold=Hold("3 rows differ", "wang", START)), start=3)])

    assert levels(history[2]) == {"replica.held": "maintenance", "replica.stopped": "attention"}
    assert levels(history[-1]) == {"replica.held": "maintenance"}


def test_when_every_replica_is_refused_none_serves() -> None:
    refused = replica(state="refused", refusal=FORKED)
    history = watch(seconds(5, lambda second: {"replicas": {"r1": refused, "r2": refused}}))

    assert levels(history[-1])["replicas.none"] == "fault"


def test_two_writable_masters_are_a_fault_until_there_is_one_for_five_seconds() -> None:
    warning = "two writable masters: db-2 takes writes too (server_id 2), we write to db-1"
    two = seconds(2, lambda second: {"master": MasterFigures("up", tick=1000 + second * 10, beat_age_ms=50.0, warning=warning)})
    history = watch(two + seconds(8, start=2))

    assert levels(history[0]) == {"master.two": "fault"}
    assert find(history[0], "master.two").facts["warning"] == warning
    assert find(history[3], "master.two").case == "back"
    assert first_with(history[6:], "master.two") is None


LOST = Lost(generation=2, cause="promotion", fork_tick=5, ticks=9, writes=3, file="var/lost")


def with_lost(lost: Lost | None) -> Change:
    return lambda second: {"lost": lost}


@pytest.mark.parametrize(
    ("lost", "case"),
    [
        (LOST, "named"),
        (msgspec.structs.replace(LOST, is_complete=False), "some"),
        (msgspec.structs.replace(LOST, writes=0, is_complete=False), "unnamed"),
        (msgspec.structs.replace(LOST, writes=0), None),
        (None, None),
    ],
)
def test_lost_acknowledged_writes_are_a_fault(lost: Lost | None, case: str | None) -> None:
    judgement = watch(seconds(3, with_lost(lost)))[-1]

    assert levels(judgement).get("writes.lost") == (None if case is None else "fault")
    assert case is None or find(judgement, "writes.lost").case == case


def test_lost_writes_are_told_for_a_day_even_by_a_front_that_has_forgotten_them() -> None:
    told = watch(seconds(3, with_lost(LOST)))[-1]

    forgotten = watch(seconds(2, start=60), told)[-1]
    told_again = watch(seconds(2, with_lost(LOST), start=86_395), told)[-1]
    over = watch(seconds(2, with_lost(LOST), start=86_401), told)[-1]

    assert find(forgotten, "writes.lost").case == "named"
    assert "writes.lost" in levels(told_again)
    assert "writes.lost" not in levels(over)
    assert "writes.lost" not in levels(watch(seconds(2, with_lost(LOST), start=90_000), over)[-1]), "the same loss is not told anew"


# ---- two DBSvrs


def pair(a: Change, b: Change, count: int = 3, before: Judgement | None = None, start: int = 0) -> Judgement:
    """Both are looked at for so many seconds."""
    judgement = before or Judgement()
    seen: dict[str, list[Sample]] = {"a": [], "b": []}
    for second in range(start, start + count):
        for name, change in (("a", a), ("b", b)):
            seen[name].append(msgspec.structs.replace(sample(second, **change(second)), instance=name))
        judgement = judge(seen, judgement, START + second)
    return judgement


def well(second: int) -> dict[str, Any]:
    return {}


def test_what_both_find_of_one_replica_is_shown_once() -> None:
    judgement = pair(r1(state="stopped"), r1(state="stopped"))

    assert [(it.code, it.subject) for it in shown(judgement.findings)] == [("replica.stopped", "a/r1")]
    assert [(it.subject, it.hidden_by) for it in judgement.findings] == [("a/r1", ""), ("b/r1", "replica.stopped")]


def test_what_one_finds_alone_is_shown_and_the_worst_of_two() -> None:
    alone = pair(well, r1(state="stopped"))
    only_replica: Change = lambda second: {"replicas": {"r1": replica(state="stopped")}}  # noqa: E731
    worse = pair(r1(state="stopped"), only_replica)

    assert [it.subject for it in shown(alone.findings)] == ["b/r1"]
    assert [(it.subject, it.level) for it in shown(worse.findings)] == [("b/r1", "fault")]


def test_what_is_of_a_dbsvr_itself_is_shown_for_each() -> None:
    judgement = pair(queue("finish", 5_000.0), queue("finish", 5_000.0), count=8)

    assert [it.subject for it in shown(judgement.findings) if it.code == "queue.finish.age"] == ["a", "b"]


def owned_by(owner: str, epoch: int = 3, state: str = "theirs", takeovers: tuple[Takeover, ...] = ()) -> Change:
    """Segment low, whose home is a, as one DBSvr tells of it."""
    return lambda second: {"segments": {"low": Segment(1, 99, "a", owner, epoch, state)}, "takeovers": takeovers}


TAKEN = Takeover("low", 3, "a", "b", "taken over", START - 60)


def test_a_segment_at_home_is_no_finding() -> None:
    assert levels(pair(owned_by("a", state="ours"), owned_by("a"))) == {"ok": "ok"}


def test_a_segment_that_another_owns_is_for_attention_with_its_cause_and_since_when() -> None:
    judgement = pair(owned_by("b", takeovers=(TAKEN,)), owned_by("b", state="ours", takeovers=(TAKEN,)))

    assert levels(judgement) == {"segment.away": "attention"}
    finding = find(judgement, "segment.away")
    assert (finding.subject, finding.case, finding.since) == ("/low", "taken", START - 60)
    assert (finding.facts["owner"], finding.facts["home"]) == ("b", "a")


def test_of_two_that_tell_different_owners_the_higher_epoch_is_right() -> None:
    assert levels(pair(owned_by("a", epoch=2, state="ours"), owned_by("b", epoch=3, state="ours"))) == {"segment.away": "attention"}
    assert levels(pair(owned_by("a", epoch=4, state="ours"), owned_by("b", epoch=3, state="ours"))) == {"ok": "ok"}


def test_a_cause_is_not_made_up() -> None:
    older = msgspec.structs.replace(TAKEN, epoch=2)
    judgement = pair(owned_by("b", takeovers=(older,)), owned_by("b", state="ours"))

    assert (find(judgement, "segment.away").case, find(judgement, "segment.away").since) == ("unclear", START)


def test_that_a_segment_was_given_is_known_to_the_giver_alone_and_believed() -> None:
    given = msgspec.structs.replace(TAKEN, cause="given")

    assert find(pair(owned_by("b", takeovers=(given,)), owned_by("b", takeovers=(TAKEN,))), "segment.away").case == "given"


def test_a_takeover_under_way_is_told_by_who_takes_over() -> None:
    assert levels(pair(owned_by("a", epoch=2, state="ours"), owned_by("b", state="taking"))) == {"segment.taking": "notice"}


def test_a_segment_whose_owner_is_gone_has_none_until_another_has_taken_it_over() -> None:
    seen = {
        "a": [
            msgspec.structs.replace(sample(0, **owned_by("a", state="ours")(0)), instance="a"),
            *(missed(it, "refused") for it in range(1, 6)),
        ],
        "b": [msgspec.structs.replace(sample(it, **owned_by("a")(it)), instance="b") for it in range(6)],
    }
    nobody = judge(seen, Judgement(), START + 5)
    seen["b"] = [msgspec.structs.replace(sample(it, **owned_by("b", epoch=4, state="ours")(it)), instance="b") for it in range(6)]
    taken = judge(seen, nobody, START + 5)

    assert levels(nobody) == {"dbsvr.down": "fault", "segment.none": "fault"}
    assert levels(taken) == {"dbsvr.down": "fault", "segment.away": "attention"}


def test_of_an_owner_whom_only_we_cannot_see_nothing_is_claimed() -> None:
    seen = {
        "a": [sample(0, **owned_by("a", state="ours")(0)), *(missed(it, "timeout") for it in range(1, 6))],
        "b": [msgspec.structs.replace(sample(it, **owned_by("a")(it)), instance="b") for it in range(6)],
    }

    assert levels(judge(seen, Judgement(), START + 5)) == {"console.blind": "unknown"}


def test_a_dbsvr_that_tells_nothing_of_segments_is_judged_all_the_same() -> None:
    assert levels(pair(well, well)) == {"ok": "ok"}


def peers_of(**states: str) -> Change:
    return lambda second: {"peers": {name: Peer(state) for name, state in states.items()}}


def test_a_dbsvr_that_cannot_reach_another_which_we_can_is_for_attention_when_it_lasts() -> None:
    cut, up = peers_of(b="away"), peers_of(b="up")

    assert levels(pair(cut, peers_of(a="up"), count=9)) == {"ok": "ok"}
    lasting = pair(cut, peers_of(a="up"), count=10)
    assert levels(lasting) == {"peer.away": "attention"}
    assert (find(lasting, "peer.away").subject, find(lasting, "peer.away").since) == ("a/b", START)
    back = pair(up, up, count=4, before=lasting, start=10)
    assert find(back, "peer.away").case == "back"
    assert levels(pair(up, up, count=5, before=lasting, start=10)) == {"ok": "ok"}


def test_that_there_is_no_way_to_one_that_is_gone_is_not_said_again() -> None:
    seen = {
        "a": [sample(it, **peers_of(b="away")(it)) for it in range(20)],
        "b": [msgspec.structs.replace(missed(it, "refused"), instance="b") for it in range(20)],
    }

    assert levels(judge(seen, Judgement(), START + 19)) == {"dbsvr.down": "fault"}


# ---- order, memory


def test_the_light_is_the_worst_of_what_is_shown_and_the_worst_stands_first() -> None:
    findings = [Finding("x", level, f"s{place}", float(place)) for place, level in enumerate(LEVELS)]
    findings.append(Finding("y", "fault", "hidden", 0.0, hidden_by="x"))

    assert light(findings) == "fault"
    assert [finding.level for finding in shown(findings)] == ["fault", "unknown", "attention", "maintenance", "notice", "ok"]
    assert light([]) == "unknown"


def test_a_sampler_that_starts_anew_keeps_the_beginnings_of_what_it_finds() -> None:
    stopped = seconds(5, r1(state="stopped"))
    before = watch(stopped)[-1]

    after = watch(seconds(2, r1(state="stopped"), start=60), before)[-1]

    assert find(after, "replica.stopped").since == find(before, "replica.stopped").since == START


def test_the_most_is_remembered_when_it_has_left_the_window() -> None:
    busy = watch(seconds(5, lambda second: {"reads": 9_000.0, "reads_master": 7_000.0}))[-1]
    later = judge({"a": seconds(5, start=5)}, busy, START + 9)

    assert later.most["a"] == Most(reads=9_000.0, master_reads=7_000.0)


def test_a_replica_that_is_no_longer_configured_is_forgotten() -> None:
    before = watch(seconds(3, r1(state="stopped")))[-1]
    after = watch(seconds(3, lambda second: {"replicas": {"r2": replica(tick=1000 + second * 10)}}, start=3), before)[-1]

    assert levels(after) == {"ok": "ok"}


def test_judging_changes_nothing_that_it_was_given() -> None:
    samples = {"a": seconds(20, r1(lag_ms=9_000.0))}
    before = Judgement()

    assert judge(samples, before, START + 19) == judge(samples, before, START + 19)
    assert before == Judgement()
    assert len(samples["a"]) == 20
    assert isinstance(samples["a"][0].figures, Figures)


def config(**changes: Any) -> Change:
    return lambda second: {"config": ConfigFigures(**{"revision": 43, "look_age_ms": 100.0, **changes})}


def test_logic_processes_that_stay_behind_are_named_after_five_seconds_and_forgotten_after_five_good_ones() -> None:
    behind = {f"logic-{number}/7": 42 - number for number in range(4)}
    history = watch(seconds(10, config()) + seconds(10, config(behind=behind), 10) + seconds(10, config(), 20))

    assert first_with(history, "config.skew") == 14
    finding = find(history[19], "config.skew")
    assert (finding.level, finding.case, finding.facts["processes"], finding.facts["using"]) == ("attention", "now", 4, "39")
    assert finding.facts["others"] == "logic-0/7,logic-1/7,logic-2/7,…"
    assert find(history[23], "config.skew").case == "back"
    assert levels(history[24]) == {"ok": "ok"}


def test_a_publication_that_reaches_everybody_within_a_second_is_no_finding() -> None:
    assert levels(watch(seconds(10, lambda second: config(behind={"logic-1/7": 42} if second == 5 else {})(second)))[-1]) == {"ok": "ok"}


def test_a_damaged_revision_is_said_at_once_and_once_for_all_dbsvrs() -> None:
    damaged = config(damage="revision 44 cannot be read")

    assert [it.code for it in shown(pair(damaged, damaged).findings)] == ["config.damaged"]
    assert find(pair(config(revision=None, damage="…"), damaged), "config.damaged").case == "none"


def test_a_configuration_that_nobody_sees_is_said_while_the_master_is_up_and_only_then() -> None:
    unseen = config(look_age_ms=12_000.0, why="SELECT denied")
    down: Change = lambda second: {**unseen(second), "master": MasterFigures("down", tick=5, beat_age_ms=9_000.0)}  # noqa: E731

    assert find(watch(seconds(5, unseen))[-1], "config.unseen").facts["reason"] == "SELECT denied"
    assert levels(watch(seconds(2, unseen))[-1]) == {"ok": "ok"}
    assert "config.unseen" not in levels(watch(seconds(10, down))[-1])


def test_a_master_that_commits_nothing_explains_that_nobody_sees_the_configuration() -> None:
    frozen: Change = lambda second: {  # noqa: E731
        **config(look_age_ms=12_000.0)(second),
        "master": MasterFigures("up", tick=5, beat_age_ms=12_000.0),
    }

    assert levels(watch(seconds(10, frozen))[-1]) == {"master.beat": "fault"}


def test_a_dbsvr_that_says_nothing_of_a_configuration_is_no_finding() -> None:
    assert levels(watch(seconds(10))[-1]) == {"ok": "ok"}
