"""The ends of requests. Only `approvals.actions` writes their rows."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from approvals.db.fields import ExactJSONField
from approvals.models.actors import RecordedActor
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.models.requests import ApprovalRequest
from approvals.states import OWN_PAGES, Door, Verdict


class Decision(models.Model):
    """The end of a request: exactly one row per ended request, never changed."""

    request = models.OneToOneField(
        ApprovalRequest,
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        related_name="decision",
        editable=False,
    )
    verdict = models.CharField(max_length=8, choices=Verdict)
    #: Null if the deadline or the system decided. A plain number, so that it survives the deletion of the user.
    by_id = models.BigIntegerField(null=True)
    by_name = models.CharField(max_length=MAX_ACTOR_NAME, blank=True)
    via = models.CharField(max_length=20)
    comment = models.TextField(blank=True)
    edited_input = ExactJSONField(null=True)
    #: The digest of the input that may run (empty unless approved) and its salt, like those of the request.
    approved_digest = models.CharField(max_length=71, blank=True)
    digest_salt = models.CharField(max_length=32, null=True)  # noqa: DJ001 - nullable, so no table is rebuilt
    answer = ExactJSONField(null=True)
    decided_at = models.DateTimeField()
    #: The grant that approved it, and the number of that use; null if a person decided.
    grant = models.ForeignKey(
        "approvals.Grant",
        on_delete=models.DO_NOTHING,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    grant_use = models.PositiveIntegerField(null=True)
    #: Whether one person decided alone although the terms require several; null if not.
    break_glass = models.BooleanField(null=True)
    #: The absent person on whose behalf it was decided; null if the decider had the right themselves.
    for_id = models.BigIntegerField(null=True)
    for_name = models.CharField(max_length=MAX_ACTOR_NAME, null=True)  # noqa: DJ001 - null means "for no one else"
    #: How many parts of the approved input were never in view on the page; null for decisions without a page.
    unseen = models.PositiveIntegerField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["grant", "-grant_use"],
                name="decision_by_grant",
                condition=Q(grant__isnull=False),
            ),
            models.Index(
                fields=["by_name", "-decided_at", "-request"], name="decision_by"
            ),
            models.Index(fields=["-decided_at", "-id"], name="decision_age"),
            # Where it is known what was shown. Where programs decide, those of people are few among all.
            models.Index(
                fields=["-decided_at", "-id"],
                name="decision_on_pages",
                condition=Q(via__in=sorted(OWN_PAGES)),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} by {self.by_name or 'no one'}"

    @property
    def by_rule(self) -> bool:
        """Whether a rule of the policy decided, and no one was asked."""
        return self.via == Door.RULE

    @property
    def actor(self) -> RecordedActor | None:
        """The decider, as recorded; None if the deadline or the system decided."""
        return None if self.by_id is None else RecordedActor(self.by_id, self.by_name)

    @property
    def door(self) -> str:
        """The label of `via`."""
        return str(Door(self.via).label) if self.via in Door.values else self.via
