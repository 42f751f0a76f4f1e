"""The replica diff stops the use of a replica by itself, and what it has found stands in the light: on a real stack."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

import pytest

from deploy.local.private_stack import PrivateStack
from tests.stack.task_client import TaskClient
from tests.stack.waiting import eventually

TABLE = "made_for_a_test"


@pytest.fixture
def three_rows_differ(django_on_stack: PrivateStack, stack: PrivateStack) -> Iterator[list[int]]:
    from django.utils import timezone

    from apps.dbsvr.diff.models import CHANGED, Difference
    from apps.dbsvr.holds import held_replicas, release_replica

    now, made = timezone.now(), []
    for uid in ("17", "204", "9981"):
        key = json.dumps([uid, "1", "once"])
        difference = Difference.objects.create(
            replica="r1",
            schema="tasksys_user",
            table=TABLE,
            key=key,
            key_digest=hashlib.sha256(key.encode()).hexdigest(),
            uid=int(uid),
            kind=CHANGED,
            first_seen_at=now,
            last_seen_at=now,
        )
        made.append(difference.pk)
    yield made
    Difference.objects.filter(pk__in=made).delete()
    if held_replicas():
        release_replica("r1")


def test_above_the_threshold_it_holds_the_replica_and_once_all_is_equal_it_releases_it(
    three_rows_differ: list[int], stack: PrivateStack
) -> None:
    from apps.dbsvr.diff.models import GONE, Difference
    from apps.dbsvr.diff.stopping import HOLD, RELEASE, follow
    from apps.tasks.models import AuditEntry

    client = TaskClient(stack)
    assert follow("r1", hold_above=3) == "", "as many as are tolerated"

    assert follow("r1", hold_above=2) == HOLD
    assert client.explain(7)["servers"]["r1"]["why"] == "held by replica diff: 3 rows differ from the master, more than 2"
    assert client.get(7).served_by == "master"
    assert follow("r1", hold_above=2) == "", "it is held already"

    Difference.objects.filter(pk__in=three_rows_differ[:2]).update(state=GONE)
    assert follow("r1", hold_above=2) == "", "until it is clean"
    Difference.objects.filter(pk__in=three_rows_differ).update(state=GONE)
    assert follow("r1", hold_above=2) == RELEASE

    eventually(lambda: client.get(7).served_by == "r1")
    noted = AuditEntry.objects.filter(kind="replica", key="r1").order_by("-id").values_list("action", "who")[:2]
    assert list(noted) == [("release_replica", "system"), ("hold_replica", "system")]


def test_what_an_operator_holds_it_leaves_alone(django_on_stack: PrivateStack, stack: PrivateStack) -> None:
    from apps.dbsvr.diff.stopping import follow
    from apps.dbsvr.holds import held_replicas, hold_replica, release_replica

    hold_replica("r1", "a new disk", by="wang")
    try:
        assert follow("r1", hold_above=1) == ""
        assert (held_replicas() or {})["r1"].reason == "a new disk"
    finally:
        release_replica("r1", by="wang")


def test_the_sampler_sees_what_differs_and_what_was_not_compared(three_rows_differ: list[int]) -> None:
    from django.utils import timezone

    from apps.dbsvr.diff.models import ENDED, NOT_COMPARED, DiffChunk, DiffRun
    from apps.dbsvr.diff.now import diff_now

    now = timezone.now()
    run = DiffRun.objects.create(
        replica="r1", schema="tasksys_user", table=TABLE, state=ENDED, outcome=NOT_COMPARED, rows_compared=96, ended_at=now
    )
    DiffChunk.objects.create(run=run, outcome=NOT_COMPARED, rows=4, why="the replica stayed behind", at=now)
    try:
        found = diff_now(["r1"])
    finally:
        run.delete()

    (differing,) = [it for it in found.differing if it.replica == "r1"]
    assert (differing.rows, differing.is_held) == (3, True)
    assert f"{TABLE} 17·1·once" in differing.named
    (gap,) = [it for it in found.gaps if it.table == TABLE]
    assert (gap.share, gap.why) == (0.04, "the replica stayed behind")
