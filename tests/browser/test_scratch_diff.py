from __future__ import annotations
import json, hashlib
from django.utils import timezone
import pytest


def d(t, key, kind, m, r, state="open", **more):
    from apps.dbsvr.diff.models import Difference

    k = json.dumps(key)
    return Difference.objects.create(
        replica="r1",
        schema="tasksys_user",
        table=t,
        key=k,
        key_digest=hashlib.sha256(k.encode()).hexdigest(),
        uid=int(key[0]),
        kind=kind,
        master_row=m,
        replica_row=r,
        state=state,
        first_seen_at=timezone.now(),
        last_seen_at=timezone.now(),
        **more,
    )


def test_look(open_page, screenshot, django_on_stack, web):
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group
    from apps.dbsvr.diff.models import DiffRun, DiffChunk
    from apps.dbsvr.holds import hold_replica, release_replica

    u = get_user_model().objects.create_user("viewer1", password="pw-viewer-12345", is_staff=True)
    u.groups.set([Group.objects.get(name="viewer")])
    now = timezone.now()
    run = DiffRun.objects.create(
        replica="r1",
        schema="tasksys_user",
        table="user_task",
        state="ended",
        outcome="different",
        rows_compared=1000,
        differences=3,
        asked_by="dba",
        started_at=now,
        ended_at=now,
    )
    DiffChunk.objects.create(run=run, outcome="different", rows=1000, at=now, differences=3)
    r2 = DiffRun.objects.create(
        replica="r1",
        schema="tasksys_user",
        table="user_state",
        state="running",
        rows_compared=400,
        rows_expected=1000,
        busy_ms=60000,
        asked_by="",
        started_at=now,
    )
    r3 = DiffRun.objects.create(
        replica="r1",
        schema="tasksys_user",
        table="applied_event",
        state="ended",
        outcome="not_compared",
        rows_compared=400,
        rows_expected=1000,
        why="the replica stayed more than 5 s behind",
        started_at=now,
        ended_at=now,
    )
    DiffChunk.objects.create(run=r3, outcome="equal", rows=400, at=now)
    DiffChunk.objects.create(run=r3, outcome="not_compared", rows=600, at=now, why="the replica stayed more than 5 s behind")
    d(
        "user_task",
        ["17", "1", "once"],
        "changed",
        {"uid": "17", "task_id": "1", "period": "once", "progress": "3", "note": None, "x": "abc"},
        {"uid": "17", "task_id": "1", "period": "once", "progress": "4", "note": "", "x": "abc "},
        run=run,
    )
    d("user_task", ["204", "1", "once"], "missing", {"uid": "204", "task_id": "1", "period": "once", "progress": "3"}, None, run=run)
    d(
        "user_task",
        ["9981", "1", "once"],
        "extra",
        None,
        {"uid": "9981", "task_id": "1", "period": "once", "progress": "4"},
        run=run,
        state="gone",
        repaired_by="dba",
        repair_reason="ticket 7",
    )
    hold_replica("r1", "3 rows differ, see ticket 7", u)
    page = open_page()
    page.goto("/admin/login/?next=/console/diff/")
    page.fill("input[name=username]", "viewer1")
    page.fill("input[name=password]", "pw-viewer-12345")
    page.click("button[type=submit]")
    page.wait_for_url("**/console/diff/")
    page.wait_for_timeout(2500)
    screenshot(page, "scratch-runs")
    page.goto(f"/console/diff/runs/{r2.pk}")
    page.wait_for_timeout(1500)
    screenshot(page, "scratch-run-running")
    import apps.dbsvr.diff.service as service

    page.goto("/console/diff/differences/r1")
    screenshot(page, "scratch-differences")
    page.goto("/console/diff/outcome?id=1&id=2&id=3")
    screenshot(page, "scratch-outcome")
    release_replica("r1", u)
    phone = open_page(width=390, height=844, color_scheme="dark", locale="zh-CN")
    phone.goto("/admin/login/?next=/console/diff/")
    phone.fill("input[name=username]", "viewer1")
    phone.fill("input[name=password]", "pw-viewer-12345")
    phone.click("button[type=submit]")
    phone.wait_for_url("**/console/diff/")
    screenshot(phone, "scratch-phone")
    assert phone.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    phone.goto("/console/diff/differences/r1")
    screenshot(phone, "scratch-phone-diff")
    assert phone.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
