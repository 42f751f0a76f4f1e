"""The Overview as an operator on call sees it: calm when all is well, right within seconds when it is not."""

from __future__ import annotations

import json
import re
import secrets
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from playwright.sync_api import Page, expect

from deploy.local.private_stack import PrivateStack
from deploy.local.stack_process import StackProcess
from tests.browser.conftest import Complaints
from tests.stack.published import publish_tasks, task, texts
from tests.stack.waiting import eventually
from tests.stack.web_process import WebProcess

LogIn = Callable[[Page], None]
OpenPage = Callable[..., Page]
Screenshot = Callable[[Page, str], Path]

CHARTS = ("reads-by-server", "master-reads-by-reason", "replica-lag", "oldest-waiting", "waiting", "throughput", "latency")
FIRST_USER = 2 * 10**12


class SmallLoad:
    """Some hundred reads and a few writes a second, from one client."""

    def __init__(self, stack: PrivateStack) -> None:
        self._client = stack.client()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        number = 0
        while not self._stop.wait(0.02):
            pipeline = self._client.pipeline(transaction=False)
            for _each in range(8):
                number += 1
                uid = FIRST_USER + number % 200
                if number % 10:
                    pipeline.execute_command("TASK.GET", uid, "node-1")
                else:
                    change = [{"task": 1, "period": "once", "op": "add", "value": 1}]
                    pipeline.execute_command("TASK.FINISH", uid, "node-1", f"load-{secrets.token_hex(8)}", json.dumps(change))
            try:
                pipeline.execute(raise_on_error=False)
            except redis.RedisError:
                return  # the stack is being stopped

    def end(self) -> None:
        self._stop.set()
        self._thread.join(5)
        self._client.close()


@pytest.fixture(scope="module")
def center(web: WebProcess, session_stack: PrivateStack) -> Iterator[None]:
    """The cache sync center at work: the console says when it is not."""
    processes = [session_stack.celery("purge", concurrency=2), session_stack.beat()]
    for process in processes:
        process.start()
    yield
    for process in processes:
        process.stop()


@pytest.fixture(scope="module")
def sampler(web: WebProcess, center: None, session_stack: PrivateStack) -> Iterator[StackProcess]:
    command = [sys.executable, "manage.py", "sampler"]
    process = StackProcess("sampler", command, session_stack.directory / "sampler.log", session_stack.environment)
    process.start()
    yield process
    assert process.stop() == 0, process.last_log_lines()


@pytest.fixture
def load(stack: PrivateStack, sampler: StackProcess) -> Iterator[SmallLoad]:
    running = SmallLoad(stack)
    yield running
    running.end()


@pytest.fixture
def overview(log_in: LogIn, sampler: StackProcess) -> Callable[[Page], Page]:
    def open_overview(page: Page) -> Page:
        log_in(page)
        page.goto("/console/")
        return page

    return open_overview


def figure(page: Page, key: str) -> float:
    text = page.locator(f'[data-v="{key}"]').inner_text()
    found = re.match(r"[\d,.]+", text)
    assert found, f"{key} is {text!r}"
    return float(found.group().replace(",", ""))


def wait_for_light(page: Page, level: str, within_s: float) -> None:
    expect(page.locator(f"#findings .light-{level}")).to_be_visible(timeout=within_s * 1000)


def overflow(page: Page) -> int:
    width: int = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return width


