"""The whole schema of the desk. A database that ran the migrations it replaces counts as having run it."""

import uuid

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from approvals.models.subscriptions import check_address
from approvals.db.json_field import ExactJSONField

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
    replaces = [
        ("approvals", "0001_desk"),
        ("approvals", "0002_outbox"),
        ("approvals", "0003_api"),
        ("approvals", "0004_webhooks"),
        ("approvals", "0005_requests_by_age"),
        ("approvals", "0006_exact_json"),
        ("approvals", "0007_open_after"),
        ("approvals", "0008_workers"),
        ("approvals", "0009_triage"),
        ("approvals", "0010_triage_rows"),
        ("approvals", "0011_people"),
        ("approvals", "0012_said_before"),
        ("approvals", "0013_workflows_by_name"),
        ("approvals", "0014_one_list_each"),
        ("approvals", "0015_words_of_questions"),
        ("approvals", "0016_names_of_keys"),
        ("approvals", "0017_plain_labels"),
        ("approvals", "0018_api_key_labels"),
        ("approvals", "0019_fewer_index_entries"),
        ("approvals", "0020_search_without_column"),
        ("approvals", "0021_preferences_and_views"),
        ("approvals", "0022_administration"),
        ("approvals", "0023_known_sessions"),
        ("approvals", "0024_push_subscriptions"),
        ("approvals", "0025_audit_page"),
        ("approvals", "0026_settings_of_people_and_priorities"),
        ("approvals", "0027_language_of_a_person"),
        ("approvals", "0028_amounts"),
        ("approvals", "0029_amounts_of_old_entries"),
        ("approvals", "0030_resuming"),
        ("approvals", "0031_tool_lists"),
        ("approvals", "0032_takers"),
        ("approvals", "0033_pending_changes"),
    ]

    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
            ],
            options={
                "verbose_name": "API key",
                "verbose_name_plural": "API keys",
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
                    models.CharField(choices=[("mail", "Email"), ("slack", "Slack")], default="mail", max_length=5),
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
                ("tool_name", models.CharField(max_length=100, unique=True)),
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
                ("time_zone", models.CharField(default="UTC", max_length=64, verbose_name="time zone")),
                (
                    "language",
                    models.CharField(blank=True, db_default="", default="", max_length=20, verbose_name="language"),
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
                        ],
                        max_length=16,
                    ),
                ),
                ("value", ExactJSONField(null=True)),
                ("requested_at", models.DateTimeField()),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "requested_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("person", "kind"), name="one_pending_change_of_each")],
            },
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
            ],
            options={
                "permissions": [("decide_approvalrequest", "Can decide requests")],
                "indexes": [
                    models.Index(
                        condition=models.Q(("deadline_at__isnull", False), ("status", "pending")),
                        fields=["deadline_at"],
                        name="request_due",
                    ),
                    models.Index(fields=["-created_at", "-id"], name="request_newest"),
                    models.Index(fields=["status", "-changed_at", "-id"], name="request_latest_status"),
                    models.Index(fields=["tool_name", "-changed_at", "-id"], name="request_latest_tool"),
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
                    models.Index(fields=["tool_name", "-created_at", "-id"], name="request_newest_tool"),
                    models.Index(fields=["priority", "-created_at", "-id"], name="request_newest_priority"),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["urgency", "created_at", "id"],
                        name="request_waiting",
                    ),
                    models.Index(
                        condition=models.Q(("status", "pending")),
                        fields=["tool_name", "urgency", "created_at", "id"],
                        name="request_waiting_tool",
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
            ],
            options={
                "indexes": [
                    models.Index(fields=["by_name", "-decided_at", "-request"], name="decision_by"),
                    models.Index(fields=["-decided_at", "-id"], name="decision_age"),
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
        migrations.RunPython(create_search_index, drop_search_index),
    ]
