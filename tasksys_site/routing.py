"""Which table lives in which database: `default` (configuration, accounts, samples) or `userdata` (what the DBSvr writes).

A user table is one that Django does not manage: its rows belong to master_db_svr, its shape to a RunSQL migration.
Without this router `migrate --database=userdata` would create every table of the project there too.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Model

USERDATA = "userdata"
DEFAULT = "default"


class TableRouter:
    """Reads and writes go where the table is; a migration's operation runs only on the database that it belongs to."""

    def db_for_read(self, model: type[Model], **hints: Any) -> str:
        return USERDATA if _is_user_table(model) else DEFAULT

    def db_for_write(self, model: type[Model], **hints: Any) -> str:
        return self.db_for_read(model)

    def allow_relation(self, one: Model, other: Model, **hints: Any) -> bool:
        # By the instance, not its type: request.user is a lazy object around one.
        return _is_user_table(one) == _is_user_table(other)

    def allow_migrate(self, db: str, app_label: str, model_name: str | None = None, **hints: Any) -> bool:
        """An operation names its database by the hint `database`; one that names none belongs to `default`."""
        return db == hints.get("database", DEFAULT)


def _is_user_table(model: type[Model] | Model) -> bool:
    return not model._meta.managed and model._meta.app_label == "dbsvr"
