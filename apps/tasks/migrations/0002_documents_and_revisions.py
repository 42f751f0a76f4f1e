"""From rows that were saved at once to documents, drafts and revisions.

The tasks that are there become documents, and revision 1 publishes them as they are. What the new rows have no column for (when a task
was made and changed) stands in the audit log, with the whole old row. Complete in itself: later changes of the program do not change
what it makes of old rows.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import sys
from datetime import datetime, timezone
from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.db import DatabaseError, migrations, models

NO_TRIGGERS_HERE = 1419
"""MariaDB: the binary log is on, and log_bin_trust_function_creators is not."""


def document_of(task: Any) -> dict[str, Any]:
    """The old row as a task document; what is as by default is left out."""
    document: dict[str, Any] = {
        "code": task.code,
        "kind": "single" if task.target == 1 else "counter",
        "texts": {"en": {"name": task.name, **({"description": task.description} if task.description else {})}},
        "starts_at": moment(task.starts_at),
    }
    if task.ends_at is not None:
        document["ends_at"] = moment(task.ends_at)
    period = {**({"kind": task.period} if task.period != "once" else {}), **({"zone": task.time_zone} if task.time_zone != "UTC" else {})}
    optional = {
        "period": period,
        "target": 0 if task.target == 1 else task.target,
        "points": task.points,
        "switched_off": not task.active,
    }
    return {**document, **{name: value for name, value in optional.items() if value}}


def moment(at: datetime) -> str:
    return at.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")


def make_revision_1_of_the_task_rows(apps: Any, schema_editor: Any) -> None:
    Task, TaskText = apps.get_model("tasks", "Task"), apps.get_model("tasks", "TaskText")
    documents, audits = {}, []
    for task in Task.objects.order_by("code"):
        document = documents[task.code] = document_of(task)
        old_row = {
            "id": task.id,
            "code": task.code,
            "name": task.name,
            "description": task.description,
            "starts_at": moment(task.starts_at),
            "ends_at": None if task.ends_at is None else moment(task.ends_at),
            "period": task.period,
            "time_zone": task.time_zone,
            "target": task.target,
            "points": task.points,
            "active": task.active,
            "created_at": moment(task.created_at),
            "updated_at": moment(task.updated_at),
        }
        task.kind, task.switched_off, task.document = document["kind"], not task.active, document
        task.save(update_fields=["kind", "switched_off", "document"])
        TaskText.objects.create(task=task, language="en", name=task.name, description=task.description)
        audits.append(
            apps.get_model("tasks", "AuditEntry")(
                who="system", action="migrate", kind="task", key=task.code, before=old_row, after=document, revision=1
            )
        )
    if not documents:
        return
    numbers = dict(Task.objects.values_list("code", "id"))
    publish_revision_1(apps, documents, numbers)
    apps.get_model("tasks", "AuditEntry").objects.bulk_create(audits, batch_size=500)


def publish_revision_1(apps: Any, documents: dict[str, dict[str, Any]], numbers: dict[str, int]) -> None:
    now = datetime.now(timezone.utc)
    bundle = to_json(
        {
            "schema": 1,
            "revision": 1,
            "published_at": moment(now),
            "tasks": [{**document, "number": numbers[code], "since": 1, "kept": []} for code, document in documents.items()],
            "attributes": {},
            "events": {},
            "lists": {},
        }
    )
    changes = [{"kind": "task", "key": code, "base": None, "document": document} for code, document in documents.items()]
    apps.get_model("tasks", "Revision").objects.create(
        number=1,
        published_at=now,
        published_by="system",
        origin="command",
        reason="The tasks that were there before there were revisions.",
        change_count=len(changes),
        packed_changes=gzip.compress(to_json(changes), mtime=0),
        etag=f'"1-{hashlib.sha256(bundle).hexdigest()[:16]}"',
        configuration=gzip.compress(to_json({"tasks": documents}), mtime=0),
        bundle=gzip.compress(bundle, mtime=0),
        bundle_bytes=len(bundle),
    )
    apps.get_model("tasks", "ChangeCounter").objects.update_or_create(name="revision", defaults={"value": 1})


def to_json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def refuse_changes_of_records(apps: Any, schema_editor: Any) -> None:
    """Triggers on what is never changed again. Where the database does not let us, the program refuses alone."""
    for table in ("config_revision", "tasks_auditentry"):
        for verb in ("UPDATE", "DELETE"):
            try:
                with schema_editor.connection.cursor() as cursor:
                    cursor.execute(
                        f"CREATE OR REPLACE TRIGGER {table}_no_{verb.lower()} BEFORE {verb} ON {table} FOR EACH ROW "
                        f"SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'rows of {table} are never changed'"
                    )
            except DatabaseError as error:
                if error.args[0] != NO_TRIGGERS_HERE:
                    raise
                print(f"No trigger for {verb} on {table}: set log_bin_trust_function_creators to have one.", file=sys.stderr)


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0001_tasks_and_keys"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True, db_index=True, verbose_name="at")),
                ("who", models.CharField(db_index=True, max_length=150, verbose_name="who")),
                ("action", models.CharField(db_index=True, max_length=32, verbose_name="action")),
                ("kind", models.CharField(blank=True, max_length=16, verbose_name="kind")),
                ("key", models.CharField(blank=True, db_index=True, max_length=64, verbose_name="key")),
                ("before", models.JSONField(null=True)),
                ("after", models.JSONField(null=True)),
                ("draft", models.IntegerField(null=True)),
                ("revision", models.IntegerField(null=True)),
                ("note", models.CharField(blank=True, max_length=1000)),
                ("address", models.CharField(blank=True, max_length=64)),
            ],
            options={
                "verbose_name": "audit entry",
                "verbose_name_plural": "audit log",
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("opened_by", models.CharField(max_length=150, verbose_name="opened by")),
                ("title", models.CharField(blank=True, max_length=200, verbose_name="title")),
                ("base_revision", models.IntegerField(verbose_name="based on revision")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("editing", "being edited"),
                            ("in_review", "waiting for a review"),
                            ("approved", "approved"),
                            ("scheduled", "scheduled"),
                            ("published", "published"),
                            ("discarded", "discarded"),
                        ],
                        default="editing",
                        max_length=16,
                        verbose_name="state",
                    ),
                ),
                ("edition", models.IntegerField(default=1)),
                ("checked_edition", models.IntegerField(default=0)),
                ("created_at", models.DateTimeField(auto_now_add=True, verbose_name="created at")),
                ("changed_at", models.DateTimeField(auto_now=True, verbose_name="changed at")),
                ("asked_at", models.DateTimeField(null=True, verbose_name="review asked at")),
                ("reviewed_at", models.DateTimeField(null=True, verbose_name="reviewed at")),
                ("review_note", models.CharField(blank=True, max_length=1000, verbose_name="reviewer's note")),
                ("publish_at", models.DateTimeField(null=True, verbose_name="publish at")),
                ("reason", models.CharField(blank=True, max_length=1000, verbose_name="reason")),
                (
                    "in_flight",
                    models.CharField(
                        choices=[("keep", "keep the old rules until the period ends"), ("apply", "apply the new rules now")],
                        default="keep",
                        max_length=8,
                    ),
                ),
                ("history_counts", models.BooleanField(default=False)),
                ("rolls_back_to", models.IntegerField(null=True)),
                ("failure", models.TextField(blank=True)),
            ],
            options={
                "verbose_name": "draft",
                "verbose_name_plural": "drafts",
                "ordering": ["-changed_at"],
                "permissions": [
                    ("review_draft", "Can review drafts of others"),
                    ("publish_draft", "Can publish and schedule drafts, roll back"),
                    ("kill_task", "Can switch a task off at once"),
                    ("explain_user", "Can explain a user"),
                ],
            },
        ),
        migrations.CreateModel(
            name="DraftItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=16)),
                ("key", models.CharField(db_collation="utf8mb4_bin", max_length=64)),
                ("base", models.JSONField(null=True)),
                ("document", models.JSONField(null=True)),
                ("changed_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="ListContents",
            fields=[
                ("sha256", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("count", models.IntegerField()),
                ("packed", models.BinaryField()),
            ],
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                ("number", models.IntegerField(primary_key=True, serialize=False, verbose_name="revision")),
                ("published_at", models.DateTimeField(verbose_name="published at")),
                ("published_by", models.CharField(max_length=150, verbose_name="published by")),
                (
                    "origin",
                    models.CharField(
                        choices=[
                            ("page", "from the page"),
                            ("api", "by the API"),
                            ("schedule", "on schedule"),
                            ("roll_back", "roll back"),
                            ("switch", "switched off or on at once"),
                            ("command", "by a command"),
                        ],
                        max_length=16,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=1000, verbose_name="reason")),
                ("rolls_back_to", models.IntegerField(null=True)),
                ("change_count", models.IntegerField(verbose_name="changes")),
                ("packed_changes", models.BinaryField()),
                ("etag", models.CharField(max_length=64)),
                ("configuration", models.BinaryField()),
                ("bundle", models.BinaryField()),
                ("bundle_bytes", models.IntegerField()),
            ],
            options={
                "verbose_name": "revision",
                "verbose_name_plural": "revisions",
                "db_table": "config_revision",
                "ordering": ["-number"],
            },
        ),
        migrations.CreateModel(
            name="TaskCondition",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("group", models.PositiveSmallIntegerField()),
                ("row", models.PositiveSmallIntegerField()),
                ("attribute", models.CharField(db_index=True, max_length=64)),
                ("operator", models.CharField(max_length=8)),
                ("value", models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="TaskPrerequisite",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("state", models.CharField(max_length=16)),
            ],
        ),
        migrations.CreateModel(
            name="TaskText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("language", models.CharField(max_length=16)),
                ("name", models.CharField(max_length=200)),
                ("description", models.TextField(blank=True, max_length=2000)),
            ],
        ),
        migrations.AddField(
            model_name="task",
            name="archived",
            field=models.BooleanField(default=False, verbose_name="archived"),
        ),
        migrations.AddField(
            model_name="task",
            name="cap_per_period",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="cap_per_user",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="cap_total",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="category",
            field=models.CharField(blank=True, max_length=64, verbose_name="category"),
        ),
        migrations.AddField(
            model_name="task",
            name="document",
            field=models.JSONField(default=dict),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="task",
            name="kind",
            field=models.CharField(
                choices=[
                    ("single", "one step"),
                    ("counter", "count to a target"),
                    ("tiers", "several targets"),
                    ("streak", "periods in a row"),
                ],
                default="single",
                max_length=16,
                verbose_name="kind",
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="task",
            name="percentage_bp",
            field=models.IntegerField(default=10000),
        ),
        migrations.AddField(
            model_name="task",
            name="points_budget",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="task",
            name="revision",
            field=models.IntegerField(default=1, verbose_name="changed in revision"),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="task",
            name="switched_off",
            field=models.BooleanField(default=False, verbose_name="switched off"),
        ),
        migrations.AddField(
            model_name="task",
            name="weight",
            field=models.IntegerField(default=0, verbose_name="weight"),
        ),
        migrations.AlterField(
            model_name="task",
            name="code",
            field=models.CharField(max_length=64, unique=True, verbose_name="code"),
        ),
        migrations.AlterField(
            model_name="task",
            name="ends_at",
            field=models.DateTimeField(blank=True, null=True, verbose_name="ends at"),
        ),
        migrations.AlterField(
            model_name="task",
            name="name",
            field=models.CharField(blank=True, max_length=200, verbose_name="name"),
        ),
        migrations.AlterField(
            model_name="task",
            name="period",
            field=models.CharField(
                choices=[
                    ("once", "once"),
                    ("daily", "every day"),
                    ("weekly", "every week"),
                    ("monthly", "every month"),
                    ("every_days", "every few days"),
                    ("window", "once between start and end"),
                ],
                max_length=16,
                verbose_name="period",
            ),
        ),
        migrations.AlterField(
            model_name="task",
            name="points",
            field=models.BigIntegerField(default=0, verbose_name="points"),
        ),
        migrations.AlterField(
            model_name="task",
            name="starts_at",
            field=models.DateTimeField(verbose_name="starts at"),
        ),
        migrations.AlterField(
            model_name="task",
            name="target",
            field=models.BigIntegerField(default=1, verbose_name="target"),
        ),
        migrations.AlterField(
            model_name="task",
            name="time_zone",
            field=models.CharField(default="UTC", max_length=64, verbose_name="time zone"),
        ),
        migrations.AddField(
            model_name="draft",
            name="editor",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="drafts", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="publisher",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name="draft",
            name="reviewer",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name="draftitem",
            name="changed_by",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name="draftitem",
            name="draft",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="items", to="tasks.draft"),
        ),
        migrations.AddField(
            model_name="revision",
            name="draft",
            field=models.OneToOneField(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="revision", to="tasks.draft"),
        ),
        migrations.AddField(
            model_name="revision",
            name="publisher",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name="revision",
            name="reviewer",
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name="taskcondition",
            name="task",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="condition_rows", to="tasks.task"),
        ),
        migrations.AddField(
            model_name="taskprerequisite",
            name="needs",
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="needed_by_rows", to="tasks.task"),
        ),
        migrations.AddField(
            model_name="taskprerequisite",
            name="task",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="prerequisite_rows", to="tasks.task"),
        ),
        migrations.AddField(
            model_name="tasktext",
            name="task",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="texts", to="tasks.task"),
        ),
        migrations.AddIndex(
            model_name="draft",
            index=models.Index(fields=["state", "publish_at"], name="draft_by_schedule"),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["editing", "in_review", "approved", "scheduled", "published", "discarded"])),
                name="draft_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="draft",
            constraint=models.CheckConstraint(
                condition=models.Q(models.Q(("state", "scheduled"), _negated=True), ("publish_at__isnull", False), _connector="OR"),
                name="draft_scheduled_has_a_moment",
            ),
        ),
        migrations.AddConstraint(
            model_name="draftitem",
            constraint=models.UniqueConstraint(fields=("draft", "kind", "key"), name="draft_item_once"),
        ),
        migrations.AddConstraint(
            model_name="draftitem",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ("task", "attribute", "event", "list"))), name="draft_item_kind_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="taskcondition",
            constraint=models.UniqueConstraint(fields=("task", "group", "row"), name="task_condition_place"),
        ),
        migrations.AddConstraint(
            model_name="taskprerequisite",
            constraint=models.UniqueConstraint(fields=("task", "needs"), name="task_prerequisite_once"),
        ),
        migrations.AddConstraint(
            model_name="taskprerequisite",
            constraint=models.CheckConstraint(
                condition=models.Q(("task", models.F("needs")), _negated=True), name="task_prerequisite_not_itself"
            ),
        ),
        migrations.AddConstraint(
            model_name="tasktext",
            constraint=models.UniqueConstraint(fields=("task", "language"), name="task_text_once_a_language"),
        ),
        migrations.RunPython(make_revision_1_of_the_task_rows),
        migrations.RemoveField(
            model_name="task",
            name="active",
        ),
        migrations.RemoveField(
            model_name="task",
            name="created_at",
        ),
        migrations.RemoveField(
            model_name="task",
            name="description",
        ),
        migrations.RemoveField(
            model_name="task",
            name="updated_at",
        ),
        migrations.RemoveConstraint(
            model_name="task",
            name="task_period_known",
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["archived", "starts_at"], name="task_by_start"),
        ),
        migrations.AddIndex(
            model_name="task",
            index=models.Index(fields=["archived", "ends_at"], name="task_by_end"),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", ["single", "counter", "tiers", "streak"])), name="task_kind_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(("period__in", ["once", "daily", "weekly", "monthly", "every_days", "window"])), name="task_period_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(("percentage_bp__gte", 0), ("percentage_bp__lte", 10000)), name="task_percentage"
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("cap_per_user__isnull", True),
                    models.Q(("cap_per_user__gte", 1), ("cap_per_user__lte", 9007199254740991)),
                    _connector="OR",
                ),
                name="task_cap_per_user_at_least_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("cap_total__isnull", True), models.Q(("cap_total__gte", 1), ("cap_total__lte", 9007199254740991)), _connector="OR"
                ),
                name="task_cap_total_at_least_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("cap_per_period__isnull", True),
                    models.Q(("cap_per_period__gte", 1), ("cap_per_period__lte", 9007199254740991)),
                    _connector="OR",
                ),
                name="task_cap_per_period_at_least_1",
            ),
        ),
        migrations.AddConstraint(
            model_name="task",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("points_budget__isnull", True),
                    models.Q(("points_budget__gte", 1), ("points_budget__lte", 9007199254740991)),
                    _connector="OR",
                ),
                name="task_points_budget_at_least_1",
            ),
        ),
        migrations.AlterConstraint(
            model_name="task",
            name="task_ends_after_it_starts",
            constraint=models.CheckConstraint(
                condition=models.Q(("ends_at__isnull", True), ("ends_at__gt", models.F("starts_at")), _connector="OR"),
                name="task_ends_after_it_starts",
            ),
        ),
        migrations.AlterConstraint(
            model_name="task",
            name="task_target_at_least_1",
            constraint=models.CheckConstraint(
                condition=models.Q(("target__gte", 1), ("target__lte", 9007199254740991)), name="task_target_at_least_1"
            ),
        ),
        migrations.AlterConstraint(
            model_name="task",
            name="task_points_not_negative",
            constraint=models.CheckConstraint(
                condition=models.Q(("points__gte", 0), ("points__lte", 9007199254740991)), name="task_points_not_negative"
            ),
        ),
        migrations.AlterConstraint(
            model_name="task",
            name="task_code_pattern",
            constraint=models.CheckConstraint(
                condition=models.Q(("code__regex", "^[a-z0-9][a-z0-9_-]{0,63}\\Z")), name="task_code_pattern"
            ),
        ),
        migrations.RunPython(refuse_changes_of_records),
    ]
