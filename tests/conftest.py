"""Layers and the session's stack.

A test's folder is its layer, and its marker. The `stack` fixture is the real thing: private databases, Redis nodes and DBSvr
processes, started once a session; `fresh_stack` is one of a test's own, for tests that break it beyond mending.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from pytest_django import DjangoDbBlocker

from deploy.local.private_stack import Endpoints, PrivateStack, Views
from tests import session
from tests.consistency.doubles import break_on_purpose
from tests.stack.leftovers import assert_nothing_is_left
from tests.stack.pair_stack import PairStack
from tests.stack.web_process import WebProcess

settings.register_profile("same_each_time", derandomize=True)
settings.register_profile("search", max_examples=4_000)
settings.load_profile("same_each_time")
"""`make test` tries the same examples each time: what it finds, the change at hand has brought. `make test-long` searches for others."""

WebProcess.static_template = session.DIRECTORY / "static-template"
TRIED_AGAIN = ("integration", "api", "browser")
"""Real servers beside two other test processes on two cores: what fails is run once more, and the run counts it as `rerun`. Never a
test of faults or consistency: a violation that was seen once is a violation."""
LAYERS = ("unit", "integration", "api", "browser", "fault", "consistency", "setup")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its layer, and run the layers in their order."""
    here = Path(__file__).parent
    for item in items:
        layer = item.path.relative_to(here).parts[0]
        if layer in LAYERS:
            item.add_marker(getattr(pytest.mark, layer))
        if layer in TRIED_AGAIN:
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=lambda item: LAYERS.index(item.path.relative_to(here).parts[0]))


@pytest.fixture(scope="session")
def session_stack() -> Iterator[PrivateStack]:
    stack = session.STACK
    stack.start_databases()
    stack.migrate()
    # Tests of the pipeline write of tasks 1, 2, 3 …, which nobody has published: no published one may have such a number.
    stack.master.execute("ALTER TABLE tasks_task AUTO_INCREMENT = 10000000", "tasksys")
    stack.start_redis()
    stack.start_dbsvr()
    yield stack
    stack.stop()
    assert_nothing_is_left(stack)


@pytest.fixture
def stack(session_stack: PrivateStack) -> Iterator[PrivateStack]:
    """The session's stack, whole and serving. A test that breaks a part mends it before it ends."""
    yield session_stack
    session_stack.wait_until_serving()


@pytest.fixture
def make_stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., PrivateStack]]:
    """Stacks of the test's own, pipeline only (no Django, no Redis); ended with the test, and nothing may be left of them.

    `as_on_two_hosts`: a PairStack. `double` names doubles of tests.consistency, joined by "+": processes that break the protocol on
    purpose.
    `before` is called when the databases run and nothing of the DBSvr does.
    """
    made: list[PrivateStack] = []

    def make(
        replicas: int = 1,
        double: str = "",
        endpoints: Endpoints | None = None,
        before: Callable[[PrivateStack], object] | None = None,
        instances: Sequence[str] = ("a",),
        views: Views | None = None,
        as_on_two_hosts: bool = False,
        **settings: object,
    ) -> PrivateStack:
        directory = tmp_path_factory.mktemp("stack")
        stack = (
            PairStack(directory, replicas=replicas, settings=settings)
            if as_on_two_hosts
            else PrivateStack(directory, replicas=replicas, settings=settings, endpoints=endpoints, instances=instances, views=views)
        )
        made.append(stack)
        break_on_purpose(stack, double)
        stack.start_databases()
        stack.create_user_tables()
        if before is not None:
            before(stack)
        stack.start_dbsvr()
        return stack

    yield make
    for stack in made:
        stack.stop()
    for stack in made:
        assert_nothing_is_left(stack)


@pytest.fixture(scope="session")
def django_on_stack(session_stack: PrivateStack, django_db_blocker: DjangoDbBlocker) -> Iterator[PrivateStack]:
    """Django in this process, on the stack's real databases: no test database, no transaction around a test.

    What a test writes is committed, as other processes must see it; so tests use names of their own and clean nothing.
    """
    from django.db import connections

    from apps.cachesync.task_interface import task_interface
    from apps.tasks.live_bundle import live_bundle
    from apps.tasks.watch import watch

    (session_stack.directory / "static").mkdir(exist_ok=True)  # whitenoise warns of a missing one
    with django_db_blocker.unblock():
        yield session_stack
        watch.stop()
        live_bundle.stop()
        task_interface().close()
        connections.close_all()


@pytest.fixture(scope="session")
def web(django_on_stack: PrivateStack) -> Iterator[WebProcess]:
    """The web server on the stack: granian, with its static files."""
    process = WebProcess(django_on_stack)
    process.start()
    yield process
    process.stop()
