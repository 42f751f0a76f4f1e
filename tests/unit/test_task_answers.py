"""What is kept of answers says the same as an answer that is made anew."""

from __future__ import annotations

import json
from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from apps.tasks.api import task_answers
from apps.tasks.api.task_answers import encode_shown_tasks, encode_tasks
from apps.tasks.config.documents import Text
from apps.tasks.evaluation.decisions import Decision
from apps.tasks.evaluation.evaluator import Decided, Profile, decide_all
from tests.unit.evaluating import NOW, bundle, decisions, record, snapshot, task
from tests.unit.many_tasks import BUNDLE, MOMENTS, attributes, records
from workers.protocol import TaskRecord


def anew(found: list[Decision], with_values: bool, language: str) -> bytes:
    """Each as a whole, of which nothing was kept."""
    for each in found:
        each.task.words.clear()
    wholes = [task_answers._whole(each, with_values, language) for each in found]
    return b"[" + b",".join(whole.removeprefix(b",") for whole in wholes) + b"]"


def decided(uid: int, values: dict[str, object], done: list[TaskRecord], now: datetime) -> Decided:
    return decide_all(BUNDLE, Profile(uid, values), snapshot(*done, uid=uid), now, {})


def evaluated(uid: int, values: dict[str, object], done: list[TaskRecord], now: datetime) -> list[Decision]:
    return decided(uid, values, done, now).by_code()


@settings(deadline=None)
@given(st.data())
def test_an_answer_out_of_kept_pieces_is_the_same_to_the_byte(data: st.DataObject) -> None:
    uid, values = data.draw(st.integers(40, 50)), data.draw(attributes())
    done = data.draw(records(evaluated(uid, values, [], data.draw(MOMENTS))))
    with_values, language = data.draw(st.booleans()), data.draw(st.sampled_from(["en", "zh-hans"]))
    found = evaluated(uid, values, done, data.draw(MOMENTS))

    once, again = (b"".join(encode_tasks(found, with_values, language)) for _time in range(2))

    assert once == again == anew(found, with_values, language)
    assert [each["code"] for each in json.loads(once)] == [each.task.code for each in found]


@settings(deadline=None)
@given(st.data())
def test_what_is_shown_out_of_shared_pieces_is_the_same_to_the_byte(data: st.DataObject) -> None:
    uid, values = data.draw(st.integers(40, 50)), data.draw(attributes())
    done = data.draw(records(evaluated(uid, values, [], data.draw(MOMENTS))))
    with_values, language = data.draw(st.booleans()), data.draw(st.sampled_from(["en", "zh-hans"]))
    found = decided(uid, values, done, data.draw(MOMENTS))

    once, again = (b"".join(encode_shown_tasks(found, with_values, language)) for _time in range(2))

    shown = [each for each in found.by_weight() if each.status != "unavailable" or each.still_claimable]
    assert once == again == anew(shown, with_values, language)


def test_nobody_gets_the_moments_of_another_who_has_done_as_much() -> None:
    live = bundle(task("claimed", target=2))
    answers = []
    for completed_at in (None, 1, 2):
        of = record(1, "once", 2, "completed", completed_at=completed_at, claimed_at=completed_at)
        found = decide_all(live, Profile(42), snapshot(of), NOW)
        answers.append(json.loads(b"".join(encode_shown_tasks(found, False, "en")))[0])
        assert json.loads(b"".join(encode_tasks(found.by_code(), False, "en"))) == answers[-1:]

    assert [each["completed_at"] for each in answers] == [None, "1970-01-01T00:00:00.001000Z", "1970-01-01T00:00:00.002000Z"]
    assert [each["claimed_at"] for each in answers] == [each["completed_at"] for each in answers]


def test_texts_may_hold_whatever_a_form_is_cut_at() -> None:
    name = "100 %, %b and %d; \x00 and \\u0000"
    live = bundle(task("odd", target=3, texts={"en": Text(name=name)}))

    for progress in (0, 1, 200):
        (only,) = json.loads(b"".join(encode_tasks(decisions(live, record(1, "once", progress)).values(), False, "en")))
        assert (only["name"], only["progress"]) == (name, progress)


def test_no_task_is_an_empty_list() -> None:
    assert b"".join(encode_tasks([], False, "en")) == b"[]"
    assert json.loads(b"".join(encode_tasks(decisions(bundle(task()), now=NOW).values(), False, "en")))[0]["code"] == "invite"
