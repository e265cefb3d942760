"""Absences with their delegates, and team settings: hours, default delegate, and people on call."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.fields import ExactJSONField
from approvals.models.keys import MAX_ACTOR_NAME
from approvals.models.subscriptions import check_address

User = settings.AUTH_USER_MODEL

MAX_REASON = 200


class Absence(models.Model):
    """An absence of a person, with an optional delegate. Absences of one person never overlap."""

    person = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    #: Null without a delegate.
    delegate = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    starts_at = models.DateTimeField()
    until = models.DateTimeField()
    reason = models.CharField(max_length=MAX_REASON, blank=True)
    #: The person who set it: a plain number, so that it survives the deletion of the user, and the recorded name.
    set_by_id = models.BigIntegerField()
    set_by_name = models.CharField(max_length=MAX_ACTOR_NAME)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    #: When the cards in channels are looked at because of it: at once, at its start, and at its end; null after that.
    cards_due_at = models.DateTimeField(null=True, default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(until__gt=F("starts_at")),
                name="absence_ends_after_it_starts",
            ),
            models.CheckConstraint(
                condition=Q(delegate=None) | ~Q(delegate=F("person")),
                name="absence_not_to_oneself",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["person", "until"], name="absence_of_person"),
            models.Index(fields=["delegate", "until"], name="absence_by_delegate"),
            models.Index(
                fields=["cards_due_at"],
                name="absence_cards_due",
                condition=Q(cards_due_at__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.starts_at} - {self.until}"


def current_absences(now: Any) -> models.QuerySet[Absence]:
    """Return the absences at a moment: a datetime, or the database's `Now()`."""
    return Absence.objects.filter(starts_at__lte=now, until__gt=now)


class TeamSettings(models.Model):
    """Settings of a team. Without a row, it works at all times, has no default delegate, and everyone is on call."""

    team = models.OneToOneField(
        "auth.Group",
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="settings",
    )
    #: The delegate of absent members without a delegate of their own.
    default_delegate = models.ForeignKey(
        User,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        verbose_name=_("default delegate"),
    )
    #: The time zone of its working hours, and of events without one; empty for TIME_ZONE.
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True, default="")
    #: In the format of `approvals.policy.working_hours`; empty for all hours.
    working_hours = models.CharField(
        _("working hours"), max_length=200, blank=True, default=""
    )
    #: The iCalendar address of the on-call schedule; empty for none.
    duty_url = models.CharField(
        _("on-call calendar"),
        max_length=500,
        blank=True,
        default="",
        validators=[check_address],
    )
    #: On-call shifts, as last read or set: `{"person": id, "from": time, "until": time}` objects.
    duty = ExactJSONField(default=list)
    #: The events that were unreadable the last time: `{"summary": text, "begin": text, "fault": property}`; null for none.
    duty_left_out = ExactJSONField(null=True)
    #: When `duty` was last read or set; null if never.
    duty_read_at = models.DateTimeField(null=True)
    #: When the calendar is read next; null without one.
    duty_due_at = models.DateTimeField(null=True)
    #: Why the last read of the calendar failed; empty if it succeeded.
    duty_error = models.CharField(max_length=300, blank=True, default="")

    class Meta:
        verbose_name_plural = "team settings"
        indexes: ClassVar = [
            models.Index(
                fields=["duty_due_at"],
                name="team_duty_due",
                condition=Q(duty_due_at__isnull=False),
            )
        ]

    def __str__(self) -> str:
        return str(self.team)


class FollowUp(models.Model):
    """The next reminder or escalation step of a waiting request, and how many were carried out.

    Requests whose terms have none have no row. The row is deleted after the last step, or once the request has ended.
    """

    request = models.OneToOneField(
        "approvals.ApprovalRequest",
        on_delete=models.CASCADE,
        primary_key=True,
        related_name="+",
    )
    done = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"{self.request_id}: {self.done} done, next at {self.due_at}"
