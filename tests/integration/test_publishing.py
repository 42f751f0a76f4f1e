"""From drafts to revisions on a real database: nobody's change is lost, nothing invalid goes live, and what was written stays."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import msgspec
import pytest

from apps.tasks.config.documents import Attribute, Condition, Prerequisite, Release, Task
from deploy.local.private_stack import PrivateStack
from tests.stack import published
from tests.stack.operators import approve, draft_with, operator, put
from tests.stack.published import publish_tasks, task, texts
from tests.stack.waiting import eventually

pytestmark = pytest.mark.usefixtures("django_on_stack")


@pytest.fixture
def wang() -> Any:
    return operator("wang")


@pytest.fixture
def li() -> Any:
    return operator("li")


def live(code: str) -> Task:
    from apps.tasks.publishing.live import live_configuration

    return live_configuration().tasks[code]


def changed(code: str, **fields: Any) -> Task:
    return msgspec.structs.replace(live(code), **fields)


def etag() -> str:
    from apps.tasks.models import Revision

    return str(Revision.objects.order_by("-number").values_list("etag", flat=True).first())


def publish(draft: Any, user: Any, **more: Any) -> Any:
    from apps.tasks.publishing import publish as publishing

    return publishing.publish(draft, draft.edition, user, "a reason", **more)


def bundle_of(revision: Any) -> dict[str, Any]:
    bundle: dict[str, Any] = msgspec.json.decode(gzip.decompress(revision.bundle))
    return bundle


def in_bundle(revision: Any, code: str) -> dict[str, Any] | None:
    return next((each for each in bundle_of(revision)["tasks"] if each["code"] == code), None)


# --- one draft


def test_a_draft_becomes_a_revision_with_everything_that_belongs_to_it(wang: Any, li: Any) -> None:
    from apps.tasks.models import AuditEntry, ChangeCounter, Revision
    from apps.tasks.models import Task as Row

    before = publish_tasks(task())
    new = task(texts=texts("Invite 3 friends"), target=3, conditions=((Condition(attribute="level", operator=">=", value=3),),))
    draft = approve(draft_with(wang, new, Attribute(name="level", type="number")), by=li)

    revision = publish(draft, wang)

    row = Row.objects.get(code=new.code)
    assert (revision.number, revision.published_by, revision.reviewer) == (before.number + 1, wang.username, li)
    assert ChangeCounter.objects.get(name="revision").value == revision.number
    assert (row.name, row.target, row.kind, row.revision) == ("Invite 3 friends", 3, "counter", revision.number)
    assert set(row.texts.values_list("language", "name")) == {("en", "Invite 3 friends"), ("zh-hans", "Invite 3 friends")}
    assert list(row.condition_rows.values_list("attribute", "operator", "value")) == [("level", ">=", 3)]
    found = in_bundle(revision, new.code)
    assert found is not None
    assert (found["number"], bundle_of(revision)["revision"]) == (row.id, revision.number)
    assert {(each["kind"], each["key"]) for each in Revision.objects.get(pk=revision.pk).changes} >= {("task", new.code)}
    (entry,) = AuditEntry.objects.filter(action="publish", revision=revision.number, key=new.code)
    assert (entry.who, entry.before, entry.after["target"], entry.note, entry.draft) == (wang.username, None, 3, "a reason", draft.pk)
    draft.refresh_from_db()
    assert draft.state == "published"


def test_a_task_keeps_its_number_whatever_becomes_of_it(wang: Any) -> None:
    one = task()
    publish_tasks(one)
    number = published.number_of(one.code)

    publish_tasks(task(), changed(one.code, points=77))
    publish_tasks(changed(one.code, archived=True))
    revision = publish_tasks(changed(one.code, archived=False))

    assert published.number_of(one.code) == number
    assert (in_bundle(revision, one.code) or {})["number"] == number


def test_nothing_goes_live_without_the_approval_of_this_very_edition(wang: Any) -> None:
    from apps.tasks.publishing.errors import NotApproved

    one = task()
    draft = draft_with(wang, one)
    with pytest.raises(NotApproved):
        publish(draft, wang)

    approve(draft)
    put(draft, wang, msgspec.structs.replace(one, points=999))

    with pytest.raises(NotApproved):
        publish(draft, wang)


def test_nobody_approves_what_he_has_changed_himself(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import review
    from apps.tasks.publishing.errors import OwnDraft

    draft = draft_with(wang, task())
    put(draft, li, task())
    review.ask(draft, draft.edition, wang)

    for author in (wang, li):
        with pytest.raises(OwnDraft):
            review.approve(draft, draft.edition, author)
    draft.refresh_from_db()
    assert draft.state == "in_review"


def test_who_has_seen_an_older_edition_is_told(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import drafts, review
    from apps.tasks.publishing.errors import Stale

    draft = draft_with(wang, task())
    seen = draft.edition
    put(draft, wang, task())

    with pytest.raises(Stale) as refused:
        drafts.save_document(draft, seen, "task", task(), li)
    assert refused.value.edition == draft.edition
    with pytest.raises(Stale):
        review.ask(draft, seen, wang)
    review.ask(draft, draft.edition, wang)
    with pytest.raises(Stale):
        review.approve(draft, seen, li)


def test_a_published_draft_is_closed(wang: Any) -> None:
    from apps.tasks.publishing.errors import NotOpen

    draft = approve(draft_with(wang, task()))
    publish(draft, wang)

    with pytest.raises(NotOpen):
        put(draft, wang, task())
    with pytest.raises(NotOpen):
        publish(draft, wang)


def test_what_makes_no_difference_makes_no_revision(wang: Any) -> None:
    from apps.tasks.publishing.errors import NothingToPublish

    one = task()
    mine = approve(draft_with(wang, one))
    publish_tasks(one)
    before = etag()

    with pytest.raises(NothingToPublish):
        publish(mine, wang)

    assert etag() == before


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MAX_BUNDLE_BYTES"])
def test_more_than_logic_nodes_can_be_handed_does_not_go_live(wang: Any, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    from apps.tasks.publishing.errors import TooLarge
    from apps.tasks.publishing.words import say_refusal

    before = etag()
    mine = approve(draft_with(wang, task()))

    with monkeypatch.context() as smaller:
        smaller.setattr(f"apps.tasks.publishing.revisions.{limit}", 100)
        with pytest.raises(TooLarge) as refused:
            publish(mine, wang)

    assert "Archive tasks" in say_refusal(refused.value)
    assert etag() == before
    publish(mine, wang)


def test_a_published_task_is_archived_and_never_removed(wang: Any) -> None:
    from apps.tasks.publishing import drafts
    from apps.tasks.publishing.errors import StaysTaken

    one = task()
    publish_tasks(one)
    draft = drafts.open_draft(wang)

    with pytest.raises(StaysTaken):
        drafts.remove_document(draft, draft.edition, "task", one.code, wang)

    revision = publish(approve(put(draft, wang, changed(one.code, archived=True))), wang)
    assert in_bundle(revision, one.code) is None
    assert live(one.code).archived


def test_putting_a_document_back_as_it_was_leaves_no_change(wang: Any) -> None:
    one = task()
    publish_tasks(one)
    draft = draft_with(wang, msgspec.structs.replace(one, points=11))
    assert draft.items.count() == 1

    put(draft, wang, one)

    assert draft.items.count() == 0


def test_an_import_is_in_the_audit_log_row_by_row(wang: Any) -> None:
    from apps.tasks.models import AuditEntry
    from apps.tasks.publishing import drafts

    tasks = [task() for _ in range(30)]
    draft = drafts.open_draft(wang)
    drafts.save_documents(draft, draft.edition, {("task", each.code): each for each in tasks}, wang, action="import")
    revision = publish(approve(draft), wang)

    for action, revision_number in (("import", None), ("publish", revision.number)):
        entries = AuditEntry.objects.filter(action=action, draft=draft.pk, revision=revision_number)
        assert {(entry.key, entry.who, entry.before) for entry in entries} == {(each.code, wang.username, None) for each in tasks}


# --- two operators from one base


def test_two_operators_who_change_different_fields_both_get_their_way(wang: Any, li: Any) -> None:
    one = task(points=10, weight=1)
    publish_tasks(one)
    wangs = approve(draft_with(wang, msgspec.structs.replace(one, points=20)))
    lis = approve(draft_with(li, msgspec.structs.replace(one, weight=2)))

    publish(wangs, wang)
    publish(lis, li)

    assert (live(one.code).points, live(one.code).weight) == (20, 2)


def test_the_second_publisher_of_the_same_field_sees_the_first_ones_change_and_decides(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import drafts
    from apps.tasks.publishing.errors import Conflicting

    one, other = task(points=10), task()
    publish_tasks(one, other)
    wangs = approve(draft_with(wang, msgspec.structs.replace(one, points=20)))
    lis = approve(draft_with(li, msgspec.structs.replace(one, points=30), msgspec.structs.replace(other, weight=5)))
    first = publish(wangs, wang)

    with pytest.raises(Conflicting) as refused:
        publish(lis, li)

    (conflict,) = refused.value.conflicts
    assert (conflict.key, conflict.path, conflict.base, conflict.mine, conflict.theirs) == (one.code, ("points",), 10, 30, 20)
    assert (conflict.revision, conflict.by) == (first.number, wang.username)
    assert live(one.code).points == 20, "nothing was overwritten"
    lis.refresh_from_db()
    assert lis.state == "approved"

    drafts.resolve(lis, "task", one.code, ("points",), "mine", li)
    assert (lis.state, lis.base_revision, drafts.conflicts_of(lis)) == ("editing", first.number, [])
    publish(approve(lis), li)

    assert (live(one.code).points, live(other.code).weight) == (30, 5)


def test_who_takes_theirs_keeps_his_other_changes(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import drafts

    one = task(points=10, weight=1)
    publish_tasks(one)
    lis = draft_with(li, msgspec.structs.replace(one, points=30, weight=9))
    publish(approve(draft_with(wang, msgspec.structs.replace(one, points=20, category="daily"))), wang)

    drafts.resolve(lis, "task", one.code, ("points",), "theirs", li)
    publish(approve(lis), li)

    now = live(one.code)
    assert (now.points, now.weight, now.category) == (20, 9, "daily")


def test_what_came_after_the_value_that_was_seen_is_a_conflict_anew(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import drafts

    one = task(points=10)
    publish_tasks(one)
    lis = draft_with(li, msgspec.structs.replace(one, points=30))
    seen = publish_tasks(msgspec.structs.replace(one, points=20)).number
    publish_tasks(msgspec.structs.replace(one, points=21))

    drafts.resolve(lis, "task", one.code, ("points",), "mine", li, seen=seen)

    (conflict,) = drafts.conflicts_of(lis)
    assert (conflict.base, conflict.mine, conflict.theirs) == (20, 30, 21)


def test_a_form_that_showed_a_newer_revision_than_the_drafts_may_change_that_back(wang: Any, li: Any) -> None:
    """The draft's base says 10, live says 20, the form showed 20: who writes 10 there means 10."""
    from apps.tasks.publishing import drafts

    one = task(points=10)
    publish_tasks(one)
    draft = drafts.open_draft(wang)
    shown = publish_tasks(msgspec.structs.replace(one, points=20)).number

    drafts.save_document(draft, draft.edition, "task", msgspec.structs.replace(one, points=10), wang, seen=shown)
    publish(approve(draft), wang)

    assert live(one.code).points == 10


