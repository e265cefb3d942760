"""Workflows and requests. Only `approvals.actions` writes their rows."""

from __future__ import annotations

import uuid
from functools import lru_cache
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import get_script_prefix, reverse
from django.utils import timezone

from approvals.db.canonical_json import utc
from approvals.db.fields import CanonicalNameField, ExactJSONField
from approvals.models.indexes import OF_REQUESTS
from approvals.models.keys import MAX_ACTOR_NAME, MAX_CLAIM
from approvals.states import (
    ASKS,
    ENDED,
    ORIGINS,
    Control,
    Kind,
    Priority,
    Status,
    WorkflowState,
)

User = settings.AUTH_USER_MODEL

SUSPENDED = Q(state="suspended")

_NO_ID = uuid.UUID(int=0)


@lru_cache
def _page_of_no_request(prefix: str) -> str:
    """Return the page address of _NO_ID below this prefix, to be reused because Django searches all URL patterns for it."""
    return reverse("approvals:request", args=[_NO_ID])


class Workflow(models.Model):
    """A piece of work that may wait for people, once or many times."""

    scope = models.CharField(max_length=64)
    key = models.CharField("run id", max_length=200)
    title = models.CharField(max_length=200)
    source = models.CharField(max_length=20)
    agent = models.CharField(max_length=100, blank=True)
    thread_id = models.CharField(max_length=200, blank=True)
    thread_url = models.CharField(max_length=500, blank=True)
    owner = models.ForeignKey(
        User, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    state = models.CharField(
        max_length=12, choices=WorkflowState, default=WorkflowState.RUNNING
    )
    open_count = models.PositiveIntegerField(default=0)
    #: The smallest `urgency` of the pending requests, and the start of the suspension; set while it is suspended.
    urgency = models.PositiveSmallIntegerField(null=True)
    suspended_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(default=timezone.now)
    ended_at = models.DateTimeField(null=True)
    #: The title, if the reader may see it. Without a default, so that only `queries.workflows_for` can show one.
    shown_title: str
    #: The latest requests that the reader may see, latest first, set by `queries.workflow_list.with_steps`.
    steps: list[ApprovalRequest]

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["scope", "key"], name="workflow_scope_key")
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["urgency", "suspended_at", "id"],
                name="workflow_suspended",
                condition=SUSPENDED,
            ),
            models.Index(
                fields=["owner"], name="workflow_owner_suspended", condition=SUSPENDED
            ),
            models.Index(
                fields=["-ended_at", "-id"],
                name="workflow_over",
                condition=Q(ended_at__isnull=False),
            ),
            models.Index(
                fields=["owner", "-ended_at", "-id"], name="workflow_owner_ended"
            ),
            # Clients name a workflow or a thread without its scope, and lists of requests are filtered by them.
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
        """The label of its source."""
        return str(ORIGINS.get(self.source, self.source))


