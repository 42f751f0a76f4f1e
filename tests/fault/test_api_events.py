"""Events through the whole product, two logic nodes over two DBSvrs, while one of these is killed: incidents "Tasks and API"."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.stack.api_stack import ApiStack, PairApiStack
from tests.stack.leftovers import assert_nothing_is_left
from tests.stack.pairs import PAIR, kill
from tests.stack.segments import OF_A
from tests.stack.waiting import eventually

pytestmark = pytest.mark.long


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiStack]:
    made = PairApiStack(tmp_path_factory.mktemp("api"), settings={key: value for key, value in PAIR.items() if key != "instances"})
    made.start()
    yield made
    made.stop()
    assert_nothing_is_left(made)


def tell(stack: ApiStack, node: int, uid: int, event_id: str, type_: str = "friend-invited") -> dict[str, Any]:
    """As a logic server does: sent again, with the same event id, for as long as the answer says that this may help."""
    address = f"http://{stack.addresses[node % 2]}/api/v1/users/{uid}/events"
    until = time.monotonic() + 60
    with httpx.Client(headers={"Authorization": f"Api-Key {stack.key}"}, timeout=15) as client:
        while True:
            answer = client.post(address, json={"event_id": event_id, "type": type_})
            body: dict[str, Any] = answer.json()
            if answer.status_code == 200 or time.monotonic() > until:
                assert answer.status_code == 200, body
                return body
            assert body["retryable"], body
            time.sleep(float(answer.headers.get("Retry-After", "0")) / 4)


def test_fifty_identical_events_over_both_dbsvrs_while_one_is_killed_count_once_with_fifty_equal_answers(stack: ApiStack) -> None:
    eventually(lambda: tell(stack, 0, OF_A, "warm")["applied"], within_s=30)
    begun = threading.Event()

    def send(number: int) -> dict[str, Any]:
        if number == 10:
            begun.set()
        return tell(stack, number, OF_A, "the-event")

    with ThreadPoolExecutor(10) as pool:
        answers = pool.map(send, range(50))
        assert begun.wait(30)
        kill(stack, "a")
        told = list(answers)

    outcome = {(body["version"], str(body["tasks"])) for body in told}
    assert outcome == {(2, str(told[0]["tasks"]))}
    assert [task["progress"] for task in told[0]["tasks"]] == [2]
    assert sum(body["applied"] for body in told) <= 1, "the one that was applied may have lost its answer with the DBSvr"
    counted = "SELECT COUNT(*) FROM applied_event WHERE uid = %s AND event_id = 'the-event'"
    assert stack.master.execute(counted, "tasksys_user", (OF_A,)) == [(1,)]
