"""Who may compare and repair replicas: a permission, and the role `dba` that has it.

A group that is there already is somebody's own and is left as it is. This runs once: what an administrator changes later stays changed.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.management import create_permissions
from django.db import migrations

ROLE = "dba"
PERMISSIONS = [
    ("tasks", "view_task"),
    ("tasks", "view_draft"),
    ("tasks", "view_revision"),
    ("tasks", "view_auditentry"),
    ("tasks", "view_pointsprovider"),
    ("dbsvr", "repair_replica"),
]


def create_role(apps: Any, schema_editor: Any) -> None:
    alias = schema_editor.connection.alias
    # Django makes permissions after all migrations; on a fresh database there are none yet. It makes only what is missing.
    app = apps.get_app_config("dbsvr")
    app.models_module = True  # it asks for one, and an app as a migration sees it has none
    create_permissions(app, verbosity=0, interactive=False, using=alias, apps=apps)
    del app.models_module

    group, is_new = apps.get_model("auth", "Group").objects.using(alias).get_or_create(name=ROLE)
    if is_new:
        permissions = apps.get_model("auth", "Permission").objects.using(alias)
        for app_label, codename in PERMISSIONS:
            group.permissions.add(permissions.get(content_type__app_label=app_label, codename=codename))


class Migration(migrations.Migration):
    dependencies = [
        ("dbsvr", "0011_replica_hold"),
        ("tasks", "0005_points"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="diffrun",
            options={
                "permissions": [("repair_replica", "Can compare, repair, hold and release replicas")],
                "verbose_name": "diff run",
            },
        ),
        migrations.RunPython(create_role, migrations.RunPython.noop, elidable=False),
    ]
