"""Approver scopes: which requests people and teams may see, answer and decide, and the sets of scopes that match requests."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Case, CharField, Count, Max, Subquery, Value, When
from django.db.models.functions import Cast, Concat
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.fields import ExactJSONField

User = settings.AUTH_USER_MODEL


class May(models.TextChoices):
    """A right on the requests that a scope matches, within people's roles; each includes the previous one."""

    SEE = "see", _("See")
    ANSWER = "answer", _("See, and answer questions and forms")
    DECIDE = "decide", _("See, answer and decide")


class ApproverScope(models.Model):
    """Lets people and team members see, answer or decide matching requests.

    Its match never changes: a scope with another match is another row. So a set of ids is a permanent record of the matches.
    """

    name = models.CharField(max_length=100, unique=True)
    #: The match in the stored form of `approvals.policy.documents`.
    match = ExactJSONField(default=dict)
    may = models.CharField(max_length=6, choices=May, default=May.DECIDE)
    #: The largest amount that its people may decide; null without a limit.
    limit = models.FloatField(null=True, blank=True)
    people: models.ManyToManyField[Any, Any] = models.ManyToManyField(
        User, blank=True, related_name="+"
    )
    teams: models.ManyToManyField[Any, Any] = models.ManyToManyField(
        "auth.Group", blank=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.name


class ScopeSet(models.Model):
    """A set of scopes that match a request. Requests with the same set share one row, which lists filter by."""

    #: A digest of the sorted scope ids, because a set may be large.
    digest = models.CharField(max_length=71, unique=True)

    def __str__(self) -> str:
        return self.digest


class ScopeSetMember(models.Model):
    """A scope in a scope set; the row is deleted with its scope."""

    scope_set = models.ForeignKey(
        ScopeSet, on_delete=models.CASCADE, related_name="scopes", db_index=False
    )
    scope = models.ForeignKey(ApproverScope, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["scope_set", "scope"], name="scope_set_member_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.scope_set_id}: {self.scope_id}"


class ScopeWalk(models.Model):
    """The progress of comparing existing requests with a new scope, latest first. One row, since the first scope.

    It also has the progress of checking whether anyone may decide the waiting requests, oldest first.
    """

    #: The last scope when the walk began.
    upto = models.PositiveBigIntegerField(default=0)
    #: The last compared request; null before the first one.
    created_at = models.DateTimeField(null=True)
    request_id = models.UUIDField(null=True)
    done = models.BooleanField(default=False)
    #: The number of checks requested by changes of scopes and people; the last one covers all of them.
    checks = models.PositiveIntegerField(default=0, db_default=0)
    checks_done = models.PositiveIntegerField(default=0, db_default=0)
    #: The last checked request; null before the first one.
    checked_created_at = models.DateTimeField(null=True)
    checked_id = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"{self.upto}: {self.created_at}"


def stamp_of_scopes() -> Any:
    """Return an expression whose text changes with the set of scopes, null if there are none, for use in other statements."""
    parts = [
        Cast(part, CharField()) for part in (Count("pk"), Max("pk"), Max("created_at"))
    ]
    stamp = Concat(
        parts[0], Value(" "), parts[1], Value(" "), parts[2], output_field=CharField()
    )
    every = (
        ApproverScope.objects.order_by()
        .values(every=Value(1))
        .annotate(number=Count("pk"))
    )
    return Subquery(
        every.values(stamp=Case(When(number__gt=0, then=stamp))),
        output_field=CharField(),
    )
