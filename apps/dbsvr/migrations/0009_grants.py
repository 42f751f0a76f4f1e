"""Tiers, distinct members, quotas and grants, on the database `userdata` alone."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent.parent / "sql" / "user_tables_6_grants.sql"


class Migration(migrations.Migration):
    dependencies = [("dbsvr", "0008_task_traffic")]
    operations = [
        migrations.RunSQL(
            sql=SQL.read_text(encoding="utf-8"),
            reverse_sql=migrations.RunSQL.noop,
            hints={"database": "userdata"},
        )
    ]
