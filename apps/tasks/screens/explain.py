"""Explain: what one user sees at one moment, and why: on what is live, on a draft, or on an older revision. The API's evaluator answers.

The user's progress is read as it is now. When the DBSvr does not answer, the page says so and leaves open what depends on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_safe

from apps.cachesync.task_interface import task_interface
from apps.tasks.config import written
from apps.tasks.config.documents import TASK
from apps.tasks.evaluation.bundle import Bundle
from apps.tasks.evaluation.decisions import Decision, decide
from apps.tasks.evaluation.explanation import Explanation, explain_task
from apps.tasks.evaluation.reasons import EXCLUSIVE_GROUP, PREREQUISITE, SEQUENCE, UNAVAILABLE
from apps.tasks.evaluation.standing import User
from apps.tasks.models import Draft, Revision
from apps.tasks.models.drafts import OPEN_STATES
from apps.tasks.profiles import profile_of
from apps.tasks.screens.change_sentences import address_of
from apps.tasks.screens.explain_form import Asked, read_question
from apps.tasks.screens.explain_sources import CannotBeExplained, load_source, source_asked_for
from apps.tasks.screens.explain_words import STATUS_WORDS, Said, say_checks
from apps.tasks.screens.frame import EXPLAIN, screen, show
from apps.tasks.screens.workplace import editor_of
from workers.protocol import DBSvrError, Snapshot

MOST_TASKS = 200
"""On one page; a code asks for one of them."""
MOST_DRAFTS = 100
REASONS_OF_RECORDS = (PREREQUISITE, SEQUENCE, EXCLUSIVE_GROUP)
SEES, SEES_ALL_THE_SAME, SEES_NOT, CANNOT_SAY = "sees", "all_the_same", "not", "cannot_say"


@dataclass(frozen=True, slots=True)
class Answer:
    """One task. `verdict`: whether the user sees it; CANNOT_SAY when only what he has done decides, and that is not known."""

    explanation: Explanation
    checks: list[Said]
    verdict: str
    failing: int
    """How many checks stand against it."""
    address: str

    @property
    def code(self) -> str:
        return self.explanation.decision.task.code

    @property
    def bucket(self) -> str:
        return written.number(self.explanation.bucket)

    @property
    def progress(self) -> str:
        return written.number(self.explanation.decision.progress)

    @property
    def target(self) -> str:
        return written.number(self.explanation.decision.target)

    @property
    def status_word(self) -> str:
        return _(STATUS_WORDS[self.explanation.decision.status])


@require_safe
@screen(EXPLAIN)
def explain_user(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    source = source_asked_for(request)
    bundle, trouble = None, ""
    try:
        bundle = load_source(source)
    except CannotBeExplained as error:
        trouble = str(error)
    asked = read_question(request.GET, bundle, now)
    context: dict[str, Any] = {}
    if bundle is not None and asked.is_complete:
        if asked.code and asked.code not in bundle.by_code:
            asked.faults["task"] = _("There is no task with this code there.")
        else:
            context = _answers(asked, bundle)
    return show(
        request,
        "explain.html",
        str(_("Explain a user")),
        asked=asked,
        source=source,
        trouble=trouble,
        live=Revision.objects.order_by("-number").values_list("number", flat=True).first(),
        drafts=[(f"draft-{draft.pk}", draft, editor_of(draft)) for draft in open_drafts()],
        revision_typed=str(source.number or "") if source.sort == "revision" else "",
        codes=[task.code for task in bundle.tasks[:500]] if bundle else [],
        time_zone=timezone.get_current_timezone_name(),
        moment_shown=_typed_moment(asked, now),
        **context,
    )


def _answers(asked: Asked, bundle: Bundle) -> dict[str, Any]:
    assert asked.uid is not None
    snapshot, away = snapshot_of(asked.uid)
    user = User(bundle, profile_of(asked.uid, asked.attributes, bundle), snapshot, asked.at, None)
    tasks = [bundle.by_code[asked.code]] if asked.code else list(bundle.tasks)
    answers = [answer_for(explain_task(task, user), knows_records=not away) for task in tasks[:MOST_TASKS]]
    return {
        "answers": answers,
        "not_shown": len(tasks) - len(answers),
        "headline": _headline(asked.uid, [verdict_of(decide(task, user), not away) for task in tasks]) if len(tasks) != 1 else "",
        "snapshot": snapshot,
        "away": away,
        "left_out": bundle.left_out,
        "is_travelling": not asked.is_now,
    }


def snapshot_of(uid: int) -> tuple[Snapshot, str]:
    """The user as he is, or an empty user and why nothing is known of him."""
    try:
        return task_interface().get(uid), ""
    except DBSvrError as error:
        return Snapshot(uid=uid, generation=0, version=0, points=0, tasks=[]), str(error) or type(error).__name__


def answer_for(explanation: Explanation, knows_records: bool) -> Answer:
    checks = say_checks(explanation, knows_records)
    decision = explanation.decision
    failing = sum(check.decides for check in checks)
    return Answer(explanation, checks, verdict_of(decision, knows_records), failing, address_of(TASK, decision.task.code))


def verdict_of(decision: Decision, knows_records: bool) -> str:
    """Without the user's records, a task that depends on what he has done is left open, unless something else stands against it."""
    against = [each for each in decision.reasons if knows_records or each.code not in REASONS_OF_RECORDS]
    if against:
        return SEES_NOT if decision.status == UNAVAILABLE else SEES_ALL_THE_SAME
    return SEES if knows_records or not decision.task.has_relations else CANNOT_SAY


def open_drafts() -> list[Draft]:
    return list(Draft.objects.filter(state__in=OPEN_STATES).select_related("editor").order_by("-changed_at")[:MOST_DRAFTS])


def _headline(uid: int, verdicts: list[str]) -> str:
    seen, unsaid, count = sum(each in (SEES, SEES_ALL_THE_SAME) for each in verdicts), verdicts.count(CANNOT_SAY), len(verdicts)
    places = {"uid": uid, "seen": seen, "count": count, "unsaid": unsaid}
    if unsaid:
        return _("User %(uid)d sees %(seen)d of %(count)d tasks; of %(unsaid)d it cannot be said.") % places
    return ngettext("User %(uid)d sees %(seen)d of %(count)d task.", "User %(uid)d sees %(seen)d of %(count)d tasks.", count) % places


def _typed_moment(asked: Asked, now: datetime) -> str:
    """For the field: empty for now, so that a page loaded again asks for the new now."""
    if asked.is_now or "at" in asked.faults:
        return asked.at_typed
    return timezone.localtime(asked.at).strftime("%Y-%m-%dT%H:%M:%S")


urlpatterns = [path("explain/", explain_user, name="tasks-explain")]
