"""The policy: rules that allow, deny or ask, one row for each version."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from approvals.db.fields import ExactJSONField
from approvals.models.keys import MAX_ACTOR_NAME

#: Columns of a version that are written after it was created.
VERSION_MAY_CHANGE = frozenset(
    {"state", "settled_at", "settled_by_id", "settled_by_name", "replaced_at"}
)


class VersionState(models.TextChoices):
    """The state of a policy version."""

    PROPOSED = "proposed", _("proposed")
    LIVE = "live", _("live")
    REPLACED = "replaced", _("replaced")
    DECLINED = "declined", _("declined")


class PolicyVersion(models.Model):
    """A version of the policy with its author and reason. All of that is frozen: triggers refuse to change it.

    Requests refer to the version under which they were made, so no version is ever deleted.
    """

    number = models.PositiveIntegerField(primary_key=True)
    #: The live version when it was written; null for the first. It can go live only while that version is still live.
    based_on = models.PositiveIntegerField(null=True)
    #: In the stored form of `approvals.policy.policies`.
    document = ExactJSONField()
    digest = models.CharField(max_length=71)
    author_id = models.BigIntegerField()
    author_name = models.CharField(max_length=MAX_ACTOR_NAME)
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField()
    via = models.CharField(max_length=20)
    state = models.CharField(max_length=8, choices=VersionState)
    #: When it went live or was declined, and by whom.
    settled_at = models.DateTimeField(null=True)
    settled_by_id = models.BigIntegerField(null=True)
    settled_by_name = models.CharField(max_length=MAX_ACTOR_NAME, blank=True)
    replaced_at = models.DateTimeField(null=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["state"], name="policy_one_live", condition=Q(state="live")
            ),
            models.CheckConstraint(
                condition=Q(state__in=VersionState.values), name="policy_state_known"
            ),
        ]

    def __str__(self) -> str:
        return f"version {self.number}"

    @property
    def live(self) -> bool:
        return self.state == VersionState.LIVE


class SavedDraft(models.Model):
    """A change of the policy that a person has begun and not yet applied. Each person has at most one."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    #: The live version when it was begun; null for none.
    based_on = models.PositiveIntegerField(null=True)
    #: The document as it was typed, also with faults.
    text = models.TextField()
    saved_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"draft of {self.person}"
