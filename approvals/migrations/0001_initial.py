"""The schema of the desk in 0.1.0, the first version."""

import uuid

import django.core.validators
import django.db.models.deletion
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from approvals.models.subscriptions import check_address
from approvals.db.fields import CanonicalNameField, ExactJSONField

#: Words as they are: PostgreSQL's own parser would split "4711-2" and addresses by rules of its own.
SEARCH_INDEX = {
    "sqlite": [
        "CREATE VIRTUAL TABLE approvals_search USING fts5(words, content='approvals_searchtext', content_rowid='id', "
        "columnsize=0, prefix='2 3', tokenize='unicode61 remove_diacritics 0')",
        "CREATE TRIGGER approvals_search_insert AFTER INSERT ON approvals_searchtext BEGIN "
        "INSERT INTO approvals_search (rowid, words) VALUES (new.id, new.words); END",
        "CREATE TRIGGER approvals_search_delete AFTER DELETE ON approvals_searchtext BEGIN "
        "INSERT INTO approvals_search (approvals_search, rowid, words) VALUES ('delete', old.id, old.words); END",
        "CREATE TRIGGER approvals_search_update AFTER UPDATE ON approvals_searchtext BEGIN "
        "INSERT INTO approvals_search (approvals_search, rowid, words) VALUES ('delete', old.id, old.words); "
        "INSERT INTO approvals_search (rowid, words) VALUES (new.id, new.words); END",
    ],
    "postgresql": [
        "CREATE INDEX approvals_search ON approvals_searchtext "
        "USING gin ((array_to_tsvector(string_to_array(words, ' '))))",
    ],
}


def create_search_index(apps, schema_editor):
    for statement in SEARCH_INDEX[schema_editor.connection.vendor]:
        schema_editor.connection.cursor().execute(statement)


