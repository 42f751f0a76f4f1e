"""The five roles as groups, and what is remembered of each operator.

A group that is there already is somebody's own and is left as it is. This runs once: what an administrator changes later stays changed.
"""

from __future__ import annotations

from typing import Any

import django.db.models.deletion
from django.conf import settings
from django.contrib.auth.management import create_permissions
from django.db import migrations, models

from apps.tasks.models.live import validate_time_zone

LOOK = ["view_task", "view_draft", "view_revision"]
ROLES = {
    "viewer": [*LOOK, "view_auditentry"],
    "editor": [*LOOK, "view_auditentry", "add_draft", "change_draft", "delete_draft", "explain_user"],
    "reviewer": [*LOOK, "view_auditentry", "review_draft", "explain_user"],
    "publisher": [*LOOK, "view_auditentry", "publish_draft", "kill_task", "explain_user"],
    "support": [*LOOK, "explain_user"],
}


def create_roles(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    # Django makes permissions after all migrations; on a fresh database there are none yet. It makes only what is missing.
    app = apps.get_app_config("tasks")
    app.models_module = True  # it asks for one, and an app as a migration sees it has none
    create_permissions(app, verbosity=0, interactive=False, using=alias, apps=apps)
    del app.models_module

    groups = apps.get_model("auth", "Group").objects.using(alias)
    permissions = apps.get_model("auth", "Permission").objects.using(alias).filter(content_type__app_label="tasks")
    for name, codenames in ROLES.items():
        group, is_new = groups.get_or_create(name=name)
        if is_new:
            group.permissions.set(permissions.filter(codename__in=codenames))


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0002_documents_and_revisions"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="OperatorSettings",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="operator_settings",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("time_zone", models.CharField(blank=True, max_length=64, validators=[validate_time_zone], verbose_name="time zone")),
                ("language", models.CharField(blank=True, max_length=16, verbose_name="language")),
            ],
            options={"verbose_name": "operator's settings", "verbose_name_plural": "operators' settings", "default_permissions": ()},
        ),
        migrations.RunPython(create_roles, migrations.RunPython.noop, elidable=False),
    ]