class ApprovalRequest(models.Model):
    """A request to people. Only its status and times, its priority, assignee, claim, taker and proposal ever change."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    # Foreign keys have no index of their own: other indexes begin with these columns.
    workflow = models.ForeignKey(
        Workflow, on_delete=models.PROTECT, related_name="requests", db_index=False
    )
    scope = models.CharField(max_length=64)
    #: Copied from the workflow, for the indexes.
    agent = models.CharField(max_length=100, blank=True)
    step_path = ExactJSONField(default=list)
    kind = models.CharField(max_length=10, choices=Kind)
    title = models.CharField(max_length=200)
    message = models.TextField(blank=True)
    #: In the agent's spelling, and in canonical form for comparisons.
    tool_name = models.CharField(max_length=100, blank=True)
    canonical_tool = CanonicalNameField(
        max_length=100, null=True
    )  # nullable, so no table is rebuilt
    tool_call_id = models.CharField(max_length=200, null=True)  # noqa: DJ001 - null means "no call"; nulls never collide
    attempt = models.PositiveIntegerField(default=1)
    input = ExactJSONField(default=dict)
    #: The digest of its input and files (`approvals.asking.digests`), and the salt in it: empty if nothing is hidden.
    input_digest = models.CharField(max_length=71)
    digest_salt = models.CharField(max_length=32, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: Identifies equal inputs with equal files (`approvals.asking.digests`), never displayed.
    input_fingerprint = models.CharField(max_length=64, null=True)  # noqa: DJ001 - as above
    #: The JSON pointer to its amount, the tool's first numeric key field; null means `/amount`.
    amount_pointer = models.CharField(max_length=200, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: That amount, for the limits of scopes; null if there is none.
    amount = models.FloatField(null=True)
    #: The matching scopes among those with ids up to `scoped_upto`; null if none matches, or none was compared yet.
    scope_set = models.ForeignKey(
        "approvals.ScopeSet",
        on_delete=models.PROTECT,
        null=True,
        related_name="+",
        db_index=False,
    )
    scoped_upto = models.PositiveBigIntegerField(null=True)
    #: The tool's control over approvals when the request was made; null for none.
    control = models.CharField(max_length=9, choices=Control, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: The terms on which it is decided (`approvals.policy.terms`), from its rule; null for none. Advice can add votes.
    terms = ExactJSONField(null=True)
    #: The changed input that people vote on, with its `digest`, `salt` and proposer (`by`); null while they vote on the original
    #: input.
    proposal = ExactJSONField(null=True)
    #: The policy version and the name of the matching rule when it was made; null if there was none.
    policy_version = models.PositiveIntegerField(null=True)
    rule = models.CharField(max_length=100, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    #: Further rules whose terms apply, because none was certain to match; null if there are none.
    other_rules = ExactJSONField(null=True)
    #: The original priority; null unless a rule or advice has raised it.
    asked_priority = models.CharField(max_length=8, choices=Priority, null=True)  # noqa: DJ001 - as above
    #: The earlier request whose rejection by a person also answers this one; null for other requests.
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
    #: Receives the outcome by POST, besides the registered webhooks.
    callback_url = models.CharField(max_length=500, blank=True)
    #: The engine that waits for the outcome, and the id there: `{"to", "id"}`; null for none.
    callback = ExactJSONField(null=True)
    #: The trace in which the client asked (`approvals.trace_context`): `traceparent`, `tracestate`; null without one.
    trace = ExactJSONField(null=True)
    #: The client's Idempotency-Key; null without one.
    idempotency_key = models.CharField(max_length=200, null=True)  # noqa: DJ001 - nulls never collide
    #: Digest of everything that the client sent, never displayed; may be empty.
    ask_digest = models.CharField(max_length=71, blank=True)
    requested_by = models.ForeignKey(
        User, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    #: The creator of its key, if that is someone else: they count as a requester where requesters may not decide.
    key_made_by_id = models.BigIntegerField(null=True)
    #: The subject of the issuer's token that its agent acted for; empty without one.
    on_behalf_of = models.CharField(max_length=MAX_CLAIM, blank=True)
    assigned_to = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    status = models.CharField(max_length=9, choices=Status, default=Status.PENDING)
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)
    #: The user with the claim. A claim lapses (`approvals.access.assignees`) and binds no one.
    claimed_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    claimed_name = models.CharField(max_length=MAX_ACTOR_NAME, blank=True)
    claimed_at = models.DateTimeField(null=True)
    #: The last claim, assignment, comment or resume.
    touched_at = models.DateTimeField(null=True)
    #: The one call that has consumed the decision, among equal calls without ids of their own: its random name, its description
    #: for people, and the time. Empty until a call consumes it; null for a call with an id, which identifies it instead.
    taker = models.CharField(max_length=200, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    taken_by = models.CharField(max_length=MAX_ACTOR_NAME, null=True)  # noqa: DJ001 - as above
    taken_at = models.DateTimeField(null=True)
    #: The secrets according to its schema and its tool's settings: JSON pointers, and names of fields.
    secrets = ExactJSONField(null=True)
    #: The number of words to read before deciding; null if not counted yet.
    words = models.PositiveIntegerField(null=True)
    #: When administrators were notified that no one, or only superusers, may decide it; null if someone may.
    undecidable_since = models.DateTimeField(null=True)
    #: The number of pieces of advice; null for none.
    advised = models.PositiveSmallIntegerField(null=True)
    #: The beginnings of input, message and context, annotated by `queries.request_list.listed`.
    gist: str = ""
    opening: str = ""
    surroundings: str | None = ""
    #: The schema of the input as text, if it is short and contains formats, annotated by `queries.described`.
    described: str = ""
    #: The input if it is short, annotated by `queries.audit.subjects_of`.
    short_input: str = ""
    #: Whether its amount is not hidden, annotated by `queries.audit`.
    amount_is_shown: bool = True
    #: Whether a person rejected it, not a rule, annotated by `queries.policy.grants.preview`.
    refused: bool = False
    #: The length of the large columns, annotated by `api.feed`.
    size: int = 0
    #: The body of the audit entry with the result of its call, annotated by `queries.requests.with_report`.
    report: str | None = None
    #: The display names of its decider and claimant, annotated by `queries.requests.with_names`.
    decided_display: str | None = None
    claimed_display: str | None = None

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
            models.CheckConstraint(
                condition=Q(status__in=Status.values), name="request_status_known"
            ),
        ]
        indexes: ClassVar = OF_REQUESTS

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return _page_of_no_request(get_script_prefix()).replace(
            str(_NO_ID), str(self.pk)
        )

    @property
    def public_url(self) -> str:
        """The full address of its page, based on PUBLIC_URL and never on a client's headers."""
        return settings.PUBLIC_URL + self.get_absolute_url()

    @property
    def pending(self) -> bool:
        return self.status == Status.PENDING

    @property
    def runners(self) -> frozenset[int]:
        """The ids of the people who run the agent: the requester, and the owner of the workflow."""
        return frozenset({self.requested_by_id, self.workflow.owner_id})

    @property
    def interested(self) -> frozenset[int]:
        """The ids of the people who may not decide under four eyes: the runners, and the creator of the key."""
        return (
            self.runners
            if self.key_made_by_id is None
            else self.runners | {self.key_made_by_id}
        )

    @property
    def voted_digest(self) -> str:
        """The digest of the input being decided, which pages show and send back: that of the proposal, if there is one."""
        return str(self.proposal["digest"]) if self.proposal else self.input_digest

    @property
    def voted_input(self) -> Any:
        """The input that is decided now: the proposed one while people vote on it."""
        return self.proposal["input"] if self.proposal and self.pending else self.input

    @property
    def takes_votes(self) -> bool:
        """Whether it is decided by votes."""
        return (
            self.kind not in ASKS
            and bool(self.terms)
            and bool(self.terms.get("stages"))
        )

    @property
    def halted(self) -> bool:
        """Whether it expired and its terms (`approvals.policy.terms`) then stop the run."""
        return (
            self.status == Status.EXPIRED
            and bool(self.terms)
            and self.terms.get("on_expire") == "halt"
        )

    @property
    def taken(self) -> str:
        """The call that has consumed the decision, and the time; empty if none has."""
        return f"{self.taken_by}, at {utc(self.taken_at)}" if self.taken_at else ""

    @property
    def chooses(self) -> bool:
        """Whether the answer is a choice in the form of `approvals.asking.answers`, not in the client's own schema."""
        return (
            self.kind == Kind.QUESTION
            and bool(self.options)
            and self.response_schema is None
        )