def drop_search_index(apps, schema_editor):
    # Triggers, and PostgreSQL's index, go with the table of the texts.
    if schema_editor.connection.vendor == "sqlite":
        schema_editor.connection.cursor().execute("DROP TABLE approvals_search")


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="TokenIssuer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("issuer", models.CharField(max_length=254, unique=True)),
                ("audience", models.CharField(max_length=254)),
                ("algorithms", ExactJSONField(default=list)),
                ("scoped", models.BooleanField(default=True)),
                ("any_type", models.BooleanField(default=False)),
                ("keys_url", models.CharField(blank=True, max_length=500)),
                ("private", models.BooleanField(default=False)),
                ("disabled_at", models.DateTimeField(null=True)),
                ("keys", ExactJSONField(default=list)),
                ("fetched_at", models.DateTimeField(null=True)),
                ("tried_at", models.DateTimeField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                ("problem", models.CharField(blank=True, max_length=300)),
            ],
        ),
        migrations.CreateModel(
            name="EngineConnection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("temporal", "Temporal"),
                            ("restate", "Restate"),
                            ("trigger_dev", "Trigger.dev"),
                            ("prefect", "Prefect"),
                            ("own_handler", "Your own handler, such as for DBOS"),
                        ],
                        max_length=12,
                    ),
                ),
                ("url", models.CharField(max_length=500)),
                ("route", models.CharField(blank=True, max_length=201)),
                ("secret", models.TextField(blank=True)),
                ("private", models.BooleanField(default=False)),
                ("disabled_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="ApiKey",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100)),
                ("prefix", models.CharField(max_length=12, unique=True)),
                ("secret_hash", models.CharField(max_length=64)),
                ("scopes", ExactJSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="api_keys",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("expires_at", models.DateTimeField(null=True)),
                ("tool_lists", ExactJSONField(null=True)),
                (
                    "made_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("replaces", ExactJSONField(null=True)),
                ("last_used_from", models.CharField(default="", max_length=60)),
                ("ranges", ExactJSONField(default=list)),
                ("warn_at", models.DateTimeField(null=True)),
                (
                    "issuer",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="mappings",
                        to="approvals.tokenissuer",
                    ),
                ),
                ("claim", models.CharField(blank=True, max_length=20)),
                ("claim_value", models.CharField(blank=True, max_length=254)),
            ],
            options={
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("issuer__isnull", False), ("revoked_at", None)),
                        fields=("issuer", "claim", "claim_value"),
                        name="one_mapping_of_claim",
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("warn_at__isnull", False)),
                        fields=["warn_at"],
                        name="key_warnings",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("event", models.CharField(max_length=40)),
                ("scope", models.CharField(max_length=64)),
                ("dedup_key", models.CharField(max_length=300, null=True)),
                ("run_id", models.CharField(blank=True, max_length=200)),
                ("request_id", models.UUIDField(null=True)),
                ("thread_id", models.CharField(blank=True, max_length=200, verbose_name="chat")),
                ("agent", models.CharField(blank=True, max_length=100)),
                ("tool_name", models.CharField(blank=True, max_length=100, verbose_name="tool")),
                ("tool_call_id", models.CharField(blank=True, max_length=200)),
                ("actor_id", models.BigIntegerField(null=True)),
                ("actor_name", models.CharField(blank=True, max_length=300, verbose_name="person")),
                ("via", models.CharField(blank=True, max_length=20)),
                ("body", models.TextField()),
                ("digest", models.CharField(max_length=71)),
                ("retry_count", models.PositiveIntegerField(default=0)),
                ("last_seen_at", models.DateTimeField()),
                ("open_after", models.PositiveIntegerField(null=True)),
                ("verdict", models.CharField(blank=True, db_default="", default="", max_length=8)),
                ("amount", models.FloatField(null=True)),
            ],
            options={
                "verbose_name_plural": "audit entries",
                "indexes": [
                    models.Index(fields=["scope", "run_id"], name="audit_run"),
                    models.Index(fields=["at"], name="audit_at"),
                    models.Index(fields=["request_id"], name="audit_request"),
                    models.Index(fields=["thread_id"], name="audit_thread"),
                    models.Index(fields=["tool_name"], name="audit_tool"),
                    models.Index(fields=["actor_name"], name="audit_actor"),
                    models.Index(fields=["event"], name="audit_event"),
                    models.Index(condition=models.Q(("verdict__gt", "")), fields=["verdict"], name="audit_verdict"),
                    models.Index(fields=["tool_name", "at"], name="audit_tool_at"),
                    models.Index(fields=["actor_name", "at"], name="audit_actor_at"),
                    models.Index(fields=["event", "at"], name="audit_event_at"),
                    models.Index(
                        condition=models.Q(("verdict__gt", "")), fields=["verdict", "at"], name="audit_verdict_at"
                    ),
                    models.Index(
                        condition=models.Q(("amount__isnull", False)), fields=["amount", "id"], name="audit_amount"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("dedup_key__isnull", False)), fields=("dedup_key",), name="audit_dedup_key"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Workflow",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("scope", models.CharField(max_length=64)),
                ("key", models.CharField(max_length=200, verbose_name="run id")),
                ("title", models.CharField(max_length=200)),
                ("source", models.CharField(max_length=20)),
                ("agent", models.CharField(blank=True, max_length=100)),
                ("thread_id", models.CharField(blank=True, max_length=200)),
                ("thread_url", models.CharField(blank=True, max_length=500)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("suspended", "Suspended"),
                            ("completed", "Completed"),
                            ("cancelled", "Cancelled"),
                            ("failed", "Failed"),
                        ],
                        default="running",
                        max_length=12,
                    ),
                ),
                ("open_count", models.PositiveIntegerField(default=0)),
                ("urgency", models.PositiveSmallIntegerField(null=True)),
                ("suspended_at", models.DateTimeField(null=True)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["owner", "-ended_at", "-id"], name="workflow_owner_ended"),
                    models.Index(fields=["key"], name="workflow_key"),
                    models.Index(fields=["thread_id"], name="workflow_thread"),
                    models.Index(
                        condition=models.Q(("state", "suspended")),
                        fields=["urgency", "suspended_at", "id"],
                        name="workflow_suspended",
                    ),
                    models.Index(
                        condition=models.Q(("state", "suspended")), fields=["owner"], name="workflow_owner_suspended"
                    ),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", False)),
                        fields=["-ended_at", "-id"],
                        name="workflow_over",
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("scope", "key"), name="workflow_scope_key")],
            },
        ),
        migrations.CreateModel(
            name="OutboxEvent",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("event_id", models.UUIDField()),
                ("name", models.CharField(max_length=40)),
                ("stream", models.CharField(max_length=300)),
                ("target", models.CharField(max_length=600)),
                ("payload", ExactJSONField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("delivered_at", models.DateTimeField(null=True)),
                ("dead_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_attempt_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("last_error", models.TextField(blank=True)),
                ("uncertain", models.BooleanField(null=True)),
                (
                    "channel",
                    models.CharField(
                        choices=[
                            ("handler", "App handler"),
                            ("webhook", "Webhook"),
                            ("notice", "Notification"),
                            ("mail", "Email"),
                            ("slack", "Slack"),
                            ("push", "Push"),
                            ("card", "Card with buttons"),
                            ("relay", "Relay"),
                            ("engine", "Engine"),
                        ],
                        default="handler",
                        max_length=8,
                    ),
                ),
                ("lane", models.CharField(blank=True, max_length=300)),
                ("sent_again_at", models.DateTimeField(null=True)),
                ("sequence", models.PositiveBigIntegerField(default=0)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("dead_at__isnull", True), ("delivered_at__isnull", True)),
                        fields=["target", "stream", "id"],
                        name="outbox_open",
                    ),
                    models.Index(
                        condition=models.Q(("dead_at__isnull", True), ("delivered_at__isnull", True)),
                        fields=["channel", "next_attempt_at"],
                        name="outbox_due",
                    ),
                    models.Index(
                        condition=models.Q(("channel", "webhook")), fields=["target", "-id"], name="outbox_deliveries"
                    ),
                    models.Index(
                        condition=models.Q(("channel", "engine")), fields=["target"], name="outbox_engine_request"
                    ),
                    models.Index(
                        condition=models.Q(("channel", "engine")), fields=["lane", "-id"], name="outbox_engine_deliveries"
                    ),
                ],
                "constraints": [models.UniqueConstraint(fields=("event_id", "target"), name="outbox_event_target")],
            },
        ),
        migrations.CreateModel(
            name="EventStream",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=300, unique=True)),
                ("last", models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="LastNotice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("recipient", models.CharField(max_length=40, unique=True)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="NotificationRule",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "route",
                    models.CharField(
                        choices=[
                            ("mail", "Email"),
                            ("slack", "Slack"),
                            ("buttons", "Slack with buttons"),
                            ("teams", "Microsoft Teams"),
                            ("relay", "Relay"),
                        ],
                        default="mail",
                        max_length=7,
                    ),
                ),
                (
                    "slack_url",
                    models.CharField(
                        blank=True,
                        help_text="An incoming webhook of Slack or a compatible service. Anyone who knows the URL can post there.",
                        max_length=500,
                        validators=[check_address],
                        verbose_name="Slack address",
                    ),
                ),
                (
                    "channel_id",
                    models.CharField(
                        blank=True,
                        help_text="With buttons: the ID of the channel in Slack, the link to it in Teams. Leave it empty for direct messages.",
                        max_length=500,
                        verbose_name="channel",
                    ),
                ),
                (
                    "shows",
                    models.CharField(
                        choices=[
                            ("title", "Title only"),
                            ("fields", "Title and key fields"),
                            ("input", "The whole request"),
                        ],
                        default="input",
                        help_text="Everyone in the channel can read the card. It has buttons to decide only if it shows everything that is approved.",
                        max_length=6,
                        verbose_name="What a card shows",
                    ),
                ),
                (
                    "min_priority",
                    models.CharField(
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        default="normal",
                        max_length=8,
                        verbose_name="from priority",
                    ),
                ),
                (
                    "tool_name",
                    models.CharField(
                        blank=True, help_text="Leave empty for all tools.", max_length=100, verbose_name="tool"
                    ),
                ),
                (
                    "above_amount",
                    models.FloatField(
                        blank=True,
                        help_text="Only requests over this amount, or without an amount. Leave it empty for all requests.",
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="above the amount",
                    ),
                ),
                (
                    "to_assignee",
                    models.BooleanField(
                        default=False,
                        help_text="For direct messages in a chat: when a request is assigned to one of these people, instead of when it is new.",
                        verbose_name="to the assignee only",
                    ),
                ),
                ("active", models.BooleanField(default=True)),
                (
                    "group",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="auth.group",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("group__isnull", True), ("person__isnull", False)),
                            models.Q(("group__isnull", False), ("person__isnull", True)),
                            _connector="OR",
                        ),
                        name="notification_rule_one_audience",
                        violation_error_message="Choose a person or a group, one of them.",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WebhookEndpoint",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(help_text="The application behind this URL, such as “billing”.", max_length=100),
                ),
                ("url", models.CharField(max_length=500, validators=[check_address], verbose_name="address")),
                ("events", ExactJSONField(default=list)),
                (
                    "include_payload",
                    models.BooleanField(
                        default=False,
                        help_text="Also send inputs, comments, answers and edited inputs. The receiver can read them.",
                    ),
                ),
                ("active", models.BooleanField(default=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
        ),
        migrations.CreateModel(
            name="Worker",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=200, unique=True)),
                ("kind", models.CharField(choices=[("web", "Web"), ("worker", "Worker")], max_length=6)),
                ("started_at", models.DateTimeField()),
                ("seen_at", models.DateTimeField(db_index=True)),
                ("running", models.PositiveIntegerField(default=0)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.CreateModel(
            name="ToolSettings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key_fields", ExactJSONField(default=list)),
                ("reason_required", models.BooleanField(default=False, verbose_name="a rejection needs a message")),
                (
                    "min_priority",
                    models.CharField(
                        blank=True,
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        max_length=8,
                        verbose_name="priority at least",
                    ),
                ),
                ("prepared_answers", ExactJSONField(default=list)),
                ("secret_fields", ExactJSONField(default=list, null=True)),
                ("grant_seconds", models.PositiveIntegerField(null=True, verbose_name="maximum duration of a grant")),
                ("grant_uses", models.PositiveIntegerField(null=True, verbose_name="maximum uses of a grant")),
                (
                    "grant_width",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "this exact input"), (1, "the same key fields"), (2, "any input of this tool")],
                        null=True,
                        verbose_name="broadest grant allowed",
                    ),
                ),
                ("no_grants", models.BooleanField(db_default=False, default=False, verbose_name="never grant")),
                (
                    "control",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("confirm", "Confirm: the requester may decide too"),
                            ("four_eyes", "Two-person rule: the requester may not decide"),
                        ],
                        db_default="",
                        default="",
                        max_length=9,
                        verbose_name="who decides",
                    ),
                ),
                ("tool_name", CanonicalNameField(max_length=100, unique=True)),
            ],
            options={
                "verbose_name_plural": "tool settings",
                "permissions": [("administer", "Can manage people, keys, webhooks, rules and tools")],
            },
        ),
        migrations.CreateModel(
            name="Preferences",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="preferences",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "theme",
                    models.CharField(
                        choices=[("system", "As the device"), ("light", "Light"), ("dark", "Dark")],
                        default="system",
                        max_length=6,
                    ),
                ),
                (
                    "density",
                    models.CharField(
                        choices=[("comfortable", "Comfortable"), ("compact", "Compact")],
                        default="comfortable",
                        max_length=11,
                    ),
                ),
                ("split", models.BooleanField(default=True, verbose_name="show the request beside the list")),
                ("open_next", models.BooleanField(default=True, verbose_name="open the next request after a decision")),
                ("shortcuts", models.BooleanField(default=True, verbose_name="keyboard shortcuts")),
                (
                    "hold_seconds",
                    models.PositiveSmallIntegerField(
                        default=0,
                        help_text="You can undo a decision for as long. 0 sends it at once. Critical requests are never held.",
                        verbose_name="hold my decisions for (seconds)",
                    ),
                ),
                ("muted", ExactJSONField(default=list)),
                ("quiet_from", models.TimeField(blank=True, null=True, verbose_name="from")),
                ("quiet_until", models.TimeField(blank=True, null=True, verbose_name="until")),
                ("setup_dismissed", models.BooleanField(default=False)),
                (
                    "language",
                    models.CharField(blank=True, db_default="", default="", max_length=20, verbose_name="language"),
                ),
                ("time_zone", models.CharField(blank=True, default="", max_length=64, verbose_name="time zone")),
                (
                    "daily_budget",
                    models.PositiveSmallIntegerField(blank=True, null=True, verbose_name="decisions per day"),
                ),
            ],
            options={
                "verbose_name_plural": "preferences",
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("hold_seconds__lte", 30)), name="preferences_hold_seconds"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("quiet_from", None), ("quiet_until", None)),
                            models.Q(("quiet_from__isnull", False), ("quiet_until__isnull", False)),
                            _connector="OR",
                        ),
                        name="preferences_quiet_hours",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                ("query", models.CharField(max_length=2000)),
                ("shared", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "owner",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="saved_views",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "page",
                    models.CharField(
                        choices=[("inbox", "Inbox"), ("audit", "Audit")],
                        db_default="inbox",
                        default="inbox",
                        max_length=5,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("owner", "page", "name"), name="saved_view_of_page")],
            },
        ),
        migrations.CreateModel(
            name="PersonSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("session_key", models.CharField(max_length=40, unique=True)),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("address", models.CharField(blank=True, max_length=45)),
                ("browser", models.CharField(blank=True, max_length=300)),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("last_active_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["person", "-started_at"], name="person_session_newest")],
            },
        ),
        migrations.CreateModel(
            name="KnownNetwork",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("network", models.CharField(max_length=49)),
                ("last_seen_at", models.DateTimeField(db_index=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["person", "network"], name="one_row_of_person_and_network")
                ],
            },
        ),
        migrations.CreateModel(
            name="ProviderSession",
            fields=[
                (
                    "session",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="approvals.personsession",
                    ),
                ),
                ("issuer", models.CharField(max_length=500)),
                ("subject", models.CharField(max_length=255)),
                ("sid", models.CharField(blank=True, max_length=255)),
            ],
        ),
        migrations.CreateModel(
            name="UsedLogOutToken",
            fields=[
                ("digest", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("expires_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="BreakGlassAccount",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GroupMapping",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("issuer", models.CharField(max_length=200)),
                ("value", models.CharField(max_length=254)),
                (
                    "confirmed_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "group",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="auth.group"),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("issuer", "value", "group"), name="one_mapping_of_value_and_group")
                ],
            },
        ),
        migrations.CreateModel(
            name="Role",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "name",
                    models.CharField(
                        choices=[
                            ("requester", "Requester"),
                            ("approver", "Approver"),
                            ("auditor", "Auditor"),
                            ("administrator", "Administrator"),
                        ],
                        max_length=16,
                        unique=True,
                    ),
                ),
                (
                    "group",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="role", to="auth.group"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PushSubscription",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("endpoint", models.CharField(max_length=500, unique=True)),
                ("p256dh", models.CharField(max_length=100)),
                ("auth", models.CharField(max_length=40)),
                ("browser", models.CharField(blank=True, max_length=300)),
                ("session_key", models.CharField(max_length=40)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="push_subscriptions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="invitation",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("sent_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("invited_by", models.CharField(max_length=300)),
                ("mailed", models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name="PrioritySettings",
            fields=[
                (
                    "priority",
                    models.CharField(
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        max_length=8,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("reason_required", models.BooleanField(default=False, verbose_name="a rejection needs a message")),
            ],
            options={
                "verbose_name_plural": "priority settings",
            },
        ),
        migrations.CreateModel(
            name="PendingChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("roles", "Roles"),
                            ("email", "Email address"),
                            ("password_link", "Link to set a password"),
                            ("factors", "Second factors"),
                            ("rights", "Additional rights"),
                            ("role_taken", "Role removed"),
                            ("teams", "Teams"),
                            ("key", "API key"),
                            ("key_lists", "Lists of an API key"),
                            ("tool", "Settings of a tool"),
                            ("priorities", "Priorities"),
                            ("scope", "Approver scope"),
                            ("policy", "Policy"),
                            ("group_mapping", "Group mapping"),
                            ("provider", "Sign-in provider"),
                            ("token_issuer", "Token issuer"),
                            ("token_mapping", "Mapping of tokens"),
                            ("channel", "Channel for answers"),
                            ("relay", "Relay"),
                            ("engine", "Engine"),
                        ],
                        max_length=16,
                    ),
                ),
                ("value", ExactJSONField(null=True)),
                ("requested_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                ("before", ExactJSONField(null=True)),
                ("subject", models.CharField(db_default="", default="", max_length=120)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("person", "kind", "subject"), name="one_pending_change_of_each"),
                    models.UniqueConstraint(
                        condition=models.Q(("person", None)),
                        fields=("kind", "subject"),
                        name="one_pending_change_of_no_one",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SigningSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("nonce", models.CharField(max_length=64, unique=True)),
                ("fingerprint", models.CharField(max_length=16)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("expires_at", models.DateTimeField(null=True)),
                (
                    "api_key",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="webhook_secrets",
                        to="approvals.apikey",
                    ),
                ),
                (
                    "endpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="secrets",
                        to="approvals.webhookendpoint",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("api_key__isnull", True), ("endpoint__isnull", False)),
                            models.Q(("api_key__isnull", False), ("endpoint__isnull", True)),
                            _connector="OR",
                        ),
                        name="signing_secret_one_owner",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="AskAlways",
            fields=[
                ("id", models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ("since", models.DateTimeField()),
                ("by_id", models.BigIntegerField()),
                ("by_name", models.CharField(max_length=300)),
                ("reason", models.TextField(blank=True)),
            ],
            options={
                "constraints": [models.CheckConstraint(condition=models.Q(("id", 1)), name="ask_always_one_row")],
                "verbose_name": "ask about everything",
                "verbose_name_plural": "ask about everything",
            },
        ),
        migrations.CreateModel(
            name="ScopeSet",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("digest", models.CharField(max_length=71, unique=True)),
            ],
        ),
        migrations.CreateModel(
            name="ApprovalRequest",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("scope", models.CharField(max_length=64)),
                ("step_path", ExactJSONField(default=list)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("approval", "Approval"),
                            ("question", "Question"),
                            ("form", "Form"),
                            ("recovery", "Outcome unknown"),
                        ],
                        max_length=10,
                    ),
                ),
                ("title", models.CharField(max_length=200)),
                ("message", models.TextField(blank=True)),
                ("tool_name", models.CharField(blank=True, max_length=100)),
                ("tool_call_id", models.CharField(max_length=200, null=True)),
                ("attempt", models.PositiveIntegerField(default=1)),
                ("input", ExactJSONField(default=dict)),
                ("input_digest", models.CharField(max_length=71)),
                ("response_schema", ExactJSONField(null=True)),
                ("options", ExactJSONField(default=list)),
                ("multiple", models.BooleanField(default=False)),
                ("allow_text", models.BooleanField(default=False)),
                ("field_name", models.CharField(blank=True, max_length=100)),
                ("suggestions", ExactJSONField(default=list)),
                ("context", ExactJSONField(null=True)),
                (
                    "priority",
                    models.CharField(
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        default="normal",
                        max_length=8,
                    ),
                ),
                ("urgency", models.PositiveSmallIntegerField(default=2)),
                ("deadline_at", models.DateTimeField(null=True)),
                ("has_default", models.BooleanField(default=False)),
                ("default_response", ExactJSONField(null=True)),
                ("source_url", models.CharField(blank=True, max_length=500)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("pending", "Waiting"),
                            ("approved", "Approved"),
                            ("rejected", "Rejected"),
                            ("answered", "Answered"),
                            ("cancelled", "Cancelled"),
                            ("expired", "Expired"),
                        ],
                        default="pending",
                        max_length=9,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "assigned_to",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "workflow",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="requests",
                        to="approvals.workflow",
                    ),
                ),
                ("ask_digest", models.CharField(blank=True, max_length=71)),
                ("callback_url", models.CharField(blank=True, max_length=500)),
                ("callback", ExactJSONField(null=True)),
                ("trace", ExactJSONField(null=True)),
                ("idempotency_key", models.CharField(max_length=200, null=True)),
                ("agent", models.CharField(blank=True, max_length=100)),
                ("claimed_at", models.DateTimeField(null=True)),
                (
                    "claimed_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("claimed_name", models.CharField(blank=True, max_length=300)),
                ("touched_at", models.DateTimeField(null=True)),
                ("words", models.PositiveIntegerField(null=True)),
                ("said_before", ExactJSONField(default=list)),
                ("amount_pointer", models.CharField(max_length=200, null=True)),
                ("taker", models.CharField(max_length=200, null=True)),
                ("taken_by", models.CharField(max_length=300, null=True)),
                ("taken_at", models.DateTimeField(null=True)),
                ("attachments", ExactJSONField(null=True)),
                ("secrets", ExactJSONField(null=True)),
                ("amount", models.FloatField(null=True)),
                ("scoped_upto", models.PositiveBigIntegerField(null=True)),
                (
                    "control",
                    models.CharField(
                        choices=[
                            ("confirm", "Confirm: the requester may decide too"),
                            ("four_eyes", "Two-person rule: the requester may not decide"),
                        ],
                        max_length=9,
                        null=True,
                    ),
                ),
                (
                    "scope_set",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="approvals.scopeset",
                    ),
                ),
                ("policy_version", models.PositiveIntegerField(null=True)),
                ("rule", models.CharField(max_length=100, null=True)),
                ("terms", ExactJSONField(null=True)),
                ("proposal", ExactJSONField(null=True)),
                (
                    "asked_priority",
                    models.CharField(
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        max_length=8,
                        null=True,
                    ),
                ),
                ("advised", models.PositiveSmallIntegerField(null=True)),
                ("repeats", models.UUIDField(null=True)),
                ("undecidable_since", models.DateTimeField(null=True)),
                ("other_rules", ExactJSONField(null=True)),
                ("canonical_tool", CanonicalNameField(max_length=100, null=True)),
                ("digest_salt", models.CharField(max_length=32, null=True)),
                ("input_fingerprint", models.CharField(max_length=64, null=True)),
                ("key_made_by_id", models.BigIntegerField(null=True)),
                ("on_behalf_of", models.CharField(blank=True, max_length=254)),
            ],
            options={
                "permissions": [
                    ("decide_approvalrequest", "Can decide requests"),
                    ("reveal_secrets", "Can show hidden values of requests"),
                    ("ignore_scopes", "Can see and decide without scopes"),
                    ("break_glass", "Can decide alone what needs several people"),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("deadline_at__isnull", False), ("status", "pending")),
                        fields=["deadline_at"],
                        name="request_due",
                    ),
                    models.Index(fields=["-created_at", "-id"], name="request_newest"),
                    models.Index(fields=["status", "-changed_at", "-id"], name="request_latest_status"),
                    models.Index(fields=["agent", "-changed_at", "-id"], name="request_latest_agent"),
                    models.Index(
                        fields=["requested_by", "status", "urgency", "created_at", "id"], name="request_inbox_requester"
                    ),
                    models.Index(fields=["requested_by", "-changed_at", "-id"], name="request_latest_requester"),
                    models.Index(
                        condition=models.Q(("touched_at__isnull", False)), fields=["touched_at"], name="request_touched"
                    ),
                    models.Index(
                        condition=models.Q(("claimed_at__isnull", False), ("status", "pending")),
                        fields=["claimed_at"],
                        name="request_claimed",
                    ),
                    models.Index(
                        condition=models.Q(("assigned_to__isnull", False)),
                        fields=["assigned_to", "workflow"],
                        name="request_assigned",
                    ),
                    models.Index(fields=["status", "-created_at", "-id"], name="request_newest_status"),
                    models.Index(fields=["kind", "-created_at", "-id"], name="request_newest_kind"),
                    models.Index(fields=["priority", "-created_at", "-id"], name="request_newest_priority"),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["urgency", "created_at", "id"],
                        name="request_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["agent", "urgency", "created_at", "id"],
                        name="request_waiting_agent",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["workflow", "urgency", "created_at", "id"],
                        name="request_waiting_workflow",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["assigned_to", "urgency", "created_at", "id"],
                        name="request_waiting_mine",
                    ),
                    models.Index(fields=["-changed_at", "-id"], name="request_latest"),
                    models.Index(fields=["workflow", "-changed_at", "-id"], name="request_latest_workflow"),
                    models.Index(
                        condition=models.Q(("assigned_to__isnull", False)),
                        fields=["assigned_to", "-changed_at", "-id"],
                        name="request_latest_mine",
                    ),
                    models.Index(
                        condition=models.Q(("claimed_by__isnull", False)),
                        fields=["claimed_by"],
                        name="request_claimant",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["scope_set", "urgency", "created_at", "id"],
                        name="request_waiting_scope_set",
                    ),
                    models.Index(
                        condition=models.Q(("scope_set__isnull", False)),
                        fields=["scope_set", "-changed_at", "-id"],
                        name="request_latest_scope_set",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")), fields=["scoped_upto"], name="request_unscoped"
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["canonical_tool", "urgency", "created_at", "id"],
                        name="request_waiting_tool",
                    ),
                    models.Index(fields=["canonical_tool", "-changed_at", "-id"], name="request_latest_tool"),
                    models.Index(fields=["canonical_tool", "-created_at", "-id"], name="request_newest_tool"),
                    models.Index(
                        condition=models.Q(
                            ("kind", "approval"), ("repeats__isnull", True), ("status__in", ["approved", "rejected"])
                        ),
                        fields=["requested_by", "input_fingerprint", "-changed_at"],
                        name="request_same_decided",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["pending", "approved", "rejected", "answered", "cancelled", "expired"])
                        ),
                        name="request_status_known",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("tool_call_id__isnull", False)),
                        fields=("scope", "tool_call_id", "kind", "attempt"),
                        name="request_of_call",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("idempotency_key__isnull", False)),
                        fields=("scope", "idempotency_key"),
                        name="request_of_key",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SearchText",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("words", models.TextField()),
                (
                    "request",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="approvals.approvalrequest"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RequestComment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("by_id", models.BigIntegerField()),
                ("by_name", models.CharField(max_length=300)),
                ("via", models.CharField(max_length=20)),
                ("text", models.TextField()),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "request",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="comments",
                        to="approvals.approvalrequest",
                    ),
                ),
                ("mentions", ExactJSONField(editable=False, null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["request", "-id"], name="comment_thread")],
            },
        ),
        migrations.CreateModel(
            name="Snooze",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("until", models.DateTimeField()),
                ("until_reply", models.BooleanField(default=False)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="approvals.approvalrequest"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("person", "request"), name="snooze_once")],
            },
        ),
        migrations.CreateModel(
            name="ResumeState",
            fields=[
                (
                    "request",
                    models.OneToOneField(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="approvals.approvalrequest",
                    ),
                ),
                ("sealed", models.TextField(blank=True)),
            ],
        ),
        migrations.CreateModel(
            name="Resumption",
            fields=[
                (
                    "request",
                    models.OneToOneField(
                        editable=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="approvals.approvalrequest",
                    ),
                ),
                ("token_digest", models.CharField(blank=True, max_length=64)),
                ("holder", models.CharField(blank=True, max_length=403)),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("taken_at", models.DateTimeField(null=True)),
                ("leased_until", models.DateTimeField(null=True)),
                ("lost_by", models.CharField(blank=True, max_length=403)),
                ("lost_at", models.DateTimeField(null=True)),
                ("completed_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("leased_until__isnull", False)),
                        fields=["leased_until"],
                        name="resumption_lease",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RequestAttachment",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("erase_at", models.DateTimeField(null=True)),
                (
                    "request",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="approvals.approvalrequest",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("erase_at__isnull", False)), fields=["erase_at"], name="attachment_erase"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Grant",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("given_by_id", models.BigIntegerField()),
                ("given_by_name", models.CharField(max_length=300)),
                ("given_at", models.DateTimeField()),
                ("via", models.CharField(max_length=20)),
                ("reason", models.TextField(blank=True)),
                ("tool_name", models.CharField(max_length=100)),
                (
                    "width",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "this exact input"), (1, "the same key fields"), (2, "any input of this tool")]
                    ),
                ),
                ("target", models.CharField(blank=True, max_length=71)),
                ("fields", ExactJSONField(null=True)),
                (
                    "audience",
                    models.CharField(
                        choices=[
                            ("agent", "this agent"),
                            ("key", "this key"),
                            ("workflow", "this workflow"),
                            ("thread", "this conversation"),
                        ],
                        max_length=8,
                    ),
                ),
                ("requested_by_id", models.BigIntegerField()),
                ("agent", models.CharField(blank=True, max_length=100)),
                ("scope", models.CharField(max_length=64)),
                ("workflow_key", models.CharField(max_length=200)),
                ("thread_id", models.CharField(blank=True, max_length=200)),
                ("until", models.DateTimeField(null=True)),
                ("seconds", models.PositiveIntegerField(null=True)),
                ("uses", models.PositiveIntegerField(null=True)),
                (
                    "default_width",
                    models.PositiveSmallIntegerField(
                        choices=[(0, "this exact input"), (1, "the same key fields"), (2, "any input of this tool")]
                    ),
                ),
                ("used", models.PositiveIntegerField(default=0)),
                ("last_used_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by_id", models.BigIntegerField(null=True)),
                ("ended_by_name", models.CharField(blank=True, max_length=300)),
                (
                    "ended_why",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("revoked", "revoked"),
                            ("used_up", "used up"),
                            ("expired", "expired"),
                            ("giver_left", "the person who gave it was deactivated or removed"),
                            ("right_lost", "the person who gave it may no longer decide"),
                            ("beyond_limit", "the tool's settings no longer allow it"),
                        ],
                        max_length=12,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="approvals.approvalrequest",
                    ),
                ),
                ("canonical_tool", CanonicalNameField(max_length=100, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True), ("until__isnull", False)),
                        fields=["until"],
                        name="grant_due",
                    ),
                    models.Index(fields=["-given_at", "-id"], name="grant_newest"),
                    models.Index(fields=["request"], name="grant_of_request"),
                    models.Index(
                        condition=models.Q(("ended_at__isnull", True)),
                        fields=["requested_by_id", "canonical_tool", "target"],
                        name="grant_live",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("until__isnull", False), ("uses__isnull", False), _connector="OR"),
                        name="grant_ends_by_itself",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("uses__isnull", True), ("used__lte", models.F("uses")), _connector="OR"),
                        name="grant_not_used_up_twice",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Decision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "verdict",
                    models.CharField(
                        choices=[
                            ("approve", "Approved"),
                            ("reject", "Rejected"),
                            ("edit", "Approved with changes"),
                            ("respond", "Answered"),
                            ("cancel", "Cancelled"),
                            ("expire", "Expired"),
                        ],
                        max_length=8,
                    ),
                ),
                ("by_id", models.BigIntegerField(null=True)),
                ("by_name", models.CharField(blank=True, max_length=300)),
                ("via", models.CharField(max_length=20)),
                ("comment", models.TextField(blank=True)),
                ("edited_input", ExactJSONField(null=True)),
                ("approved_digest", models.CharField(blank=True, max_length=71)),
                ("answer", ExactJSONField(null=True)),
                ("decided_at", models.DateTimeField()),
                (
                    "request",
                    models.OneToOneField(
                        db_constraint=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="decision",
                        to="approvals.approvalrequest",
                    ),
                ),
                ("grant_use", models.PositiveIntegerField(null=True)),
                (
                    "grant",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="approvals.grant",
                    ),
                ),
                ("break_glass", models.BooleanField(null=True)),
                ("for_id", models.BigIntegerField(null=True)),
                ("for_name", models.CharField(max_length=300, null=True)),
                ("unseen", models.PositiveIntegerField(null=True)),
                ("digest_salt", models.CharField(max_length=32, null=True)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["by_name", "-decided_at", "-request"], name="decision_by"),
                    models.Index(fields=["-decided_at", "-id"], name="decision_age"),
                    models.Index(
                        condition=models.Q(("via__in", ["chat", "dashboard"])),
                        fields=["-decided_at", "-id"],
                        name="decision_on_pages",
                    ),
                    models.Index(
                        condition=models.Q(("grant__isnull", False)),
                        fields=["grant", "-grant_use"],
                        name="decision_by_grant",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ScopeWalk",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("upto", models.PositiveBigIntegerField(default=0)),
                ("created_at", models.DateTimeField(null=True)),
                ("request_id", models.UUIDField(null=True)),
                ("done", models.BooleanField(default=False)),
                ("checked_created_at", models.DateTimeField(null=True)),
                ("checked_id", models.UUIDField(null=True)),
                ("checks", models.PositiveIntegerField(db_default=0, default=0)),
                ("checks_done", models.PositiveIntegerField(db_default=0, default=0)),
            ],
        ),
        migrations.CreateModel(
            name="ApproverScope",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=100, unique=True)),
                ("match", ExactJSONField(default=dict)),
                (
                    "may",
                    models.CharField(
                        choices=[
                            ("see", "See"),
                            ("answer", "See, and answer questions and forms"),
                            ("decide", "See, answer and decide"),
                        ],
                        default="decide",
                        max_length=6,
                    ),
                ),
                ("limit", models.FloatField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("people", models.ManyToManyField(blank=True, related_name="+", to=settings.AUTH_USER_MODEL)),
                ("teams", models.ManyToManyField(blank=True, related_name="+", to="auth.group")),
            ],
        ),
        migrations.CreateModel(
            name="ScopeSetMember",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "scope_set",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="scopes",
                        to="approvals.scopeset",
                    ),
                ),
                (
                    "scope",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="approvals.approverscope"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("scope_set", "scope"), name="scope_set_member_once")],
            },
        ),
        migrations.CreateModel(
            name="Vote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("person_id", models.BigIntegerField()),
                ("person_name", models.CharField(max_length=300)),
                ("verdict", models.CharField(choices=[("approve", "Approved"), ("reject", "Rejected")], max_length=7)),
                ("comment", models.TextField(blank=True)),
                ("digest", models.CharField(max_length=71)),
                ("stage", models.PositiveSmallIntegerField(default=0)),
                ("proposes", models.BooleanField(default=False)),
                ("via", models.CharField(max_length=20)),
                ("voted_at", models.DateTimeField()),
                ("counted", models.BooleanField(null=True)),
                ("for_id", models.BigIntegerField(null=True)),
                ("for_name", models.CharField(max_length=300, null=True)),
                (
                    "request",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="votes",
                        to="approvals.approvalrequest",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("request", "person_id"), name="one_vote_of_each")],
            },
        ),
        migrations.CreateModel(
            name="PolicyVersion",
            fields=[
                ("number", models.PositiveIntegerField(primary_key=True, serialize=False)),
                ("based_on", models.PositiveIntegerField(null=True)),
                ("document", ExactJSONField()),
                ("digest", models.CharField(max_length=71)),
                ("author_id", models.BigIntegerField()),
                ("author_name", models.CharField(max_length=300)),
                ("reason", models.TextField(blank=True)),
                ("created_at", models.DateTimeField()),
                ("via", models.CharField(max_length=20)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("proposed", "proposed"),
                            ("live", "live"),
                            ("replaced", "replaced"),
                            ("declined", "declined"),
                        ],
                        max_length=8,
                    ),
                ),
                ("settled_at", models.DateTimeField(null=True)),
                ("settled_by_id", models.BigIntegerField(null=True)),
                ("settled_by_name", models.CharField(blank=True, max_length=300)),
                ("replaced_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "live")), fields=("state",), name="policy_one_live"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["proposed", "live", "replaced", "declined"])),
                        name="policy_state_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedDraft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("based_on", models.PositiveIntegerField(null=True)),
                ("text", models.TextField()),
                ("saved_at", models.DateTimeField()),
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FollowUp",
            fields=[
                (
                    "request",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="approvals.approvalrequest",
                    ),
                ),
                ("done", models.PositiveSmallIntegerField(default=0)),
                ("due_at", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name="Absence",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("starts_at", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("reason", models.CharField(blank=True, max_length=200)),
                ("set_by_id", models.BigIntegerField()),
                ("set_by_name", models.CharField(max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "cards_due_at",
                    models.DateTimeField(default=django.utils.timezone.now, editable=False, null=True),
                ),
                (
                    "delegate",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["person", "until"], name="absence_of_person"),
                    models.Index(fields=["delegate", "until"], name="absence_by_delegate"),
                    models.Index(
                        fields=["cards_due_at"],
                        name="absence_cards_due",
                        condition=models.Q(("cards_due_at__isnull", False)),
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("until__gt", models.F("starts_at"))), name="absence_ends_after_it_starts"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("delegate", None),
                            models.Q(("delegate", models.F("person")), _negated=True),
                            _connector="OR",
                        ),
                        name="absence_not_to_oneself",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="TeamSettings",
            fields=[
                (
                    "team",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="settings",
                        serialize=False,
                        to="auth.group",
                    ),
                ),
                ("time_zone", models.CharField(blank=True, default="", max_length=64, verbose_name="time zone")),
                (
                    "working_hours",
                    models.CharField(blank=True, default="", max_length=200, verbose_name="working hours"),
                ),
                (
                    "duty_url",
                    models.CharField(
                        blank=True,
                        default="",
                        max_length=500,
                        validators=[check_address],
                        verbose_name="on-call calendar",
                    ),
                ),
                ("duty", ExactJSONField(default=list)),
                ("duty_read_at", models.DateTimeField(null=True)),
                ("duty_due_at", models.DateTimeField(null=True)),
                ("duty_error", models.CharField(blank=True, default="", max_length=300)),
                (
                    "default_delegate",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                        verbose_name="default delegate",
                    ),
                ),
                ("duty_left_out", ExactJSONField(null=True)),
            ],
            options={
                "verbose_name_plural": "team settings",
                "indexes": [
                    models.Index(
                        condition=models.Q(("duty_due_at__isnull", False)), fields=["duty_due_at"], name="team_duty_due"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Flood",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("requested_by_id", models.BigIntegerField()),
                ("agent", models.CharField(blank=True, max_length=100)),
                ("told_at", models.DateTimeField()),
                ("tool_name", CanonicalNameField(blank=True, max_length=100)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("requested_by_id", "agent", "tool_name"), name="flood_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Advice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("by_id", models.BigIntegerField()),
                ("by_name", models.CharField(max_length=300)),
                ("key_id", models.BigIntegerField()),
                (
                    "hint",
                    models.CharField(
                        choices=[
                            ("looks_fine", "Looks fine"),
                            ("look_closer", "Look closer"),
                            ("looks_wrong", "Looks wrong"),
                        ],
                        max_length=11,
                    ),
                ),
                ("text", models.TextField()),
                (
                    "priority",
                    models.CharField(
                        blank=True,
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        max_length=8,
                    ),
                ),
                (
                    "raised_from",
                    models.CharField(
                        blank=True,
                        choices=[("low", "Low"), ("normal", "Normal"), ("high", "High"), ("critical", "Critical")],
                        max_length=8,
                    ),
                ),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "request",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="advice",
                        to="approvals.approvalrequest",
                    ),
                ),
                ("more_votes", models.PositiveSmallIntegerField(null=True)),
            ],
            options={
                "verbose_name_plural": "advice",
                "indexes": [models.Index(fields=["request", "id"], name="advice_on_request")],
            },
        ),
        migrations.CreateModel(
            name="VoteRecount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("answers", ExactJSONField(null=True)),
                ("counted_created_at", models.DateTimeField(null=True)),
                ("counted_id", models.UUIDField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="ScimPerson",
            fields=[
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="scim",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("external_id", models.CharField(blank=True, max_length=254)),
                ("attributes", ExactJSONField(default=dict)),
                ("created_here", models.BooleanField(default=False)),
                ("deactivated_here", models.BooleanField(default=False)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("deleted_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [models.Index(fields=["external_id"], name="scim_person_external_id")],
            },
        ),
        migrations.CreateModel(
            name="ScimGroup",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=254)),
                ("external_id", models.CharField(blank=True, max_length=254)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("people", models.ManyToManyField(related_name="scim_groups", to=settings.AUTH_USER_MODEL)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        django.db.models.functions.text.Lower("name"), name="one_scim_group_of_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ScimRefusal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(default=django.utils.timezone.now)),
                ("key_name", models.CharField(max_length=100)),
                ("method", models.CharField(max_length=10)),
                ("path", models.CharField(max_length=200)),
                ("status", models.PositiveSmallIntegerField()),
                ("detail", models.TextField()),
            ],
        ),
        migrations.CreateModel(
            name="ChannelConnection",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(choices=[("slack", "Slack"), ("teams", "Microsoft Teams"), ("relay", "Relay")], max_length=8)),
                ("app_id", models.CharField(max_length=40)),
                ("team_id", models.CharField(max_length=40)),
                ("team_name", models.CharField(max_length=200)),
                ("bot_id", models.CharField(max_length=40)),
                ("secret", models.TextField()),
                ("problem", models.CharField(blank=True, max_length=80)),
                ("problem_in", models.CharField(blank=True, max_length=200)),
                ("problem_at", models.DateTimeField(null=True)),
                ("connected_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("socket_holder", models.CharField(blank=True, max_length=64)),
                ("socket_until", models.DateTimeField(null=True)),
                ("socket_state", models.CharField(blank=True, max_length=20)),
                ("socket_problem", models.CharField(blank=True, max_length=80)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("kind", "team_id"), name="channel_connection_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("kind", "relay"), _negated=True),
                        fields=("kind",),
                        name="channel_connection_of_kind",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ChannelLinkOffer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("team_id", models.CharField(max_length=40)),
                ("external_id", models.CharField(max_length=200)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("token_digest", models.CharField(max_length=64, unique=True)),
                ("expires_at", models.DateTimeField(db_index=True)),
                (
                    "connection",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, to="approvals.channelconnection"),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ChannelClick",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64, unique=True)),
                ("team_id", models.CharField(max_length=40)),
                ("external_id", models.CharField(max_length=40)),
                ("channel_id", models.CharField(max_length=200)),
                ("message_ts", models.CharField(blank=True, max_length=100)),
                ("data", ExactJSONField()),
                ("received_at", models.DateTimeField(db_index=True, default=django.utils.timezone.now)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_attempt_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("done_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(blank=True, max_length=40)),
                ("reply", models.TextField(blank=True)),
                ("offers", models.BooleanField(default=False)),
                (
                    "connection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="clicks",
                        to="approvals.channelconnection",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("done_at__isnull", True)),
                        fields=["next_attempt_at"],
                        name="channel_click_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("reply", ""), _negated=True),
                        fields=["next_attempt_at"],
                        name="channel_click_unanswered",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ChannelCard",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("channel_id", models.CharField(max_length=200)),
                ("message_ts", models.CharField(max_length=100)),
                (
                    "shows",
                    models.CharField(
                        choices=[
                            ("title", "Title only"),
                            ("fields", "Title and key fields"),
                            ("input", "The whole request"),
                        ],
                        default="title",
                        max_length=6,
                    ),
                ),
                ("look", models.CharField(blank=True, max_length=64)),
                ("synced_at", models.DateTimeField(null=True)),
                ("hidden", models.BooleanField(default=False)),
                ("ended", models.BooleanField(default=False)),
                ("reported", models.BooleanField(default=False)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_attempt_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("posted_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cards",
                        to="approvals.approvalrequest",
                    ),
                ),
                (
                    "connection",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="cards",
                        to="approvals.channelconnection",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("reported", False), ("synced_at__isnull", True), _connector="OR"),
                        fields=["next_attempt_at"],
                        name="channel_card_open",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("connection", "channel_id", "message_ts"), name="channel_card_message"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ChannelAccount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("team_id", models.CharField(max_length=40)),
                ("external_id", models.CharField(max_length=200)),
                ("name", models.CharField(blank=True, max_length=200)),
                ("linked_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="channel_accounts",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="accounts",
                        to="approvals.channelconnection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("connection", "team_id", "external_id"), name="channel_account_once"
                    ),
                    models.UniqueConstraint(fields=("connection", "user"), name="channel_account_of_person"),
                ],
            },
        ),
        migrations.CreateModel(
            name="ChannelIssuer",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("keys_url", models.CharField(blank=True, max_length=500)),
                ("keys", ExactJSONField(default=list)),
                ("fetched_at", models.DateTimeField(null=True)),
                ("tried_at", models.DateTimeField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                ("problem", models.CharField(blank=True, max_length=300)),
                ("issuer", models.CharField(max_length=254)),
                (
                    "connection",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="issuers",
                        to="approvals.channelconnection",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("connection", "issuer"), name="channel_issuer_once"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Relay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "address",
                    models.CharField(max_length=500, validators=[check_address], verbose_name="address"),
                ),
                (
                    "shows",
                    models.CharField(
                        choices=[
                            ("title", "Title only"),
                            ("fields", "Title and key fields"),
                            ("input", "The whole request"),
                        ],
                        default="title",
                        max_length=6,
                        verbose_name="What a message shows",
                    ),
                ),
                (
                    "up_to",
                    models.FloatField(
                        blank=True,
                        null=True,
                        validators=[django.core.validators.MinValueValidator(0)],
                        verbose_name="up to the amount",
                    ),
                ),
                (
                    "connection",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, to="approvals.channelconnection"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RelayMessage",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ("revision", models.PositiveIntegerField(default=0)),
                ("token_digest", models.CharField(blank=True, max_length=64)),
                ("shown_digest", models.CharField(blank=True, max_length=80)),
                ("verdicts", ExactJSONField(default=list)),
                ("expires_at", models.DateTimeField(null=True)),
                ("answered_at", models.DateTimeField(null=True)),
                ("look", models.CharField(blank=True, max_length=64)),
                ("synced_at", models.DateTimeField(null=True)),
                ("ended", models.BooleanField(default=False)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("next_attempt_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("posted_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "account",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="messages",
                        to="approvals.channelaccount",
                    ),
                ),
                (
                    "request",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="approvals.approvalrequest",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("account", "request"), name="relay_message_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("token_digest", ""), _negated=True),
                        fields=("token_digest",),
                        name="relay_message_token",
                    ),
                ],
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended", False), ("synced_at__isnull", True), _connector="OR"),
                        fields=["next_attempt_at"],
                        name="relay_message_open",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="notificationrule",
            name="relay",
            field=models.ForeignKey(
                blank=True,
                help_text="For the route Relay: the one that carries the messages.",
                limit_choices_to={"kind": "relay"},
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="approvals.channelconnection",
                verbose_name="relay",
            ),
        ),
        migrations.RunPython(create_search_index, drop_search_index),
    ]