def test_a_task_that_both_made_under_one_code_is_a_conflict_as_a_whole(wang: Any, li: Any) -> None:
    from apps.tasks.publishing.errors import Conflicting

    one = task(points=1)
    wangs, lis = approve(draft_with(wang, one)), approve(draft_with(li, msgspec.structs.replace(one, points=2)))
    publish(wangs, wang)

    with pytest.raises(Conflicting) as refused:
        publish(lis, li)
    assert refused.value.conflicts[0].path == ()


def test_of_many_who_publish_at_once_each_gets_a_number_of_his_own_and_nothing_is_lost(wang: Any) -> None:
    from django.db import connections

    from apps.tasks.publishing.errors import Busy

    base = publish_tasks(*(ones := [task(points=1) for _ in range(6)]))
    drafts = [approve(draft_with(wang, msgspec.structs.replace(one, points=2))) for one in ones]
    numbers: list[int] = []

    def publish_one(draft: Any) -> None:
        while True:
            try:
                numbers.append(publish(draft, wang).number)
                break
            except Busy:
                continue
        connections.close_all()

    threads = [threading.Thread(target=publish_one, args=(draft,)) for draft in drafts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert sorted(numbers) == list(range(base.number + 1, base.number + 7))
    assert [live(one.code).points for one in ones] == [2] * 6


def test_who_cannot_wait_for_another_publication_is_told_and_nothing_is_done(wang: Any) -> None:
    from django.db import connections

    from apps.tasks.publishing.errors import Busy
    from apps.tasks.publishing.revisions import alone

    draft = approve(draft_with(wang, task()))
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with alone():
            held.set()
            release.wait(60)
        connections.close_all()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        assert held.wait(30)
        with pytest.raises(Busy):
            publish(draft, wang)
    finally:
        release.set()
        thread.join(60)

    assert publish(draft, wang).draft_id == draft.pk


# --- what may not go live


def test_what_is_sound_by_itself_and_wrong_together_never_goes_live(wang: Any, li: Any) -> None:
    from apps.tasks.publishing.errors import Invalid

    needed = task()
    publish_tasks(needed)
    lis = approve(draft_with(li, task(prerequisites=(Prerequisite(task=needed.code),))))
    publish(approve(draft_with(wang, msgspec.structs.replace(needed, archived=True))), wang)
    before = etag()

    with pytest.raises(Invalid) as refused:
        publish(lis, li)

    assert [fault.code for fault in refused.value.faults] == ["prerequisite_archived"]
    assert etag() == before


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"ends_at": published.BEGAN - timedelta(days=1)}, "ends_at"),
        ({"points": -1}, "points"),
        ({"conditions": ((Condition(attribute="no-such-attribute", operator="=", value=1),),)}, "conditions/0/0/attribute"),
        ({"release": Release(allow=("no-such-list",))}, "release/allow/0"),
    ],
)
def test_a_wrong_document_is_not_even_asked_a_review_for(wang: Any, fields: dict[str, Any], place: str) -> None:
    from apps.tasks.publishing import review
    from apps.tasks.publishing.errors import Invalid

    one = task(**fields)
    draft = draft_with(wang, one)

    with pytest.raises(Invalid) as refused:
        review.ask(draft, draft.edition, wang)

    assert f"/tasks/{one.code}/{place}" in [fault.pointer for fault in refused.value.faults]


