"""Delivery of points, and which roles may look at it and change it.

A role that an administrator has deleted is not made again; one that he has changed gets what is new and keeps the rest.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management import create_permissions
from django.db import migrations, models

ADDED = {
    "viewer": ["view_pointsprovider"],
    "editor": ["view_pointsprovider"],
    "reviewer": ["view_pointsprovider"],
    "publisher": ["view_pointsprovider", "change_pointsprovider"],
    "support": ["view_pointsprovider"],
}


def add_to_roles(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    # Django makes permissions after all migrations; this makes only those that are missing.
    app = apps.get_app_config("tasks")
    app.models_module = True  # it asks for one, and an app as a migration sees it has none
    create_permissions(app, verbosity=0, interactive=False, using=alias, apps=apps)
    del app.models_module

    groups = apps.get_model("auth", "Group").objects.using(alias)
    permissions = apps.get_model("auth", "Permission").objects.using(alias).filter(content_type__app_label="tasks")
    for name, codenames in ADDED.items():
        for group in groups.filter(name=name):
            group.permissions.add(*permissions.filter(codename__in=codenames))


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0004_api_key_limits"),
    ]

    operations = [
        migrations.CreateModel(
            name="PointsDrain",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(db_index=True)),
                ("relay", models.CharField(max_length=100)),
                ("sent", models.PositiveIntegerField(default=0)),
                ("confirmed", models.PositiveIntegerField(default=0)),
                ("rejected", models.PositiveIntegerField(default=0)),
                ("again", models.PositiveIntegerField(default=0)),
                ("unknown", models.PositiveIntegerField(default=0)),
                ("dead", models.PositiveIntegerField(default=0)),
                ("superseded", models.PositiveIntegerField(default=0)),
                ("slowest_ms", models.PositiveIntegerField(default=0)),
                ("error", models.CharField(blank=True, max_length=255)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="PointsReconciliation",
            fields=[
                ("day", models.DateField(primary_key=True, serialize=False)),
                ("at", models.DateTimeField()),
                ("outcome", models.CharField(max_length=16)),
                ("our_grants", models.PositiveIntegerField(default=0)),
                ("our_points", models.BigIntegerField(default=0)),
                ("open_grants", models.PositiveIntegerField(default=0)),
                ("open_points", models.BigIntegerField(default=0)),
                ("their_grants", models.PositiveIntegerField(null=True)),
                ("their_points", models.BigIntegerField(null=True)),
                ("differences", models.JSONField(default=list)),
                ("more", models.BooleanField(default=False)),
                ("error", models.CharField(blank=True, max_length=255)),
            ],
            options={
                "default_permissions": (),
            },
        ),
        migrations.CreateModel(
            name="PointsProvider",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, editable=False, primary_key=True, serialize=False)),
                ("paused", models.BooleanField(default=False, verbose_name="paused")),
                (
                    "rate_per_s",
                    models.PositiveIntegerField(
                        blank=True,
                        help_text="Empty: as tasksys.toml says (points.rate_per_s).",
                        null=True,
                        verbose_name="requests a second",
                    ),
                ),
                ("changed_by", models.CharField(blank=True, editable=False, max_length=150)),
                ("changed_at", models.DateTimeField(editable=False, null=True)),
                ("hold_until_ms", models.BigIntegerField(default=0, editable=False)),
                ("free_from_us", models.BigIntegerField(default=0, editable=False)),
                ("figures", models.JSONField(editable=False, null=True)),
            ],
            options={
                "verbose_name": "points system",
                "verbose_name_plural": "points system",
                "default_permissions": ("view", "change"),
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="points_provider_is_one")],
            },
        ),
        migrations.RunPython(add_to_roles, migrations.RunPython.noop, elidable=False),
    ]
