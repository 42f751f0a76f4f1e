"""Incidents inside a batch: one bad request among many, locks, large users, large events, large numbers."""

from __future__ import annotations

import json
from collections.abc import Callable

from deploy.local.private_stack import PrivateStack
from tests.stack.asking import Asked
from tests.stack.task_client import change
from tests.stack.waiting import eventually

MakeStack = Callable[..., PrivateStack]


def test_one_poisonous_request_in_a_batch_fails_alone(make_stack: MakeStack) -> None:
    """A trigger stands for whatever the database may dislike about one row."""
    stack = make_stack(deadline_ms=30_000)
    stack.master.execute(
        "CREATE TRIGGER poison BEFORE INSERT ON user_state FOR EACH ROW"
        " IF NEW.uid = 666 THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'poison'; END IF",
        "tasksys_user",
    )
    stack.master_worker.freeze()
    uids = [*range(1, 61), 666, *range(61, 121)]
    writes = [Asked(stack, "TASK.FINISH", uid, "node-1", "e1", json.dumps([change()])) for uid in uids]
    eventually(lambda: (stats := stack.stats()) and stats["queues"]["finish"]["depth"] == len(uids))
    stack.master_worker.thaw()

    answers = {uid: write.answer for uid, write in zip(uids, writes, strict=True)}
    assert "poison" in str(answers.pop(666))
    assert all(answer["applied"] for answer in answers.values())
