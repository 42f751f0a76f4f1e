"""A DBA's evening: three rows of a replica are not what the master has. He finds exactly them, repairs them, and sees that users are shown
the right ones; and he stops the use of the replica meanwhile. All of it from the page, with the role that is meant for it."""

from __future__ import annotations

import itertools
import json
import random
import secrets
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from deploy.local.mariadb import MariaDBServer
from deploy.local.private_stack import PrivateStack
from tests.browser.conftest import Complaints, Operator, enter
from tests.stack import published
from tests.stack.replica_rows import run_unlogged
from tests.stack.task_client import TaskClient, change
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

OpenPage = Callable[..., Page]
Screenshot = Callable[[Page, str], Path]
WITHIN_MS = 60_000
_firsts = itertools.count(random.randrange(10**6, 10**9) * 1000, 100)


@pytest.fixture(scope="module")
def comparing(django_on_stack: PrivateStack) -> Iterator[None]:
    """The Celery workers that compare, and that purge copies."""
    workers = [django_on_stack.celery(queue, concurrency=2) for queue in ("diff", "purge")]
    for worker in workers:
        worker.start()
    yield
    for worker in workers:
        worker.stop()


@pytest.fixture(autouse=True)
def unload_ends_requests(complaints: Complaints) -> None:
    """htmx tells the console of a poll that the next page cut short."""
    for event in ("htmx:sendAbort", "htmx:afterRequest", "htmx:sendError"):
        complaints.forgive(event)


@pytest.fixture
def dba(django_on_stack: PrivateStack) -> Operator:
    return new_operator("dba")


def new_operator(role: str) -> Operator:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    operator = Operator(f"{role}-{secrets.token_hex(3)}")
    account = get_user_model().objects.create_user(operator.name, password=None, is_staff=True)
    account.groups.set([Group.objects.get(name=role)])
    return operator


def log_in(page: Page, operator: Operator) -> Page:
    enter(page, operator.name)
    page.goto("/console/diff/")
    return page


