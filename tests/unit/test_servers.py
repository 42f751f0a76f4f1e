from __future__ import annotations

from workers.messages import MASTER_ONLY, Ready, message_type
from workers.servers import REBASE_AT, Servers

NOW = 1000.0


def servers_with_fresh_tick(tick: int = 100, *replicas: str) -> Servers:
    servers = Servers(list(replicas or ("r1",)), spill_ms=50)
    for name in servers.replicas:
        servers.connect(name, 1)
    assert servers.begin_life(Ready("127.0.0.1:1", 1, tick, 1), NOW)
    return servers


def test_the_first_fresh_tick_becomes_the_base_and_the_next_life_keeps_it() -> None:
    servers = servers_with_fresh_tick(100)

    assert not servers.begin_life(Ready("127.0.0.1:1", 1, 150, 2), NOW + 1)
    assert servers.base == 100


def test_ticks_that_go_back_are_noticed_and_start_anew() -> None:
    servers = servers_with_fresh_tick(100)
    restored = Ready("127.0.0.1:1", 1, 40, 2)

    assert servers.went_back(restored)
    assert servers.begin_life(restored, NOW + 1)
    assert servers.base == 40
    assert servers.replicas["r1"].tick is None, "what the replica showed before counts no more"


def test_a_tick_of_another_generation_says_nothing() -> None:
    servers = servers_with_fresh_tick(100)

    servers.note_tick("r1", 2, 500, NOW)

    assert servers.best_replica_tick == 0
    assert servers.master_reason(100, False, NOW) == "replica_down"


def test_the_base_rises_before_types_reach_master_only_and_no_further_than_the_slowest_replica() -> None:
    servers = servers_with_fresh_tick(100, "r1", "r2")
    top = 100 + REBASE_AT
    servers.note_tick("master", 1, top, NOW)
    assert servers.next_base() is None
    assert message_type(top, servers.base) < MASTER_ONLY

    servers.note_tick("master", 1, top + 1, NOW)
    servers.note_tick("r1", 1, top, NOW)
    servers.note_tick("r2", 1, top - 7, NOW)

    assert servers.next_base() == top - 7


def test_a_replica_that_falls_silent_is_not_counted_on_any_more() -> None:
    servers = servers_with_fresh_tick(100)
    servers.note_tick("r1", 1, 100, NOW)
    assert servers.master_reason(100, False, NOW) is None

    servers.look_again(NOW + 5)

    assert servers.master_reason(100, False, NOW + 5) == "replica_down"
