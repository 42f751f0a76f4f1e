"""Statements that share a packet on a real master: what the write transaction relies on."""

from __future__ import annotations

import pytest

from deploy.local.private_stack import PrivateStack
from workers import database
from workers.database import Connection, Duplicate

FIRST_UID = 6_200_000_000


@pytest.fixture
def connection(stack: PrivateStack) -> Connection:
    databases = stack.configuration().databases
    return Connection(databases.master[0], databases.accounts.workers, databases)


def user(uid: int) -> bytes:
    return b"INSERT INTO user_state (uid, version, points, updated_at) VALUES (%d, 1, 0, 0)" % uid


def users_in(stack: PrivateStack, *uids: int) -> int:
    """As another connection sees them: committed."""
    numbers = ",".join(map(str, uids))
    return int(stack.master.execute(f"SELECT COUNT(*) FROM user_state WHERE uid IN ({numbers})", "tasksys_user")[0][0])


def test_a_commit_behind_a_statement_that_failed_is_not_executed(stack: PrivateStack, connection: Connection) -> None:
    uid = FIRST_UID + 1

    with pytest.raises(Duplicate):
        connection.execute_all([b"BEGIN", user(uid), user(uid), user(uid + 1), b"COMMIT"])
    connection.execute("ROLLBACK")

    assert users_in(stack, uid, uid + 1) == 0
    connection.close()


def test_statements_that_do_not_fit_into_one_packet_are_all_executed_in_order(
    stack: PrivateStack, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "PACKET_BYTES", 100)
    uids = range(FIRST_UID + 10, FIRST_UID + 15)

    connection.execute_all([b"BEGIN", *(user(uid) for uid in uids), b"DELETE FROM user_state WHERE uid = %d" % uids[0], b"COMMIT"])

    assert users_in(stack, *uids) == len(uids) - 1
    connection.close()