def progress_of(web: WebProcess, key: str, uid: int, code: str) -> int:
    """As a logic server is told: from a cached copy, when there is one. -1 while key or task are too new to be known."""
    request = urllib.request.Request(f"{web.address}/api/v1/users/{uid}/tasks", headers={"Authorization": f"Api-Key {key}"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            tasks = {task["code"]: task for task in json.load(answer)["tasks"]}
    except urllib.error.HTTPError as error:
        if error.code != 401:
            raise
        return -1
    return int(tasks[code]["progress"]) if code in tasks else -1


def inject(replica: MariaDBServer, number: int, changed: int, missing: int, extra: int) -> None:
    """What a wrong hand, or a crash of a replica, leaves behind."""
    like = "SELECT %s, task_id, period_key, {columns} FROM user_task WHERE uid = %s AND task_id = %s"
    columns = [
        row[0]
        for row in replica.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = 'tasksys_user' AND table_name = 'user_task'"
            " AND column_name NOT IN ('uid', 'task_id', 'period_key') ORDER BY ordinal_position"
        )
    ]
    names = ", ".join(f"`{name}`" for name in columns)
    run_unlogged(
        replica,
        ("UPDATE user_task SET progress = progress + 40 WHERE uid = %s AND task_id = %s", (changed, number)),
        (f"INSERT INTO user_task (uid, task_id, period_key, {names}) {like.format(columns=names)}", (extra, changed, number)),
        ("DELETE FROM user_task WHERE uid = %s AND task_id = %s", (missing, number)),
    )


def test_a_dba_finds_three_rows_that_differ_repairs_them_and_users_are_shown_the_right_ones(
    open_page: OpenPage, dba: Operator, comparing: None, web: WebProcess, stack: PrivateStack, screenshot: Screenshot
) -> None:
    from apps.tasks.keys import create_api_key
    from apps.tasks.models import AuditEntry

    first = next(_firsts)
    changed, missing, extra, well = first, first + 1, first + 2, first + 3
    code = f"diff-{secrets.token_hex(3)}"
    published.publish_tasks(published.task(code, target=100))
    number = published.number_of(code)
    key = create_api_key(f"diff {code}", ["read"])[1]
    client = TaskClient(stack)
    for uid in (changed, missing, well):
        client.finish(uid, changes=[change(number, value=3, target=100)])
    eventually(lambda: all(client.get(uid).served_by == "r1" for uid in (changed, missing, well)))
    inject(stack.replica, number, changed, missing, extra)
    stack.replica_worker.kill()  # it knows the right ones, by the same versions
    stack.replica_worker.start()
    eventually(lambda: client.get(changed).served_by == "r1" and client.get(changed).tasks[0].progress == 43)
    eventually(lambda: progress_of(web, key, changed, code) >= 0)  # and now a copy of it lies on a cache node
    assert {progress_of(web, key, uid, code) for uid in (changed, missing)} & {43, 0}, "users are shown the wrong rows"

    page = log_in(open_page(), dba)
    page.get_by_label("From key").fill(str(first))
    page.get_by_label("Up to key").fill(str(first + 99))
    for box in page.locator("input[name=tables]").all():
        box.uncheck()
    page.get_by_label("tasksys_user.user_task", exact=True).check()
    screenshot(page, "replica-diff")
    page.get_by_role("button", name="Compare", exact=True).click()

    expect(page.locator("#sentence")).to_contain_text("3 rows differed", timeout=WITHIN_MS)
    expect(page.locator("#sentence")).to_contain_text("100 % compared", timeout=WITHIN_MS)
    keys = page.locator("#differences .difference h3")
    expect(keys).to_have_count(3)
    for uid, words in ((changed, "is not the same"), (missing, "is missing"), (extra, "is on the replica alone")):
        expect(page.locator(".difference", has=page.locator("h3", has_text=str(uid)))).to_contain_text(words)
    marked = page.locator(".difference", has=page.locator("h3", has_text=str(changed))).locator("tr.differs")
    expect(marked).to_have_count(1)
    assert marked.locator("td").all_inner_texts() == ["3", "43"]
    screenshot(page, "replica-diff-run")
    address = page.url

    for box in page.locator("#differences input[name=id]").all():
        box.check()
    page.get_by_role("button", name="Repair the chosen rows…").click()
    expect(page.locator(".statements")).to_have_count(3)
    screenshot(page, "replica-diff-repair")
    page.get_by_label("Reason").fill("ticket 7")
    page.get_by_role("button", name="Repair 3 rows on r1").click()

    expect(page.locator("#words")).to_have_text("3 of 3 rows are equal now.", timeout=WITHIN_MS)
    screenshot(page, "replica-diff-repaired")
    page.goto(address)
    expect(page.locator("#differences")).to_contain_text("gone: equal now")
    expect(page.locator("#differences input[name=id]")).to_have_count(0)

    rows = dict(stack.replica.execute("SELECT uid, progress FROM user_task WHERE task_id = %s", "tasksys_user", (number,)))
    assert rows == {changed: 3, missing: 3, well: 3}
    eventually(lambda: [progress_of(web, key, uid, code) for uid in (changed, missing, well)] == [3, 3, 3])
    assert client.get(extra).tasks == []
    noted = AuditEntry.objects.filter(who=dba.name).values_list("action", "note")
    assert any("ticket 7" in note for _, note in noted), "who repaired it and why"


def test_a_run_that_cannot_go_on_says_why_and_can_be_given_up(open_page: OpenPage, dba: Operator, comparing: None) -> None:
    from apps.dbsvr.diff.models import PAUSED, DiffRun

    run = DiffRun.objects.create(replica="r1", schema="tasksys_user", table=f"no_such_{secrets.token_hex(3)}", state=PAUSED)
    page = log_in(open_page(), dba)
    page.goto(f"/console/diff/runs/{run.pk}")
    expect(page.locator("#sentence")).to_contain_text("paused")

    page.get_by_role("button", name="Go on").click()

    expect(page.locator("#run-now")).to_contain_text(run.table, timeout=WITHIN_MS)
    expect(page.locator("#sentence")).to_contain_text("stopped", timeout=WITHIN_MS)
    expect(page.locator("#run-now")).to_contain_text("doesn't exist", timeout=WITHIN_MS)
    page.get_by_role("button", name="Cancel this run").click()

    expect(page.locator("#sentence")).to_contain_text("not compared, cancelled")
    expect(page.locator("#change-resume")).to_have_count(0)


def test_a_dba_stops_the_use_of_a_replica_and_uses_it_again(
    open_page: OpenPage, dba: Operator, stack: PrivateStack, screenshot: Screenshot
) -> None:
    page, client = log_in(open_page(), dba), TaskClient(stack)
    eventually(lambda: client.get(7).served_by == "r1")

    page.get_by_role("link", name="Stop using…").click()
    expect(page.get_by_role("heading", name="Stop using replica r1?")).to_be_visible()
    page.get_by_label("Reason").fill("a new disk")
    screenshot(page, "replica-diff-hold")
    page.get_by_role("button", name="Stop using r1").click()

    expect(page.locator("#replicas")).to_contain_text(f"not used: held by {dba.name}: a new disk")
    assert client.get(7).served_by == "master"
    page.get_by_role("link", name="Use again…").click()
    page.get_by_label("Reason").fill("the disk is in")
    page.get_by_role("button", name="Use r1 again").click()

    expect(page.locator("#replicas")).to_contain_text("in use")
    eventually(lambda: client.get(7).served_by == "r1")


def test_who_only_looks_is_offered_nothing_to_change(open_page: OpenPage, stack: PrivateStack) -> None:
    page = log_in(open_page(), new_operator("viewer"))

    expect(page.get_by_role("heading", name="Replica diff")).to_be_visible()
    expect(page.locator("main button, main a.button", has_text="using")).to_have_count(0)
    expect(page.get_by_role("button", name="Compare", exact=True)).to_have_count(0)


@pytest.mark.parametrize("color_scheme", ["light", "dark"])
def test_it_fits_a_phone(open_page: OpenPage, dba: Operator, stack: PrivateStack, color_scheme: str, screenshot: Screenshot) -> None:
    page = log_in(open_page(width=390, height=844, color_scheme=color_scheme), dba)

    expect(page.locator("#replicas")).to_contain_text("r1")

    screenshot(page, f"phone-replica-diff-{color_scheme}")
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
