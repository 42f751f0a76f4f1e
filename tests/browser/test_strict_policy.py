"""The admin works under the strict Content-Security-Policy: what opens, opens, and the policy stops nothing.

`open_page` reports every violation and every script's error at the test's end (see conftest), so each test here is about both.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable

from playwright.sync_api import Page, expect

LogIn = Callable[[Page], None]
OpenPage = Callable[..., Page]

PAGES = [
    "/admin/",
    "/admin/tasks/apikey/",
    "/admin/tasks/apikey/add/",
    "/admin/auth/user/",
    "/admin/auth/user/add/",
    "/admin/auth/group/",
    "/admin/auth/group/add/",
    "/admin/me/",
    "/admin/password_change/",
]


def test_no_page_breaks_the_policy_or_allows_more_than_it(page: Page, log_in: LogIn) -> None:
    for path in ["/admin/login/", *PAGES]:
        if path == PAGES[0]:
            log_in(page)
        answer = page.goto(path)
        page.wait_for_function("document.documentElement.getAttribute('x-cloak') === null")

        assert answer is not None, path
        policy = answer.headers["content-security-policy"]
        assert {"script-src 'self'", "style-src 'self'"} <= {directive.strip() for directive in policy.split(";")}, path
        assert "unsafe" not in policy, path


def test_the_theme_is_chosen_in_the_menu_and_kept(page: Page, log_in: LogIn) -> None:
    log_in(page)
    page.goto("/admin/")
    root = page.locator("html")

    page.locator("[x-data='{ openUserLinks: false }'] > .cursor-pointer").click()
    page.get_by_text("Dark", exact=True).click()
    expect(root).to_have_class(re.compile(r"\bdark\b"))

    page.reload()
    expect(root).to_have_class(re.compile(r"\bdark\b"))


def test_the_menu_leads_to_the_operators_own_pages(page: Page, log_in: LogIn) -> None:
    log_in(page)
    page.goto("/admin/")

    page.locator("[x-data='{ openUserLinks: false }'] > .cursor-pointer").click()
    page.get_by_role("link", name="My settings").click()

    page.wait_for_url("**/admin/me/")


def test_the_sidebar_is_folded_and_stays_folded(page: Page, log_in: LogIn) -> None:
    log_in(page)
    page.goto("/admin/")
    sidebar = page.locator("#nav-sidebar")
    expect(sidebar).to_be_visible()

    page.locator("span.material-symbols-outlined", has_text="dock_to_right").first.click()
    expect(sidebar).to_be_hidden()

    page.reload()
    expect(sidebar).to_be_hidden()


def test_the_palette_finds_a_page_and_enter_opens_it(page: Page, log_in: LogIn) -> None:
    log_in(page)
    page.goto("/admin/")

    page.keyboard.press("Control+k")
    field = page.locator("#search-input-command")
    expect(field).to_be_focused()
    field.press_sequentially("user")
    expect(page.locator("#command-results-list li").first).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")

    page.wait_for_url("**/admin/auth/user/")


def test_a_lists_filters_open_and_filter(page: Page, log_in: LogIn) -> None:
    log_in(page)
    page.goto("/admin/auth/user/")

    page.get_by_text("Filters").first.click()
    page.locator("#changelist-filter").get_by_text("viewer").first.click()

    page.wait_for_url(re.compile("groups"))


def test_a_lists_actions_appear_with_a_tick(page: Page, log_in: LogIn) -> None:
    log_in(page)
    page.goto("/admin/auth/user/")

    page.locator("#result_list tbody input.action-select").first.check()
    page.select_option("select[name=action]", "unlock_logins")
    page.locator("button[name=index]:visible").click()

    expect(page.locator("body")).to_contain_text("unlocked.")


def test_an_account_is_given_a_role_and_a_role_its_rights(page: Page, log_in: LogIn) -> None:
    """Boxes to tick, and the lists of two columns."""
    from django.contrib.auth import get_user_model
    from django.contrib.auth.models import Group

    name = secrets.token_hex(4)
    user = get_user_model().objects.create_user(f"form-{name}", is_staff=True)
    log_in(page)
    page.goto(f"/admin/auth/user/{user.pk}/change/")
    page.get_by_label("support: explains users, and looks").check()
    page.click("button[name=_continue]")
    expect(page.locator("body")).to_contain_text("was changed successfully")
    assert [group.name for group in user.groups.all()] == ["support"]

    page.goto("/admin/auth/group/add/")
    page.fill("input[name=name]", f"role {name}")
    explain = page.locator("select#id_permissions_from option", has_text="Can explain a user").get_attribute("value")
    page.select_option("select#id_permissions_from", explain)
    page.locator("#id_permissions_add, #id_permissions_add_link").first.click()
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    page.click("button[name=_continue]")
    expect(page.locator("body")).to_contain_text("was added successfully")
    assert [permission.codename for permission in Group.objects.get(name=f"role {name}").permissions.all()] == ["explain_user"]


def test_without_a_script_the_page_is_there(open_page: OpenPage) -> None:
    page = open_page(java_script_enabled=False)
    page.goto("/admin/login/")

    expect(page.locator("input[name=username]")).to_be_visible()
    expect(page.locator("#search-input-command")).to_be_hidden()
