"""Forms of a new key, of its successor, and of its tool lists, one pattern per line."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from ipaddress import ip_network
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.access.callers import SCIM, SCOPES
from approvals.access.tool_lists import ToolLists, problem
from approvals.administration.forms import combobox, lines_in
from approvals.models.keys import MAX_KEY_NAME

MAX_TEXT = 20_000
MAX_RANGES = 20
#: The latest day, if the settings allow keys that never expire.
MAX_DAYS = 3650
#: Descriptions of the scopes of keys.
SCOPE_WORDS = {
    "ask": _("ask: make requests and report results"),
    "read": _("read: read requests and their decisions"),
    "decide": _("decide: decide requests as this person, but never its own"),
    "audit": _("audit: read the audit log"),
    "grant": _(
        "grant: with decide, give grants that let calls run without asking; end grants"
    ),
    "absence": _(
        "absence: set when this person is away; an administrator's key can also do this for others, and set "
        "who is on call"
    ),
    "advise": _("advise: post advice on requests and raise their priority"),
    SCIM: _(
        "scim: create, change and deactivate people for an identity provider; no other scope with it"
    ),
}
#: How long a rotated key keeps working, in hours.
OVERLAPS = {
    "0": _("Ends at once"),
    "1": _("Works for another hour"),
    "24": _("Works for another day"),
    "168": _("Works for another week"),
}


def active_user(username: str) -> User:
    """Return the active user with this name. Raise ValidationError."""
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        raise ValidationError(_("No active person has this username."))
    return user


class ExpiryForm(forms.Form):
    """The last day of a key, within the longest lifetime that the settings allow."""

    last_day = forms.DateField(
        label=_("Last day of the new key"),
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        today = timezone.localdate()
        last = today + timedelta(days=settings.HITL_MAX_KEY_DAYS or MAX_DAYS)
        day = self.fields["last_day"]
        day.initial = today + timedelta(days=settings.HITL_KEY_DAYS)
        day.validators = [
            MinValueValidator(today, _("Choose today or a later day.")),
            MaxValueValidator(last, _("Choose %(limit_value)s or an earlier day.")),
        ]
        if not settings.HITL_MAX_KEY_DAYS:
            day.required = False
            day.help_text = _("Leave it empty for a key that never expires.")

    @property
    def expires_at(self) -> datetime | None:
        """The end of the last day, in the person's time zone; None for a key that never expires."""
        day: date | None = self.cleaned_data["last_day"]
        if day is None:
            return None
        return timezone.make_aware(datetime.combine(day + timedelta(days=1), time()))


class KeyForm(ExpiryForm):
    """A new API key. Administrators create it for anyone, other people for themselves with the scopes of the settings."""

    name = forms.CharField(
        label=_("Name"),
        max_length=MAX_KEY_NAME,
        help_text=_("What the key is for, such as “billing agent”."),
    )
    user = forms.CharField(
        label=_("Acts for"),
        max_length=150,
        help_text=_("The username of the person whose rights the key has."),
        widget=combobox("people"),
    )
    scopes = forms.MultipleChoiceField(
        label=_("Scopes"),
        choices=[(name, SCOPE_WORDS[name]) for name in (*SCOPES, SCIM)],
        widget=forms.CheckboxSelectMultiple,
    )
    ranges = forms.CharField(
        label=_("Works only from"),
        required=False,
        max_length=MAX_TEXT,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false"}),
        help_text=_(
            "Addresses or networks, one per line, such as 203.0.113.0/24. Leave it empty for all."
        ),
    )
    field_order = ("name", "user", "scopes", "last_day", "ranges")

    def __init__(self, *args: Any, own: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if own:
            del self.fields["user"]
            scopes: Any = self.fields["scopes"]
            scopes.choices = [
                (name, SCOPE_WORDS[name]) for name in settings.HITL_OWN_KEY_SCOPES
            ]

    def clean_user(self) -> User:
        return active_user(self.cleaned_data["user"])

    def clean_ranges(self) -> list[str]:
        lines = lines_in(self.cleaned_data["ranges"])
        ranges = list(dict.fromkeys(_network(line) for line in lines))
        if len(ranges) > MAX_RANGES:
            raise ValidationError(
                _("A key has at most %(limit)d networks. Combine some of them."),
                params={"limit": MAX_RANGES},
            )
        return ranges


def _network(line: str) -> str:
    """Return an address or a network in CIDR form. Raise ValidationError."""
    try:
        text = str(ip_network(line))
    except ValueError:
        text = ""
    # Client addresses are compared without a zone, and as IPv4 where they are mapped.
    if not text or "%" in text or text.startswith("::ffff:"):
        raise ValidationError(
            _(
                "“%(line)s” is not a network. Write an address, or the first address of a network and its length, "
                "such as 203.0.113.0/24 or 2001:db8::/32."
            ),
            params={"line": line[:60]},
        )
    return text


class RotateForm(ExpiryForm):
    """The successor of a key."""

    overlap = forms.TypedChoiceField(
        label=_("The current key"),
        choices=list(OVERLAPS.items()),
        initial="24",
        coerce=lambda hours: timedelta(hours=int(hours)),
    )
    field_order = ("overlap", "last_day")


class ListField(forms.CharField):
    """Tool names and patterns, one per line."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "json"})

    def __init__(self, label: Any, help_text: Any) -> None:
        super().__init__(
            label=label, required=False, max_length=MAX_TEXT, help_text=help_text
        )

    def clean(self, value: Any) -> list[str]:
        names = lines_in(super().clean(value))
        if wrong := problem(names):
            raise ValidationError(
                _("This list %(problem)s."), params={"problem": wrong}
            )
        return names


class ToolListsForm(forms.Form):
    """The coding-agent calls that need a person."""

    gated = ListField(
        _("Gated: a person decides"),
        _("Tool names, one per line. * stands for any text, as in mcp__crm__*."),
    )
    allowed = ListField(
        _("Allowed: left to the agent"),
        _(
            "Pausepoint leaves these to the agent's own rules. If two patterns match, the longer one applies."
        ),
    )
    denied = ListField(
        _("Denied: refused at once"),
        _("Never run, and no one is asked. Each refused call is in the audit log."),
    )

    @classmethod
    def initial_of(cls, lists: ToolLists) -> dict[str, str]:
        """Return the form's initial values for these lists."""
        return {
            name: "\n".join(patterns) for name, patterns in lists.document().items()
        }

    @property
    def lists(self) -> ToolLists:
        """The lists of the valid form."""
        return ToolLists(
            **{
                name: tuple(self.cleaned_data[name])
                for name in ("gated", "allowed", "denied")
            }
        )
