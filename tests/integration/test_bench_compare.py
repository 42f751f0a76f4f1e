"""The comparison's ways, on real databases."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.compare import run_cell
from bench.direct import FIRST_UID
from bench.replica_lag import make_lag
from bench.ways import OURS, SPLIT, WAYS, Peer, ways_with
from bench.workload import USERS
from deploy.local.private_stack import PrivateStack
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]


@pytest.mark.long
def test_with_a_lagging_replica_an_unguarded_split_shows_stale_reads_and_ours_shows_none(make_stack: MakeStack) -> None:
    stack = make_stack()
    make_lag(stack, 1)

    cells = {cell["way"]: cell for cell in run_cell(stack, WAYS, lag_s=1, write_share=0.3, seconds=1.0)}

    assert all(cell["lag_seen_s"] > 0.4 for cell in cells.values())
    ours, split = cells[OURS], cells[SPLIT]
    assert ours["stale"] == 0
    assert 0 < ours["replica_share"] < 1
    assert split["stale"] > 0
    assert split["replica_share"] == 1
    assert (cells["master only"]["stale"], cells["master only"]["replica_share"]) == (0, 0)
    assert cells["pin 15 s"]["stale"] == 0
    # Not quite none: what one read saw of a write before it was acknowledged, the next reader's GTID does not know yet.
    assert cells["GTID wait"]["stale"] < split["stale"] / 10
    assert cells["GTID wait"]["read_p99_ms"] > 500  # it waited for the lag, or until it gave up waiting


def test_a_peer_is_judged_by_the_server_that_answers(make_stack: MakeStack) -> None:
    stack = make_stack()
    load = f"INSERT INTO user_state (uid, version, points, updated_at) SELECT {FIRST_UID} + seq, 1, 0, 0 FROM seq_0_to_{USERS - 1}"
    stack.master.execute(load, "tasksys_user")
    eventually(lambda: stack.replica.execute("SELECT COUNT(*) FROM user_state", "tasksys_user") == [(USERS,)])
    # A proxy that sends everything to the replica, as far as its client can tell.
    peer = Peer("replica only", "127.0.0.1", stack.replica.port)

    (cell,) = run_cell(stack, ways_with([peer])[-1:], lag_s=0, write_share=0.0, seconds=0.5)

    assert (cell["way"], cell["replica_share"], cell["stale"]) == ("replica only", 1, 0)
    assert peer.answers(stack)
    stack.replica.kill()
    assert not peer.answers(stack)
