"""Approver scopes: which requests people and teams may see, answer and decide, and the sets of scopes that fit requests."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Case, CharField, Count, Max, Subquery, Value, When
from django.db.models.functions import Cast, Concat
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.json_field import ExactJSONField

User = settings.AUTH_USER_MODEL


class May(models.TextChoices):
    """What a scope lets its people do with the requests that it fits, as far as their roles allow it; each includes the last."""

    SEE = "see", _("See")
    ANSWER = "answer", _("See, and answer questions and forms")
    DECIDE = "decide", _("See, answer and decide")


class ApproverScope(models.Model):
    """Lets people and the members of teams see, answer or decide the requests that its match fits.

    Its match never changes: a scope with another match is another row. So a set of ids says for ever what fitted.
    """

    name = models.CharField(max_length=100, unique=True)
    #: The match as `approvals.policy.match` writes it.
    match = ExactJSONField(default=dict)
    may = models.CharField(max_length=6, choices=May, default=May.DECIDE)
    #: The largest amount that its people may decide; null without a limit.
    limit = models.FloatField(null=True, blank=True)
    people: models.ManyToManyField[Any, Any] = models.ManyToManyField(User, blank=True, related_name="+")
    teams: models.ManyToManyField[Any, Any] = models.ManyToManyField("auth.Group", blank=True, related_name="+")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    def __str__(self) -> str:
        return self.name


class ScopeSet(models.Model):
    """A set of scopes that fit a request. Requests with the same set share one row, by which lists are filtered."""

    #: The ids of the scopes, sorted: a digest, because a set may be large.
    digest = models.CharField(max_length=71, unique=True)

    def __str__(self) -> str:
        return self.digest


class ScopeSetMember(models.Model):
    """A scope of a scope set; the row goes with its scope."""

    scope_set = models.ForeignKey(ScopeSet, on_delete=models.CASCADE, related_name="scopes", db_index=False)
    scope = models.ForeignKey(ApproverScope, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["scope_set", "scope"], name="scope_set_member_once")]

    def __str__(self) -> str:
        return f"{self.scope_set_id}: {self.scope_id}"


class ScopeWalk(models.Model):
    """How far the requests from before a scope have been compared with it, latest first. One row, from the first scope on.

    It also says how far the waiting requests have been checked for whether anyone may decide them, oldest first.
    """

    #: The last scope of all when the walk began.
    upto = models.PositiveBigIntegerField(default=0)
    #: The last request that was compared; null before the first one.
    created_at = models.DateTimeField(null=True)
    request_id = models.UUIDField(null=True)
    done = models.BooleanField(default=False)
    #: How many such checks changes of scopes and people have asked for; all of them are done once the last one is.
    checks = models.PositiveIntegerField(default=0, db_default=0)
    checks_done = models.PositiveIntegerField(default=0, db_default=0)
    #: The last request that was checked; null before the first one.
    checked_created_at = models.DateTimeField(null=True)
    checked_id = models.UUIDField(null=True)

    def __str__(self) -> str:
        return f"{self.upto}: {self.created_at}"


def stamp_of_scopes() -> Any:
    """Return text that differs whenever other scopes exist, null if there are none; to be read with another statement."""
    parts = [Cast(part, CharField()) for part in (Count("pk"), Max("pk"), Max("created_at"))]
    stamp = Concat(parts[0], Value(" "), parts[1], Value(" "), parts[2], output_field=CharField())
    every = ApproverScope.objects.order_by().values(every=Value(1)).annotate(number=Count("pk"))
    return Subquery(every.values(stamp=Case(When(number__gt=0, then=stamp))), output_field=CharField())
