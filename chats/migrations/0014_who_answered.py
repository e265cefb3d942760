"""Who answered, of each step; and prices of a service tier, of cache writes for an hour, and of web searches."""

from decimal import Decimal

from django.core.validators import MinValueValidator
from django.db import migrations, models
from django.db.models import F

import approvals.runtime.json_field


def seed(apps, schema_editor):
    """Add what Anthropic published: a write for an hour costs twice the input, a thousand searches ten dollars.

    Only to rows that still have the published relation of a write for five minutes to the input.
    """
    rows = apps.get_model("chats", "ModelPrice").objects.filter(prefix__startswith="claude-", currency="USD")
    published = rows.filter(cache_write=F("input") * Decimal("1.25"))
    published.update(cache_write_hour=F("input") * 2, searches=Decimal(10))


def column(**more):
    return models.DecimalField(decimal_places=4, max_digits=12, validators=[MinValueValidator(0)], **more)


class Migration(migrations.Migration):
    dependencies = [("chats", "0013_attachments")]

    operations = [
        migrations.AddField("step", "answered_by", approvals.runtime.json_field.ExactJSONField(default=dict)),
        migrations.AddField("modelprice", "service_tier", models.CharField(blank=True, max_length=50)),
        migrations.AddField("modelprice", "cache_write_hour", column(blank=True, null=True)),
        migrations.AddField("modelprice", "searches", column(blank=True, null=True)),
        migrations.RemoveConstraint("modelprice", "model_price_of_a_day"),
        migrations.AddConstraint(
            "modelprice",
            models.UniqueConstraint(
                fields=("prefix", "valid_from", "above", "service_tier"), name="model_price_of_a_tier"
            ),
        ),
        migrations.RunPython(seed, migrations.RunPython.noop),
    ]