def test_a_list_whose_contents_are_not_here_is_refused(wang: Any) -> None:
    from apps.tasks.config.documents import UserList
    from apps.tasks.publishing import drafts

    draft = draft_with(wang, UserList(name="ghosts", sha256="0" * 64, count=3))

    assert [(fault.pointer, fault.code) for fault in drafts.check(draft)] == [("/lists/ghosts/sha256", "sha256")]
    assert draft.checked_edition == 0


# --- the entity tag


def test_every_indirect_change_changes_the_tag(wang: Any) -> None:
    from apps.tasks.publishing import drafts, lists
    from apps.tasks.publishing import publish as publishing

    level = f"level_{published.task().code[-6:]}"
    needed = task()
    one = task(prerequisites=(Prerequisite(task=needed.code),), release=Release(percentage_bp=0, allow=("testers",)))
    draft = draft_with(wang, Attribute(name=level, type="number", default=1), needed)
    lists.upload_list(draft, draft.edition, "testers", "", [1, 2, 3], wang)
    put(draft, wang, one)
    publish(approve(draft), wang)

    def upload() -> None:
        draft = drafts.open_draft(wang)
        publish(approve(lists.upload_list(draft, draft.edition, "testers", "", [1, 2, 4], wang)), wang)

    def set_default() -> None:
        publish(approve(draft_with(wang, Attribute(name=level, type="number", default=2))), wang)

    def say_otherwise() -> None:
        publish(approve(draft_with(wang, changed(one.code, texts=texts("Other words")))), wang)

    def archive_what_is_needed() -> None:
        publish(approve(draft_with(wang, changed(needed.code, archived=True), changed(one.code, prerequisites=()))), wang)

    def reach_a_moment() -> None:
        draft = approve(draft_with(wang, changed(one.code, points=3)))
        publishing.schedule(draft, draft.edition, datetime.now(timezone.utc) + timedelta(hours=1), wang, "later")
        before = etag()
        assert publishing.fire_due() == []
        assert etag() == before
        publishing.fire_due(datetime.now(timezone.utc) + timedelta(hours=2))

    tags = [etag()]
    for change in (upload, set_default, say_otherwise, archive_what_is_needed, reach_a_moment):
        change()
        tags.append(etag())
    assert len(set(tags)) == 6


