"""Where the sweeps of old rows stand."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("dbsvr", "0013_events_by_key_alone"),
    ]

    operations = [
        migrations.CreateModel(
            name="Sweep",
            fields=[
                ("table", models.CharField(max_length=31, primary_key=True, serialize=False)),
                ("gone_before", models.DateField(null=True)),
                ("before", models.DateField(null=True)),
                ("cursor", models.TextField(blank=True)),
                ("began_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("looked", models.BigIntegerField(default=0)),
                ("removed", models.BigIntegerField(default=0)),
                ("removed_ever", models.BigIntegerField(default=0)),
                ("oldest_so_far", models.DateField(null=True)),
                ("oldest", models.DateField(null=True)),
                ("waits", models.CharField(blank=True, max_length=200)),
                ("error", models.CharField(blank=True, max_length=500)),
                ("failed_at", models.DateTimeField(null=True)),
                ("failing_since", models.DateTimeField(null=True)),
            ],
            options={
                "verbose_name": "sweep",
                "db_table": "sweep",
                "default_permissions": (),
            },
        ),
    ]
