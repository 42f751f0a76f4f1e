"""Table `applied_event` without its index by day, on the database `userdata` alone."""

from __future__ import annotations

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).resolve().parent.parent / "sql" / "user_tables_8_events_by_key_alone.sql"


class Migration(migrations.Migration):
    dependencies = [("dbsvr", "0012_repair_replica")]
    operations = [
        migrations.RunSQL(
            sql=SQL.read_text(encoding="utf-8"),
            reverse_sql="ALTER TABLE applied_event ADD KEY applied_event_day (day)",
            hints={"database": "userdata"},
        )
    ]
