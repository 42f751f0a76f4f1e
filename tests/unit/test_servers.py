from __future__ import annotations

from workers.messages import MASTER_ONLY, Hold, Ready, message_type
from workers.servers import REBASE_AT, Servers
from workers.timelines import PROMOTION, Known
from workers.watermark import Watermark

NOW = 1000.0


def servers_with_fresh_tick(tick: int = 100, *replicas: str) -> Servers:
    servers = Servers(list(replicas or ("r1",)), spill_ms=50, watermark=Watermark())
    for name in servers.replicas:
        servers.connect(name, 1)
    assert servers.begin_life(ready(1, tick), NOW).is_new_base
    return servers


def ready(generation: int, tick: int, fork_tick: int = 0, cause: str = "") -> Ready:
    return Ready("127.0.0.1:1", generation, tick, 1, fork_tick, generation, cause)


def test_the_first_fresh_tick_becomes_the_base_and_the_next_life_keeps_it() -> None:
    servers = servers_with_fresh_tick(100)

    assert not servers.begin_life(ready(1, 150), NOW + 1).is_new_base
    assert servers.base == 100


def test_a_new_generation_begins_with_its_own_base_and_says_what_has_ended() -> None:
    servers = servers_with_fresh_tick(100)
    servers.note_replica_tick("r1", 1, 100, NOW)
    servers.note_master_tick(140, NOW)

    beginning = servers.begin_life(ready(2, 121, 120, PROMOTION), NOW + 1)

    assert beginning.ended == Known(1, 140, 1)
    assert servers.base == 121
    assert servers.replicas["r1"].tick is None, "what the replica showed before counts no more"


def test_a_replica_of_an_older_generation_is_refused_until_it_goes_along() -> None:
    servers = servers_with_fresh_tick(100)
    servers.begin_life(ready(2, 121, 120, PROMOTION), NOW)

    servers.note_replica_tick("r1", 1, 110, NOW)
    assert not servers.replicas["r1"].is_admitted
    assert servers.master_reason(121, False, NOW) == "replica_down"

    assert servers.note_replica_tick("r1", 2, 121, NOW), "its worker must hear that it may serve"
    assert servers.master_reason(121, False, NOW) is None


def test_a_replica_past_the_fork_is_refused_until_an_operator_says_that_it_was_rebuilt() -> None:
    servers = servers_with_fresh_tick(100)
    servers.begin_life(ready(2, 121, 120, PROMOTION), NOW)
    servers.note_replica_tick("r1", 1, 125, NOW)

    servers.note_replica_tick("r1", 2, 121, NOW)
    assert not servers.replicas["r1"].is_admitted, "it has gone on in the new generation, with what the master lacks"
    assert servers.past_fork.keys() == {"r1"}

    assert servers.accept_rebuilt("r1")
    servers.note_replica_tick("r1", 2, 122, NOW)
    servers.note_master_tick(122, NOW)
    servers.note_replica_tick("r1", 2, 122, NOW)
    assert servers.replicas["r1"].is_admitted


def test_what_a_front_remembers_refuses_a_replica_past_the_fork_also_after_a_restart() -> None:
    servers = Servers(["r1"], 50, Watermark(Known(2, 130, 2), {2: 120}, {"r1": "it has applied tick 125 of generation 1"}))
    servers.connect("r1", 1)
    assert servers.begin_life(ready(2, 131, 120), NOW).ended is None

    servers.note_replica_tick("r1", 2, 131, NOW)

    assert not servers.replicas["r1"].is_admitted


