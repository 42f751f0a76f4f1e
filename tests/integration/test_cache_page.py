"""The page Cache: what it shows, who may change what, and that each change is asked for."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from pytest_django import Settings

from apps.cachesync import registry
from apps.cachesync.models import DRAINING, IN_USE, JOINING, REMOVED, CacheNode
from deploy.local.private_stack import PrivateStack
from tests.stack.cache_nodes import leave_row, work_off
from tests.stack.waiting import eventually

PAGE = "/console/cache/"


def operator(*permissions: str) -> Client:
    """Logged in, staff, with these permissions of the cache layer alone."""
    user = get_user_model().objects.create_user(f"cache-{secrets.token_hex(4)}", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions, content_type__app_label="cachesync"))
    client = Client(HTTP_HOST="127.0.0.1")
    client.force_login(user)
    return client


@pytest.fixture(autouse=True)
def plain_static_files(settings: Settings) -> None:
    """No manifest: nothing is collected here."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}


ALL = ("add_cachenode", "change_cachenode", "delete_cachenode")


@pytest.fixture
def node(django_on_stack: PrivateStack) -> Iterator[str]:
    """One in use that nobody answers for."""
    CacheNode.objects.create(name="node-8", url="redis://:secret@127.0.0.1:1/0", state=IN_USE, changed_at=0)
    yield "node-8"
    CacheNode.objects.filter(name__in=("node-8", "node-9")).delete()


def state_of(name: str) -> str:
    return CacheNode.objects.get(name=name).state


def test_the_page_shows_every_node_with_its_purges_and_no_password(stack: PrivateStack, node: str) -> None:
    work_off()
    leave_row(stack, node, 820_001, 3)
    client = operator(*ALL)

    def shown() -> str:
        return client.get(PAGE).content.decode()

    # What other tests have left for every node may still be worked off meanwhile.
    waiting = "SELECT COUNT(*) FROM cache_purge WHERE node IN ('*', %s)"

    def as_waiting() -> str:
        page = shown()
        ((count,),) = stack.master.execute(waiting, "tasksys_user", [node])
        return page if f'data-label="Waiting purges">{count}<' in page else ""

    text = eventually(as_waiting)
    for name in ("node-1", "node-2", node):
        assert f'<th scope="row">{name}' in text
    assert "secret" not in text
    assert "redis://127.0.0.1:1/0" in text
    row = text.split(f'<th scope="row">{node}')[1].split("</tr>")[0]
    assert 'data-label="Waiting purges">0<' not in row
    assert f'href="{PAGE}{node}/drain"' in row
    stack.master.execute("DELETE FROM cache_purge WHERE uid = 820001", "tasksys_user")


def test_it_is_there_in_chinese(node: str) -> None:
    text = operator(*ALL).get(PAGE, headers={"accept-language": "zh-hans"}).content.decode()

    assert "缓存节点" in text
    assert "排空" in text


def test_a_node_is_drained_used_again_and_removed_each_after_a_question(node: str) -> None:
    client = operator(*ALL)

    assert "Drain cache node node-8?" in client.get(f"{PAGE}{node}/drain").content.decode()
    assert state_of(node) == IN_USE, "a question changes nothing"
    assert client.post(f"{PAGE}{node}/drain").status_code == 302
    assert state_of(node) == DRAINING
    client.post(f"{PAGE}{node}/remove")
    assert state_of(node) == DRAINING, "not before everybody has heard of it"
    client.post(f"{PAGE}{node}/use")
    assert state_of(node) == JOINING
    client.post(f"{PAGE}{node}/drain")
    CacheNode.objects.filter(name=node).update(changed_at=time.time() - registry.SETTLED_AFTER_S - 5)
    assert f'href="{PAGE}{node}/remove"' in client.get(PAGE).content.decode()
    client.post(f"{PAGE}{node}/remove")
    assert state_of(node) == REMOVED
    assert node not in client.get(PAGE).content.decode()


def test_a_node_is_added_and_joins(node: str) -> None:
    client = operator(*ALL)

    assert client.post(f"{PAGE}add", {"name": "node-9", "url": "redis://127.0.0.1:2/0"}).status_code == 302
    assert state_of("node-9") == JOINING


@pytest.mark.parametrize(
    ("name", "url"),
    [("node-9", "http://127.0.0.1:2"), ("Node 9", "redis://127.0.0.1:2/0"), ("none", "redis://127.0.0.1:2/0"), ("node-8", "redis://h:3/0")],
)
def test_what_is_no_node_is_refused(node: str, name: str, url: str) -> None:
    answer = operator(*ALL).post(f"{PAGE}add", {"name": name, "url": url})

    assert answer.status_code == 400
    assert not CacheNode.objects.filter(name="node-9").exists()


def test_who_may_look_only_can_change_nothing(node: str) -> None:
    client = operator()

    text = client.get(PAGE).content.decode()
    assert f"{PAGE}{node}/drain" not in text
    assert f"{PAGE}add" not in text
    assert client.get(f"{PAGE}{node}/drain").status_code == 403
    assert [client.post(f"{PAGE}{node}/{change}").status_code for change in ("drain", "use", "remove")] == [403] * 3
    assert client.post(f"{PAGE}add", {"name": "node-9", "url": "redis://127.0.0.1:2/0"}).status_code == 403
    assert state_of(node) == IN_USE


def test_who_is_not_logged_in_is_led_to_the_login(django_on_stack: PrivateStack) -> None:
    answer = Client(HTTP_HOST="127.0.0.1").get(PAGE)

    assert answer.status_code == 302
    assert "/admin/login/" in answer["Location"]
