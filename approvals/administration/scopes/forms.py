"""The form of an approver scope."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from django.contrib.auth.models import Group, User
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals.administration.forms import json_list_in, lines_in, several
from approvals.administration.people.queries import teams
from approvals.administration.scopes.actions import ScopeTerms
from approvals.administration.scopes.queries import (
    names_of_requesters,
    removed_requester,
)
from approvals.forms.number_fields import NumberField
from approvals.models import ApproverScope
from approvals.models.policy.scopes import May
from approvals.policy.documents import MAX_NAMES, InvalidMatch, match_from
from approvals.states import ORIGINS, Kind, Priority
from approvals.text.text import visible
from approvals.text.translation import translated

#: The lists of a match that are typed as names or patterns, and those with choices.
LINES = ("tools", "agents", "servers")
CHOICES = ("kinds", "priorities", "sources")
#: Maximum number of people or teams in a scope.
MAX_PEOPLE = 200
_LINES = {"rows": 3, "spellcheck": "false", "autocapitalize": "none"}


def _lines(label: Any, help_text: Any) -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        help_text=help_text,
        widget=forms.Textarea(attrs=_LINES),
    )


def team_choices() -> list[tuple[str, str]]:
    return [
        (str(pk), visible(name))
        for pk, name in teams().order_by("name").values_list("pk", "name")
    ]


class ScopeForm(forms.Form):
    """The people of a scope, their rights, and its requests. Empty fields limit nothing."""

    name = forms.CharField(label=_("Name"), max_length=100)
    people = _lines(_("People"), _("Usernames, one per line."))
    teams = several(_("Teams"), team_choices)
    may = forms.ChoiceField(
        label=_("What they may do"), choices=May.choices,
        help_text=_("Within what their roles allow. A scope never adds a right."),
    )  # fmt: skip
    limit = NumberField(
        label=_("Decide only up to this amount"), required=False, min_value=0,
        help_text=_("Leave empty for no limit. A request without an amount is above every limit."),
    )  # fmt: skip
    tools = _lines(
        _("Tools"),
        _(
            "Names or patterns such as refund or mcp__crm__*, one per line. Empty for all."
        ),
    )
    agents = _lines(_("Agents"), _("Names or patterns, one per line. Empty for all."))
    servers = _lines(
        _("MCP servers"), _("Names or patterns, one per line. Empty for all.")
    )
    requesters = _lines(
        _("Requested by"), _("Usernames, one per line. Empty for everyone.")
    )
    kinds = several(_("Kinds"), Kind.choices)
    priorities = several(_("Priorities"), Priority.choices)
    sources = several(_("Source"), list(ORIGINS.items()))
    values = forms.CharField(
        label=_("Values of the input"), required=False,
        widget=forms.Textarea(attrs={**_LINES, "class": "json"}),
        help_text=_('A JSON list, such as [{"pointer": "/country", "one_of": ["DE", "AT"]}]. Empty for any.'),
    )  # fmt: skip

    @classmethod
    def of(cls, scope: ApproverScope) -> ScopeForm:
        """Return the form filled in from a stored scope."""
        match = scope.match
        lists = {name: "\n".join(match.get(name, ())) for name in LINES}
        return cls(
            initial={
                "name": scope.name,
                "people": "\n".join(
                    scope.people.order_by("username").values_list("username", flat=True)
                ),
                "teams": [str(pk) for pk in scope.teams.values_list("pk", flat=True)],
                "may": scope.may,
                "limit": scope.limit,
                **lists,
                "requesters": "\n".join(
                    names_of_requesters(match.get("requesters", ()))
                ),
                **{name: match.get(name, ()) for name in CHOICES},
                "values": json.dumps(match["input"], ensure_ascii=False)
                if "input" in match
                else "",
            }
        )

    def clean_people(self) -> list[User]:
        names = lines_in(self.cleaned_data["people"])
        if len(names) > MAX_PEOPLE:
            raise ValidationError(
                _("Name at most %(limit)s people. Use a team for more."),
                params={"limit": MAX_PEOPLE},
            )
        people = list(
            User.objects.filter(username__in=names, is_active=True).order_by("username")
        )
        if missing := set(names) - {person.get_username() for person in people}:
            message = _("There is no active person with the username “%(name)s”.")
            raise ValidationError(message, params={"name": visible(min(missing))})
        return people

    def clean_requesters(self) -> list[int]:
        """Return the ids of these people, including inactive ones, and removed ones written as numbers."""
        lines = lines_in(self.cleaned_data["requesters"])[: MAX_NAMES + 1]
        ids = dict(
            User.objects.filter(username__in=lines).values_list("username", "pk")
        )
        ids |= {
            line: number
            for line in lines
            if (number := removed_requester(line)) is not None
        }
        if missing := [line for line in lines if line not in ids]:
            message = _("There is no person with the username “%(name)s”.")
            raise ValidationError(message, params={"name": visible(missing[0])})
        return sorted(ids.values())

    def clean_teams(self) -> list[Group]:
        return list(
            Group.objects.filter(pk__in=self.cleaned_data["teams"]).order_by("name")
        )

    def clean_values(self) -> Any:
        return json_list_in(self.cleaned_data["values"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.errors:
            return cleaned
        lists = {name: lines_in(cleaned[name]) for name in LINES}
        lists |= {name: cleaned[name] for name in ("requesters", *CHOICES)} | {
            "input": cleaned["values"]
        }
        cleaned["match"] = {name: items for name, items in lists.items() if items}
        try:
            match_from(cleaned["match"])
        except InvalidMatch as error:
            for place, fault in error.faults.items():
                self.add_error(self._field_of(place), f"{place}: {translated(fault)}")
        if not cleaned["people"] and not cleaned["teams"]:
            self.add_error(None, _("Name at least one person or team."))
        if cleaned["limit"] is not None and cleaned["may"] != May.DECIDE:
            self.add_error("limit", _("A limit applies only to people who may decide."))
        return cleaned

    def _field_of(self, place: str) -> str | None:
        """Return the field that shows the error of a place in the match; None for the form as a whole."""
        name = place.partition(".")[0]
        if name == "input":
            return "values"
        return name if name in self.fields else None

    @property
    def terms(self) -> ScopeTerms:
        """The terms of the valid form."""
        names = ("name", "match", "may", "limit", "people", "teams")
        return ScopeTerms(**{name: self.cleaned_data[name] for name in names})