def test_the_overview_shows_live_figures_and_moving_charts(
    page: Page, overview: Callable[[Page], Page], load: SmallLoad, screenshot: Screenshot
) -> None:
    overview(page)
    wait_for_light(page, "ok", within_s=30)

    eventually(lambda: figure(page, "reads") > 10 and figure(page, "share") > 10, within_s=20, every_s=0.2)
    expect(page.locator("#light-word")).to_have_text("All well")
    expect(page.locator(".light")).to_contain_text("of them from replicas")
    page.reload()  # what the very first answers have not said yet is in the page now
    expect(page.locator("#segments tbody tr")).to_have_text(re.compile(r"all.*1 – 9,223,372,036,854,775,807.*at home", re.DOTALL))
    assert [chart.get_attribute("data-chart") for chart in page.locator("[data-chart]").all()] == list(CHARTS)
    expect(page.locator("[data-chart] canvas")).to_have_count(len(CHARTS))

    first_chart = page.locator('[data-chart="reads-by-server"]')
    expect(first_chart.locator("[data-legend] button")).to_have_count(2)
    picture = "element => element.querySelector('canvas').toDataURL()"
    before = first_chart.evaluate(picture)
    eventually(lambda: first_chart.evaluate(picture) != before, within_s=10, every_s=0.2)
    legend = first_chart.locator("[data-legend] button").nth(1)
    assert re.match(r"r1 [1-9]", legend.inner_text()), legend.inner_text()

    # The master/slave read ratio: the same chart in percent.
    first_chart.get_by_role("button", name="%").click()
    expect(legend).to_contain_text(re.compile(r"r1 \d+(\.\d+)? %"))
    expect(page.locator("#fresh")).to_contain_text("Live")
    screenshot(page, "console-overview")


def test_a_stalled_replica_turns_the_light_and_its_release_turns_it_back(
    page: Page, overview: Callable[[Page], Page], load: SmallLoad, stack: PrivateStack, screenshot: Screenshot
) -> None:
    overview(page)
    wait_for_light(page, "ok", within_s=60)

    stack.replica.stop_sql_thread()
    try:
        # First its tick stands still, a moment later its worker has asked the database why.
        expect(page.locator("#findings .light-ok")).to_have_count(0, timeout=4000)
        expect(page.locator(".finding").first).to_contain_text("r1")
        wait_for_light(page, "fault", within_s=8)
        expect(page.locator(".finding").first).to_contain_text("Replication on r1 is stopped, without an error.")
        expect(page.locator(".finding").first).to_contain_text("Nobody sees old data.")
        assert page.title() == "⚠ 1 · Overview · Tasksys"
        assert "fault" in (page.locator("#favicon").get_attribute("href") or "")
        eventually(lambda: re.search(r"[3-9]\.?\d* s", page.locator('[data-v="lag"]').inner_text()), within_s=15, every_s=0.2)
        screenshot(page, "console-stalled")
    finally:
        stack.replica.start_sql_thread()

    wait_for_light(page, "attention", within_s=8)
    expect(page.locator(".finding").first).to_contain_text("Replication on r1 runs again")
    wait_for_light(page, "ok", within_s=30)
    assert page.title() == "Overview · Tasksys"


def test_a_phone_in_chinese_and_dark_has_no_overflow_and_no_english(
    open_page: OpenPage, overview: Callable[[Page], Page], load: SmallLoad, screenshot: Screenshot
) -> None:
    page = overview(open_page(width=390, height=844, locale="zh-CN", color_scheme="dark", has_touch=True))
    wait_for_light(page, "ok", within_s=60)
    expect(page.locator("[data-chart] canvas")).to_have_count(len(CHARTS))

    assert overflow(page) == 0
    expect(page.locator("#light-word")).to_have_text("一切正常")
    text = page.locator("body").inner_text()
    for words_of_operators in page.locator("code, #tasks tbody td:nth-child(2)").all_inner_texts():
        text = text.replace(words_of_operators, "")
    assert re.findall(r"[A-Za-z]{3,} [A-Za-z]{2,} [A-Za-z]{2,}", text) == []
    luminance = page.evaluate(
        "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0)"
    )
    assert luminance < 150
    screenshot(page, "console-phone-zh-dark")


def test_the_theme_changes_and_is_kept(page: Page, overview: Callable[[Page], Page]) -> None:
    overview(page)
    background = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(background)

    page.click("#theme")
    dark = page.evaluate(background)
    page.reload()

    assert dark != light
    assert page.evaluate(background) == dark


