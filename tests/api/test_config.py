"""GET config: the bundle for programs that evaluate by themselves, and how little it costs to have the newest one."""

from __future__ import annotations

import gzip
import hashlib
import json
from typing import Any

import pytest
from django.http import HttpResponse

from tests.api.conftest import Caller
from tests.stack.published import publish_tasks, task, texts

CONFIG = "/api/v1/config"


def ask(api: Caller, path: str = CONFIG, **headers: str) -> HttpResponse:
    answer: Any = api.client.get(path, headers={"Authorization": f"Api-Key {api.key}", **headers})
    return answer  # type: ignore[no-any-return]


def test_the_newest_bundle_is_answered_with_its_tag(api: Caller) -> None:
    one = task()
    revision = publish_tasks(one)

    answer = ask(api)

    body = json.loads(answer.content)
    assert (answer.status_code, answer["ETag"], answer["Config-Revision"]) == (200, revision.etag, str(revision.number))
    assert answer["ETag"] == f'"{revision.number}-{hashlib.sha256(answer.content).hexdigest()[:16]}"'
    assert body["revision"] == revision.number
    assert one.code in [each["code"] for each in body["tasks"]]
    assert answer["Cache-Control"] == "private, no-cache"


def test_who_has_it_gets_no_body_until_something_changes(api: Caller) -> None:
    one = task()
    publish_tasks(one)
    etag = ask(api)["ETag"]

    for known in (etag, f"W/{etag}", f'"another", {etag}', "*"):
        again = ask(api, **{"If-None-Match": known})
        assert (again.status_code, again.content, again["ETag"]) == (304, b"", etag)

    publish_tasks(task(one.code, texts=texts("Other words")))
    changed = ask(api, **{"If-None-Match": etag})
    assert (changed.status_code, changed["ETag"] != etag) == (200, True)


def test_it_comes_as_gzip_to_who_accepts_that(api: Caller) -> None:
    publish_tasks(task())

    plain, packed = ask(api), ask(api, **{"Accept-Encoding": "br, gzip;q=0.5"})
    refused = ask(api, **{"Accept-Encoding": "gzip;q=0"})

    assert packed["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.content) == plain.content == refused.content
    assert plain["ETag"] == packed["ETag"]
    assert "Accept-Encoding" in plain["Vary"]
    assert len(packed.content) < len(plain.content) / 2


def test_an_old_revision_stays_as_it_was(api: Caller) -> None:
    one = task(points=1)
    old = publish_tasks(one)
    publish_tasks(task(one.code, points=2))

    answer = ask(api, f"{CONFIG}/revisions/{old.number}")

    (found,) = [each for each in json.loads(answer.content)["tasks"] if each["code"] == one.code]
    assert (found["points"], answer["ETag"]) == (1, old.etag)
    assert "immutable" in answer["Cache-Control"]
    assert ask(api, f"{CONFIG}/revisions/{old.number}", **{"If-None-Match": old.etag}).status_code == 304


@pytest.mark.parametrize(
    ("number", "status", "code"), [("99999999", 404, "unknown_revision"), ("x", 400, "bad_request"), ("-1", 400, "bad_request")]
)
def test_a_revision_that_is_not_there_is_told(api: Caller, number: str, status: int, code: str) -> None:
    found, problem = api.call("GET", f"{CONFIG}/revisions/{number}")

    assert (found, problem["code"], problem["pointer"]) == (status, code, "path/number")


def test_it_takes_a_key_with_the_scope_read(keys: dict[str, str]) -> None:
    for path in (CONFIG, f"{CONFIG}/revisions/1", f"{CONFIG}/documents"):
        assert Caller(None).call("GET", path)[0] == 401
        assert Caller(keys["write"]).call("GET", path)[0] == 403
