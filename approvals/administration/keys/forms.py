"""Forms of a new key and of its tool lists, one pattern per line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals.access.callers import SCOPES
from approvals.access.tool_lists import ToolLists, problem
from approvals.administration.forms import combobox, lines_in
from approvals.models.keys import MAX_KEY_NAME

MAX_TEXT = 20_000
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
}
LIFETIMES = {
    "": _("Never"),
    "7": _("In 7 days"),
    "30": _("In 30 days"),
    "90": _("In 90 days"),
    "365": _("In a year"),
}


class KeyForm(forms.Form):
    """A new API key."""

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
        choices=[(name, SCOPE_WORDS[name]) for name in SCOPES],
        widget=forms.CheckboxSelectMultiple,
    )
    lifetime = forms.ChoiceField(
        label=_("Expires"), choices=list(LIFETIMES.items()), required=False
    )

    def clean_user(self) -> User:
        user = User.objects.filter(
            username=self.cleaned_data["user"], is_active=True
        ).first()
        if user is None:
            raise ValidationError(_("No active person has this username."))
        return user

    @property
    def life(self) -> timedelta | None:
        """The lifetime of the key; None if it works until revoked."""
        days = self.cleaned_data["lifetime"]
        return timedelta(days=int(days)) if days else None


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
