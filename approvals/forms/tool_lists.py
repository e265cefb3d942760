"""The form of a key's lists of tools: one pattern per line."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals.access.tool_lists import ToolLists, problem

MAX_TEXT = 20_000


def _list_field(label: Any, help_text: Any) -> forms.CharField:
    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "json"})
    return forms.CharField(label=label, required=False, max_length=MAX_TEXT, widget=widget, help_text=help_text)


class ToolListsForm(forms.Form):
    """Which calls of coding agents wait for a person."""

    gated = _list_field(
        _("Gated: a person decides"), _("Names of tools, one per line. * stands for any text, as in mcp__crm__*.")
    )
    allowed = _list_field(
        _("Allowed: left to the agent"),
        _("Pausepoint leaves these to the agent's own rules. If two patterns match, the longer one applies."),
    )
    denied = _list_field(
        _("Denied: refused at once"), _("Never run, and no one is asked. Each refused call is in the audit log.")
    )

    @classmethod
    def initial_of(cls, lists: ToolLists) -> dict[str, str]:
        """Return the initial values for these lists."""
        return {name: "\n".join(patterns) for name, patterns in lists.document().items()}

    def clean_gated(self) -> list[str]:
        return self._clean_list("gated")

    def clean_allowed(self) -> list[str]:
        return self._clean_list("allowed")

    def clean_denied(self) -> list[str]:
        return self._clean_list("denied")

    def _clean_list(self, name: str) -> list[str]:
        lines = [line.strip() for line in self.cleaned_data[name].splitlines()]
        names = list(dict.fromkeys(filter(None, lines)))
        if wrong := problem(names):
            raise ValidationError(_("This list %(problem)s."), params={"problem": wrong})
        return names

    @property
    def lists(self) -> ToolLists:
        """The lists of a valid form."""
        return ToolLists(**{name: tuple(self.cleaned_data[name]) for name in ("gated", "allowed", "denied")})
