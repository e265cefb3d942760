"""Votes on requests whose terms need several people."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils import timezone

from approvals.db.fields import ExactJSONField
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.states import Door, Verdict

VERDICTS = (Verdict.APPROVE, Verdict.REJECT)


class Vote(models.Model):
    """A person's vote on a request; changed in place until the outcome. The record has every change."""

    request = models.ForeignKey(
        "approvals.ApprovalRequest",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="votes",
        editable=False,
    )
    #: The id of the account, regardless of channel and key. A plain number, so that it survives the deletion of the user.
    person_id = models.BigIntegerField()
    person_name = models.CharField(max_length=MAX_ACTOR_NAME)
    verdict = models.CharField(
        max_length=7, choices=[(verdict.value, verdict.label) for verdict in VERDICTS]
    )
    comment = models.TextField(blank=True)
    #: The digest of the input that was voted on: the vote counts for no other.
    digest = models.CharField(max_length=71)
    #: The stage of the terms in which it was given, from 0: it counts in no other.
    stage = models.PositiveSmallIntegerField(default=0)
    #: Whether the input that was voted on is a change by this person.
    proposes = models.BooleanField(default=False)
    via = models.CharField(max_length=20)
    voted_at = models.DateTimeField()
    #: Whether it counted for the outcome; null if the votes did not decide it, or not yet.
    counted = models.BooleanField(null=True)
    #: The absent person on whose behalf it was given; null for the voter's own.
    for_id = models.BigIntegerField(null=True)
    for_name = models.CharField(max_length=MAX_ACTOR_NAME, null=True)  # noqa: DJ001 - null means "for no one else"

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["request", "person_id"], name="one_vote_of_each"
            )
        ]

    def __str__(self) -> str:
        return f"{self.get_verdict_display()} by {self.person_name}"

    @property
    def approves(self) -> bool:
        return self.verdict == Verdict.APPROVE

    @property
    def door(self) -> str:
        """The label of `via`."""
        return str(Door(self.via).label) if self.via in Door.values else self.via


class VoteRecount(models.Model):
    """Requests a recount of the votes on all pending requests, after a change of people's rights to decide.

    Each change adds a row. The oldest row has the progress of the count; the rows are deleted with the count that covers them.
    """

    asked_at = models.DateTimeField(default=timezone.now, editable=False)
    #: The ids of the rows that existed when the count began; null before.
    answers = ExactJSONField(null=True)
    #: The last counted request; null before the first one.
    counted_created_at = models.DateTimeField(null=True)
    counted_id = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"asked {self.asked_at}, counted up to {self.counted_created_at}"
