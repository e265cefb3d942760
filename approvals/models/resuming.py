"""Resuming runs outside Pausepoint: the stored state of a framework, and the holder of the resume lease."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from approvals.models.keys import MAX_ACTOR_NAME
from approvals.models.requests import ApprovalRequest

#: Maximum length of a worker's name, which follows the key's in `holder`.
MAX_WORKER = 100


class ResumeState(models.Model):
    """The encrypted state from which a framework resumes a run (`approvals.asking.resume_states`); empty once erased."""

    request = models.OneToOneField(
        ApprovalRequest,
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="+",
        editable=False,
    )
    sealed = models.TextField(blank=True)

    def __str__(self) -> str:
        return f"State of {self.request_id}"


class Resumption(models.Model):
    """The resume lease of the run behind a request: at most one holder at a time, until one of them completes.

    `leased_until` is set while someone holds it. `lost_by` and `lost_at` describe the last lease that expired.
    """

    request = models.OneToOneField(
        ApprovalRequest,
        on_delete=models.PROTECT,
        primary_key=True,
        related_name="+",
        editable=False,
    )
    #: SHA-256 of the last holder's token; empty after a release.
    token_digest = models.CharField(max_length=64, blank=True)
    holder = models.CharField(max_length=MAX_ACTOR_NAME + MAX_WORKER + 3, blank=True)
    #: The number of claims.
    attempt = models.PositiveIntegerField(default=0)
    taken_at = models.DateTimeField(null=True)
    leased_until = models.DateTimeField(null=True)
    lost_by = models.CharField(max_length=MAX_ACTOR_NAME + MAX_WORKER + 3, blank=True)
    lost_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(
                fields=["leased_until"],
                name="resumption_lease",
                condition=Q(leased_until__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return f"Resumption of {self.request_id}"

    @property
    def completed(self) -> bool:
        return self.completed_at is not None

    @property
    def held(self) -> bool:
        """Whether someone holds it, or did until a moment ago: the sweep records the end of a lease."""
        return self.leased_until is not None