def test_states_differ_by_shape_alone(page: Page, overview: Callable[[Page], Page]) -> None:
    overview(page)
    page.evaluate("""() => {
        const box = document.createElement('div');
        box.id = 'shapes';
        box.innerHTML = ['ok', 'notice', 'maintenance', 'attention', 'fault', 'unknown'].map(level =>
            `<svg class="shape shape-big" id="drawn-${level}"><use href="#shape-${level}"/></svg>`).join('');
        document.querySelector('main').prepend(box);
        box.style.setProperty('color', '#555');
        box.style.setProperty('filter', 'grayscale(1)');
    }""")

    pictures = {
        level: page.locator(f"#drawn-{level}").screenshot() for level in ("ok", "notice", "maintenance", "attention", "fault", "unknown")
    }

    assert len(set(pictures.values())) == len(pictures)


def test_without_scripts_the_page_still_says_what_is_so(
    open_page: OpenPage, overview: Callable[[Page], Page], screenshot: Screenshot
) -> None:
    with_scripts = overview(open_page())  # the login form is the admin's, which needs them
    page = open_page(java_script_enabled=False, storage_state=with_scripts.context.storage_state())
    page.goto("/console/")

    assert page.locator("#light-word").inner_text() in ("All well", "Attention")
    expect(page.locator("table").first).to_contain_text("master")
    page.locator('[data-chart="replica-lag"]').get_by_role("link", name="Show as table").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    assert page.locator("tbody tr").count() <= 50


def test_a_poll_answers_nothing_when_nothing_is_new(page: Page, overview: Callable[[Page], Page], complaints: Complaints) -> None:
    overview(page)

    def unchanged() -> bool:
        newest = page.request.get("/console/now?seq=none").json()["seq"]
        again = page.request.get(f"/console/now?seq={newest}")
        return again.status == 204 and again.body() == b""

    eventually(unchanged, within_s=5)


def test_odd_questions_get_an_answer(page: Page, overview: Callable[[Page], Page]) -> None:
    overview(page)

    for path, status in (
        ("/console/series?window=5m&since=abc", 400),
        ("/console/series?window=nonsense", 200),
        ("/console/series?window=5m&since=999999999999999", 200),
        ("/console/series?dbsvr=nobody", 200),
        ("/console/history/no-such-chart", 404),
        ("/console/history/waiting?page=-7", 200),
        ("/console/history/latency.csv?window=7d", 200),
        ("/console/now?seq=%00%ff&dbsvr=%27", 200),
    ):
        assert page.request.get(path).status == status, path


