"""The six roles: which permissions each has.

Pure. A role is a group of Django's; the migrations make the groups, once, and from then on they are the administrator's: he may change
what a role may, add roles of his own, delete one. Who administers accounts and API keys is a superuser, and no role.

A permission is written `app.codename`, as `user.has_perm` takes it.
"""

from __future__ import annotations

VIEWER, EDITOR, REVIEWER, PUBLISHER, SUPPORT, DBA = "viewer", "editor", "reviewer", "publisher", "support", "dba"

VIEW_TASK = "tasks.view_task"
VIEW_DRAFT = "tasks.view_draft"
VIEW_REVISION = "tasks.view_revision"
VIEW_AUDIT = "tasks.view_auditentry"
ADD_DRAFT = "tasks.add_draft"
CHANGE_DRAFT = "tasks.change_draft"
DELETE_DRAFT = "tasks.delete_draft"
REVIEW_DRAFT = "tasks.review_draft"
PUBLISH_DRAFT = "tasks.publish_draft"
KILL_TASK = "tasks.kill_task"
EXPLAIN_USER = "tasks.explain_user"
VIEW_POINTS = "tasks.view_pointsprovider"
CHANGE_POINTS = "tasks.change_pointsprovider"
REPAIR_REPLICA = "dbsvr.repair_replica"

_LOOK = frozenset({VIEW_TASK, VIEW_DRAFT, VIEW_REVISION, VIEW_POINTS})
_LOOK_AND_AUDIT = _LOOK | {VIEW_AUDIT}

ROLES: dict[str, frozenset[str]] = {
    VIEWER: _LOOK_AND_AUDIT,
    EDITOR: _LOOK_AND_AUDIT | {ADD_DRAFT, CHANGE_DRAFT, DELETE_DRAFT, EXPLAIN_USER},
    REVIEWER: _LOOK_AND_AUDIT | {REVIEW_DRAFT, EXPLAIN_USER},
    PUBLISHER: _LOOK_AND_AUDIT | {PUBLISH_DRAFT, KILL_TASK, EXPLAIN_USER, CHANGE_POINTS},
    # Who answers users' questions looks at one user, and at what is published; the audit log names colleagues and their addresses.
    SUPPORT: _LOOK | {EXPLAIN_USER},
    # Who looks after the databases writes users' rows again as the master has them, and decides nothing about tasks.
    DBA: _LOOK_AND_AUDIT | {REPAIR_REPLICA},
}
"""Reviewing and publishing bring no editing, so who has one of them alone cannot pass his own change through. One person may have
several roles; that nobody approves his own draft is the review's own rule."""


def roles_with(permission: str) -> list[str]:
    """The roles that bring this permission as they are made, in their order."""
    return [role for role, permissions in ROLES.items() if permission in permissions]
