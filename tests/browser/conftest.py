"""A headless Chromium on the stack's web server, and an operator to log in as.

Debian's chromium is driven; nothing is downloaded. Every page is watched: what the Content-Security-Policy stopped, what the console
complained of, what failed to load, whatever was asked of a foreign host. A test that ends with one of these has failed.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, Response, sync_playwright

from deploy.local.private_stack import PrivateStack
from tests.stack.web_process import WebProcess

WITHIN_MS = 10_000
REPORT_VIOLATIONS = """
document.addEventListener('securitypolicyviolation', event => window.reportViolation(
    `${event.effectiveDirective} stopped ${event.blockedURI || 'inline'} at ${event.sourceFile}:${event.lineNumber} ${event.sample}`))
"""


@dataclass
class Complaints:
    """What a page should not have done. A test may forgive what it provoked itself: `forgive("404")`."""

    found: list[str] = field(default_factory=list)
    forgiven: list[str] = field(default_factory=list)

    def forgive(self, part: str) -> None:
        self.forgiven.append(part)

    def left(self) -> list[str]:
        return [complaint for complaint in self.found if not any(part in complaint for part in self.forgiven)]


@dataclass(frozen=True)
class Operator:
    name: str


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One for each file of tests: none idles through the tests of incidents that may come between two of them."""
    program = shutil.which("chromium")
    assert program, "Debian's chromium is not installed: make setup-test"
    # Playwright keeps an event loop in this thread; Django would refuse to query beside one, although nothing runs in it.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def operator(django_on_stack: PrivateStack) -> Operator:
    """May do everything."""
    from django.contrib.auth import get_user_model

    operator = Operator(f"operator-{secrets.token_hex(4)}")
    get_user_model().objects.create_superuser(operator.name, password=None)
    return operator


@pytest.fixture
def complaints() -> Complaints:
    return Complaints()


@pytest.fixture
def open_page(chromium: Browser, web: WebProcess, stack: PrivateStack, complaints: Complaints) -> Iterator[Callable[..., Page]]:
    """Opens a page with a context of its own: `open_page(width=390, height=844, locale="zh-CN", color_scheme="dark")`."""
    contexts = []

    def open_one(width: int = 1280, height: int = 900, **options: Any) -> Page:
        context = chromium.new_context(viewport={"width": width, "height": height}, base_url=web.address, **options)
        contexts.append(context)
        context.set_default_timeout(WITHIN_MS)
        page = context.new_page()
        _watch(page, web.address, complaints)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not complaints.left(), "\n".join(complaints.left())


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    return open_page()


def enter(page: Page, name: str) -> None:
    """Logged in as this operator, without the form: tests of the form fill it in themselves."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    client = Client()
    client.force_login(get_user_model().objects.get(username=name), backend="django.contrib.auth.backends.ModelBackend")
    value = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": value, "domain": "127.0.0.1", "path": "/"}])


@pytest.fixture
def log_in(operator: Operator) -> Callable[[Page], None]:
    def log_in(page: Page) -> None:
        enter(page, operator.name)

    return log_in


@pytest.fixture
def screenshot(request: pytest.FixtureRequest) -> Callable[[Page, str], Path]:
    """Keeps a picture in test-results/, for people to look at."""

    def take(page: Page, name: str) -> Path:
        path = request.config.rootpath / "test-results" / f"{name}.png"
        # caret: Playwright would hide it by a style attribute on each input, and htmx copies attributes, which the policy stops.
        page.screenshot(path=path, full_page=True, caret="initial")
        return path

    return take


def _watch(page: Page, address: str, complaints: Complaints) -> None:
    page.expose_function("reportViolation", lambda text: complaints.found.append(f"policy: {text}"))
    page.add_init_script(REPORT_VIOLATIONS)

    def note_response(response: Response) -> None:
        if response.status >= 400:
            complaints.found.append(f"{response.status} {response.url}")

    def note_request(request: Request) -> None:
        if not request.url.startswith((address, "data:", "blob:")):
            complaints.found.append(f"foreign host: {request.url}")

    page.on(
        "console",
        lambda message: (
            complaints.found.append(f"console: {message.text} {message.location.get('url')}")
            if message.type in ("error", "warning")
            else None
        ),
    )
    page.on("pageerror", lambda error: complaints.found.append(f"script: {error}"))
    page.on("response", note_response)
    page.on("request", note_request)
