from __future__ import annotations

from workers.routing import SILENT_S, ReplicaView, master_reason, soonest_s
from workers.tick_clock import KEEP, TickClock

NOW = 1000.0


def clock_of(*commits: tuple[int, float]) -> TickClock:
    clock = TickClock()
    for tick, at in commits:
        clock.note(tick, at)
    return clock


def replica_at(tick: int | None, clock: TickClock, now: float = NOW, **more: object) -> ReplicaView:
    view = ReplicaView("r1", connected=True)
    view.note_tick(tick, clock, now)
    for name, value in more.items():
        setattr(view, name, value)
    return view


def test_a_replica_that_shows_the_stamp_serves_at_once() -> None:
    clock = clock_of((10, NOW - 1))

    assert master_reason(10, True, [replica_at(10, clock)], clock, 0.05, NOW) is None


def test_a_replica_that_will_show_the_stamp_soon_is_waited_for() -> None:
    clock = clock_of((10, NOW - 2.0), (11, NOW - 0.97), (12, NOW - 0.5))
    late = replica_at(10, clock, delay_at_least_s=1.0, delay_at_most_s=1.0)

    assert master_reason(11, True, [late], clock, 0.05, NOW) is None
    assert master_reason(12, True, [late], clock, 0.05, NOW) == "recent_write"


def test_a_replica_that_stands_is_not_waited_for() -> None:
    """It used to show a commit after 5 ms; this one is 300 ms old and not there."""
    clock = clock_of((10, NOW - 2.0), (11, NOW - 0.3))
    stalled = replica_at(10, clock, delay_at_least_s=0.0, delay_at_most_s=0.005)

    assert master_reason(11, True, [stalled], clock, 0.05, NOW) == "recent_write"


def test_the_reason_tells_a_users_own_write_from_the_floor() -> None:
    clock = clock_of((10, NOW - 2.0), (11, NOW - 0.1))
    late = replica_at(10, clock, delay_at_least_s=5.0, delay_at_most_s=5.0)

    assert master_reason(11, True, [late], clock, 0.05, NOW) == "recent_write"
    assert master_reason(11, False, [late], clock, 0.05, NOW) == "replica_lag"


def test_a_silent_unconnected_or_unknown_replica_is_not_counted_on() -> None:
    clock = clock_of((10, NOW - 5))
    silent = replica_at(10, clock, now=NOW - SILENT_S - 0.1)
    gone = replica_at(10, clock, connected=False)
    unknown = replica_at(None, clock)

    for replica in (silent, gone, unknown):
        assert master_reason(5, False, [replica], clock, 0.05, NOW) == "replica_down"


def test_the_best_of_several_replicas_decides() -> None:
    clock = clock_of((10, NOW - 3), (11, NOW - 2))

    assert soonest_s(11, [replica_at(10, clock, delay_at_least_s=9.0, delay_at_most_s=9.0), replica_at(11, clock)], clock, NOW) == 0.0


def test_lag_is_the_age_of_the_first_commit_that_is_missing() -> None:
    clock = clock_of((10, NOW - 3), (11, NOW - 2), (12, NOW - 1))

    assert replica_at(10, clock).lag_s(clock, NOW) == 2.0
    assert replica_at(12, clock).lag_s(clock, NOW) == 0.0
    assert replica_at(None, clock).lag_s(clock, NOW) is None, "unknown is not zero"


def test_the_state_of_a_replica_in_a_word() -> None:
    clock = clock_of((10, NOW - 3), (11, NOW - 2))

    assert replica_at(11, clock).state(clock, NOW) == "serving"
    assert replica_at(10, clock).state(clock, NOW) == "catching_up"
    assert replica_at(10, clock, sql_running=False).state(clock, NOW) == "stopped"
    assert replica_at(11, clock).state(clock, NOW + 5) == "silent"
    assert replica_at(11, clock, connected=False).state(clock, NOW) == "down"


def test_the_clock_knows_when_a_tick_was_committed_and_keeps_itself_small() -> None:
    clock = TickClock()
    for tick in range(1, 3 * KEEP):
        clock.note(tick, tick * 0.01)

    assert clock.committed_at(3 * KEEP - 10) == (3 * KEEP - 10) * 0.01
    assert clock.committed_at(3 * KEEP) is None
    assert clock.committed_at(1) is not None, "an old tick is at least known to be old"
    assert len(clock._ticks) <= KEEP
