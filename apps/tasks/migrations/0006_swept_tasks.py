"""How far each task's grants were swept."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0005_points"),
    ]

    operations = [
        migrations.CreateModel(
            name="SweptTask",
            fields=[
                ("task", models.PositiveIntegerField(primary_key=True, serialize=False)),
                ("gone_before", models.DateField()),
            ],
            options={
                "default_permissions": (),
            },
        ),
    ]