def test_csv_has_the_figures_of_the_table(page: Page, overview: Callable[[Page], Page], load: SmallLoad) -> None:
    overview(page)
    eventually(lambda: len(page.request.get("/console/history/throughput.csv").text().splitlines()) > 3, within_s=20, every_s=0.3)

    head, *rows = page.request.get("/console/history/throughput.csv").text().splitlines()

    assert head == "at_utc,reads,writes,clears"
    assert re.match(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ,[\d.]*,[\d.]*,[\d.]*$", rows[-1])


def test_who_is_logged_out_keeps_his_page_and_is_told(page: Page, overview: Callable[[Page], Page], complaints: Complaints) -> None:
    overview(page)
    complaints.forgive("401")
    page.context.clear_cookies()

    expect(page.locator("#bar")).to_contain_text("You have been logged out at", timeout=8000)
    expect(page.locator("#bar a")).to_have_attribute("href", "/admin/login/?next=/console/")
    expect(page.locator(".tile").first).to_be_visible()


def test_a_stranger_is_led_to_the_login_and_a_poll_is_told_401(page: Page) -> None:
    page.goto("/console/")

    assert "/admin/login/" in page.url
    assert [page.request.get(path, max_redirects=0).status for path in ("/console/now", "/console/series")] == [401, 401]


def test_the_keyboard_reaches_charts_and_help(page: Page, overview: Callable[[Page], Page], load: SmallLoad) -> None:
    overview(page)
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    plot = page.locator('[data-chart="throughput"] [data-plot]')
    expect(plot.locator("canvas")).to_be_visible()
    eventually(lambda: figure(page, "reads") > 10, within_s=20, every_s=0.2)

    plot.focus()
    page.keyboard.press("End")
    page.keyboard.press("ArrowLeft")
    expect(page.locator('[data-chart="throughput"] [data-spoken]')).to_contain_text("reads")
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#keys")).to_be_hidden()


def test_a_window_can_be_chosen_and_stays_in_the_address(page: Page, overview: Callable[[Page], Page]) -> None:
    overview(page)

    page.locator('[data-window="1h"]').click()

    expect(page.locator('[data-chart="replica-lag"] .caption')).to_contain_text("10 s steps, last hour")
    assert "window=1h" in page.url
    page.reload()
    expect(page.locator('#windows [data-window="1h"]')).to_have_attribute("aria-current", "true")


def test_a_task_that_was_just_published_stands_in_the_list(page: Page, overview: Callable[[Page], Page]) -> None:
    code = f"console-{secrets.token_hex(4)}"
    overview(page)
    page.get_by_role("link", name="Add a task").click()
    expect(page).to_have_url(re.compile(r"/admin/tasks/new-task/"))
    publish_tasks(task(code, texts=texts("Seen on the Overview")))
    page.goto("/console/")

    row = page.locator("#tasks tr", has_text=code)
    expect(row).to_contain_text("Seen on the Overview")
    expect(row).to_contain_text("live")


def test_the_strip_of_five_minutes_can_be_closed_for_good(page: Page, overview: Callable[[Page], Page]) -> None:
    overview(page)
    expect(page.locator(".strip")).to_be_visible()

    page.locator(".strip").get_by_role("button", name="Close").click()

    expect(page.locator(".strip")).to_have_count(0)
    page.goto("/console/")
    expect(page.locator(".strip")).to_have_count(0)


def test_a_console_without_its_sampler_says_that_it_is_blind(
    page: Page, overview: Callable[[Page], Page], sampler: StackProcess, screenshot: Screenshot
) -> None:
    overview(page)
    wait_for_light(page, "ok", within_s=60)

    assert sampler.stop(timeout_s=3) == 0
    try:
        wait_for_light(page, "unknown", within_s=15)
        expect(page.locator(".finding").first).to_contain_text("This page is blind since")
        expect(page.locator("#bar")).to_contain_text("What you see is from", timeout=5000)
        screenshot(page, "console-blind")
    finally:
        sampler.start()
    wait_for_light(page, "ok", within_s=15)
    expect(page.locator("#bar")).to_be_hidden(timeout=5000)


@pytest.mark.long
def test_a_frozen_master_is_told_although_accounts_and_history_live_on_it(
    page: Page,
    overview: Callable[[Page], Page],
    stack: PrivateStack,
    complaints: Complaints,
    screenshot: Screenshot,
) -> None:
    overview(page)
    wait_for_light(page, "ok", within_s=60)
    complaints.forgive("503")
    complaints.forgive("ERR_ABORTED")

    stack.master.freeze()
    try:
        wait_for_light(page, "fault", within_s=20)
        expect(page.locator(".finding").first).to_contain_text("master")
        page.goto("/console/")
        expect(page.locator(".light-fault")).to_be_visible()
        expect(page.locator("h1").last).to_have_text("The console's database does not answer.")
        screenshot(page, "console-master-frozen")
        page.context.clear_cookies()
        page.goto("/console/")
        expect(page.locator(".light")).to_have_count(0)
    finally:
        stack.master.thaw()
    eventually(lambda: "/admin/login/" in page.goto("/console/").url, within_s=20, every_s=0.5)  # type: ignore[union-attr]
