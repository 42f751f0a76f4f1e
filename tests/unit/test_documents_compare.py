"""Documents that were read from different places are the same when they say the same, whichever way they are compared."""

from __future__ import annotations

from operator import eq, ne

import pytest

from apps.tasks.config.documents import ATTRIBUTE, EVENT, LIST, TASK, Attribute, Condition, EventType, Task, UserList, from_plain, to_plain

DOCUMENTS = {
    ATTRIBUTE: Attribute(name="level", type="number", default=5),
    EVENT: EventType(name="match", attributes={"mode": "text"}),
    LIST: UserList(name="testers", sha256="0" * 64, count=1),
    TASK: from_plain(TASK, {"code": "a", "starts_at": "2026-12-01T00:00:00Z"}),
}


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_document_is_the_same_after_it_was_written_and_read(kind: str) -> None:
    document = DOCUMENTS[kind]
    again = from_plain(kind, to_plain(document))

    assert again is not document
    assert eq(again, document)
    assert not ne(again, document)


def test_a_condition_on_true_is_another_one_than_a_condition_on_1() -> None:
    one, other = Condition(attribute="vip", operator="=", value=True), Condition(attribute="vip", operator="=", value=1)
    task = DOCUMENTS[TASK]
    assert isinstance(task, Task)

    assert ne(one, other)
    assert not eq(one, other)
    assert not ne(one, Condition(attribute="vip", operator="=", value=True))
