"""What the roles may, and that the migrations make them so."""

from __future__ import annotations

import importlib

import pytest

from apps.tasks.people.roles import (
    ADD_DRAFT,
    CHANGE_DRAFT,
    DBA,
    EDITOR,
    EXPLAIN_USER,
    KILL_TASK,
    PUBLISH_DRAFT,
    PUBLISHER,
    REPAIR_REPLICA,
    REVIEW_DRAFT,
    REVIEWER,
    ROLES,
    SUPPORT,
    VIEW_AUDIT,
    VIEW_TASK,
    roles_with,
)


def test_the_migration_makes_the_roles_as_they_are_written() -> None:
    made = importlib.import_module("apps.tasks.migrations.0003_roles_and_operators").ROLES
    added = importlib.import_module("apps.tasks.migrations.0005_points").ADDED
    made = {role: [*codenames, *added[role]] for role, codenames in made.items()}
    dba = importlib.import_module("apps.dbsvr.migrations.0012_repair_replica")

    five = {role: {f"tasks.{codename}" for codename in codenames} for role, codenames in made.items()}
    assert {**five, dba.ROLE: {f"{app}.{codename}" for app, codename in dba.PERMISSIONS}} == ROLES


def test_every_role_looks_at_tasks() -> None:
    assert roles_with(VIEW_TASK) == list(ROLES)


@pytest.mark.parametrize(
    ("permission", "role"), [(CHANGE_DRAFT, EDITOR), (REVIEW_DRAFT, REVIEWER), (PUBLISH_DRAFT, PUBLISHER), (KILL_TASK, PUBLISHER)]
)
def test_who_edits_reviews_or_publishes_has_one_role_each(permission: str, role: str) -> None:
    assert roles_with(permission) == [role]


def test_support_explains_users_and_looks_and_no_more() -> None:
    assert EXPLAIN_USER in ROLES[SUPPORT]
    assert not ROLES[SUPPORT] & {ADD_DRAFT, CHANGE_DRAFT, REVIEW_DRAFT, PUBLISH_DRAFT, KILL_TASK, VIEW_AUDIT}
    assert all("view_" in permission or permission == EXPLAIN_USER for permission in ROLES[SUPPORT])


def test_the_dba_alone_repairs_replicas_and_changes_no_task() -> None:
    assert roles_with(REPAIR_REPLICA) == [DBA]
    assert all("view_" in permission for permission in ROLES[DBA] - {REPAIR_REPLICA})


def test_no_role_administers_accounts_or_keys() -> None:
    assert {permission.split(".")[0] for permissions in ROLES.values() for permission in permissions} == {"tasks", "dbsvr"}
    assert not [permission for permissions in ROLES.values() for permission in permissions if "apikey" in permission]
