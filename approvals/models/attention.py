"""What helps people to look where it matters: advice of programs, floods that someone was told of, and checks.

A seeded check is a test request for someone who decides. It is no request: no program, list of requests or export has it.
"""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.canonical_name import CanonicalNameField
from approvals.db.json_field import ExactJSONField
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.states import Hint, Priority, Verdict

#: The longest advice.
MAX_TEXT = 5_000
#: How much advice one request can have, and how many more votes it can ask for: one piece, and all together.
MAX_ADVICE, MAX_MORE_VOTES, MAX_ALL_MORE_VOTES = 10, 3, 5
#: About how many decisions lie between two checks of a person, at least and at most.
FEWEST, MOST = 5, 1_000


class Advice(models.Model):
    """What a program thinks of a request. It decides nothing. Never changed.

    It can only have raised the priority, and how many people have to approve.
    """

    request = models.ForeignKey(
        "approvals.ApprovalRequest",
        on_delete=models.DO_NOTHING,
        db_constraint=False,
        db_index=False,
        related_name="advice",
        editable=False,
    )
    #: Plain numbers, so that the deletion of a user or key does not reach them.
    by_id = models.BigIntegerField()
    by_name = models.CharField(max_length=MAX_ACTOR_NAME)
    key_id = models.BigIntegerField()
    hint = models.CharField(max_length=11, choices=Hint)
    text = models.TextField()
    #: The priority that it asked for, and the one that the request had before it was raised; empty if there is none.
    priority = models.CharField(max_length=8, choices=Priority, blank=True)
    raised_from = models.CharField(max_length=8, choices=Priority, blank=True)
    #: How many more people have to approve because of it; null if it did not ask for more.
    more_votes = models.PositiveSmallIntegerField(null=True)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = "advice"
        indexes: ClassVar = [models.Index(fields=["request", "id"], name="advice_on_request")]

    def __str__(self) -> str:
        return f"{self.by_name} on {self.request_id}"


class Flood(models.Model):
    """An agent with many similar requests waiting, and when the person who runs it was told last."""

    #: A plain number, so that the row outlives the user.
    requested_by_id = models.BigIntegerField()
    agent = models.CharField(max_length=100, blank=True)
    tool_name = CanonicalNameField(max_length=100, blank=True)
    told_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["requested_by_id", "agent", "tool_name"], name="flood_once")
        ]

    def __str__(self) -> str:
        return f"{self.agent} {self.tool_name}"


class CheckSettings(models.Model):
    """The switch of seeded checks: while there is a row, each person gets one in about `every` decisions."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    every = models.PositiveSmallIntegerField(_("decisions between two checks"))
    since = models.DateTimeField()
    by_id = models.BigIntegerField()
    by_name = models.CharField(max_length=MAX_ACTOR_NAME)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(id=1), name="check_settings_one_row"),
            models.CheckConstraint(condition=Q(every__gte=FEWEST, every__lte=MOST), name="check_settings_rate"),
        ]

    def __str__(self) -> str:
        return f"1 in {self.every}"


class CheckCase(models.Model):
    """What a check shows, as an administrator wrote it, and what is right. Never changed: a removed case stays for its checks."""

    title = models.CharField(_("title"), max_length=200)
    tool_name = models.CharField(_("tool"), max_length=100)
    agent = models.CharField(_("agent"), max_length=100, blank=True)
    message = models.TextField(_("message"), max_length=5_000, blank=True)
    input = ExactJSONField(default=dict)
    expected = models.CharField(
        _("what is right"),
        max_length=8,
        choices=[(Verdict.REJECT, _("Reject")), (Verdict.APPROVE, _("Approve"))],
        default=Verdict.REJECT,
    )
    explanation = models.TextField(_("why, shown after the decision"), max_length=2_000)
    created_at = models.DateTimeField(default=timezone.now)
    removed_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.title


class SeededCheck(models.Model):
    """One check of one person. It counts nowhere but here."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", db_index=False)
    case = models.ForeignKey(CheckCase, on_delete=models.PROTECT, related_name="+")
    #: Who seems to have requested it.
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    #: After how many more decisions of the person the next one is due.
    next_after = models.PositiveSmallIntegerField()
    #: What the person did: a verdict, or `other` for anything else that is no approval; empty while it waits.
    verdict = models.CharField(max_length=8, blank=True)
    #: How many parts were never in view, of an approval.
    unseen = models.PositiveIntegerField(null=True)
    decided_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["person", "-created_at"], name="check_of_person"),
            models.Index(fields=["decided_at"], name="check_decided", condition=Q(decided_at__isnull=False)),
        ]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person"], condition=Q(decided_at=None), name="check_one_at_a_time")
        ]

    def __str__(self) -> str:
        return f"{self.person_id}: {self.case_id}"

    @property
    def passed(self) -> bool:
        """Whether the person did what is right: what should be rejected was not approved, and the other way round."""
        approved = self.verdict in {Verdict.APPROVE, Verdict.EDIT}
        return approved == (self.case.expected == Verdict.APPROVE)
