"""Prices of models, with those that Anthropic published by November 2026. Administrators keep them from then on."""

from datetime import date

from django.core.validators import MinValueValidator
from django.db import migrations, models

#: Prefix of the model's name, first day, tokens of the prompt above which it holds, and US dollars per million tokens:
#: input, cache write (5 minutes), cache read, output. Days before the first price of a model are rare, so it begins early.
EARLY = date(2025, 1, 1)
PRICES = [
    ("claude-fable-5", EARLY, 0, "10", "12.50", "1", "50"),
    ("claude-fable-5-1", EARLY, 0, "10", "12.50", "0.25", "50"),
    ("claude-mythos-5", EARLY, 0, "10", "12.50", "1", "50"),
    ("claude-mythos-5-1", EARLY, 0, "10", "12.50", "0.25", "50"),
    ("claude-opus-5-5", EARLY, 0, "4", "5", "0.20", "20"),
    ("claude-opus-5", EARLY, 0, "5", "6.25", "0.50", "25"),
    ("claude-opus-4-8", EARLY, 0, "5", "6.25", "0.50", "25"),
    ("claude-opus-4-7", EARLY, 0, "5", "6.25", "0.50", "25"),
    ("claude-opus-4-6", EARLY, 0, "5", "6.25", "0.50", "25"),
    ("claude-opus-4-5", EARLY, 0, "5", "6.25", "0.50", "25"),
    ("claude-opus-4", EARLY, 0, "15", "18.75", "1.50", "75"),
    ("claude-sonnet-5-5", EARLY, 0, "2", "2.50", "0.20", "10"),
    ("claude-sonnet-5-5", date(2026, 10, 7), 0, "2", "2.50", "0.10", "10"),
    ("claude-sonnet-5", EARLY, 0, "2", "2.50", "0.20", "10"),
    ("claude-sonnet-4", EARLY, 0, "3", "3.75", "0.30", "15"),
    ("claude-haiku-5-5", EARLY, 0, "0.10", "0.125", "0.01", "0.50"),
    ("claude-haiku-5-5", EARLY, 100_000, "0.50", "0.625", "0.05", "2.50"),
    ("claude-haiku-4-5", EARLY, 0, "1", "1.25", "0.10", "5"),
]


def seed(apps, schema_editor):
    price = apps.get_model("chats", "ModelPrice")
    names = ("prefix", "valid_from", "above", "input", "cache_write", "cache_read", "output")
    price.objects.bulk_create([price(**dict(zip(names, row, strict=True))) for row in PRICES])


def column():
    return models.DecimalField(decimal_places=4, max_digits=12, validators=[MinValueValidator(0)])


class Migration(migrations.Migration):
    dependencies = [("chats", "0011_step_prefix_and_details")]

    operations = [
        migrations.CreateModel(
            name="ModelPrice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("prefix", models.CharField(max_length=100)),
                ("valid_from", models.DateField()),
                ("above", models.PositiveIntegerField(default=0)),
                ("currency", models.CharField(default="USD", max_length=3)),
                ("input", column()),
                ("cache_write", column()),
                ("cache_read", column()),
                ("output", column()),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("prefix", "valid_from", "above"), name="model_price_of_a_day")
                ],
            },
        ),
        migrations.RunPython(seed, migrations.RunPython.noop),
    ]