def test_nothing_else_changes_the_tag(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import drafts, lists, review
    from apps.tasks.publishing import publish as publishing
    from apps.tasks.publishing.errors import Refusal

    one = task()
    publish_tasks(one)
    before = etag()

    lists.store([5, 6, 7])
    draft = draft_with(wang, msgspec.structs.replace(one, points=2), task())
    drafts.check(draft)
    review.ask(draft, draft.edition, wang)
    review.send_back(draft, draft.edition, li, "why?")
    approve(draft)
    publishing.schedule(draft, draft.edition, datetime.now(timezone.utc) + timedelta(hours=1), wang, "later")
    publishing.cancel_schedule(draft, draft.edition, wang)
    with pytest.raises(Refusal):
        publishing.switch(one.code, False, wang, "it is on already")
    drafts.discard(draft, draft.edition, wang)
    publishing.fire_due()

    assert etag() == before


def test_the_tag_is_that_of_the_bundle_and_a_bundle_can_be_loaded(wang: Any) -> None:
    from apps.tasks.config.compile import etag_of
    from apps.tasks.evaluation.bundle import load_bundle

    revision = publish_tasks(task())

    bundle = gzip.decompress(revision.bundle)
    assert revision.etag == etag_of(revision.number, bundle)
    assert revision.bundle_bytes == len(bundle)
    assert load_bundle(bundle) is not None


# --- on schedule


def scheduled(user: Any, *documents: Any) -> Any:
    """A draft that is due as soon as somebody looks an hour from now."""
    from apps.tasks.publishing import publish as publishing

    draft = approve(draft_with(user, *documents))
    return publishing.schedule(draft, draft.edition, datetime.now(timezone.utc) + timedelta(minutes=30), user, "on time")


def fire(hours: int = 1) -> list[int]:
    from apps.tasks.publishing import publish as publishing

    return publishing.fire_due(datetime.now(timezone.utc) + timedelta(hours=hours))


def test_a_scheduled_draft_goes_live_in_the_name_of_who_scheduled_it(wang: Any) -> None:
    from apps.tasks.models import Revision

    one = task()
    draft = scheduled(wang, one)
    assert fire(hours=0) == []

    (number,) = fire()

    revision = Revision.objects.get(pk=number)
    assert (revision.origin, revision.publisher, revision.reason, revision.draft_id) == ("schedule", wang, "on time", draft.pk)
    assert live(one.code) == one
    assert fire() == []


def test_a_conflict_at_the_moment_gives_the_draft_back_and_says_so(wang: Any, li: Any) -> None:
    from apps.tasks.models import AuditEntry
    from apps.tasks.publishing import drafts

    one = task(points=10)
    publish_tasks(one)
    draft = scheduled(wang, msgspec.structs.replace(one, points=20))
    publish(approve(draft_with(li, msgspec.structs.replace(one, points=30))), li)

    assert fire() == []

    draft.refresh_from_db()
    assert (draft.state, draft.failure, draft.publish_at, live(one.code).points) == ("editing", "conflict", None, 30)
    assert [conflict.by for conflict in drafts.conflicts_of(draft)] == [li.username]
    assert AuditEntry.objects.filter(action="schedule_failed", draft=draft.pk, who="system").count() == 1


def test_one_that_cannot_be_published_keeps_no_other_from_it(wang: Any, li: Any) -> None:
    needed, free = task(), task()
    publish_tasks(needed)
    wrong = scheduled(wang, task(prerequisites=(Prerequisite(task=needed.code),)))
    scheduled(wang, free)
    publish(approve(draft_with(li, msgspec.structs.replace(needed, archived=True))), li)

    assert len(fire()) == 1

    wrong.refresh_from_db()
    assert (wrong.state, wrong.failure) == ("editing", "invalid")
    assert live(free.code) == free


def test_however_many_look_at_once_it_is_published_once(wang: Any) -> None:
    from django.db import connections

    scheduled(wang, task())
    numbers: list[int] = []

    def look() -> None:
        numbers.extend(fire())
        connections.close_all()

    threads = [threading.Thread(target=look) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(numbers) == 1


def test_what_was_due_while_nothing_ran_is_published_after_the_restart(wang: Any, stack: PrivateStack) -> None:
    """Nobody is online: a beat and a worker that are started later find the moment in the draft."""
    from apps.tasks.models import Draft

    one = task()
    draft = scheduled(wang, one)
    Draft.objects.filter(pk=draft.pk).update(publish_at=datetime.now(timezone.utc) - timedelta(minutes=5))
    processes = [stack.celery("sample", concurrency=2), stack.beat()]
    try:
        for process in processes:
            process.start()
        eventually(lambda: Draft.objects.get(pk=draft.pk).state == "published", within_s=40)
    finally:
        for process in reversed(processes):
            process.stop()
    assert live(one.code) == one


def test_who_cancels_keeps_the_approval(wang: Any) -> None:
    from apps.tasks.publishing import publish as publishing

    draft = scheduled(wang, task())
    publishing.cancel_schedule(draft, draft.edition, wang)

    assert fire() == []
    assert publish(draft, wang).draft_id == draft.pk


def test_a_moment_that_has_passed_is_no_schedule(wang: Any) -> None:
    from apps.tasks.publishing import publish as publishing
    from apps.tasks.publishing.errors import TooLate

    draft = approve(draft_with(wang, task()))

    with pytest.raises(TooLate):
        publishing.schedule(draft, draft.edition, datetime.now(timezone.utc) - timedelta(seconds=1), wang, "late")


# --- roll back


def test_a_roll_back_is_a_new_revision_with_what_was_there(wang: Any) -> None:
    from apps.tasks.models import Revision
    from apps.tasks.publishing import publish as publishing

    one, later = task(points=10), task()
    old = publish_tasks(one)
    publish_tasks(msgspec.structs.replace(one, points=20), later)
    assert [each.number for each in publishing.what_goes_away(old.number)] == [old.number + 1]
    assert {change["key"] for change in publishing.what_goes_away(old.number)[0].changes} == {one.code, later.code}

    draft = publishing.roll_back(old.number, wang, "it was better before")
    revision = publish(draft, wang)

    assert (revision.origin, revision.rolls_back_to, revision.number) == ("roll_back", old.number, old.number + 2)
    assert (live(one.code).points, live(later.code).archived) == (10, True), "users' records refer to the new task: it is archived"
    assert in_bundle(revision, later.code) is None
    assert Revision.objects.filter(number=old.number + 1).exists()


def test_what_came_between_looking_and_rolling_back_is_a_conflict(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import drafts
    from apps.tasks.publishing import publish as publishing
    from apps.tasks.publishing.errors import Conflicting

    one, other = task(points=10), task(weight=1)
    old = publish_tasks(one, other)
    seen = publish_tasks(msgspec.structs.replace(one, points=20)).number
    between = publish(approve(draft_with(li, msgspec.structs.replace(other, weight=2))), li)

    draft = publishing.roll_back(old.number, wang, "back", seen=seen)
    with pytest.raises(Conflicting) as refused:
        publish(draft, wang)

    (conflict,) = refused.value.conflicts
    assert (conflict.key, conflict.path, conflict.revision, conflict.by) == (other.code, (), between.number, li.username)
    assert (live(one.code).points, live(other.code).weight) == (20, 2)

    drafts.resolve(draft, "task", other.code, (), "theirs", wang)
    publish(approve(draft), wang)
    assert (live(one.code).points, live(other.code).weight) == (10, 2)


def test_without_the_right_to_publish_a_roll_back_is_a_draft_for_review(li: Any) -> None:
    from apps.tasks.publishing import publish as publishing
    from apps.tasks.publishing.errors import NotApproved

    editor = operator("editor", "change_draft")
    one = task(points=10)
    old = publish_tasks(one)
    publish_tasks(msgspec.structs.replace(one, points=20))

    draft = publishing.roll_back(old.number, editor, "please")

    assert draft.state == "editing"
    with pytest.raises(NotApproved):
        publish(draft, editor)
    publish(approve(draft, by=li), li)
    assert live(one.code).points == 10


def test_what_is_added_to_a_roll_back_needs_a_review(wang: Any) -> None:
    from apps.tasks.publishing import publish as publishing
    from apps.tasks.publishing.errors import NotApproved

    one = task(points=10)
    old = publish_tasks(one)
    publish_tasks(msgspec.structs.replace(one, points=20))
    draft = publishing.roll_back(old.number, wang, "back")

    put(draft, wang, task(points=1_000_000))

    with pytest.raises(NotApproved):
        publish(draft, wang)


# --- the kill switch


def test_a_task_is_switched_off_at_once_without_a_review_and_that_is_recorded(wang: Any) -> None:
    from apps.tasks.models import AuditEntry
    from apps.tasks.publishing import publish as publishing

    one = task()
    publish_tasks(one)

    revision = publishing.switch(one.code, True, wang, "it gives points for nothing")

    found = in_bundle(revision, one.code)
    assert found is not None
    assert (found["switched_off"], revision.origin) == (True, "switch")
    (entry,) = AuditEntry.objects.filter(action="switch_off", key=one.code)
    assert (entry.who, entry.note, entry.revision) == (wang.username, "it gives points for nothing", revision.number)
    assert "switched_off" not in entry.before
    publishing.switch(one.code, False, wang, "mended")
    assert not live(one.code).switched_off


def test_a_draft_that_does_not_speak_of_the_switch_leaves_it_as_it_is(wang: Any, li: Any) -> None:
    from apps.tasks.publishing import publish as publishing

    one = task(points=1)
    publish_tasks(one)
    draft = approve(draft_with(wang, msgspec.structs.replace(one, points=2)))
    publishing.switch(one.code, True, li, "stop")

    publish(draft, wang)

    assert (live(one.code).points, live(one.code).switched_off) == (2, True)


def test_the_switch_needs_a_reason(wang: Any) -> None:
    from apps.tasks.publishing import publish as publishing
    from apps.tasks.publishing.errors import NoReason

    with pytest.raises(NoReason):
        publishing.switch("whatever", True, wang, "  ")


# --- what was written stays


def test_no_revision_and_no_audit_row_is_ever_changed(wang: Any) -> None:
    from django.db import DatabaseError, connection

    from apps.tasks.models import AuditEntry, Revision
    from apps.tasks.models.records import NeverChanged

    publish(approve(draft_with(wang, task())), wang)
    revision, entry = Revision.objects.order_by("-number").first(), AuditEntry.objects.first()

    attempts: list[Callable[[], Any]] = [
        revision.save,
        revision.delete,
        entry.save,
        entry.delete,
        lambda: Revision.objects.filter(pk=revision.pk).update(reason="another"),
        lambda: AuditEntry.objects.all().delete(),
    ]
    for attempt in attempts:
        with pytest.raises(NeverChanged):
            attempt()
    for table in ("config_revision", "tasks_auditentry"):
        for sql in (f"UPDATE {table} SET revision = 1" if "audit" in table else f"UPDATE {table} SET reason = 'x'", f"DELETE FROM {table}"):
            with pytest.raises(DatabaseError, match="never changed"), connection.cursor() as cursor:
                cursor.execute(sql)


def test_the_log_says_where_a_request_came_from(wang: Any) -> None:
    from apps.tasks.models import AuditEntry
    from apps.tasks.publishing import audit

    with audit.asked_from("203.0.113.9"):
        draft = draft_with(wang, task())

    assert set(AuditEntry.objects.filter(draft=draft.pk).values_list("address", flat=True)) == {"203.0.113.9"}
