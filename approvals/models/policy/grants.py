"""Grants: calls that run without asking, by permission of a person who may decide."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.db.models import Q

from approvals.db.fields import CanonicalNameField, ExactJSONField
from approvals.models.actors import RecordedActor
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.states import Audience, GrantEnd, Width

#: Columns of a grant that are written after it was given.
MAY_CHANGE = frozenset(
    {"used", "last_used_at", "ended_at", "ended_by_id", "ended_by_name", "ended_why"}
)


class Grant(models.Model):
    """A permission to run without asking: its giver, coverage, audience, and limits in time and uses.

    Its terms are frozen: triggers refuse to change them. Only its uses and its end are written later. Its subject is copied from
    the request that it was given with; `audience` and `width` select the parts that count.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    #: The request that it was given with. Without a constraint, as for a decision.
    request = models.ForeignKey(
        "approvals.ApprovalRequest",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    #: A plain number, so that it survives the deletion of the user, and the recorded name.
    given_by_id = models.BigIntegerField()
    given_by_name = models.CharField(max_length=MAX_ACTOR_NAME)
    given_at = models.DateTimeField()
    via = models.CharField(max_length=20)
    reason = models.TextField(blank=True)

    #: In the agent's spelling in that request, and in canonical form: the grant holds for every spelling.
    tool_name = models.CharField(max_length=100)
    canonical_tool = CanonicalNameField(
        max_length=100, null=True
    )  # nullable, so no table is rebuilt
    width = models.PositiveSmallIntegerField(choices=Width)
    #: Identifies the covered inputs (`approvals.asking.digests`), never displayed: the input with its files, or the key fields;
    #: empty for any input of the tool.
    target = models.CharField(max_length=71, blank=True)
    #: The JSON pointers of the key fields; null for other widths. Their values are those of the request: some may be secret.
    fields = ExactJSONField(null=True)

    audience = models.CharField(max_length=8, choices=Audience)
    requested_by_id = models.BigIntegerField()
    agent = models.CharField(max_length=100, blank=True)
    scope = models.CharField(max_length=64)
    workflow_key = models.CharField(max_length=200)
    thread_id = models.CharField(max_length=200, blank=True)

    #: Its expiry, and its duration in seconds; null if only its uses are limited.
    until = models.DateTimeField(null=True)
    seconds = models.PositiveIntegerField(null=True)
    #: The maximum uses; null if only its time is limited.
    uses = models.PositiveIntegerField(null=True)
    #: The broadest grant for its tool while the tool's settings choose none (`approvals.policy.grants`).
    default_width = models.PositiveSmallIntegerField(choices=Width)

    used = models.PositiveIntegerField(default=0)
    last_used_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    #: The person who revoked it; null if it ended by itself.
    ended_by_id = models.BigIntegerField(null=True)
    ended_by_name = models.CharField(max_length=MAX_ACTOR_NAME, blank=True)
    ended_why = models.CharField(max_length=12, choices=GrantEnd, blank=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(until__isnull=False) | Q(uses__isnull=False),
                name="grant_ends_by_itself",
            ),
            models.CheckConstraint(
                condition=Q(uses__isnull=True) | Q(used__lte=models.F("uses")),
                name="grant_not_used_up_twice",
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["requested_by_id", "canonical_tool", "target"],
                name="grant_live",
                condition=Q(ended_at__isnull=True),
            ),
            models.Index(
                fields=["until"],
                name="grant_due",
                condition=Q(ended_at__isnull=True, until__isnull=False),
            ),
            models.Index(fields=["-given_at", "-id"], name="grant_newest"),
            models.Index(fields=["request"], name="grant_of_request"),
        ]

    def __str__(self) -> str:
        return f"{self.tool_name} by {self.given_by_name}"

    @property
    def giver(self) -> RecordedActor:
        """The giver, as recorded."""
        return RecordedActor(self.given_by_id, self.given_by_name)


class AskAlways(models.Model):
    """The switch *Ask about everything*: while there is a row, no grant is used."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    since = models.DateTimeField()
    by_id = models.BigIntegerField()
    by_name = models.CharField(max_length=MAX_ACTOR_NAME)
    reason = models.TextField(blank=True)

    class Meta:
        verbose_name = verbose_name_plural = "ask about everything"
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(id=1), name="ask_always_one_row")
        ]

    def __str__(self) -> str:
        return f"since {self.since} by {self.by_name}"
