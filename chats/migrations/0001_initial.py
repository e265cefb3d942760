"""The schema of the chats in 0.1.0, the first version, and the prices that were known then."""

import uuid
from datetime import date
from decimal import Decimal

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from approvals.db.fields import ExactJSONField

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


def add_prices(apps, schema_editor):
    """Add what Anthropic published by November 2026. Administrators keep the prices from then on.

    A cache write for an hour costs twice the input, and a thousand searches ten dollars.
    """
    price = apps.get_model("chats", "ModelPrice")
    names = ("prefix", "valid_from", "above", "input", "cache_write", "cache_read", "output")
    rows = [dict(zip(names, row, strict=True)) for row in PRICES]
    price.objects.bulk_create(
        [price(**row, cache_write_hour=2 * Decimal(row["input"]), searches=Decimal(10)) for row in rows]
    )


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("approvals", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Chat",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("public_id", models.CharField(max_length=200)),
                ("agent", models.CharField(max_length=100)),
                ("title", models.CharField(blank=True, max_length=200)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="chats",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "root",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chats.chat"
                    ),
                ),
                ("pruned_at", models.DateTimeField(null=True)),
                ("branch_token", models.CharField(max_length=32, null=True)),
                ("branched_at", models.BigIntegerField(null=True)),
                (
                    "branched_from",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="branches",
                        to="chats.chat",
                    ),
                ),
                ("key_made_by_id", models.BigIntegerField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["owner", "-updated_at", "-id"], name="chat_recent"),
                    models.Index(fields=["-updated_at", "-id"], name="chat_recent_all"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("owner", "public_id"), name="chat_public_id"),
                    models.UniqueConstraint(fields=("owner", "branch_token"), name="chat_branch_token"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Message",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("message_id", models.CharField(max_length=200)),
                ("role", models.CharField(choices=[("user", "User"), ("assistant", "Assistant")], max_length=10)),
                ("parts", ExactJSONField(default=list)),
                ("position", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "chat",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="chats.chat",
                    ),
                ),
                ("cut_at", models.DateTimeField(null=True)),
                ("metadata", ExactJSONField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["chat", "created_at", "id"], name="message_when")],
                "constraints": [
                    models.UniqueConstraint(fields=("chat", "position"), name="message_position"),
                    models.UniqueConstraint(
                        condition=models.Q(("cut_at__isnull", True)),
                        fields=("chat", "message_id"),
                        name="message_id_shown_in_chat",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TurnCheckpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("chat_pk", models.BigIntegerField()),
                ("turn_pk", models.BigIntegerField()),
                ("run_id", models.UUIDField()),
                ("message_id", models.CharField(max_length=200)),
                ("ordinal", models.PositiveIntegerField()),
                ("kind", models.CharField(choices=[("partial", "Partial"), ("final", "Final")], max_length=7)),
                (
                    "finish_reason",
                    models.CharField(
                        choices=[
                            ("stop", "Stop"),
                            ("length", "Length"),
                            ("content-filter", "Content Filter"),
                            ("tool-calls", "Tool Calls"),
                            ("error", "Error"),
                            ("other", "Other"),
                        ],
                        max_length=15,
                    ),
                ),
                ("stopped", models.BooleanField(default=False)),
                ("error", models.TextField(blank=True)),
                ("kept", models.PositiveIntegerField()),
                ("tail", ExactJSONField(default=list)),
                ("digest", models.CharField(max_length=71)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("digest_salt", models.CharField(max_length=32, null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("chat_pk", "message_id", "ordinal"), name="checkpoint_ordinal")
                ],
                "indexes": [models.Index(fields=["chat_pk", "created_at", "id"], name="checkpoint_when")],
            },
        ),
        migrations.CreateModel(
            name="ModelPrice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("prefix", models.CharField(max_length=100)),
                ("valid_from", models.DateField()),
                ("above", models.PositiveIntegerField(default=0)),
                ("currency", models.CharField(default="USD", max_length=3)),
                (
                    "input",
                    models.DecimalField(
                        decimal_places=4, max_digits=12, validators=[django.core.validators.MinValueValidator(0)]
                    ),
                ),
                (
                    "cache_write",
                    models.DecimalField(
                        decimal_places=4, max_digits=12, validators=[django.core.validators.MinValueValidator(0)]
                    ),
                ),
                (
                    "cache_read",
                    models.DecimalField(
                        decimal_places=4, max_digits=12, validators=[django.core.validators.MinValueValidator(0)]
                    ),
                ),
                (
                    "output",
                    models.DecimalField(
                        decimal_places=4, max_digits=12, validators=[django.core.validators.MinValueValidator(0)]
                    ),
                ),
                ("service_tier", models.CharField(blank=True, max_length=50)),
                (
                    "cache_write_hour",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
                (
                    "searches",
                    models.DecimalField(
                        blank=True,
                        decimal_places=4,
                        max_digits=12,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("prefix", "valid_from", "above", "service_tier"), name="model_price_of_a_tier"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Attachment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("file_id", models.UUIDField(default=uuid.uuid4, editable=False)),
                ("media_type", models.CharField(max_length=50)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("size", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=71)),
                ("content", models.BinaryField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "chat",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="attachments",
                        to="chats.chat",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["file_id"], name="attachment_file")],
                "constraints": [models.UniqueConstraint(fields=("chat", "file_id"), name="attachment_in_chat")],
            },
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("run_id", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("message_id", models.CharField(max_length=200)),
                ("agent", models.CharField(max_length=100)),
                ("agent_version", models.CharField(blank=True, max_length=50)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("suspended", "Suspended"),
                            ("completed", "Completed"),
                            ("stopped", "Stopped"),
                            ("failed", "Failed"),
                        ],
                        default="queued",
                        max_length=10,
                    ),
                ),
                (
                    "finish_reason",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("stop", "Stop"),
                            ("length", "Length"),
                            ("content-filter", "Content Filter"),
                            ("tool-calls", "Tool Calls"),
                            ("error", "Error"),
                            ("other", "Other"),
                        ],
                        max_length=15,
                    ),
                ),
                ("stopped", models.BooleanField(default=False)),
                ("stopped_by", models.CharField(blank=True, max_length=300)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("lease_owner", models.CharField(blank=True, max_length=100)),
                ("lease_until", models.DateTimeField(null=True)),
                ("usage", ExactJSONField(default=dict)),
                ("trace", ExactJSONField(null=True)),
                ("error", models.TextField(blank=True)),
                ("depth", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "chat",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="turns",
                        to="chats.chat",
                    ),
                ),
                (
                    "root",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="chats.turn"
                    ),
                ),
                ("source", models.CharField(default="chat", max_length=20)),
                ("events_pruned", models.BooleanField(default=False)),
                ("version", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running", "suspended"])),
                        fields=["state", "lease_until"],
                        name="turn_due",
                    ),
                    models.Index(
                        condition=models.Q(("root__isnull", False), ("state", "suspended")),
                        fields=["root"],
                        name="turn_nested_suspended",
                    ),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", False), ("events_pruned", False)),
                        fields=["ended_at"],
                        name="turn_events_kept",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state__in", ["queued", "running", "suspended"])),
                        fields=("chat",),
                        name="one_unfinished_turn_per_chat",
                    ),
                    models.UniqueConstraint(fields=("chat", "message_id"), name="turn_message"),
                ],
            },
        ),
        migrations.CreateModel(
            name="TurnEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("seq", models.PositiveIntegerField()),
                ("attempt", models.PositiveIntegerField()),
                ("step", models.PositiveIntegerField()),
                ("chunk", ExactJSONField()),
                (
                    "turn",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="events",
                        to="chats.turn",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("turn", "seq"), name="turn_event_seq")],
            },
        ),
        migrations.CreateModel(
            name="Step",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("index", models.PositiveIntegerField()),
                ("blocks", ExactJSONField(default=list)),
                ("provider", models.CharField(max_length=50)),
                ("model", models.CharField(blank=True, max_length=100)),
                ("stop_reason", models.CharField(max_length=50)),
                ("usage", ExactJSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "turn",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="steps",
                        to="chats.turn",
                    ),
                ),
                ("prefix", models.CharField(blank=True, max_length=100)),
                ("stop_details", ExactJSONField(default=dict)),
                ("answered_by", ExactJSONField(default=dict)),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("turn", "index"), name="step_index")],
            },
        ),
        migrations.CreateModel(
            name="ToolCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("tool_call_id", models.CharField(max_length=200)),
                ("name", models.CharField(max_length=100)),
                ("input", ExactJSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting for a person"),
                            ("ready", "Ready to run"),
                            ("executing", "Running"),
                            ("delegated", "With a sub-agent"),
                            ("unknown", "Outcome unknown"),
                            ("succeeded", "Succeeded"),
                            ("failed", "Failed"),
                            ("denied", "Denied"),
                            ("cancelled", "Cancelled"),
                        ],
                        max_length=10,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("output", ExactJSONField(null=True)),
                ("error_text", models.TextField(blank=True)),
                ("executed_digest", models.CharField(blank=True, max_length=71)),
                ("started_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "approval",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="approvals.approvalrequest",
                    ),
                ),
                (
                    "chat",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="tool_calls",
                        to="chats.chat",
                    ),
                ),
                (
                    "recovery",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="approvals.approvalrequest",
                    ),
                ),
                (
                    "step",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tool_calls", to="chats.step"
                    ),
                ),
                (
                    "turn",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="tool_calls", to="chats.turn"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["chat", "name"], name="tool_call_name"),
                    models.Index(
                        condition=models.Q(("state", "delegated")), fields=["turn"], name="tool_call_delegated"
                    ),
                    models.Index(fields=["chat", "finished_at", "id"], name="tool_call_when"),
                    models.Index(
                        condition=models.Q(("recovery__isnull", False)), fields=["recovery"], name="tool_call_recovery"
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("chat", "tool_call_id"), name="tool_call_id_in_chat")],
            },
        ),
        migrations.AddField(
            model_name="turn",
            name="parent_call",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="children", to="chats.toolcall"
            ),
        ),
        migrations.RunPython(add_prices, migrations.RunPython.noop),
    ]
