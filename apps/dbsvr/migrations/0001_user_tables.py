"""The user tables, on the database `userdata` alone: `migrate --database=userdata` creates them, plain `migrate` passes by."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent.parent / "sql" / "user_tables.sql"


class Migration(migrations.Migration):
    initial = True
    dependencies: list[tuple[str, str]] = []
    operations = [
        migrations.RunSQL(
            sql=SQL.read_text(encoding="utf-8"),
            # Nobody's progress is dropped by migrating back.
            reverse_sql=migrations.RunSQL.noop,
            hints={"database": "userdata"},
        )
    ]
