"""What users did, and many users at once: events, the steps of one task, and batches with a result for each item."""

from __future__ import annotations

from typing import ClassVar

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema

from apps.tasks.api import answers, bodies, event_answers, event_descriptions, reading
from apps.tasks.api.endpoint import ApiRequest, ApiView
from apps.tasks.api.event_answers import BatchAnswer, ItemAnswer, problem_answer
from apps.tasks.api.languages import speak
from apps.tasks.api.problems import Problem
from apps.tasks.api.task_answers import Pieces
from apps.tasks.api.views import encode_wanted
from apps.tasks.evaluation.events import Event
from apps.tasks.scopes import READ, WRITE
from apps.tasks.services.batches import record_events
from apps.tasks.services.errors import BadMoment
from apps.tasks.services.events import Told, record_event
from apps.tasks.services.reading import decisions_of_users
from apps.tasks.services.steps import Taken, accept_task, claim_reward, complete_task, revert_progress
from apps.tasks.services.telling import Telling, told_now
from workers.protocol import DBSvrError


class EventsView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": WRITE}
    asks_django: ClassVar[bool] = False

    @extend_schema(**event_descriptions.RECORD_EVENT)
    def post(self, request: ApiRequest, uid: str) -> HttpResponse:
        user = reading.read_uid(uid)
        body = reading.read_body(request, bodies.EventBody)
        event_id = reading.read_event_id(body.event_id, "#/event_id")
        told = record_event(user, event_id, Event(body.type, body.value, body.attributes), body.at, body.profile)
        return answers.answer(event_answers.event_answer(told))


class CompleteTaskView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": WRITE}
    asks_django: ClassVar[bool] = False

    @extend_schema(**event_descriptions.COMPLETE_TASK)
    def post(self, request: ApiRequest, uid: str, code: str) -> HttpResponse:
        user = reading.read_uid(uid)
        body = reading.read_body(request, bodies.StepBody)
        event_id = reading.read_event_id(body.event_id, "#/event_id")
        return _answer(user, event_id, complete_task(user, code, event_id, body.at, body.attributes))


class AcceptTaskView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": WRITE}
    asks_django: ClassVar[bool] = False

    @extend_schema(**event_descriptions.ACCEPT_TASK)
    def post(self, request: ApiRequest, uid: str, code: str) -> HttpResponse:
        user = reading.read_uid(uid)
        body = reading.read_body(request, bodies.StepBody)
        event_id = reading.read_event_id(body.event_id, "#/event_id")
        return _answer(user, event_id, accept_task(user, code, event_id, body.at, body.attributes))


class ClaimRewardView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": WRITE}
    asks_django: ClassVar[bool] = False

    @extend_schema(**event_descriptions.CLAIM_REWARD)
    def post(self, request: ApiRequest, uid: str, code: str) -> HttpResponse:
        user = reading.read_uid(uid)
        body = reading.read_body(request, bodies.ClaimBody)
        event_id = reading.read_event_id(body.event_id, "#/event_id")
        period = reading.read_period(body.period)
        return _answer(user, event_id, claim_reward(user, code, event_id, body.at, body.attributes, period))


class RevertProgressView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": WRITE}
    asks_django: ClassVar[bool] = False

    @extend_schema(**event_descriptions.REVERT_PROGRESS)
    def post(self, request: ApiRequest, uid: str, code: str) -> HttpResponse:
        user = reading.read_uid(uid)
        body = reading.read_body(request, bodies.RevertBody)
        event_id = reading.read_event_id(body.event_id, "#/event_id")
        period = reading.read_period(body.period)
        taken = revert_progress(user, code, event_id, body.at, body.attributes, body.value, body.member, period)
        return _answer(user, event_id, taken)


class EventsBatchView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": WRITE}
    asks_django: ClassVar[bool] = False

    @extend_schema(**event_descriptions.RECORD_EVENTS)
    def post(self, request: ApiRequest) -> HttpResponse:
        body = reading.read_items(request, bodies.EventsBody)
        found: list[ItemAnswer | None] = [None] * len(body.items)
        tellings: dict[int, Telling] = {}
        for place, item in enumerate(body.items):
            try:
                tellings[place] = _read_telling(item)
            except (Problem, BadMoment) as error:
                found[place] = problem_answer(error, place, is_write=True)
        for place, outcome in zip(tellings, record_events(list(tellings.values())), strict=True):
            if isinstance(outcome, Told):
                found[place] = ItemAnswer(result=event_answers.event_answer(outcome))
            else:
                found[place] = problem_answer(outcome, place, is_write=True)
        return answers.answer(BatchAnswer([each for each in found if each is not None]))


class UsersBatchView(ApiView):
    scopes: ClassVar[dict[str, str]] = {"POST": READ}
    asks_django: ClassVar[bool] = False

    @extend_schema(**event_descriptions.GET_USERS)
    def post(self, request: ApiRequest) -> HttpResponse:
        body = reading.read_items(request, bodies.UsersBody)
        query = reading.read_query(request)
        wanted = reading.read_states(query)
        language = reading.read_language(query)
        with_values = reading.read_reasons(query)
        found: list[ItemAnswer | None] = [None] * len(body.items)
        uids: dict[int, int] = {}
        for place, item in enumerate(body.items):
            try:
                uids[place] = reading.read_uid_of(item)
            except Problem as problem:
                found[place] = problem_answer(problem, place, is_write=False)
        outcomes = decisions_of_users([(uid, body.items[place].attributes) for place, uid in uids.items()])
        if language is not None:
            speak(request, language)
        tasks: list[Pieces] = []
        for place, outcome in zip(uids, outcomes, strict=True):
            if isinstance(outcome, DBSvrError):
                found[place] = problem_answer(outcome, place, is_write=False)
                continue
            snapshot, decided = outcome
            tasks.append(encode_wanted(decided, wanted, with_values, request.LANGUAGE_CODE))
            found[place] = ItemAnswer(result=answers.user_tasks(snapshot))
        return answers.answer(BatchAnswer([each for each in found if each is not None]), tasks)


def _read_telling(item: bodies.EventItem) -> Telling:
    uid = reading.read_uid_of(item)
    event_id = reading.read_event_id(item.event_id, "#/event_id")
    return told_now(uid, event_id, Event(item.type, item.value, item.attributes), item.at, item.profile)


def _answer(uid: int, event_id: str, taken: Taken) -> HttpResponse:
    return answers.answer(event_answers.step_answer(uid, event_id, taken))
