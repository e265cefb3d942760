"""Resuming runs that wait outside Pausepoint: the stored state of a framework, and who has taken the resume."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from approvals.models.keys import MAX_ACTOR_NAME
from approvals.models.requests import ApprovalRequest

#: Characters of the name of a worker, which follows that of the key in `holder`.
MAX_WORKER = 100


class ResumeState(models.Model):
    """What a framework continues a run from, encrypted (`approvals.asking.resume_states`); empty once it was erased."""

    request = models.OneToOneField(
        ApprovalRequest, on_delete=models.PROTECT, primary_key=True, related_name="+", editable=False
    )
    sealed = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"State of {self.request_id}"


class Resumption(models.Model):
    """Who resumes the run behind a request: at most one holder at a time, until one of them completes.

    While someone holds it, `leased_until` is set. `lost_by` and `lost_at` are of the last lease that ended by itself.
    """

    request = models.OneToOneField(
        ApprovalRequest, on_delete=models.PROTECT, primary_key=True, related_name="+", editable=False
    )
    #: SHA-256 of the token of the last holder; empty after they gave it back.
    token_digest = models.CharField(max_length=64, blank=True)
    holder = models.CharField(max_length=MAX_ACTOR_NAME + MAX_WORKER + 3, blank=True)
    #: How many times it was claimed.
    attempt = models.PositiveIntegerField(default=0)
    taken_at = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)
    lost_by = models.CharField(max_length=MAX_ACTOR_NAME + MAX_WORKER + 3, blank=True)
    lost_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["leased_until"], name="resumption_lease", condition=Q(leased_until__isnull=False))
        ]

    def __str__(self) -> str:
        return f"Resumption of {self.request_id}"

    @property
    def completed(self) -> bool:
        return self.completed_at is not None

    @property
    def held(self) -> bool:
        """Whether someone holds it, or held it until a moment ago: the sweep notes the end of a lease."""
        return self.leased_until is not None
