"""What was there before stays: task rows of the first release become documents of revision 1."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from apps.tasks.config.documents import Period, Text, decode_configuration
from apps.tasks.config.faults import refusals
from apps.tasks.config.validate import validate
from apps.tasks.evaluation.bundle import load_bundle
from deploy.local.private_stack import PrivateStack

OLD = "id, code, name, description, starts_at, ends_at, period, time_zone, target, points, active, created_at, updated_at"


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PrivateStack]:
    """A database of the first release, with three tasks and a gap in their numbers, brought up to date."""
    stack = PrivateStack(tmp_path_factory.mktemp("migrated"))
    try:
        stack.start_databases()
        for app, name in (("cachesync", ()), ("tasks", ("0001",))):
            stack.manage("migrate", app, *name, "--database=default", "--verbosity=0")
        moments = "'2026-01-02 03:04:05.678901', '2026-02-03 04:05:06'"
        for row in (
            f"3, 'invite', '邀请好友', 'They must open the app.', '2026-01-01', NULL, 'once', 'UTC', 3, 50, 1, {moments}",
            f"5, 'log-in', 'Log in', '', '2026-01-01 12:00:00.123456', '2027-01-01', 'daily', 'Asia/Shanghai', 1, 5, 1, {moments}",
            f"9, 'survey', 'Survey', '', '2026-01-01', NULL, 'once', 'Europe/Berlin', 1, 0, 0, {moments}",
        ):
            stack.master.execute(f"INSERT INTO tasks_task ({OLD}) VALUES ({row})", "tasksys")
        stack.migrate()
        yield stack
    finally:
        stack.stop()


def query(stack: PrivateStack, sql: str) -> list[tuple[Any, ...]]:
    return stack.master.execute(sql, "tasksys")


def test_the_tasks_become_documents_of_revision_1_under_their_numbers(migrated: PrivateStack) -> None:
    ((number, packed, bundle, etag, count),) = query(
        migrated, "SELECT number, configuration, bundle, etag, change_count FROM config_revision"
    )
    configuration = decode_configuration(gzip.decompress(packed))

    assert (number, count) == (1, 3)
    assert refusals(validate(configuration)) == []
    invite, log_in, survey = configuration.tasks["invite"], configuration.tasks["log-in"], configuration.tasks["survey"]
    assert (invite.kind, invite.target, invite.points) == ("counter", 3, 50)
    assert invite.texts == {"en": Text(name="邀请好友", description="They must open the app.")}
    assert (log_in.kind, log_in.period) == ("single", Period(kind="daily", zone="Asia/Shanghai"))
    assert log_in.starts_at.isoformat() == "2026-01-01T12:00:00.123456+00:00"
    assert log_in.ends_at is not None
    assert (survey.switched_off, survey.period.zone) == (True, "Europe/Berlin")

    content = gzip.decompress(bundle)
    assert etag == f'"1-{hashlib.sha256(content).hexdigest()[:16]}"'
    assert {each["code"]: each["number"] for each in json.loads(content)["tasks"]} == {"invite": 3, "log-in": 5, "survey": 9}
    assert load_bundle(content) is not None


def test_the_rows_say_the_same(migrated: PrivateStack) -> None:
    rows = query(migrated, "SELECT id, code, name, kind, switched_off, archived, revision FROM tasks_task ORDER BY id")

    assert rows == [
        (3, "invite", "邀请好友", "counter", 0, 0, 1),
        (5, "log-in", "Log in", "single", 0, 0, 1),
        (9, "survey", "Survey", "single", 1, 0, 1),
    ]
    assert query(migrated, "SELECT task_id, language, name, description FROM tasks_tasktext WHERE task_id = 3") == [
        (3, "en", "邀请好友", "They must open the app.")
    ]


def test_the_whole_old_row_stands_in_the_audit_log(migrated: PrivateStack) -> None:
    rows = dict(query(migrated, "SELECT `key`, `before` FROM tasks_auditentry WHERE action = 'migrate'"))

    assert rows.keys() == {"invite", "log-in", "survey"}
    old = json.loads(rows["log-in"])
    assert (old["id"], old["active"], old["created_at"], old["updated_at"]) == (
        5,
        True,
        "2026-01-02T03:04:05.678901Z",
        "2026-02-03T04:05:06Z",
    )


def test_what_is_published_next_is_revision_2_and_new_tasks_get_new_numbers(migrated: PrivateStack, tmp_path: Path) -> None:
    migrated.manage("load_demo", "--key-file", str(tmp_path / "key"))

    numbers = dict(query(migrated, "SELECT code, id FROM tasks_task"))
    assert (numbers["invite"], numbers["log-in"], numbers["survey"]) == (3, 5, 9)
    assert min(number for code, number in numbers.items() if code not in ("invite", "log-in", "survey")) > 9
    assert query(migrated, "SELECT MAX(number), COUNT(*) FROM config_revision") == [(2, 2)]
    (packed,) = query(migrated, "SELECT packed_changes FROM config_revision WHERE number = 2")[0]
    assert "invite" not in {change["key"] for change in msgspec.json.decode(gzip.decompress(packed))}


@pytest.mark.long
def test_a_fresh_database_has_no_revision_and_needs_none(tmp_path: Path) -> None:
    stack = PrivateStack(tmp_path / "fresh")
    try:
        stack.start_databases()
        stack.migrate()

        assert query(stack, "SELECT COUNT(*) FROM config_revision") == [(0,)]
        stack.manage("load_demo", "--key-file", str(tmp_path / "key"))
        assert query(stack, "SELECT number, origin FROM config_revision") == [(1, "command")]
    finally:
        stack.stop()
