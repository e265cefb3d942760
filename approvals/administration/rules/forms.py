"""The form of one rule in the policy document."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from approvals.administration.forms import json_list_in, lines_in, several
from approvals.administration.people.queries import teams
from approvals.forms.number_fields import WholeNumberField
from approvals.models.people import RoleName
from approvals.policy.asks import AtDeadline
from approvals.policy.conditions.expressions import MAX_LENGTH
from approvals.policy.rules import MAX_MESSAGE, MAX_NAME, Then
from approvals.policy.terms import MessageRule
from approvals.states import Kind, Priority
from approvals.text.text import visible

_LINES = {"rows": 2, "spellcheck": "false", "autocapitalize": "none"}
THEN = {
    Then.ASK: _("Ask people"),
    Then.ALLOW: _("Allow without asking"),
    Then.DENY: _("Deny without asking"),
}
REASONS = {MessageRule.REJECTION: _("At a rejection"), MessageRule.ALWAYS: _("Always")}
AT_DEADLINE = {
    AtDeadline.REJECT: _("Reject it"),
    AtDeadline.DEFAULT: _("Use the default response, if there is one"),
    AtDeadline.HALT: _("Stop the run"),
}
#: Members of `ask` with one form field each, of the same name.
_PLAIN = ("with_requester", "veto", "typed_name", "fresh_sign_in", "reason", "priority")


def _lines(label: Any, help_text: Any = "") -> forms.CharField:
    return forms.CharField(
        label=label,
        required=False,
        help_text=help_text,
        widget=forms.Textarea(attrs=_LINES),
    )


def _choice(
    label: Any, choices: Mapping[Any, Any], none: Any = None
) -> forms.ChoiceField:
    listed = [(str(value), text) for value, text in choices.items()]
    return forms.ChoiceField(
        label=label,
        required=none is None,
        choices=([("", none)] if none is not None else []) + listed,
    )


def team_names() -> list[tuple[str, str]]:
    return [
        (name, visible(name))
        for name in teams().order_by("name").values_list("name", flat=True)
    ]


class PolicyRuleForm(forms.Form):
    """A rule. Empty fields match any request or set nothing. Members without a form field stay unchanged."""

    prefix = "rule"

    name = forms.CharField(label=_("Name"), max_length=MAX_NAME)
    then = _choice(_("What happens"), THEN)
    tools = _lines(
        _("Tools"),
        _(
            "Names or patterns such as refund or mcp__crm__*, one per line. Empty for all."
        ),
    )
    agents = _lines(_("Agents"), _("Names or patterns, one per line. Empty for all."))
    requesters = _lines(
        _("Requested by"), _("Usernames, one per line. Empty for anyone.")
    )
    kinds = several(_("Kinds"), Kind.choices)
    priorities = several(_("Priorities"), Priority.choices)
    values = forms.CharField(
        label=_("Values of the input"), required=False, widget=forms.Textarea(attrs={**_LINES, "class": "json"}),
        help_text=_(
            'A JSON list, such as [{"pointer": "/amount", "type": "amount", "at_most": 100}]. Empty for any. Types are address, '
            "addresses, amount, path, host, line and text."
        ),
    )  # fmt: skip
    when = forms.CharField(
        label=_("Condition"), required=False, max_length=MAX_LENGTH,
        widget=forms.Textarea(attrs={**_LINES, "class": "json"}),
        help_text=_(
            'In CEL, such as input.amount < 500 && "support" in requester.teams. To calculate, write double(…): '
            "double(input.amount) * 1.19 < 500.0. After an error, people are asked."
        ),
    )  # fmt: skip
    message = forms.CharField(
        label=_("Message"), required=False, max_length=MAX_MESSAGE, widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("What the agent is told if the rule denies."),
    )  # fmt: skip
    people = _lines(
        _("Who decides"),
        _(
            "Usernames, one per line. With the teams and roles below; empty for anyone who may decide."
        ),
    )
    teams = several(_("Teams"), team_names)
    roles = several(_("Roles"), RoleName.choices)
    votes = WholeNumberField(
        label=_("How many of them have to approve"),
        required=False,
        min_value=1,
        max_value=50,
    )
    with_requester = forms.BooleanField(
        label=_("Also the person who runs the agent, if they may decide"),
        required=False,
    )
    veto = forms.BooleanField(label=_("One rejection ends it"), required=False)
    reason = _choice(_("A decision needs a message"), REASONS, _("As the tool says"))
    typed_name = forms.BooleanField(
        label=_("The name of the tool has to be typed"), required=False
    )
    fresh_sign_in = forms.BooleanField(
        label=_("Whoever approves needs a fresh log-in"), required=False
    )
    minutes = WholeNumberField(
        label=_("Deadline in minutes"), required=False, min_value=1, max_value=527_040
    )
    at_deadline = _choice(_("At the deadline"), AT_DEADLINE, "—")
    priority = _choice(_("Priority at least"), dict(Priority.choices), "—")
    key_fields = _lines(
        _("Key fields"), _("JSON pointers such as /amount, one per line.")
    )

    @classmethod
    def of(cls, rule: Mapping[str, Any]) -> PolicyRuleForm:
        """Return the form filled in from a rule."""
        match = rule.get("match", {})
        ask = rule.get("ask", {})
        group: Mapping[str, Any] = (
            {} if _is_complex(ask) else next(iter(_groups(ask)), {})
        )
        deadline = ask.get("deadline", {})
        lines = {
            name: "\n".join(match.get(name, ()))
            for name in ("tools", "agents", "requesters")
        }
        return cls(
            initial={
                **{
                    name: rule.get(name, "")
                    for name in ("name", "then", "when", "message")
                },
                **lines,
                **{name: match.get(name, ()) for name in ("kinds", "priorities")},
                "values": json.dumps(match["input"], ensure_ascii=False)
                if "input" in match
                else "",
                "people": "\n".join(group.get("people", ())),
                **{name: group.get(name, ()) for name in ("teams", "roles")},
                "votes": group.get("votes"),
                **{name: ask.get(name) for name in _PLAIN},
                "minutes": deadline["after"] // 60 if deadline else None,
                "at_deadline": deadline.get("then", ""),
                "key_fields": "\n".join(ask.get("key_fields", ())),
            }
        )

    def clean_values(self) -> Any:
        return json_list_in(self.cleaned_data["values"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if bool(cleaned.get("minutes")) != bool(cleaned.get("at_deadline")):
            self.add_error(
                "at_deadline", _("Say both when the deadline is and what happens then.")
            )
        return cleaned

    def rule(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """Return the rule of the valid form, based on `before`."""
        cleaned = self.cleaned_data
        match = {
            name: lines_in(cleaned[name]) for name in ("tools", "agents", "requesters")
        }
        match |= {
            "kinds": cleaned["kinds"],
            "priorities": cleaned["priorities"],
            "input": cleaned["values"],
        }
        kept = {
            name: value
            for name, value in before.get("match", {}).items()
            if name not in match
        }
        rule = {
            "name": cleaned["name"],
            "match": kept | match_without_empty(match),
            "when": cleaned["when"].strip(),
            "then": cleaned["then"],
            "message": cleaned["message"].strip(),
            "ask": self._ask(before.get("ask", {})),
        }
        return {name: value for name, value in rule.items() if value}

    def _ask(self, before: Mapping[str, Any]) -> dict[str, Any]:
        cleaned = self.cleaned_data
        ask = {
            name: value
            for name, value in before.items()
            if name not in {*_PLAIN, "deadline", "key_fields"}
        }
        if not _is_complex(before):
            ask.pop("stages", None)
            group = {
                "people": lines_in(cleaned["people"]),
                "teams": cleaned["teams"],
                "roles": cleaned["roles"],
            }
            group |= {"votes": cleaned["votes"]}
            named = {name: value for name, value in group.items() if value}
            ask |= {"stages": [{"groups": [named]}]} if named else {}
        ask |= {name: cleaned[name] for name in _PLAIN if cleaned[name]}
        if cleaned["minutes"]:
            ask["deadline"] = {
                "after": cleaned["minutes"] * 60,
                "then": cleaned["at_deadline"],
            }
        fields = lines_in(cleaned["key_fields"])
        return ask | ({"key_fields": fields} if fields else {})


def match_without_empty(match: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in match.items() if value}


def _groups(ask: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    return [
        group for stage in ask.get("stages", ()) for group in stage.get("groups", ())
    ]


def _is_complex(ask: Mapping[str, Any]) -> bool:
    """Return whether the rule's stages are more complex than the form can show."""
    return len(_groups(ask)) > 1
