"""The columns of the reason `not_owner` and of the error `NOTOWNER`."""

from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dbsvr", "0006_cache_purge")]
    operations = [
        migrations.AddField("sample", "reason_not_owner", models.FloatField(null=True)),
        migrations.AddField("sample", "error_notowner", models.FloatField(null=True)),
    ]
