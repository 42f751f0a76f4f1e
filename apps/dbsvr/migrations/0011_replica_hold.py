"""Replicas that are not to be used, on the database `userdata` alone."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent.parent / "sql" / "user_tables_7_replica_hold.sql"


class Migration(migrations.Migration):
    dependencies = [("dbsvr", "0010_diff")]
    operations = [
        migrations.RunSQL(
            sql=SQL.read_text(encoding="utf-8"),
            reverse_sql=migrations.RunSQL.noop,
            hints={"database": "userdata"},
        )
    ]
