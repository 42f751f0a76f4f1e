"""What an operator does on the calendar, the explain page, lists of users, import and export, and the audit log, as he does it."""

from __future__ import annotations

import csv
import io
import json
import secrets
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from deploy.local.private_stack import PrivateStack
from tests.browser.conftest import Complaints, Operator

LogIn = Callable[[Page], None]
OpenPage = Callable[..., Page]
Screenshot = Callable[[Page, str], Path]

NOW = datetime.now(timezone.utc).replace(microsecond=0)
WIDE = {"width": 1280, "height": 900}
LOOKS = [
    pytest.param({**WIDE, "color_scheme": "light"}, id="light"),
    pytest.param({**WIDE, "color_scheme": "dark"}, id="dark"),
    pytest.param({"width": 390, "height": 844, "color_scheme": "light"}, id="phone"),
]


@pytest.fixture
def operator(django_on_stack: PrivateStack) -> Operator:
    """One for each test: his drafts are his alone."""
    from django.contrib.auth import get_user_model

    operator = Operator(f"operator-{secrets.token_hex(4)}")
    get_user_model().objects.create_superuser(operator.name, password=None)
    return operator


@pytest.fixture
def tag() -> str:
    """In the names of everything that one test makes."""
    return secrets.token_hex(3)


def publish(*documents: Any) -> None:
    from tests.stack.published import publish_tasks

    publish_tasks(*documents)


def a_task(code: str, name: str = "A task", **fields: Any) -> Any:
    from tests.stack.published import task, texts

    return task(code, texts=texts(name), **fields)


def a_file(name: str, content: str | bytes) -> dict[str, Any]:
    """For a file field."""
    return {"name": name, "mimeType": "text/plain", "buffer": content.encode() if isinstance(content, str) else content}


def box(found: Locator) -> dict[str, float]:
    place = found.bounding_box()
    assert place is not None
    return dict(place)


# Calendar


def festival(tag: str) -> None:
    publish(
        a_task(
            f"lantern-{tag}", f"Lantern {tag}", category=f"fest-{tag}", starts_at=NOW + timedelta(days=1), ends_at=NOW + timedelta(days=15)
        ),
        a_task(
            f"dragon-{tag}",
            f"Dragon {tag}",
            category=f"fest-{tag}",
            starts_at=NOW + timedelta(days=5),
            ends_at=NOW + timedelta(days=25),
            exclusive_group=f"g-{tag}",
        ),
        a_task(
            f"moon-{tag}",
            f"Moon {tag}",
            category=f"fest-{tag}",
            starts_at=NOW + timedelta(days=20),
            ends_at=NOW + timedelta(days=22),
            exclusive_group=f"g-{tag}",
        ),
        a_task(f"always-{tag}", f"Always {tag}", category=f"fest-{tag}"),
        a_task(f"over-{tag}", f"Over {tag}", category=f"fest-{tag}", ends_at=NOW - timedelta(days=3)),
    )


