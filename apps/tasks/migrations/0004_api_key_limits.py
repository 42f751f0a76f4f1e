"""How many requests a second a key may make. Keys that there are may go on as they do."""

from __future__ import annotations

from django.core.validators import MinValueValidator
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("tasks", "0003_roles_and_operators"),
    ]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="requests_per_s",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="All processes together. Empty: as many as it likes.",
                null=True,
                validators=[MinValueValidator(1)],
                verbose_name="requests a second",
            ),
        ),
        migrations.AddField(
            model_name="apikey",
            name="burst",
            field=models.PositiveIntegerField(
                blank=True,
                help_text="So many at once after a pause. Empty: those of one second.",
                null=True,
                validators=[MinValueValidator(1)],
                verbose_name="burst",
            ),
        ),
    ]
