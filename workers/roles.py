"""The two roles of a database, and what each asks of an endpoint.

Leans on `database` for whether a server is fit, on `endpoints` for the choice, on `store` for what a master's rows say.
"""

from __future__ import annotations

from collections.abc import Callable

from tasksys_site.configuration import ConfigurationError, Databases
from workers import store
from workers.database import Connection, DatabaseGone, DatabaseUnfit, NoRoom, StatementRefused, TryAgain, master_faults, replica_faults
from workers.endpoints import Look, choose_master, choose_replica, is_former_master, second_master, should_move
from workers.messages import Welcome
from workers.probes import Probes
from workers.timelines import Known

LOOK_ERRORS = (DatabaseGone, DatabaseUnfit, StatementRefused, NoRoom, TryAgain, ConfigurationError)


class ReplicaRole:
    """The first endpoint that answers and is read-only."""

    def __init__(self, name: str, databases: Databases) -> None:
        self._name = name
        self._databases = databases

    def open(self, endpoint: str) -> Connection:
        return _open(endpoint, self._name, self._databases, replica_faults)

    def look_at(self, endpoint: str) -> Look:
        try:
            self.open(endpoint).close()
        except LOOK_ERRORS as error:
            return Look(endpoint, (str(error),))
        return Look(endpoint)

    def choose(self, looks: list[Look], welcome: Welcome) -> Look | None:
        return choose_replica(looks)

    def complain(self, looks: list[Look], welcome: Welcome) -> str:
        return _faults(looks)

    def better(self, current: Look, probes: Probes) -> str | None:
        return should_move(current, probes.endpoints, probes.standings, is_master=False)

    def warn(self, current: Look, probes: Probes) -> str:
        return ""


class MasterRole:
    """The endpoint of the newest timeline that takes writes; never a former master that has come back."""

    def __init__(self, instance: str, databases: Databases) -> None:
        self._instance = instance
        self._databases = databases

    def open(self, endpoint: str) -> Connection:
        return _open(endpoint, "master", self._databases, master_faults)

    def look_at(self, endpoint: str) -> Look:
        try:
            connection = self.open(endpoint)
            try:
                found = store.find_instance(connection, self._instance)
                server_id = found.server_id if found is not None else store.server_id(connection)
            finally:
                connection.close()
        except LOOK_ERRORS as error:
            return Look(endpoint, (str(error),))
        return Look(endpoint, (), server_id, found)

    def choose(self, looks: list[Look], welcome: Welcome) -> Look | None:
        return choose_master(looks, known(welcome))

    def complain(self, looks: list[Look], welcome: Welcome) -> str:
        former = [look for look in looks if look.is_fit and is_former_master(look, known(welcome))]
        return "; ".join(filter(None, [_faults(looks), *(_former_master(look, welcome) for look in former)]))

    def better(self, current: Look, probes: Probes) -> str | None:
        return should_move(current, probes.endpoints, probes.standings, is_master=True)

    def warn(self, current: Look, probes: Probes) -> str:
        second = second_master(current, probes.standings.values())
        if second is None:
            return ""
        return f"two writable masters: {second.endpoint} takes writes too (server_id {second.server_id}), we write to {current.endpoint}"


def known(welcome: Welcome) -> Known:
    """What the front knows to be committed."""
    return Known(welcome.generation, welcome.newest_tick, welcome.server_id)


def _open(endpoint: str, role: str, databases: Databases, faults: Callable[[Connection], list[str]]) -> Connection:
    connection = Connection(endpoint, databases.accounts.workers, databases)
    try:
        found = faults(connection)
        if found:
            raise DatabaseUnfit(f"{endpoint} must not be used as {role}: {'; '.join(found)}")
    except BaseException:
        connection.close()
        raise
    return connection


def _faults(looks: list[Look]) -> str:
    return "; ".join(fault for look in looks for fault in look.faults)


def _former_master(look: Look, welcome: Welcome) -> str:
    generation = look.found.generation if look.found is not None else 0
    return (
        f"{look.endpoint} is a former master, of generation {generation} while we have seen {welcome.generation}: rebuild it as a replica,"
        f" or give up what it lacks with `python -m workers adopt {look.endpoint}`"
    )