@pytest.mark.parametrize("look", LOOKS)
def test_the_calendar_shows_tasks_that_overlap_beside_each_other(
    open_page: OpenPage, log_in: LogIn, screenshot: Screenshot, tag: str, look: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    festival(tag)
    page = open_page(**look)
    log_in(page)

    page.goto("/admin/tasks/calendar/")
    page.select_option("select[name=category]", f"fest-{tag}")
    page.click("button:has-text('Show')")

    expect(page.locator(".lead")).to_contain_text("5 tasks run in these 8 weeks")
    lantern, dragon = (box(page.locator(f".lane a.task-bar[title^='{name} {tag}']")) for name in ("Lantern", "Dragon"))
    assert lantern["y"] != dragon["y"], "each in a lane of its own"
    assert lantern["x"] < dragon["x"] < lantern["x"] + lantern["width"], "and over each other in time"
    expect(page.locator(".through")).to_contain_text(f"Always {tag}")
    expect(page.locator("table.rows")).to_contain_text(f"over-{tag}")
    expect(page.locator("#content")).to_contain_text(f"are of the exclusive group “g-{tag}” and run together")
    assert page.evaluate("document.documentElement.scrollWidth") <= look["width"]
    screenshot(page, f"calendar-{request.node.callspec.id}")


def test_the_calendar_is_used_without_a_mouse(page: Page, log_in: LogIn, tag: str) -> None:
    festival(tag)
    log_in(page)
    page.goto(f"/admin/tasks/calendar/?category=fest-{tag}")

    page.locator(f".lane a.task-bar[title^='Dragon {tag}']").focus()
    page.keyboard.press("Enter")

    page.wait_for_url(f"**/admin/tasks/task/dragon-{tag}/")


def test_the_calendar_shows_what_a_draft_would_change(
    page: Page, log_in: LogIn, operator: Operator, tag: str, screenshot: Screenshot
) -> None:
    from django.contrib.auth import get_user_model

    from apps.tasks.publishing import drafts

    festival(tag)
    editor = get_user_model().objects.get(username=operator.name)
    draft = drafts.open_draft(editor, f"Draft {tag}")
    longer = a_task(f"lantern-{tag}", f"Lantern {tag}", category=f"fest-{tag}", starts_at=NOW, ends_at=NOW + timedelta(days=30))
    fresh = a_task(f"snow-{tag}", f"Snow {tag}", category=f"fest-{tag}", starts_at=NOW, ends_at=NOW + timedelta(days=3))
    drafts.save_documents(draft, draft.edition, {("task", longer.code): longer, ("task", fresh.code): fresh}, editor)
    log_in(page)

    page.goto(f"/admin/tasks/calendar/?category=fest-{tag}")
    expect(page.locator("table.rows tbody tr")).to_have_count(5)
    page.select_option("select[name=draft]", str(draft.pk))
    page.click("button:has-text('Show')")

    expect(page.locator("table.rows tbody tr")).to_have_count(6)
    expect(page.locator("table.rows tr", has_text=f"snow-{tag}")).to_contain_text("new in the draft")
    expect(page.locator("table.rows tr", has_text=f"lantern-{tag}")).to_contain_text("changed by the draft")
    expect(page.locator(".note")).to_contain_text("Users do not see this.")
    screenshot(page, "calendar-draft")


# Explain


def login_task(tag: str, **fields: Any) -> Any:
    from apps.tasks.config.documents import Condition

    rows = (Condition(attribute=f"level_{tag}", operator=">=", value=30),)
    return a_task(f"login-{tag}", conditions=(rows,), starts_at=NOW - timedelta(days=5), **fields)


def publish_login(tag: str) -> None:
    from apps.tasks.config.documents import Attribute, Period

    publish(Attribute(name=f"level_{tag}", type="number"), login_task(tag, period=Period(kind="daily", zone="Asia/Shanghai")))


@pytest.mark.parametrize("look", LOOKS)
def test_a_user_is_explained_in_one_sentence_and_then_check_by_check(
    open_page: OpenPage, log_in: LogIn, screenshot: Screenshot, tag: str, look: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    publish_login(tag)
    page = open_page(**look)
    log_in(page)

    page.goto("/admin/tasks/explain/")
    page.fill("#uid", "42")
    page.fill("#task", f"login-{tag}")
    page.click("button:has-text('Explain')")
    expect(page.locator("#answer summary")).to_contain_text(f"User 42 does not see login-{tag}, because 1 of 3 checks fails.")
    expect(page.locator(".checks")).to_contain_text(f"level_{tag}: unknown, nobody said it.")
    expect(page.locator(".checks .mark.unknown")).to_have_text("?")

    page.fill(f"input[name='a.level_{tag}']", "28")
    page.click("button:has-text('Explain')")
    expect(page.locator("#answer summary")).to_contain_text("does not see")
    expect(page.locator(".checks .decides")).to_contain_text(f"level_{tag}: is 28, must be ≥ 30")
    expect(page.locator(".checks .decides .mark")).to_have_text("✗")
    expect(page.locator(".facts")).to_contain_text("(Asia/Shanghai)")
    screenshot(page, f"explain-{request.node.callspec.id}")

    page.fill(f"input[name='a.level_{tag}']", "30")
    page.click("button:has-text('Explain')")
    expect(page.locator("#answer summary")).to_contain_text(f"User 42 sees login-{tag}: available.")
    assert page.evaluate("document.documentElement.scrollWidth") <= look["width"]


def test_another_moment_and_a_draft_are_explained_as_they_are(page: Page, log_in: LogIn, operator: Operator, tag: str) -> None:
    from django.contrib.auth import get_user_model

    from apps.tasks.publishing import drafts

    publish_login(tag)
    editor = get_user_model().objects.get(username=operator.name)
    draft = drafts.open_draft(editor, f"Easier {tag}")
    drafts.save_document(draft, draft.edition, "task", a_task(f"login-{tag}", starts_at=NOW - timedelta(days=5)), editor)
    log_in(page)

    page.goto(f"/admin/tasks/explain/?uid=42&task=login-{tag}&a.level_{tag}=30")
    page.fill("#at", (NOW - timedelta(days=6)).strftime("%Y-%m-%dT%H:%M:%S"))
    page.click("button:has-text('Explain')")
    expect(page.locator(".checks .decides")).to_contain_text("It has not begun")
    expect(page.locator("#answer")).to_contain_text("Another moment")

    page.fill("#at", "")
    page.fill(f"input[name='a.level_{tag}']", "1")
    page.select_option("#on", f"draft-{draft.pk}")
    page.click("button:has-text('Explain')")
    expect(page.locator("#answer summary")).to_contain_text(f"User 42 sees login-{tag}")
    expect(page.locator("#answer .note")).to_contain_text("Users do not see this.")

    page.select_option("#on", "revision")
    page.fill("#revision", "999999")
    page.click("button:has-text('Explain')")
    expect(page.locator("[role=alert]")).to_contain_text("cannot be explained")

    page.goto("/admin/tasks/explain/?uid=42&on=draft-999999999")
    expect(page.locator("[role=alert]")).to_contain_text("This draft is not open any more")
    assert page.locator("#answer").count() == 0, "nothing is explained that nobody asked for"


def test_without_the_dbsvr_the_page_says_so_and_leaves_open_what_depends_on_it(
    page: Page, log_in: LogIn, stack: PrivateStack, tag: str, screenshot: Screenshot
) -> None:
    from apps.tasks.config.documents import Prerequisite

    publish(a_task(f"first-{tag}"), a_task(f"second-{tag}", prerequisites=(Prerequisite(task=f"first-{tag}"),)))
    log_in(page)
    uid = 10**12 + int(tag, 16)  # nobody has a copy of him

    stack.front.freeze()
    try:
        page.goto(f"/admin/tasks/explain/?uid={uid}&task=second-{tag}")
        expect(page.locator("#answer [role=alert]")).to_contain_text("The DBSvr does not answer")
        expect(page.locator("#answer summary")).to_contain_text("It cannot be said whether")
        screenshot(page, "explain-without-dbsvr")
        page.goto(f"/admin/tasks/explain/?uid={uid + 1}&task=first-{tag}")
        expect(page.locator("#answer summary")).to_contain_text("how far the user is, is unknown")
    finally:
        stack.front.thaw()

    page.reload()
    expect(page.locator("#answer summary")).to_contain_text("available")


def test_what_cannot_be_understood_is_told_at_its_field(page: Page, log_in: LogIn, tag: str) -> None:
    publish_login(tag)
    log_in(page)

    page.goto(f"/admin/tasks/explain/?uid=0&at=yesterday&task=login-{tag}&a.level_{tag}=high")

    expect(page.locator("#uid-fault")).to_contain_text("from 1 to")
    expect(page.locator("#at-fault")).to_contain_text("This is no moment.")
    expect(page.locator(f"[id='a.level_{tag}-fault']")).to_contain_text("This must be a number.")
    assert page.locator("#answer").count() == 0


def test_explain_is_used_with_the_keyboard_alone(page: Page, log_in: LogIn, tag: str) -> None:
    publish_login(tag)
    log_in(page)
    page.goto("/admin/tasks/explain/")

    page.locator("#uid").focus()
    page.keyboard.type("42")
    page.keyboard.press("Enter")

    expect(page.locator("#answer h2")).to_contain_text("User 42 sees")
    summary = page.locator("#answer summary", has_text=f"login-{tag}")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answer details[open] .checks")).to_be_visible()


# Lists of users


def test_a_list_is_uploaded_into_the_draft_with_its_repetitions_counted(
    page: Page, log_in: LogIn, screenshot: Screenshot, tag: str
) -> None:
    from apps.tasks.models import AuditEntry

    log_in(page)
    page.goto("/admin/tasks/lists/")
    page.click("a:has-text('New list of users')")
    page.fill("input[name=name]", f"testers-{tag}")
    page.set_input_files("input[type=file]", a_file("testers.csv", "uid\n42\n7\n42\n9223372036854775807\n"))
    page.click("button:has-text('Put it into my draft')")

    page.wait_for_url(f"**/admin/tasks/lists/testers-{tag}/")
    expect(page.locator("body")).to_contain_text(f"“testers-{tag}” has 3 users in your draft. 1 repetition was dropped.")
    expect(page.locator("body")).to_contain_text("It is not live yet.")
    page.fill("input[name=uid]", "42")
    page.click("button:text-is('Look')")
    expect(page.locator("[role=status]")).to_contain_text("User 42 is on this list.")
    screenshot(page, "list")
    entry = AuditEntry.objects.get(kind="list", key=f"testers-{tag}")
    assert (entry.before, entry.after["count"]) == (None, 3)


def test_a_file_with_wrong_lines_is_shown_line_by_line_and_not_taken(page: Page, log_in: LogIn, screenshot: Screenshot, tag: str) -> None:
    from apps.tasks.models import DraftItem

    log_in(page)
    page.goto("/admin/tasks/new-list/")
    page.fill("input[name=name]", f"wrong-{tag}")
    page.set_input_files("input[type=file]", a_file("wrong.txt", "1\n2\nthree\n0\n"))
    page.click("button:has-text('Put it into my draft')")

    faults = page.locator("[role=alert]")
    expect(faults).to_contain_text("Nothing was taken: 2 that are no uid. The other 2 are fine.")
    expect(faults).to_contain_text("line 3")
    expect(faults).to_contain_text("line 4")
    screenshot(page, "list-faults")
    assert not DraftItem.objects.filter(kind="list", key=f"wrong-{tag}").exists()

    page.set_input_files("input[type=file]", a_file("wrong.txt", "1\n2\nthree\n0\n"))
    page.check("input[name=leave_out]")
    page.click("button:has-text('Put it into my draft')")
    expect(page.locator("body")).to_contain_text(f"“wrong-{tag}” has 2 users in your draft. Left out: 2 that are no uid.")


def test_a_list_says_where_it_is_used_and_cannot_be_removed_from_under_a_task(page: Page, log_in: LogIn, tag: str) -> None:
    from apps.tasks.config.documents import Release, UserList
    from apps.tasks.publishing.lists import store

    contents = store([7, 42])
    publish(
        UserList(name=f"used-{tag}", sha256=contents.sha256, count=2),
        UserList(name=f"spare-{tag}", sha256=contents.sha256, count=2),
        a_task(f"gray-{tag}", release=Release(percentage_bp=0, allow=(f"used-{tag}",))),
    )
    log_in(page)

    page.goto(f"/admin/tasks/lists/used-{tag}/")
    expect(page.locator("section", has_text="Where it is used").first).to_contain_text(f"gray-{tag}: who is on the list has the task")
    expect(page.locator(f"button:has-text('Remove used-{tag}')")).to_be_disabled()

    page.set_input_files("input[type=file]", a_file("more.txt", "7 42 43"))
    page.click(f"button:has-text('Replace the users of used-{tag}')")
    expect(page.locator(".lead")).to_contain_text("has 3 users. Live it has 2.")

    page.goto(f"/admin/tasks/lists/spare-{tag}/")
    page.click(f"button:has-text('Remove spare-{tag}')")
    page.wait_for_url("**/admin/tasks/lists/")
    expect(page.locator("body")).to_contain_text("is removed in your draft")


# Import and export


def exported(page: Page, address: str) -> str:
    answer = page.request.get(address)
    assert answer.ok
    return str(answer.text())


def test_an_export_is_changed_and_imported_after_a_dry_run(page: Page, log_in: LogIn, screenshot: Screenshot, tag: str) -> None:
    from apps.tasks.models import AuditEntry, DraftItem

    publish(a_task(f"fish-{tag}", points=10))
    log_in(page)
    content = json.loads(exported(page, "/admin/tasks/exchange/tasks.json"))
    fish = next(task for task in content["tasks"] if task["code"] == f"fish-{tag}")
    fish["points"] = 20
    content["tasks"].append({**fish, "code": f"bird-{tag}"})

    page.goto("/admin/tasks/exchange/")
    screenshot(page, "exchange")
    page.set_input_files("input[type=file]", a_file("tasks.json", json.dumps(content)))
    page.click("button:has-text('Dry run')")

    expect(page.locator(f"#change-task-fish-{tag}")).to_be_visible()
    unasked = [each for each in page.locator("article.change").all() if tag not in (each.get_attribute("id") or "")]
    assert [each.inner_text() for each in unasked] == []
    expect(page.locator(".lead").first).to_contain_text("It would change 2 documents.")
    expect(page.locator(f"#change-task-fish-{tag}")).to_contain_text("points 10 → 20")
    expect(page.locator(f"#change-task-bird-{tag}")).to_contain_text("new")
    screenshot(page, "exchange-dry-run")
    assert not DraftItem.objects.filter(key__in=[f"fish-{tag}", f"bird-{tag}"]).exists(), "nothing is changed by looking"

    page.click("button:has-text('Put 2 changes into my draft')")
    page.wait_for_url("**/admin/tasks/draft/**")
    expect(page.locator("body")).to_contain_text("2 documents are in your draft.")
    rows = {entry.key: entry for entry in AuditEntry.objects.filter(action="import", key__endswith=tag)}
    assert rows.keys() == {f"fish-{tag}", f"bird-{tag}"}, "row by row"
    assert (rows[f"fish-{tag}"].before["points"], rows[f"fish-{tag}"].after["points"]) == (10, 20)


def test_a_table_from_a_spreadsheet_is_imported_and_its_faults_have_their_lines(
    page: Page, log_in: LogIn, screenshot: Screenshot, tag: str
) -> None:
    publish(a_task(f"red-{tag}", points=10), a_task(f"blue-{tag}", points=10))
    log_in(page)
    table = list(csv.DictReader(io.StringIO(exported(page, "/admin/tasks/exchange/tasks.csv").removeprefix("\ufeff"))))
    rows = [row for row in table if row["code"].endswith(tag)]
    for row in rows:
        row["points"] = "30" if row["code"].startswith("red") else "many"
    written = io.StringIO()
    writer = csv.DictWriter(written, table[0].keys())
    writer.writeheader()
    writer.writerows(rows)

    page.goto("/admin/tasks/exchange/")
    page.set_input_files("input[type=file]", a_file("tasks.csv", written.getvalue()))
    page.click("button:has-text('Dry run')")

    expect(page.locator(".lead").first).to_contain_text("It would change 1 document.")
    expect(page.locator(f"#change-task-red-{tag}")).to_contain_text("points 10 → 30")
    line = 2 + next(number for number, row in enumerate(rows) if row["code"].startswith("blue"))
    expect(page.locator("section", has_text="thing is wrong").first).to_contain_text(f"line {line}, column points")
    screenshot(page, "exchange-faults")


def test_a_file_that_makes_no_sense_changes_nothing_and_says_why(page: Page, log_in: LogIn) -> None:
    log_in(page)
    for content in ("", "{", '{"schema": 99}', "\x00\x01"):
        page.goto("/admin/tasks/exchange/")
        page.set_input_files("input[type=file]", a_file("x.json", content))
        page.click("button:has-text('Dry run')")
        expect(page.locator(".lead").first).to_contain_text("It would change nothing.")
        expect(page.locator("section", has_text="1 thing is wrong")).to_have_count(1)


def test_what_is_confirmed_is_what_was_shown(page: Page, log_in: LogIn, complaints: Complaints, tag: str) -> None:
    from apps.tasks.models import DraftItem

    log_in(page)
    page.goto("/admin/tasks/exchange/")
    documents = {"schema": 1, "attributes": [{"name": f"honest_{tag}", "type": "number"}]}
    page.set_input_files("input[type=file]", a_file("x.json", json.dumps(documents)))
    page.click("button:has-text('Dry run')")
    page.locator("input[name=packed]").evaluate("field => { field.value = field.value.replace(/^./, '!') }")
    page.click("button:has-text('Put 1 change into my draft')")

    expect(page.locator("body")).to_contain_text("The dry run is too old. Choose the file again.")
    assert not DraftItem.objects.filter(key=f"honest_{tag}").exists()


# Audit log


def test_the_audit_log_is_searched_and_shows_both_sides(page: Page, log_in: LogIn, screenshot: Screenshot, tag: str) -> None:
    from django.contrib.auth import get_user_model

    from apps.tasks.publishing import drafts

    publish(a_task(f"tree-{tag}", points=10))
    wang = get_user_model().objects.create_user(f"wang-{tag}")
    draft = drafts.open_draft(wang, "Trees")
    drafts.save_document(draft, draft.edition, "task", a_task(f"tree-{tag}", points=25), wang)
    log_in(page)

    page.goto("/admin/tasks/audit/")
    page.fill("input[name=who]", f"wang-{tag}")
    page.fill("input[name=key]", f"tree-{tag}")
    page.select_option("select[name=action]", "save")
    page.fill("input[name=since]", NOW.strftime("%Y-%m-%d"))
    page.click("button:has-text('Search')")

    rows = page.locator("table.cards > tbody > tr")
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text(f"changed in a draft: task tree-{tag}")
    rows.locator("summary").click()
    expect(rows.locator(".sides tr.changed")).to_contain_text("points")
    expect(rows.locator(".sides .old", has_text="10")).to_be_visible()
    expect(rows.locator(".sides .new", has_text="25")).to_be_visible()
    screenshot(page, "audit")

    rows.locator("td a").first.click()
    expect(page.locator(".lead")).to_contain_text(f"wang-{tag}: changed in a draft")
    expect(page.locator(".sides")).to_contain_text("texts.en.name")
    screenshot(page, "audit-entry")

    page.goto(f"/admin/tasks/audit/?who=wang-{tag}&until=2020-01-01")
    expect(page.locator("#content")).to_contain_text("No entry matches.")
    page.goto("/admin/tasks/audit/?since=tomorrow")
    expect(page.locator("[role=alert]")).to_contain_text("“tomorrow” is no day.")


def test_the_audit_log_has_pages_that_stay_while_entries_arrive(page: Page, log_in: LogIn, tag: str) -> None:
    from apps.tasks.models import AuditEntry

    def add(count: int) -> None:
        for _number in range(count):
            AuditEntry.objects.create(who=f"li-{tag}", action="save", kind="task", key=f"page-{tag}")

    add(70)
    log_in(page)
    page.goto(f"/admin/tasks/audit/?who=li-{tag}")
    rows = page.locator("table.cards > tbody > tr")
    expect(rows).to_have_count(50)
    first = rows.first.get_attribute("id")

    page.click("a:has-text('Older')")
    expect(rows).to_have_count(20)
    add(3)
    page.reload()
    expect(rows).to_have_count(20)
    page.click("a:has-text('Newer')")
    expect(rows).to_have_count(50)
    assert rows.first.get_attribute("id") == first
    page.click("a:text-is('Newest')")
    expect(rows).to_have_count(50)
    assert rows.first.get_attribute("id") != first


def test_the_audit_export_holds_all_that_was_found_and_no_formula(page: Page, log_in: LogIn, tag: str) -> None:
    from apps.tasks.models import AuditEntry

    for number in range(60):
        AuditEntry.objects.create(
            who=f"zhao-{tag}", action="save", kind="task", key=f"t-{number}", note='=HYPERLINK("http://x")', after={"名": number}
        )
    log_in(page)

    table = list(csv.DictReader(io.StringIO(exported(page, f"/admin/tasks/audit/export.csv?who=zhao-{tag}").removeprefix("\ufeff"))))

    assert [row["key"] for row in table] == [f"t-{number}" for number in reversed(range(60))]
    assert {row["note"] for row in table} == {'\'=HYPERLINK("http://x")'}
    assert table[0]["after"] == '{"名": 59}'


# Templates


def test_a_template_fills_the_form_and_is_saved_into_the_draft(page: Page, log_in: LogIn, screenshot: Screenshot, tag: str) -> None:
    from apps.tasks.models import DraftItem

    log_in(page)
    page.goto("/admin/tasks/templates/")
    expect(page.locator(".gallery li")).to_have_count(6)
    expect(page.locator(".gallery li", has_text="Days in a row").locator("p").first).to_contain_text("for 7 days in a row")
    screenshot(page, "templates")
    page.get_by_label("Begin with this: Days in a row").click()

    expect(page.locator("[name=texts-0-name]")).to_have_value("Seven days in a row")
    page.fill("#id_code", f"seven-{tag}")
    page.click(".buttons button[name=save]")

    page.wait_for_url(f"**/admin/tasks/task/seven-{tag}/")
    item = DraftItem.objects.get(kind="task", key=f"seven-{tag}")
    assert item.document["kind"] == "streak"
    assert item.document["streak"] == {"length": 7, "grace": 1}


# All of them


@pytest.mark.parametrize("scheme", [pytest.param("light", marks=pytest.mark.long), "dark"])
def test_a_phone_shows_the_pages_without_scrolling_sideways(
    open_page: OpenPage, log_in: LogIn, screenshot: Screenshot, tag: str, scheme: str
) -> None:
    festival(tag)
    page = open_page(width=390, height=844, color_scheme=scheme)
    log_in(page)

    for path in ("calendar/", "explain/?uid=42", "templates/", "lists/", "new-list/", "exchange/", "audit/"):
        page.goto(f"/admin/tasks/{path}")

        screenshot(page, f"phone-{path.partition('/')[0]}-{scheme}")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
