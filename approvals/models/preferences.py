"""People's preferences, and administrators' settings of tools."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.fields import CanonicalNameField, ExactJSONField
from approvals.states import Control, Priority, Width

User = settings.AUTH_USER_MODEL

#: Maximum time, in seconds, that a page holds a decision so that it can be undone.
MAX_HOLD = 30


class Theme(models.TextChoices):
    """The colors of the pages; SYSTEM follows the device."""

    SYSTEM = "system", _("As the device")
    LIGHT = "light", _("Light")
    DARK = "dark", _("Dark")


class Density(models.TextChoices):
    """The height of rows."""

    COMFORTABLE = "comfortable", _("Comfortable")
    COMPACT = "compact", _("Compact")


class Preferences(models.Model):
    """Display and behavior of the pages for one person. Without a row, the defaults apply."""

    person = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="preferences"
    )
    theme = models.CharField(max_length=6, choices=Theme, default=Theme.SYSTEM)
    density = models.CharField(
        max_length=11, choices=Density, default=Density.COMFORTABLE
    )
    #: A code in HITL_LANGUAGES; if empty or no longer offered, LANGUAGE_CODE applies.
    language = models.CharField(
        _("language"), max_length=20, blank=True, default="", db_default=""
    )
    split = models.BooleanField(_("show the request beside the list"), default=True)
    open_next = models.BooleanField(
        _("open the next request after a decision"), default=True
    )
    shortcuts = models.BooleanField(_("keyboard shortcuts"), default=True)
    hold_seconds = models.PositiveSmallIntegerField(
        _("hold my decisions for (seconds)"),
        default=0,
        help_text=_(
            "You can undo a decision for as long. 0 sends it at once. Critical requests are never held."
        ),
    )
    #: The person's own maximum of decisions per day; displayed, never enforced; null for none.
    daily_budget = models.PositiveSmallIntegerField(
        _("decisions per day"), null=True, blank=True
    )
    #: Muted notifications, as `channel:kind`, such as `mail:question`.
    muted = ExactJSONField(default=list)
    #: Messages wait between these times of day in `time_zone`, except about critical requests. Both or neither are set.
    quiet_from = models.TimeField(_("from"), null=True, blank=True)
    quiet_until = models.TimeField(_("until"), null=True, blank=True)
    #: The time zone of displayed times and quiet hours; empty for TIME_ZONE.
    time_zone = models.CharField(_("time zone"), max_length=64, blank=True, default="")
    #: Whether this administrator has closed the first-run checklist.
    setup_dismissed = models.BooleanField(default=False)

    class Meta:
        verbose_name_plural = "preferences"
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(hold_seconds__lte=MAX_HOLD), name="preferences_hold_seconds"
            ),
            models.CheckConstraint(
                condition=Q(quiet_from=None, quiet_until=None)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
                name="preferences_quiet_hours",
            ),
        ]

    def __str__(self) -> str:
        return str(self.person)


class ListPage(models.TextChoices):
    """The lists whose filters can be saved under a name."""

    INBOX = "inbox", _("Inbox")
    AUDIT = "audit", _("Audit")


class SavedView(models.Model):
    """A named view of a list: its filters as a query string. A shared view is visible to everyone who may see the list."""

    page = models.CharField(
        max_length=5,
        choices=ListPage,
        default=ListPage.INBOX,
        db_default=ListPage.INBOX,
    )
    owner = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="saved_views"
    )
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=2_000)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["owner", "page", "name"], name="saved_view_of_page"
            )
        ]

    def __str__(self) -> str:
        return self.name


class Snooze(models.Model):
    """Hides a request from one person's inbox until a moment, or until someone else acts on it."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    request = models.ForeignKey(
        "approvals.ApprovalRequest", on_delete=models.CASCADE, related_name="+"
    )
    until = models.DateTimeField()
    until_reply = models.BooleanField(default=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "request"], name="snooze_once")
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.request_id}"


class PrioritySettings(models.Model):
    """Decision settings of one priority. Without a row, the defaults apply."""

    priority = models.CharField(max_length=8, choices=Priority, primary_key=True)
    reason_required = models.BooleanField(
        _("a rejection needs a message"), default=False
    )

    class Meta:
        verbose_name_plural = "priority settings"

    def __str__(self) -> str:
        return self.priority


class ToolSettings(models.Model):
    """Display and decision settings of one tool. Without a row, the defaults apply."""

    #: In canonical form: settings hold for every spelling.
    tool_name = CanonicalNameField(max_length=100, unique=True)
    #: JSON pointers into the input, most important first.
    key_fields = ExactJSONField(default=list)
    reason_required = models.BooleanField(
        _("a rejection needs a message"), default=False
    )
    min_priority = models.CharField(
        _("priority at least"), max_length=8, choices=Priority, blank=True
    )
    #: Hidden parts of the input: JSON pointers, in which `*` is any member, and names of fields at any depth.
    secret_fields = ExactJSONField(default=list, null=True)
    #: Suggested texts for the message to the agent.
    prepared_answers = ExactJSONField(default=list)
    #: The limits of grants for this tool; null means only the general limits (`approvals.policy.grants`).
    grant_seconds = models.PositiveIntegerField(
        _("maximum duration of a grant"), null=True
    )
    grant_uses = models.PositiveIntegerField(_("maximum uses of a grant"), null=True)
    grant_width = models.PositiveSmallIntegerField(
        _("broadest grant allowed"), choices=Width, null=True
    )
    no_grants = models.BooleanField(_("never grant"), default=False, db_default=False)
    #: Control over its approvals, in addition to the right to decide; empty for none.
    control = models.CharField(
        _("who decides"),
        max_length=9,
        choices=Control,
        blank=True,
        default="",
        db_default="",
    )

    class Meta:
        verbose_name_plural = "tool settings"
        permissions: ClassVar = [
            ("administer", "Can manage people, keys, webhooks, rules and tools")
        ]

    def __str__(self) -> str:
        return str(self.tool_name)
