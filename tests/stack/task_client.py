"""A plain client of a DBSvr's wire, as a test speaks it: one connection, no repeats, typed answers."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from typing import Any

import redis

from deploy.local.private_stack import PrivateStack
from workers.protocol import MasterDown, Snapshot, WriteAnswer, decode_snapshot, decode_write_answer, error_from_wire

NODE = "node-1"


def change(task: int = 1, op: str = "add", value: int = 1, period: str = "once", **more: Any) -> dict[str, Any]:
    return {"task": task, "period": period, "op": op, "value": value, **more}


def new_event_id() -> str:
    return uuid.uuid4().hex


class TaskClient:
    """Raises the errors of workers.protocol for error answers, and redis-py's own for a broken connection."""

    def __init__(self, stack: PrivateStack, timeout_s: float = 5.0, instance: str | None = None) -> None:
        self.redis = stack.client(timeout_s, instance)

    def ask(self, *words: Any) -> Any:
        try:
            return self.redis.execute_command(*words)
        except redis.exceptions.MasterDownError as error:
            raise MasterDown(str(error)) from error  # redis-py knows this code, and takes it off the sentence
        except redis.ResponseError as error:
            raise error_from_wire(str(error)) from error

    def get(self, uid: int) -> Snapshot:
        return decode_snapshot(self.ask("TASK.GET", uid, NODE))

    def get_many(self, uids: Sequence[int]) -> list[Snapshot]:
        return [decode_snapshot(body) for body in self.ask("TASK.MGET", NODE, *uids)]

    def finish(self, uid: int, event_id: str | None = None, changes: Sequence[dict[str, Any]] | None = None) -> WriteAnswer:
        body = json.dumps(list(changes) if changes is not None else [change()])
        return decode_write_answer(self.ask("TASK.FINISH", uid, NODE, event_id or new_event_id(), body))

    def clear(self, uid: int, event_id: str | None = None) -> WriteAnswer:
        return decode_write_answer(self.ask("TASK.CLEAR", uid, NODE, event_id or new_event_id()))

    def stats(self) -> dict[str, Any]:
        return json.loads(self.ask("TASK.STATS"))  # type: ignore[no-any-return]

    def explain(self, uid: int) -> dict[str, Any]:
        return json.loads(self.ask("TASK.EXPLAIN", uid))  # type: ignore[no-any-return]

    def close(self) -> None:
        self.redis.close()
