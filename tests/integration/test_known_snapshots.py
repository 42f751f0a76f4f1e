"""Snapshots out of what a worker knows, beside those that a real master shows: the same, to the byte."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.task_client import TaskClient
from workers import store
from workers.database import Connection
from workers.known_snapshots import KnownSnapshots

FIRST_UID = 6_300_000_000


class CountingConnection(Connection):
    """How often it has been asked for whole users."""

    wholes = 0
    statements = 0

    def query(self, sql: str) -> tuple[tuple[bytes | None, ...], ...]:
        self.statements += 1
        self.wholes += "user_task" in sql
        return super().query(sql)


@pytest.fixture
def connection(stack: PrivateStack) -> Iterator[CountingConnection]:
    databases = stack.configuration().databases
    connection = CountingConnection(databases.master[0], databases.accounts.workers, databases)
    yield connection
    connection.close()


@pytest.fixture
def client(stack: PrivateStack) -> TaskClient:
    return TaskClient(stack)


def read(connection: Connection, known: KnownSnapshots, *uids: int) -> dict[int, bytes]:
    return store.read_snapshots(connection, "a", uids, known)[2]


def as_they_are(connection: Connection, *uids: int) -> dict[int, bytes]:
    return read(connection, KnownSnapshots(), *uids)


def test_known_users_are_answered_without_reading_them_whole(client: TaskClient, connection: CountingConnection) -> None:
    uids = range(FIRST_UID, FIRST_UID + 3)
    for uid in uids[:2]:
        client.finish(uid)
    known = KnownSnapshots()
    first = read(connection, known, *uids)
    wholes = connection.wholes

    again = read(connection, known, *uids)

    assert again == first == as_they_are(connection, *uids)
    assert b'"version":0' in again[uids[2]], "an unknown user is known to be unknown"
    assert connection.wholes == wholes + 1, "for as_they_are alone"


@pytest.mark.parametrize("change", ["written", "cleared", "begun"])
def test_who_has_changed_is_read_anew_and_he_alone(client: TaskClient, connection: CountingConnection, change: str) -> None:
    uid = FIRST_UID + {"written": 10, "cleared": 20, "begun": 30}[change]
    client.finish(uid + 1)
    if change != "begun":
        client.finish(uid)
    known = KnownSnapshots()
    before = read(connection, known, uid, uid + 1)

    if change == "cleared":
        client.clear(uid)
    else:
        client.finish(uid)
    after = read(connection, known, uid, uid + 1)

    assert after == as_they_are(connection, uid, uid + 1)
    assert after[uid] != before[uid]
    assert after[uid + 1] == before[uid + 1]
    assert read(connection, known, uid, uid + 1) == after


def test_where_few_are_known_no_statement_is_spent_on_asking_for_versions(connection: CountingConnection) -> None:
    uid = FIRST_UID + 40
    known = KnownSnapshots()
    read(connection, known, uid)
    connection.statements = 0

    read(connection, known, uid, uid + 1, uid + 2)

    assert connection.statements == 1


def test_of_many_known_users_only_those_who_have_changed_are_read_whole(client: TaskClient, connection: CountingConnection) -> None:
    uids = range(FIRST_UID + 100, FIRST_UID + 130)
    known = KnownSnapshots()
    before = read(connection, known, *uids)
    client.finish(uids[3])
    connection.statements = connection.wholes = 0

    after = read(connection, known, *uids)

    assert (connection.statements, connection.wholes) == (2, 1)
    assert {uid for uid in uids if after[uid] != before[uid]} == {uids[3]}
    assert after == as_they_are(connection, *uids)


def test_tick_and_generation_are_of_the_reading_not_of_what_is_known(
    stack: PrivateStack, client: TaskClient, connection: CountingConnection
) -> None:
    uid = FIRST_UID + 50
    known = KnownSnapshots()
    client.finish(uid)
    generation, tick, _ = store.read_snapshots(connection, "a", [uid], known)

    client.finish(uid + 1)
    again, later, _ = store.read_snapshots(connection, "a", [uid], known)

    assert again == generation
    assert later > tick


def test_in_another_generation_nothing_that_is_known_is_believed(stack: PrivateStack, connection: CountingConnection) -> None:
    """Two timelines may have the same version of a user, and different records."""
    uid = FIRST_UID + 60
    known = KnownSnapshots()
    generation, _, _ = store.read_snapshots(connection, "a", [uid], known)
    known.keep(generation - 1, {uid: (b"0", b"of before")}, 0.0)

    assert read(connection, known, uid) == as_they_are(connection, uid)


def test_a_database_without_a_row_of_the_instance_shows_nothing(connection: CountingConnection) -> None:
    known = KnownSnapshots()

    for _ in range(2):
        assert store.read_snapshots(connection, "nobody", [FIRST_UID], known) == (0, 0, {})
