"""Table `task_traffic`, on the database `userdata` alone."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent.parent / "sql" / "user_tables_5_task_traffic.sql"


class Migration(migrations.Migration):
    dependencies = [("dbsvr", "0007_not_owner")]
    operations = [
        migrations.RunSQL(
            sql=SQL.read_text(encoding="utf-8"),
            reverse_sql=migrations.RunSQL.noop,
            hints={"database": "userdata"},
        )
    ]
