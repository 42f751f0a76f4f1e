"""A client of the pair as a logic node is one: DbInterface, with the manners of TaskClient."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apps.dbsvr.db_interface import DbInterface
from deploy.local.private_stack import PrivateStack
from tests.stack.task_client import NODE, new_event_id
from workers.protocol import Change, DBSvrError, Snapshot, WriteAnswer

CHANGES = [Change(task=1, period="once", op="add", value=1)]


class PairClient:
    def __init__(self, stack: PrivateStack, timeout_s: float = 5.0, ports: Mapping[str, int] | None = None) -> None:
        """`ports`: of the DBSvrs that this client reaches by other ways, or not at all."""
        dbsvr = stack.configuration().dbsvr
        instances = {
            name: instance.model_copy(update={"port": (ports or {}).get(name, instance.port)}) for name, instance in dbsvr.instances.items()
        }
        self.interface = DbInterface(dbsvr.model_copy(update={"instances": instances}), round(1000 * timeout_s))

    def ask(self, command: str, node: str, *uids: int) -> list[Snapshot | DBSvrError]:
        assert command == "TASK.MGET"
        return self.interface.get_many(uids, node)

    def get(self, uid: int) -> Snapshot:
        return self.interface.get(uid, NODE)

    def get_many(self, uids: list[int]) -> list[Snapshot | DBSvrError]:
        return self.interface.get_many(uids, NODE)

    def finish(self, uid: int, event_id: str | None = None, changes: Any = None) -> WriteAnswer:
        return self.interface.finish(uid, NODE, event_id or new_event_id(), changes or CHANGES)

    def clear(self, uid: int, event_id: str | None = None) -> WriteAnswer:
        return self.interface.clear(uid, NODE, event_id or new_event_id())

    def close(self) -> None:
        self.interface.close()
