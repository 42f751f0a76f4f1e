"""What an operator does in the admin, as he does it."""

from __future__ import annotations

import json
import re
import secrets
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

LogIn = Callable[[Page], None]
OpenPage = Callable[..., Page]
Screenshot = Callable[[Page, str], Path]


def ask_api(web: WebProcess, key: str, path: str) -> dict[str, Any]:
    request = urllib.request.Request(web.address + path, headers={"Authorization": f"Api-Key {key}"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        body: dict[str, Any] = json.load(answer)
        return body


def make_key() -> str:
    from apps.tasks.keys import create_api_key

    return create_api_key("browser test", ["read"])[1]


def test_the_way_in_leads_to_console_admin_and_api(page: Page, screenshot: Screenshot) -> None:
    page.goto("/")

    assert page.title() == "Tasksys"
    assert [link.get_attribute("href") for link in page.locator("nav a").all()] == ["/console/", "/admin/", "/api/docs/"]
    screenshot(page, "home")


def test_an_api_key_is_shown_once_and_revoked(page: Page, web: WebProcess, log_in: LogIn, screenshot: Screenshot) -> None:
    name = f"game server {secrets.token_hex(4)}"
    log_in(page)
    page.goto("/admin/tasks/apikey/add/")
    screenshot(page, "admin-key-form")
    page.fill("input[name=name]", name)
    page.click("button[name=_save]")

    page.wait_for_url("**/admin/tasks/apikey/")
    key = page.locator("code", has_text=re.compile(r"^tsk_\w{8}_")).first.inner_text()
    screenshot(page, "admin-key-shown")
    eventually(lambda: ask_api(web, key, "/api/v1/users/1/tasks"), within_s=3)
    page.reload()
    assert key not in page.content()

    page.click(f"a:has-text('{name}')")
    screenshot(page, "admin-key-change")
    page.click("text=Revoke")
    expect(page.locator("body")).to_contain_text("is revoked")
    eventually(lambda: is_refused(web, key), within_s=2)


def is_refused(web: WebProcess, key: str) -> bool:
    try:
        ask_api(web, key, "/api/v1/users/1/tasks")
    except urllib.error.HTTPError as error:
        return error.code == 401
    return False


PAGES = [
    "/",
    "/admin/",
    "/admin/tasks/task/",
    "/admin/tasks/new-task/",
    "/admin/tasks/drafts/",
    "/admin/tasks/revisions/",
    "/admin/tasks/attributes/",
    "/admin/tasks/new-attribute/",
    "/admin/tasks/events/",
    "/admin/tasks/new-event/",
    "/admin/tasks/apikey/add/",
    "/admin/auth/user/",
    "/admin/auth/user/add/",
]
NAMES = re.compile(
    r"Tasksys|English|DBSvr|API|UTC|LDAP|[A-Z][A-Za-z_-]+/[A-Za-z_/ -]+|app://friends|daily-login|invite-3-friends"
    r"|\b(?:read|write|admin)\b|key:|operator-\w+|tsk_\w+"
)


def test_every_word_is_chinese_for_a_chinese_operator(open_page: OpenPage, log_in: LogIn) -> None:
    page = open_page(locale="zh-CN")
    log_in(page)
    for path in PAGES:
        page.goto(path)

        assert english_words(page) - content_words() == set(), path


def english_words(page: Page) -> set[str]:
    no_words = ".material-symbols-outlined, script, style, code, select[name=period_zone], select[name=period_fallback_zone]"
    page.evaluate("what => document.querySelectorAll(what).forEach(element => element.remove())", no_words)
    return set(re.findall(r"[A-Za-z]{3,}", NAMES.sub(" ", page.locator("body").inner_text())))


def content_words() -> set[str]:
    """What operators wrote: names and texts of tasks, event types, keys, drafts, roles, and their own names."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    from apps.tasks.config.documents import KINDS, encode
    from apps.tasks.models import ApiKey, Draft, Revision, Task
    from apps.tasks.publishing.live import live_configuration

    names = [json.dumps(document, ensure_ascii=False) for document in Task.objects.values_list("document", flat=True)]
    names += [encode(document).decode() for kind in KINDS for document in live_configuration().of_kind(kind).values()]
    names += [*Draft.objects.values_list("title", flat=True), *get_user_model().objects.values_list("username", flat=True)]
    names += [*Revision.objects.values_list("reason", flat=True), "system"]
    names += list(Group.objects.values_list("name", flat=True))
    names += [name for row in Task.objects.values_list("name", "code") for name in row] + list(
        ApiKey.objects.values_list("name", flat=True)
    )
    return {word for name in names for word in re.findall(r"[A-Za-z]{3,}", name)}


def test_the_language_is_chosen_on_the_way_in(page: Page, screenshot: Screenshot) -> None:
    page.goto("/")
    page.click("button[value=zh-hans]")

    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    expect(page.locator("nav")).to_contain_text("控制台")
    screenshot(page, "home-zh")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_a_phone_shows_the_admin_without_scrolling_sideways(
    open_page: OpenPage, log_in: LogIn, screenshot: Screenshot, scheme: str
) -> None:
    page = open_page(width=390, height=844, color_scheme=scheme, locale="zh-CN")
    log_in(page)
    for name, path in (("list", "/admin/tasks/task/"), ("form", "/admin/tasks/new-task/"), ("home", "/")):
        page.goto(path)
        screenshot(page, f"phone-{name}-{scheme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path


def test_the_api_page_shows_and_tries_the_calls(page: Page, stack: Any, screenshot: Screenshot) -> None:
    key = make_key()
    page.goto("/api/docs/")
    described = page.request.get("/api/schema/?format=json").json()["paths"]
    expect(page.locator(".opblock-summary")).to_have_count(sum(len(methods) for methods in described.values()))
    screenshot(page, "api-docs")

    page.click("button.authorize")
    page.fill(".auth-container input", f"Api-Key {key}")
    page.click(".auth-btn-wrapper button.authorize")
    page.click("button.btn-done")
    page.click("#operations-users-listTasks .opblock-summary-control")
    page.fill("#operations-users-listTasks tr[data-param-name=uid] input", "1000000000042")
    page.click("#operations-users-listTasks button.execute")

    answer = page.locator("#operations-users-listTasks .live-responses-table tbody .response-col_status").first
    expect(answer).to_contain_text("200")
    screenshot(page, "api-docs-tried")
