"""What an operator sees of his account: his settings, a lock, a refusal; and an administrator of others'."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import Complaints

LogIn = Callable[[Page], None]
OpenPage = Callable[..., Page]
Screenshot = Callable[[Page, str], Path]


def make_account(role: str = "") -> tuple[Any, str]:
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    password = secrets.token_urlsafe(12)
    user = get_user_model().objects.create_user(f"{role or 'nobody'}-{secrets.token_hex(4)}", password=password, is_staff=True)
    if role:
        user.groups.set([Group.objects.get(name=role)])
    return user, password


def try_to_log_in(page: Page, name: str, password: str) -> None:
    page.goto("/admin/login/?next=/admin/")
    page.fill("input[name=username]", name)
    page.fill("input[name=password]", password)
    page.click("button[type=submit]")


def test_times_are_said_in_the_zone_that_an_operator_chooses(page: Page, log_in: LogIn, screenshot: Screenshot) -> None:
    log_in(page)
    page.goto("/admin/me/")
    page.select_option("select[name=time_zone]", "Asia/Shanghai")
    page.get_by_role("button", name="Save").click()

    expect(page.locator("#content")).to_contain_text(re.compile(r"It is now \d{4}-\d\d-\d\d \d\d:\d\d Asia/Shanghai"))
    expect(page.locator(".zone-of-page")).to_have_text("Asia/Shanghai")
    screenshot(page, "people-settings")
    page.goto("/console/")
    expect(page.locator("#charts")).to_have_attribute("data-zone", "Asia/Shanghai")

    page.goto("/admin/me/")
    page.select_option("select[name=time_zone]", "")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".zone-of-page")).to_have_text("UTC")


def test_a_locked_account_is_told_and_an_administrator_unlocks_it(
    open_page: OpenPage, log_in: LogIn, screenshot: Screenshot, complaints: Complaints
) -> None:
    complaints.forgive("429")
    user, password = make_account("viewer")
    page = open_page()
    for _try in range(5):
        try_to_log_in(page, user.username, "wrong")
    expect(page.locator("body")).to_contain_text("Too many logins to this account have failed from your address.")
    screenshot(page, "people-locked")

    administrator = open_page()
    log_in(administrator)
    administrator.goto(f"/admin/auth/user/?q={user.username}")
    expect(administrator.locator("#result_list tbody tr")).to_contain_text("locked for")
    screenshot(administrator, "people-users")
    administrator.locator("#result_list tbody input.action-select").check()
    administrator.select_option("select[name=action]", "unlock_logins")
    administrator.locator("button[name=index]:visible").click()
    expect(administrator.locator("body")).to_contain_text("1 account unlocked.")

    try_to_log_in(page, user.username, password)
    page.wait_for_url("**/admin/")


def test_who_may_not_is_told_who_may(page: Page, screenshot: Screenshot, complaints: Complaints) -> None:
    complaints.forgive("403")
    user, password = make_account("viewer")
    try_to_log_in(page, user.username, password)
    page.wait_for_url("**/admin/")

    page.goto("/admin/tasks/explain/")

    expect(page.locator("#content")).to_contain_text("You may not explain a user.")
    expect(page.locator("#content")).to_contain_text("editor, reviewer, publisher, support")
    screenshot(page, "people-refused")


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_a_phone_shows_the_pages_of_accounts_without_scrolling_sideways(
    open_page: OpenPage, log_in: LogIn, screenshot: Screenshot, scheme: str
) -> None:
    user, _password = make_account("editor")
    page = open_page(width=390, height=844, color_scheme=scheme)
    log_in(page)
    for name, path in (("settings", "/admin/me/"), ("account", f"/admin/auth/user/{user.pk}/change/"), ("users", "/admin/auth/user/")):
        page.goto(path)
        screenshot(page, f"people-phone-{name}-{scheme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
