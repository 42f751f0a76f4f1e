"""An operator's day, as he does it: a new task from the form to the users, a fault understood, a review, a publication, a roll back.

With PICTURES set to a folder the pictures of docs/ are made there.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from playwright.sync_api import Locator, Page, expect

from apps.tasks.config.documents import Attribute, EventType
from tests.browser.conftest import Complaints, Operator, enter
from tests.stack.published import publish_tasks, task, texts
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

OpenPage = Callable[..., Page]
Screenshot = Callable[[Page, str], Path]
LEVEL = Attribute(name="level", type="number", description="The user's level in the game.", default=1)
VIP = Attribute(name="vip", type="boolean", description="Whether he pays every month.")
MATCH = EventType(name="match-finished", description="A match is over.", attributes={"mode": "text", "won": "boolean"})


@pytest.fixture(scope="module", autouse=True)
def registry(django_on_stack: Any) -> None:
    publish_tasks(LEVEL, VIP, MATCH)


@pytest.fixture(autouse=True)
def unload_ends_requests(complaints: Complaints) -> None:
    """htmx tells the console of a request that the next page cut short: the meaning of what was typed last."""
    complaints.forgive("htmx:sendAbort")
    complaints.forgive("htmx:afterRequest")


def new_operator(*roles: str) -> Operator:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    operator = Operator(f"{'-'.join(roles)}-{secrets.token_hex(3)}")
    account = get_user_model().objects.create_user(operator.name, password=None, is_staff=True)
    account.groups.set(Group.objects.filter(name__in=roles))
    return operator


def log_in(page: Page, operator: Operator) -> Page:
    enter(page, operator.name)
    return page


@pytest.fixture
def page_of(open_page: OpenPage) -> Callable[..., Page]:
    """A page of an operator with these roles."""

    def opened(*roles: str, **options: Any) -> Page:
        return log_in(open_page(**options), new_operator(*roles))

    return opened


def keep_picture(taken: Path) -> None:
    folder = os.environ.get("PICTURES")
    if folder:
        (Path(folder) / taken.name).write_bytes(taken.read_bytes())


def ask_api(web: WebProcess, key: str, path: str) -> dict[str, Any]:
    request = urllib.request.Request(web.address + path, headers={"Authorization": f"Api-Key {key}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        body: dict[str, Any] = json.load(answer)
        return body


def make_key() -> str:
    from apps.tasks.keys import create_api_key

    return create_api_key("operator's day", ["read"])[1]


@contextmanager
def answered(page: Page) -> Iterator[None]:
    """What htmx asked for stands on the page."""
    with page.expect_response(lambda response: response.request.method == "POST"):
        yield


def main_button(page: Page) -> Locator:
    return page.locator("#main-button")


def fill_daily_task(page: Page, code: str) -> None:
    page.fill("#id_code", code)
    page.fill("[name=texts-0-name]", "Play a match")
    page.fill("[name=texts-0-description]", "Any mode counts.")
    page.fill("[name=texts-0-button]", "Play")
    page.fill("[name=texts-1-name]", "打一场比赛")
    page.fill("[name=starts_at]", "2026-01-01T00:00")
    page.select_option("[name=period_kind]", "daily")
    page.select_option("[name=period_zone]", "Asia/Shanghai")
    page.select_option("[name=kind]", "tiers")
    for number, (target, points) in enumerate([("1", "5"), ("3", "20")]):
        with answered(page):
            page.click("button[value=tiers]")
        page.fill(f"[name=tiers-{number}-target]", target)
        page.fill(f"[name=tiers-{number}-points]", points)
    with answered(page):
        page.click("button[value=feeds]")
    with answered(page):
        page.select_option("[name=feeds-0-event]", "match-finished")
    with answered(page):
        page.click("button[value='conditions:new']")
    with answered(page):
        page.select_option("[name=conditions-0-attribute]", "level")
    expect(page.locator("[name=conditions-0-operator] option[value=contains]")).to_have_count(0)
    page.select_option("[name=conditions-0-operator]", ">=")
    page.fill("[name=conditions-0-value]", "30")


def save(page: Page) -> None:
    with page.expect_navigation():
        page.click(".buttons button[name=save]")


def test_a_task_from_the_form_to_the_users_and_back(page_of: Callable[..., Page], web: WebProcess, screenshot: Screenshot) -> None:
    code, key = f"match-{secrets.token_hex(3)}", make_key()
    editor, reviewer, publisher = page_of("editor"), page_of("reviewer"), page_of("publisher")

    # A task with a fault: it ends before it has started, and a cap of 0 lets nobody do it.
    editor.goto("/admin/tasks/new-task/")
    fill_daily_task(editor, code)
    editor.fill("[name=ends_at]", "2025-12-01T00:00")
    editor.click("#part-caps summary")
    editor.fill("[name=caps_total]", "0")
    expect(editor.locator("#meaning")).to_contain_text("level ≥ 30")
    expect(editor.locator("#meaning .preview")).to_have_count(2)
    save(editor)
    expect(editor.locator(".banner")).to_contain_text("You edit your draft")
    expect(editor.locator(".field:has([name=ends_at])")).to_contain_text("before it has started")
    keep_picture(screenshot(editor, "task-form-faults"))

    # The draft says what is wrong, and leads there.
    editor.click(".banner a.button")
    main_button(editor).click()
    faults = editor.locator("#faults")
    expect(faults.locator("li")).to_have_count(2)
    keep_picture(screenshot(editor, "draft-faults"))
    faults.get_by_role("link", name=re.compile("end")).first.click()
    editor.fill("[name=ends_at]", "")
    editor.fill("[name=caps_total]", "")
    save(editor)
    expect(editor.locator(".note")).to_contain_text("No fault was found")
    expect(editor.locator("#meaning")).to_contain_text("5 points at 1 and 20 points at 3")
    screenshot(editor, "task-form")

    # Checked and asked for; its editor cannot approve it.
    editor.click(".banner a.button")
    draft = editor.url
    expect(main_button(editor)).to_have_text("Check")
    main_button(editor).click()
    expect(main_button(editor)).to_have_text("Ask for review")
    main_button(editor).click()
    expect(main_button(editor)).to_contain_text("Waiting for a reviewer")

    # Somebody else reads the change in a sentence and approves it.
    reviewer.goto(draft)
    expect(reviewer.locator(".change")).to_contain_text("Only users with level ≥ 30")
    keep_picture(screenshot(reviewer, "draft-review"))
    reviewer.fill("[name=note]", "Good.")
    main_button(reviewer).click()
    expect(main_button(reviewer)).to_be_disabled()

    # Published: the bundle has it within two seconds.
    publisher.goto(draft)
    main_button(publisher).click()
    keep_picture(screenshot(publisher, "publish"))
    publisher.click("button[name=now]")
    expect(publisher.locator(".fault")).to_contain_text("Say why")
    publisher.fill("[name=reason]", "More matches in the evening")
    publisher.click("button[name=now]")
    publisher.wait_for_url(re.compile(r"/revisions/\d+/"))
    number = int(publisher.url.rstrip("/").rsplit("/", 1)[1])
    eventually(lambda: code in codes_in(ask_api(web, key, "/api/v1/config")), within_s=2)
    screenshot(publisher, "revision")

    # And back: the task did not exist before, so it is archived, and is in no bundle.
    publisher.goto(f"/admin/tasks/revisions/{number - 1}/roll-back/")
    expect(publisher.locator(".change")).to_contain_text("archived")
    publisher.fill("[name=reason]", "Too easy")
    publisher.click("button.main")
    publisher.wait_for_url(f"**/revisions/{number + 1}/")
    eventually(lambda: code not in codes_in(ask_api(web, key, "/api/v1/config")), within_s=2)
    publisher.goto("/admin/tasks/revisions/")
    expect(publisher.locator("tbody tr").first).to_contain_text(f"back to {number - 1}")
    screenshot(publisher, "revisions")


def codes_in(bundle: dict[str, Any]) -> set[str]:
    return {each["code"] for each in bundle["tasks"]}


def test_two_operators_from_one_base_the_second_sees_the_conflict_and_decides(page_of: Callable[..., Page], screenshot: Screenshot) -> None:
    live = task(f"both-{secrets.token_hex(3)}", points=10, kind="counter", target=5)
    publish_tasks(live)
    first, second, reviewer = page_of("editor", "publisher"), page_of("editor", "publisher"), page_of("reviewer")
    for page, points, target in ((first, "20", "5"), (second, "30", "7")):
        page.goto(f"/admin/tasks/task/{live.code}/")
        page.fill("[name=points]", points)
        page.fill("[name=target]", target)
        save(page)
        page.click(".banner a.button")
        main_button(page).click()
        main_button(page).click()
        reviewer.goto(page.url)
        main_button(reviewer).click()
    first.reload()
    main_button(first).click()
    first.fill("[name=reason]", "First")
    first.click("button[name=now]")
    first.wait_for_url(re.compile(r"/revisions/\d+/"))

    second.reload()

    conflict = second.locator(".conflict")
    expect(conflict).to_have_count(1)
    expect(conflict).to_contain_text("10 → 20")
    expect(main_button(second)).to_be_disabled()
    expect(second.locator("#blocked")).to_contain_text("newer revision changed the same place")
    keep_picture(screenshot(second, "conflict"))
    conflict.get_by_role("button", name="Keep mine").click()
    expect(second.locator(".conflict")).to_have_count(0)
    main_button(second).click()
    main_button(second).click()
    reviewer.goto(second.url)
    main_button(reviewer).click()
    second.reload()
    main_button(second).click()
    second.fill("[name=reason]", "Second")
    second.click("button[name=now]")
    second.wait_for_url(re.compile(r"/revisions/\d+/"))
    from apps.tasks.publishing.live import live_configuration

    assert live_configuration().tasks[live.code] == msgspec.structs.replace(live, points=30, target=7)


def test_a_conflict_that_comes_while_the_dialog_is_open_is_shown_not_overwritten(page_of: Callable[..., Page]) -> None:
    live = task(f"late-{secrets.token_hex(3)}", points=10)
    publish_tasks(live)
    page, reviewer = page_of("editor", "publisher"), page_of("reviewer")
    page.goto(f"/admin/tasks/task/{live.code}/")
    page.fill("[name=points]", "30")
    save(page)
    page.click(".banner a.button")
    main_button(page).click()
    main_button(page).click()
    reviewer.goto(page.url)
    main_button(reviewer).click()
    page.reload()
    main_button(page).click()
    page.fill("[name=reason]", "Mine")
    publish_tasks(msgspec.structs.replace(live, points=20))

    page.click("button[name=now]")

    expect(page.locator(".conflict")).to_contain_text("10 → 20")
    from apps.tasks.publishing.live import live_configuration

    assert live_configuration().tasks[live.code].points == 20


def test_everything_works_without_a_script(open_page: OpenPage) -> None:
    page = log_in(open_page(java_script_enabled=False), new_operator("editor"))
    code = f"plain-{secrets.token_hex(3)}"
    page.goto("/admin/tasks/new-task/")
    page.fill("#id_code", code)
    page.fill("[name=texts-0-name]", "Plain")
    page.fill("[name=texts-1-name]", "普通")
    page.fill("[name=starts_at]", "2026-01-01T00:00")
    page.click("button[value='conditions:new']")
    # Before the attribute is chosen all comparisons are there; the server says which do not fit.
    page.select_option("[name=conditions-0-attribute]", "vip")
    page.select_option("[name=conditions-0-operator]", "<")
    page.fill("[name=conditions-0-value]", "true")
    page.click(".buttons button[name=save]")
    expect(page.locator("#conditions-0 .errorlist")).to_have_count(1)
    page.select_option("[name=conditions-0-operator]", "=")
    page.select_option("[name=conditions-0-value]", "true")
    page.click(".buttons button[name=save]")
    page.wait_for_url(f"**/task/{code}/")
    expect(page.locator("#meaning")).to_contain_text("vip")
    page.click("button[value='conditions-0']")
    expect(page.locator("#conditions-0")).to_have_count(0)
    page.click(".buttons button[name=save]")
    expect(page.locator("#meaning")).not_to_contain_text("vip")


def test_a_task_is_changed_with_the_keyboard_alone(page_of: Callable[..., Page]) -> None:
    live = task(f"keys-{secrets.token_hex(3)}", points=10)
    publish_tasks(live)
    page = page_of("editor")
    page.goto(f"/admin/tasks/task/{live.code}/")

    page.locator("button[value='conditions:new']").focus()
    with answered(page):
        page.keyboard.press("Enter")
    page.locator("[name=conditions-0-attribute]").focus()
    with answered(page):
        page.keyboard.type("level")
        page.keyboard.press("Tab")
    expect(page.locator("[name=conditions-0-operator] option[value='>=']")).to_have_count(1)
    page.locator("[name=conditions-0-operator]").focus()
    for _ in range(12):
        if page.locator("[name=conditions-0-operator]").input_value() == ">=":
            break
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(page.locator("[name=conditions-0-value]")).to_be_focused()
    page.keyboard.type("12")
    with page.expect_navigation():
        page.keyboard.press("Enter")

    expect(page.locator("#meaning")).to_contain_text("level ≥ 12")


@pytest.mark.long
def test_every_input_of_the_form_has_a_name_for_screen_readers(page_of: Callable[..., Page]) -> None:
    live = task(f"named-{secrets.token_hex(3)}", texts=texts("Named"))
    publish_tasks(live)
    page = page_of("editor")
    page.goto(f"/admin/tasks/task/{live.code}/")
    for value in ("tiers", "feeds", "where:0", "conditions:new", "prerequisites", "texts"):
        if value == "tiers":
            page.select_option("[name=kind]", "tiers")
        if value == "prerequisites":
            page.click("#part-needs summary")
        with answered(page):
            page.click(f"button[value='{value}']")

    unnamed = page.evaluate(
        """() => [...document.querySelectorAll('#task-form input:not([type=hidden]), #task-form select, #task-form textarea')]
            .filter(each => !each.labels?.length && !each.getAttribute('aria-label')).map(each => each.name)"""
    )

    assert unnamed == []


def test_a_viewer_looks_and_may_not_change(page_of: Callable[..., Page], complaints: Complaints) -> None:
    complaints.forgive("403")
    live = task(f"seen-{secrets.token_hex(3)}")
    publish_tasks(live)
    page = page_of("viewer")

    page.goto(f"/admin/tasks/task/{live.code}/")
    expect(page.locator("[name=points]")).to_be_disabled()
    expect(page.locator("button[name=save]")).to_have_count(0)
    for path in ("new-task/", f"task/{live.code}/switch/", "revisions/1/roll-back/"):
        answer = page.goto(f"/admin/tasks/{path}")
        assert answer is not None
        assert answer.status == 403, path


def test_a_task_is_switched_off_at_once_with_a_reason(page_of: Callable[..., Page], web: WebProcess) -> None:
    live, key = task(f"kill-{secrets.token_hex(3)}"), make_key()
    publish_tasks(live)
    page = page_of("publisher")
    page.goto(f"/admin/tasks/task/{live.code}/")
    page.get_by_role("link", name="Switch it off at once").click()

    page.click("button.main")
    expect(page.locator(".fault")).to_have_count(1)
    page.fill("[name=reason]", "It pays too much")
    page.click("button.main")

    page.wait_for_url(f"**/task/{live.code}/")
    switched = eventually(lambda: find(ask_api(web, key, "/api/v1/config"), live.code, "switched_off"), within_s=2)
    assert switched is True
    page.goto(f"/admin/tasks/task/?q={live.code}")
    expect(page.locator("#result_list tbody tr")).to_contain_text("switched off", ignore_case=True)


def find(bundle: dict[str, Any], code: str, field: str) -> Any:
    return next(each for each in bundle["tasks"] if each["code"] == code).get(field)


def test_an_attribute_is_added_in_the_draft_and_offered_to_conditions(page_of: Callable[..., Page]) -> None:
    name = f"guild_{secrets.token_hex(3)}"
    page = page_of("editor")
    page.goto("/admin/tasks/new-attribute/")
    page.fill("[name=name]", name)
    page.fill("[name=description]", "His guild's rank.")
    page.select_option("[name=type]", "number")
    page.fill("[name=default]", "high")
    page.click("div > button.main")
    expect(page.locator(".fault")).to_contain_text("high")
    page.fill("[name=default]", "0")
    page.click("div > button.main")
    page.wait_for_url(f"**/attributes/{name}/")

    page.goto("/admin/tasks/new-task/")
    with answered(page):
        page.click("button[value='conditions:new']")
    expect(page.locator(f"[name=conditions-0-attribute] option[value={name}]")).to_have_count(1)


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_the_pages_fit_a_phone_in_chinese(open_page: OpenPage, screenshot: Screenshot, scheme: str) -> None:
    live = task(f"phone-{secrets.token_hex(3)}", points=10)
    publish_tasks(live)
    operator = new_operator("editor", "publisher")
    page = log_in(open_page(width=390, height=844, color_scheme=scheme, locale="zh-CN"), operator)
    page.goto(f"/admin/tasks/task/{live.code}/")
    page.fill("[name=points]", "20")
    save(page)
    for name, path in (
        ("form", f"/admin/tasks/task/{live.code}/"),
        ("drafts", "/admin/tasks/drafts/"),
        ("revisions", "/admin/tasks/revisions/"),
        ("attributes", "/admin/tasks/attributes/"),
    ):
        page.goto(path)
        screenshot(page, f"phone-tasks-{name}-{scheme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.goto(f"/admin/tasks/task/{live.code}/")
    page.click(".banner a.button")
    screenshot(page, f"phone-tasks-draft-{scheme}")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
