from __future__ import annotations

from workers.endpoints import FAILED_LOOKS, STEADY_LOOKS, Look, Standing, choose_master, choose_replica, second_master, should_move
from workers.timelines import Found, Known

A, B = "10.0.0.1:3306", "10.0.0.2:3306"


def master(endpoint: str, server_id: int, generation: int = 1, recorded: int | None = None) -> Look:
    recorded = server_id if recorded is None else recorded
    return Look(endpoint, (), server_id, Found(generation, 100, 0, recorded, server_id, generation if recorded == server_id else 0))


def away(endpoint: str) -> Look:
    return Look(endpoint, ("no answer",))


def standing(look: Look, times: int) -> Standing:
    made = Standing(look.endpoint)
    for moment in range(times):
        made.note(look, float(moment))
    return made


def test_the_first_fit_endpoint_of_a_replica_is_used() -> None:
    assert choose_replica([away(A), Look(B)]) == Look(B)
    assert choose_replica([away(A), away(B)]) is None


def test_the_first_of_two_gateways_to_one_master_is_used() -> None:
    chosen = choose_master([master(A, 1), master(B, 1)], Known(1, 100, 1))

    assert chosen is not None
    assert chosen.endpoint == A


def test_of_two_writable_servers_the_one_that_wrote_last_stays_the_master() -> None:
    chosen = choose_master([master(A, 2, recorded=1), master(B, 1)], Known(1, 100, 1))

    assert chosen is not None
    assert chosen.endpoint == B


def test_the_newest_generation_wins_and_a_former_master_is_never_chosen() -> None:
    former, present = master(A, 1, generation=1), master(B, 2, generation=2)

    assert choose_master([former, present], Known()) == present
    assert choose_master([former, away(B)], Known(2, 100, 2)) is None


def test_one_look_decides_nothing() -> None:
    preferred = standing(Look(A), STEADY_LOOKS - 1)
    assert should_move(Look(B), (A, B), {A: preferred, B: Standing(B)}, is_master=False) is None
    preferred.note(Look(A), 9.0)
    assert should_move(Look(B), (A, B), {A: preferred, B: Standing(B)}, is_master=False) == A

    preferred.note(away(A), 10.0)
    assert preferred.state == "unknown", "one slow look takes nobody out"
    assert should_move(Look(B), (A, B), {A: preferred, B: Standing(B)}, is_master=False) is None
    assert standing(away(A), FAILED_LOOKS).state == "away"


def test_a_later_endpoint_is_never_moved_to_without_need() -> None:
    assert should_move(Look(A), (A, B), {A: Standing(A), B: standing(Look(B), 99)}, is_master=False) is None


def test_a_master_is_moved_only_between_gateways_to_the_same_server() -> None:
    other, same = standing(master(A, 2), STEADY_LOOKS), standing(master(A, 1), STEADY_LOOKS)

    assert should_move(master(B, 1), (A, B), {A: other, B: Standing(B)}, is_master=True) is None
    assert should_move(master(B, 1), (A, B), {A: same, B: Standing(B)}, is_master=True) == A
    assert second_master(master(B, 1), [other]) is not None, "and two servers that take writes are an alarm"
    assert second_master(master(B, 1), [same]) is None