def test_a_held_replica_is_not_counted_on_and_its_ticks_go_on_counting() -> None:
    servers = servers_with_fresh_tick(100)
    servers.note_replica_tick("r1", 1, 100, NOW)
    assert servers.base_of("r1") == 100

    assert servers.note_holds({"r1": Hold("3 rows differ", "wang", 1)}, NOW) == ["r1"], "its worker must hear"
    servers.note_master_tick(101, NOW)
    servers.note_replica_tick("r1", 1, 101, NOW)

    replica = servers.replicas["r1"]
    assert (servers.best_replica_tick, servers.base_of("r1")) == (0, 0)
    assert servers.master_reason(100, False, NOW) == "replica_down"
    assert not servers.may_answer("r1"), "nor is what it had drained before"
    assert (replica.state(servers.clock, NOW), replica.tick, servers.lag_s(replica, NOW)) == ("held", 101, 0.0)

    assert servers.note_holds({}, NOW) == ["r1"]
    assert servers.master_reason(101, False, NOW) is None
    assert servers.base_of("r1") == 100


def test_a_hold_that_is_known_before_the_fresh_tick_keeps_the_replica_out_from_the_first_moment() -> None:
    servers = Servers(["r1"], 50, Watermark())
    servers.connect("r1", 1)
    servers.note_holds({"r1": Hold("3 rows differ", "wang", 1), "gone": Hold("of an older configuration", "wang", 1)}, NOW)

    servers.begin_life(ready(1, 100), NOW)
    servers.note_replica_tick("r1", 1, 100, NOW)

    assert servers.base_of("r1") == 0
    assert servers.best_replica_tick == 0


def test_a_replica_ahead_of_the_master_betrays_a_restore_that_nobody_saw() -> None:
    servers = servers_with_fresh_tick(100)

    servers.note_replica_tick("r1", 1, 500, NOW)
    assert not servers.replicas["r1"].is_admitted
    assert servers.master_lacks(NOW + 0.1) is None, "the master's own word may be on its way"

    servers.note_replica_tick("r1", 1, 500, NOW + 1.1)
    replica = servers.master_lacks(NOW + 1.1)
    assert replica is not None
    assert servers.known == Known(1, 500, 1), "with which the next claim begins a new generation"


def test_a_front_without_memory_hears_the_replicas_before_the_master_claims() -> None:
    servers = Servers(["r1"], 50, Watermark())
    assert servers.is_blind

    servers.note_replica_tick("r1", 1, 500, NOW)

    assert not servers.is_blind
    assert servers.known == Known(1, 500, 0)


def test_lag_is_unknown_while_the_master_shows_no_beat() -> None:
    servers = servers_with_fresh_tick(100)
    servers.note_replica_tick("r1", 1, 100, NOW)
    replica = servers.replicas["r1"]
    assert servers.lag_s(replica, NOW + 0.1) == 0.0

    servers.note_replica_tick("r1", 1, 100, NOW + 3)

    assert servers.lag_s(replica, NOW + 3) is None


def test_the_base_rises_before_types_reach_master_only_and_no_further_than_the_slowest_replica() -> None:
    servers = servers_with_fresh_tick(100, "r1", "r2")
    top = 100 + REBASE_AT
    servers.note_master_tick(top, NOW)
    assert servers.next_base() is None
    assert message_type(top, servers.base) < MASTER_ONLY

    servers.note_master_tick(top + 1, NOW)
    servers.note_replica_tick("r1", 1, top, NOW)
    servers.note_replica_tick("r2", 1, top - 7, NOW)

    assert servers.next_base() == top - 7


def test_a_replica_that_falls_silent_is_not_counted_on_any_more() -> None:
    servers = servers_with_fresh_tick(100)
    servers.note_replica_tick("r1", 1, 100, NOW)
    assert servers.master_reason(100, False, NOW) is None

    servers.look_again(NOW + 5)

    assert servers.master_reason(100, False, NOW + 5) == "replica_down"


def test_a_replica_that_was_past_the_fork_before_the_new_generation_was_known_is_refused() -> None:
    servers = servers_with_fresh_tick(100)
    servers.note_master_tick(130, NOW)
    servers.note_replica_tick("r1", 1, 125, NOW)
    servers.note_replica_tick("r1", 2, 121, NOW)

    servers.begin_life(ready(2, 121, 120, PROMOTION), NOW + 1)
    servers.note_replica_tick("r1", 2, 121, NOW + 1)

    assert "past the fork at 120" in servers.replicas["r1"].refusal
