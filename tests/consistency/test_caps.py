"""A cap is kept to the last completion, by all users together, over both DBSvrs; also while one of their workers is killed."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from deploy.local.private_stack import SECOND_HALF, PrivateStack
from tests.stack.pairs import PAIR
from tests.stack.segments import wait_until_balanced
from tests.stack.task_client import TaskClient, change, new_event_id
from tests.stack.waiting import eventually
from workers.protocol import DBSvrError, WriteAnswer, decode_write_answer

MakeStack = Callable[..., PrivateStack]
CAP = 3
STEP = change(task=9, op="complete", target=1, points=10, caps={"total": CAP, "2026-11-30": 100, "points": 1_000}, revision=2)


def users_of(instance: str, first: int, count: int) -> range:
    return range(first, first + count) if instance == "a" else range(SECOND_HALF + first, SECOND_HALF + first + count)


def ask_at_once(stack: PrivateStack, first: int, count: int) -> list[WriteAnswer]:
    """Half of the users at each of the two, which all stand in its queue before one of them is answered."""
    together = threading.Barrier(2)

    def ask(instance: str) -> list[WriteAnswer]:
        pipe = stack.client(30.0, instance).pipeline(transaction=False)
        for uid in users_of(instance, first, count // 2):
            pipe.execute_command("TASK.FINISH", uid, "node-1", new_event_id(), json.dumps([STEP]))
        together.wait()
        return [decode_write_answer(answer) for answer in pipe.execute()]

    with ThreadPoolExecutor(2) as pool:
        return [answer for answers in pool.map(ask, stack.dbsvrs) for answer in answers]


def completions(stack: PrivateStack) -> list[int]:
    """By the records, by the quota, and by the grants."""
    counts = (
        "SELECT COUNT(*) FROM user_task WHERE task_id = 9 AND state > 0",
        "SELECT COALESCE(SUM(used), 0) FROM task_quota WHERE task_id = 9 AND period_key = 'total'",
        "SELECT COALESCE(SUM(used), 0) DIV 10 FROM task_quota WHERE task_id = 9 AND period_key = 'points'",
        "SELECT COUNT(*) FROM grant_outbox WHERE task_id = 9 AND points = 10",
    )
    return [int(stack.master.execute(count, "tasksys_user")[0][0]) for count in counts]


@pytest.mark.parametrize("broken", ["", "WithoutQuotaLock"])
def test_of_300_users_at_once_over_both_dbsvrs_exactly_as_many_complete_as_the_cap_allows(make_stack: MakeStack, broken: str) -> None:
    stack = make_stack(double=broken, **PAIR)
    wait_until_balanced(stack)

    answers = ask_at_once(stack, first=1_000, count=300)

    completed = [answer for answer in answers if answer.results[0].completed_now]
    if broken:
        assert len(completed) > CAP
        return
    assert len(completed) == CAP
    assert {answer.results[0].about for answer in answers if answer not in completed} == {"total"}
    assert completions(stack) == [CAP] * 4
    assert sum(stack.stats(name)["writes"]["capped"] for name in stack.dbsvrs) == 300 - CAP

    # Then one worker is killed in the midst of it, and everybody asks until he is answered.
    stack.master.execute("UPDATE task_quota SET used = 0", "tasksys_user")
    asked = threading.Semaphore(0)

    def ask_until_answered(place: int) -> WriteAnswer:
        instance = ("a", "b")[place % 2]
        client, event_id = TaskClient(stack, timeout_s=10.0, instance=instance), new_event_id()
        answers: list[WriteAnswer] = []

        def is_answered() -> bool:
            asked.release()
            try:
                answers.append(client.finish(users_of(instance, 5_000, 1_000)[place], event_id, [STEP]))
            except DBSvrError as error:
                if not error.retryable:
                    raise
            return bool(answers)

        eventually(is_answered, within_s=60)
        client.close()
        return answers[0]

    with ThreadPoolExecutor(60) as pool:
        waiting = [pool.submit(ask_until_answered, place) for place in range(60)]
        for _ in range(5):
            asked.acquire()
        stack.master_worker.kill()
        stack.master_worker.start()
        later = [each.result() for each in waiting]

    assert sum(answer.results[0].completed_now for answer in later) == CAP
    assert completions(stack)[0] == 2 * CAP
    assert completions(stack)[1] == CAP
