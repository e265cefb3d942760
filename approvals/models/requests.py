"""Workflows, requests and decisions. Only `approvals.actions` writes their rows."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from approvals.db.canonical_json import utc
from approvals.db.canonical_name import CanonicalNameField
from approvals.db.json_field import ExactJSONField
from approvals.models.actors import RecordedActor
from approvals.models.indexes import OF_REQUESTS
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.states import ENDED, ORIGINS, Control, Door, Kind, Priority, Status, Verdict, WorkflowState

User = settings.AUTH_USER_MODEL

SUSPENDED = Q(state="suspended")


class Workflow(models.Model):
    """A piece of work that may wait for people, once or many times."""

    scope = models.CharField(max_length=64)
    key = models.CharField("run id", max_length=200)
    title = models.CharField(max_length=200)
    source = models.CharField(max_length=20)
    agent = models.CharField(max_length=100, blank=True)
    thread_id = models.CharField(max_length=200, blank=True)
    thread_url = models.CharField(max_length=500, blank=True)
    owner = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    state = models.CharField(max_length=12, choices=WorkflowState, default=WorkflowState.RUNNING)
    open_count = models.PositiveIntegerField(default=0)
    #: The smallest `urgency` of the waiting requests, and since when the workflow waits; set while it is suspended.
    urgency = models.PositiveSmallIntegerField(null=True)
    suspended_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    #: The title that the reader may see. Without a default, so that only `queries.workflows_for` can show one.
    shown_title: str
    #: The latest requests that the reader may see, where `queries.workflow_list.with_steps` has read them; latest first.
    steps: list[ApprovalRequest]

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["scope", "key"], name="workflow_scope_key")]
        indexes: ClassVar = [
            models.Index(fields=["urgency", "suspended_at", "id"], name="workflow_suspended", condition=SUSPENDED),
            models.Index(fields=["owner"], name="workflow_owner_suspended", condition=SUSPENDED),
            models.Index(fields=["-ended_at", "-id"], name="workflow_over", condition=Q(ended_at__isnull=False)),
            models.Index(fields=["owner", "-ended_at", "-id"], name="workflow_owner_ended"),
            # Clients name a workflow or a thread without its scope: lists of requests are filtered by them.
            models.Index(fields=["key"], name="workflow_key"),
            models.Index(fields=["thread_id"], name="workflow_thread"),
        ]

    def __str__(self) -> str:
        return f"{self.title} ({self.key})"

    def get_absolute_url(self) -> str:
        return reverse("approvals:workflow", args=[self.pk])

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def origin(self) -> str:
        """The name of its source for people."""
        return str(ORIGINS.get(self.source, self.source))


class ApprovalRequest(models.Model):
    """A request to people. Only its status and times, its priority, assignee, claim, taker and proposal ever change."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Foreign keys have no index of their own: others begin with these columns.
    workflow = models.ForeignKey(Workflow, on_delete=models.PROTECT, related_name="requests", db_index=False)
    scope = models.CharField(max_length=64)
    #: Copied from the workflow, for the indexes.
    agent = models.CharField(max_length=100, blank=True)
    step_path = ExactJSONField(default=list)
    kind = models.CharField(max_length=10, choices=Kind)
    title = models.CharField(max_length=200)
    message = models.TextField(blank=True)
    #: As the agent writes it, and as it is compared.
    tool_name = models.CharField(max_length=100, blank=True)
    canonical_tool = CanonicalNameField(max_length=100, null=True)  # nullable, so no table is rebuilt
    tool_call_id = models.CharField(max_length=200, null=True)  # noqa: DJ001 - null means "no call"; nulls never collide
    attempt = models.PositiveIntegerField(default=1)
    input = ExactJSONField(default=dict)
    #: The digest of its input and files (`approvals.db.input_digest`), and the salt in it: empty if nothing is hidden, null for
    #: requests from before there were salts.
    input_digest = models.CharField(max_length=71)
    digest_salt = models.CharField(max_length=32, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: By what equal inputs with equal files are found (`approvals.asking.digests`), shown to no one; null for requests from
    #: before this column, which are equal to none.
    input_fingerprint = models.CharField(max_length=64, null=True)  # noqa: DJ001 - as above
    #: The JSON pointer to its amount, the first key field of the tool that was a number; null means `/amount`.
    amount_pointer = models.CharField(max_length=200, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: That amount, for the limits of scopes; null if there is none, or for requests from before this column.
    amount = models.FloatField(null=True)
    #: The scopes that fit it, of those up to the id `scoped_upto`; null if none fits, or if none was compared yet.
    scope_set = models.ForeignKey(
        "approvals.ScopeSet", on_delete=models.PROTECT, null=True, related_name="+", db_index=False
    )
    scoped_upto = models.PositiveBigIntegerField(null=True)
    #: Who decides it, as its tool's settings said when it was asked; null for anyone who may decide.
    control = models.CharField(max_length=9, choices=Control, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: On which terms it is decided (`approvals.policy.terms`), as the rule says that it was asked under; null for none.
    #: Advice can ask for more votes.
    terms = ExactJSONField(null=True)
    #: The changed input that people vote on, with its `digest` and `salt` and who proposed it, `by`; null while they vote on the
    #: asked one.
    proposal = ExactJSONField(null=True)
    #: The version of the policy that it was asked under, and the name of the rule that fitted; null if there was none.
    policy_version = models.PositiveIntegerField(null=True)
    rule = models.CharField(max_length=100, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: The names of further rules on whose terms it is decided, because none was certain to match; null if there are none.
    other_rules = ExactJSONField(null=True)
    #: The priority that it was asked with; null unless that rule or advice has raised it.
    asked_priority = models.CharField(max_length=8, choices=Priority, null=True)  # noqa: DJ001 - as above
    #: The earlier request whose rejection by a person is its own too; null if it was not asked again unchanged.
    repeats = models.UUIDField(null=True)
    response_schema = ExactJSONField(null=True)
    options = ExactJSONField(default=list)
    multiple = models.BooleanField(default=False)
    allow_text = models.BooleanField(default=False)
    field_name = models.CharField(max_length=100, blank=True)
    suggestions = ExactJSONField(default=list)
    context = ExactJSONField(null=True)
    #: Its files: `{"id", "name", "media_type", "size", "sha256", "width"?, "height"?}` objects, in order; null without any.
    attachments = ExactJSONField(null=True)
    #: The conversation before the request: `{"role", "text"}` objects, oldest first.
    said_before = ExactJSONField(default=list)
    priority = models.CharField(max_length=8, choices=Priority, default=Priority.NORMAL)
    #: Derived from `priority` for sorting; 0 is the most urgent.
    urgency = models.PositiveSmallIntegerField(default=2)
    deadline_at = models.DateTimeField(null=True)
    has_default = models.BooleanField(default=False)
    default_response = ExactJSONField(null=True)
    source_url = models.CharField(max_length=500, blank=True)
    #: Where the outcome is posted to, besides the registered webhooks.
    callback_url = models.CharField(max_length=500, blank=True)
    #: The Idempotency-Key of the client; null without one.
    idempotency_key = models.CharField(max_length=200, null=True)  # noqa: DJ001 - nulls never collide
    #: Digest of everything that the client sent, shown to no one; empty for requests from before this column.
    ask_digest = models.CharField(max_length=71, blank=True)
    requested_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False)
    #: Who made the key that asked, if that is someone else: they count as a requester where requesters may not decide.
    key_made_by_id = models.BigIntegerField(null=True)
    assigned_to = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)
    #: Who has claimed it. A claim lapses (`approvals.access.assignees`) and binds no one.
    claimed_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    claimed_name = models.CharField(max_length=MAX_ACTOR_NAME, blank=True)
    claimed_at = models.DateTimeField(null=True)
    #: When someone last claimed it, assigned it, commented on it or resumed from it.
    touched_at = models.DateTimeField(null=True)
    #: The one call that has taken the decision, of equal calls without ids of their own: its random name, who it was in words
    #: for people, and when. Empty while no call has taken it; null where the call has an id, which is then what counts.
    taker = models.CharField(max_length=200, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    taken_by = models.CharField(max_length=MAX_ACTOR_NAME, null=True)  # noqa: DJ001 - as above
    taken_at = models.DateTimeField(null=True)
    #: Where its schema and the settings of its tool say that something is secret: JSON pointers, and names of fields.
    secrets = ExactJSONField(null=True)
    #: How many words there are to read before deciding; null if they were not counted yet.
    words = models.PositiveIntegerField(null=True)
    #: Since when no one, or no one but superusers, may decide it, as administrators were told; null if someone may.
    undecidable_since = models.DateTimeField(null=True)
    #: How much advice it has; null for none.
    advised = models.PositiveSmallIntegerField(null=True)
    #: The beginnings of input, message and context, where `queries.request_list.listed` has annotated them.
    gist: str = ""
    opening: str = ""
    surroundings: str | None = ""
    #: The schema of the input as text, if it is short and knows formats, where `queries.described` was annotated.
    described: str = ""
    #: The input if it is short, where `queries.audit.subjects_of` has annotated it.
    short_input: str = ""
    #: Whether someone rejected it, and no rule, where `queries.policy.grants.preview` has annotated it.
    refused: bool = False
    #: The length of the large columns, where `api.feed` has annotated it.
    size: int = 0
    #: The body of the audit entry with the result of its call, where `queries.requests.with_report` has annotated it.
    report: str | None = None
    #: The display names of who decided it and of who works on it, where `queries.requests.with_names` has annotated them.
    decided_display: str | None = None
    claimed_display: str | None = None
    #: Whether this is a copy with its secrets masked (`approvals.asking.secrets`), which must never be stored.
    is_masked: bool = False
    #: Whether something is masked in that copy.
    hides: bool = False

    class Meta:
        permissions: ClassVar = [
            ("decide_approvalrequest", "Can decide requests"),
            ("reveal_secrets", "Can show hidden values of requests"),
            ("ignore_scopes", "Can see and decide without scopes"),
            ("break_glass", "Can decide alone what needs several people"),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["scope", "tool_call_id", "kind", "attempt"],
                name="request_of_call",
                condition=Q(tool_call_id__isnull=False),
            ),
            models.UniqueConstraint(
                fields=["scope", "idempotency_key"],
                name="request_of_key",
                condition=Q(idempotency_key__isnull=False),
            ),
            models.CheckConstraint(condition=Q(status__in=Status.values), name="request_status_known"),
        ]
        indexes: ClassVar = OF_REQUESTS

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("approvals:request", args=[self.pk])

    @property
    def public_url(self) -> str:
        """The full address of its page, from PUBLIC_URL and never from the headers of a client."""
        return settings.PUBLIC_URL + self.get_absolute_url()

    @property
    def pending(self) -> bool:
        return self.status == Status.PENDING

    @property
    def runners(self) -> frozenset[int]:
        """The ids of the people who run the agent: who asked, and who owns the work."""
        return frozenset({self.requested_by_id, self.workflow.owner_id})

    @property
    def interested(self) -> frozenset[int]:
        """The ids of the people who may not decide where someone else has to: also who made the key that asked."""
        return self.runners if self.key_made_by_id is None else self.runners | {self.key_made_by_id}

    @property
    def voted_digest(self) -> str:
        """The digest of the input that a decision is about, which pages show and send back: of the proposal, if there is one."""
        return str(self.proposal["digest"]) if self.proposal else self.input_digest

    @property
    def halted(self) -> bool:
        """Whether no one decided before the deadline, and its terms (`approvals.policy.terms`) then stop the run."""
        return self.status == Status.EXPIRED and bool(self.terms) and self.terms.get("on_expire") == "halt"

    @property
    def taken(self) -> str:
        """Which call has taken the decision, and when; empty if none has."""
        return f"{self.taken_by}, at {utc(self.taken_at)}" if self.taken_at else ""

    @property
    def chooses(self) -> bool:
        """Whether the answer is a choice in the shape of `approvals.asking.answers`, not in the client's own schema."""
        return self.kind == Kind.QUESTION and bool(self.options) and self.response_schema is None


class Decision(models.Model):
    """How a request ended: exactly one row per ended request, never changed."""

    request = models.OneToOneField(
        ApprovalRequest, on_delete=models.DO_NOTHING, db_constraint=False, related_name="decision", editable=False
    )
    verdict = models.CharField(max_length=8, choices=Verdict)
    #: Null if the deadline or the system decided. A plain number, so that the deletion of a user does not reach it.
    by_id = models.BigIntegerField(null=True)
    by_name = models.CharField(max_length=MAX_ACTOR_NAME, blank=True)
    via = models.CharField(max_length=20)
    comment = models.TextField(blank=True)
    edited_input = ExactJSONField(null=True)
    #: The digest of the input that may run, empty unless approved, and its salt, as those of the request.
    approved_digest = models.CharField(max_length=71, blank=True)
    digest_salt = models.CharField(max_length=32, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    answer = ExactJSONField(null=True)
    decided_at = models.DateTimeField()
    #: The grant by which it was approved, and which use of it this was; null if a person decided.
    grant = models.ForeignKey(
        "approvals.Grant", on_delete=models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    grant_use = models.PositiveIntegerField(null=True)
    #: Whether one person decided what the terms leave to several; null if not.
    break_glass = models.BooleanField(null=True)
    #: For whom it was decided, by someone who could do so only in their absence; null if for no one else.
    for_id = models.BigIntegerField(null=True)
    for_name = models.CharField(max_length=MAX_ACTOR_NAME, null=True)  # noqa: DJ001 - null means "for no one else"
    #: How many parts of what was approved were never in view on the page; null where no page showed it.
    unseen = models.PositiveIntegerField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["grant", "-grant_use"], name="decision_by_grant", condition=Q(grant__isnull=False)),
            models.Index(fields=["by_name", "-decided_at", "-request"], name="decision_by"),
            models.Index(fields=["-decided_at", "-id"], name="decision_age"),
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} by {self.by_name or 'no one'}"

    @property
    def by_rule(self) -> bool:
        """Whether a rule of the policy decided, and no one was asked."""
        return self.via == Door.RULE

    @property
    def actor(self) -> RecordedActor | None:
        """Who decided, as recorded; None if the deadline or the system did."""
        return None if self.by_id is None else RecordedActor(self.by_id, self.by_name)

    @property
    def door(self) -> str:
        """The name of `via` for people."""
        return str(Door(self.via).label) if self.via in Door.values else self.via
