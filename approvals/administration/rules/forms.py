"""The form of one rule in the policy document. It shows each member, and an unchanged form changes none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from approvals.administration.forms import several
from approvals.administration.rules.rows import (
    ROWS,
    Data,
    DataForm,
    FollowUpRow,
    NamesField,
    Row,
    SeatRow,
    ToolRow,
    ValueRow,
    indexes,
    seconds_in,
    time_data,
    unit_field,
)
from approvals.administration.rules.texts import (
    LinesField,
    TextField,
    in_lines,
    pointer_in,
    shown_pointer,
    shown_text,
    text_in,
)
from approvals.db.canonical_json import same_json
from approvals.forms.number_fields import WholeNumberField
from approvals.policy.asks import AtDeadline
from approvals.policy.conditions.expressions import MAX_LENGTH
from approvals.policy.rules import MAX_MESSAGE, MAX_NAME, Then
from approvals.policy.terms import MessageRule
from approvals.policy.words import CHANNELS
from approvals.states import ORIGINS, Kind, Priority

PREFIX = "rule"
THEN = {
    Then.ASK: _("Ask people"),
    Then.ALLOW: _("Allow without asking"),
    Then.DENY: _("Deny without asking"),
}
REASONS = {MessageRule.REJECTION: _("At a rejection"), MessageRule.ALWAYS: _("Always")}
AT_DEADLINE = {
    AtDeadline.REJECT: _("Reject it"),
    AtDeadline.DEFAULT: _("Use the default response"),
    AtDeadline.HALT: _("Stop the run"),
}
#: Members of `match` with a field of names, one per line, and with check boxes.
_LINES = ("agents", "servers", "requesters", "on_behalf_of")
_BOXES = ("sources", "kinds", "priorities")
#: Members of `ask` with one field of the same name.
_FLAGS = ("with_requester", "veto", "typed_name", "fresh_sign_in", "working_hours")
_CHOICES = ("reason", "priority", "key_fields")


def _choice(label: Any, choices: Mapping[Any, Any], none: Any) -> forms.ChoiceField:
    listed = [(str(value), text) for value, text in choices.items()]
    return forms.ChoiceField(label=label, required=False, choices=[("", none), *listed])


def _flag(label: Any) -> forms.BooleanField:
    return forms.BooleanField(label=label, required=False)


class PolicyRuleForm(DataForm):
    """A rule. Empty fields match any request or set nothing."""

    name = TextField(label=_("Name"), max_length=MAX_NAME, required=True)
    agents = LinesField(
        label=_("Agents"),
        help_text=_("Names or patterns, one per line. Empty for all."),
    )
    servers = LinesField(
        label=_("MCP servers"),
        help_text=_("Names or patterns, one per line. Empty for all."),
    )
    requesters = LinesField(
        label=_("Requested by"),
        help_text=_("Usernames, one per line. Empty for anyone."),
    )
    on_behalf_of = LinesField(
        label=_("On behalf of"),
        help_text=_(
            "Subjects of issuers' tokens, or patterns, one per line. Empty for any."
        ),
    )
    kinds = several(_("Kinds"), Kind.choices)
    priorities = several(_("Priorities"), Priority.choices)
    sources = NamesField(
        label=_("Sources"), required=False, choices=list(ORIGINS.items())
    )
    when = TextField(
        label=_("Condition"), max_length=MAX_LENGTH, strip=False,
        widget=forms.Textarea(attrs={"rows": 2, "spellcheck": "false", "autocapitalize": "none", "class": "json"}),
        help_text=_(
            'In CEL, such as input.amount < 500 && "support" in requester.teams. To calculate, write double(…): '
            "double(input.amount) * 1.19 < 500.0. After an error, people are asked."
        ),
    )  # fmt: skip
    then = forms.ChoiceField(
        label=_("What happens"), widget=forms.RadioSelect, choices=list(THEN.items())
    )
    message = TextField(
        label=_("Message"), max_length=MAX_MESSAGE, strip=False, widget=forms.Textarea(attrs={"rows": 2, "placeholder": " "}),
        help_text=_("The agent reads it if the rule denies, and approvers read it if the rule asks."),
    )  # fmt: skip
    unclear = _flag(
        _("Set how people are asked if it is not certain that the rule matches")
    )
    with_requester = _flag(_("The requester may decide too, if their role allows it"))
    veto = _flag(_("One rejection ends it"))
    typed_name = _flag(_("Approvers must type the name of the tool"))
    fresh_sign_in = _flag(_("Approvers need a fresh log-in"))
    reason = _choice(_("A decision needs a message"), REASONS, _("As the tool says"))
    after = WholeNumberField(label=_("Deadline after"), required=False, min_value=1)
    unit = unit_field()
    at_deadline = _choice(_("At the deadline"), AT_DEADLINE, "—")
    working_hours = _flag(_("Count only working hours for these times"))
    channels = several(_("Notify only by"), list(CHANNELS.items()))
    priority = _choice(_("Priority at least"), dict(Priority.choices), "—")
    key_fields = LinesField(
        label=_("Show first"),
        read=pointer_in,
        help_text=_("Fields of the input, such as amount, one per line."),
    )

    def __init__(self, data: Mapping[str, Any], *, checked: bool = True) -> None:
        super().__init__(data, checked=checked, prefix=PREFIX)
        self.rows: dict[str, list[Row]] = {
            kind: [
                row(
                    data,
                    checked=checked,
                    prefix=f"{PREFIX}-{kind}-{index}",
                    number=number,
                )
                for number, index in enumerate(
                    indexes(data, kind) or ([] if checked else [0]), 1
                )
            ]
            for kind, row in ROWS.items()
        }

    def is_valid(self) -> bool:
        valid = [super().is_valid(), *(row.is_valid() for row in self._used_rows)]
        return all(valid) and self._joins_are_plain()

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not self._asks:
            # The fields of asking are neither shown nor used.
            self.errors.pop("after", None)
        elif cleaned.get("after") and not cleaned.get("at_deadline"):
            self.add_error("at_deadline", _("Choose what happens at the deadline."))
        elif (
            cleaned.get("at_deadline")
            and not cleaned.get("after")
            and "after" not in self.errors
        ):
            self.add_error("after", _("Enter how long people have."))
        return cleaned

    def rule(self, before: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the rule of the valid form: `before` with the differences to what its form would show."""
        rule = self._document()
        if before is None:
            return rule
        shown = PolicyRuleForm(data_of(before))
        return _merged(before, shown._document(), rule) if shown.is_valid() else rule

    def add_faults(self, faults: Mapping[str, str], place: int) -> None:
        """Add the faults of the document to the fields of the rule in this place."""
        own = [path.removeprefix(f"rules.{place}.").split(".") for path in faults]
        fields = [self._field_at(path) for path in own]
        for (form, name), fault in zip(fields, faults.values(), strict=True):
            form.add_error(name, capfirst(fault))

    def focus(self, row: Row | None = None) -> None:
        """Put the focus on the first wrong field, or on a row."""
        for form in [row] if row else [self, *self._used_rows]:
            wrong = [form[name] for name in form.fields if row or name in form.errors]
            if wrong:
                wrong[0].field.widget.attrs["autofocus"] = True
                return

    @property
    def first_error(self) -> str:
        """The first error with the label of its field; empty if there is none."""
        for form in [self, *self._used_rows]:
            for name, errors in form.errors.items():
                label = form.fields[name].label if name in form.fields else ""
                return " · ".join(filter(None, [str(label), str(errors[0])]))
        return ""

    @property
    def _asks(self) -> bool:
        cleaned = self.cleaned_data
        return bool(cleaned.get("then") == Then.ASK or cleaned.get("unclear"))

    @property
    def _used_rows(self) -> list[Row]:
        kinds = ROWS if self._asks else ("tools", "values")
        return [row for kind in kinds for row in self.rows[kind]]

    def _filled(self, kind: str) -> list[Any]:
        return [row for row in self.rows[kind] if row.is_filled]

    def _steps(self) -> list[FollowUpRow]:
        return sorted(self._filled("steps"), key=lambda row: row.seconds)

    def _escalation(self) -> list[FollowUpRow]:
        return [row for row in self._steps() if row.named()]

    def _joins_are_plain(self) -> bool:
        """Refuse a stage that joins groups both by *and* and by *or*."""
        joins: set[str] = set()
        for row in self._filled("seats")[1:] if self._asks else ():
            join = row.cleaned_data["join"] or "and"
            joins = set() if join == "then" else joins | {join}
            if len(joins) > 1:
                row.add_error(
                    "join",
                    _("Join the groups of one stage by “and” or by “or”, not by both."),
                )
                return False
        return True

    def _document(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        match = {
            "tools": [row.cleaned_data["name"] for row in self._filled("tools")],
            **{name: cleaned[name] for name in _LINES},
            **{name: sorted(set(cleaned[name])) for name in _BOXES},
            "input": [row.cleaned_data["condition"] for row in self._filled("values")],
        }
        asks = self._ask() if self._asks else {}
        rule = {
            "name": text_in(cleaned["name"]),
            "match": _without_empty(match),
            "when": cleaned["when"],
            "then": cleaned["then"],
            "message": cleaned["message"],
            "ask": asks,
        }
        plain = cleaned["unclear"] and cleaned["then"] != Then.ASK
        return _without_empty(rule) | ({"ask": asks} if plain else {})

    def _ask(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        deadline = {
            "after": seconds_in(cleaned),
            "then": cleaned["at_deadline"],
        }
        ask = {
            "stages": self._stages(),
            **{name: cleaned[name] for name in (*_FLAGS, *_CHOICES)},
            "channels": sorted(cleaned["channels"]),
            "deadline": deadline if cleaned["after"] else {},
            "reminders": [row.seconds for row in self._steps() if not row.named()],
            "escalation": [
                {"after": row.seconds} | row.named() for row in self._escalation()
            ],
        }
        return _without_empty(ask)

    def _stages(self) -> list[dict[str, Any]]:
        stages: list[dict[str, Any]] = []
        for row in self._filled("seats"):
            join = row.cleaned_data["join"]
            if not stages or join == "then":
                stages.append({"groups": []})
            elif join == "or":
                stages[-1]["any"] = True
            stages[-1]["groups"].append(row.group())
        return stages

    def _field_at(self, path: Sequence[str]) -> tuple[forms.Form, str | None]:
        """Return the field that shows a member of the rule."""
        for length in range(len(path), 1, -1):
            row = self._rows_by_path.get(".".join(path[:length]))
            if row is not None:
                rest = path[length:]
                return row, next(
                    (name for name in rest if name in row.fields), row.filled[0]
                )
        return self, next((name for name in path if name in self.fields), None)

    @property
    def _rows_by_path(self) -> dict[str, Row]:
        """The rows of the valid form by the members of the rule that they hold."""
        rows = {f"match.tools.{n}": row for n, row in enumerate(self._filled("tools"))}
        rows |= {
            f"match.input.{n}": row for n, row in enumerate(self._filled("values"))
        }
        rows |= {f"ask.escalation.{n}": row for n, row in enumerate(self._escalation())}
        seats = iter(self._filled("seats"))
        for number, stage in enumerate(self._stages()):
            for place, _group in enumerate(stage["groups"]):
                rows[f"ask.stages.{number}.groups.{place}"] = next(seats)
        return rows


def _without_empty(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value}


def _merged(
    before: Mapping[str, Any], shown: Mapping[str, Any], rule: Mapping[str, Any]
) -> dict[str, Any]:
    """Return `before` with the differences between `shown` and `rule`, in its own order and spelling."""
    merged: dict[str, Any] = {}
    for name in dict.fromkeys([*before, *rule]):
        old = shown.get(name)
        new = rule.get(name)
        if same_json(old, new, exact=True):
            merged |= {name: before[name]} if name in before else {}
        elif isinstance(old, dict) and isinstance(new, dict):
            merged[name] = _merged(before[name], old, new)
        elif name in rule:
            merged[name] = new
    return merged


def data_of(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule as the data that its form would send. Raise AttributeError, KeyError or TypeError for other shapes."""
    match = rule.get("match", {})
    ask = rule.get("ask", {})
    deadline = ask.get("deadline")
    seats = [
        SeatRow.data_for(group, _join(stage, number, place))
        for number, stage in enumerate(ask.get("stages", ()))
        for place, group in enumerate(stage["groups"])
    ]
    steps: list[tuple[int, Data]] = [(after, {}) for after in ask.get("reminders", ())]
    steps += [(step["after"], step) for step in ask.get("escalation", ())]
    rows = {
        "tools": [ToolRow.data_for(name) for name in match.get("tools", ())],
        "values": [
            ValueRow.data_for(condition) for condition in match.get("input", ())
        ],
        "seats": seats,
        "steps": [
            FollowUpRow.data_for(*step)
            for step in sorted(steps, key=lambda step: step[0])
        ],
    }
    data = {
        "name": shown_text(rule["name"]) if rule.get("name") else "",
        **{name: rule.get(name, "") for name in ("when", "then", "message")},
        "unclear": "ask" in rule,
        **{name: in_lines(match.get(name, ())) for name in _LINES},
        **{name: list(match.get(name, ())) for name in _BOXES},
        **{name: ask.get(name, False) for name in _FLAGS},
        **{name: ask.get(name, "") for name in ("reason", "priority")},
        "channels": list(ask.get("channels", ())),
        "key_fields": in_lines(ask.get("key_fields", ()), shown_pointer),
        **(time_data(deadline["after"]) if deadline else {}),
        "at_deadline": deadline["then"] if deadline else "",
    }
    cells = {
        f"{kind}-{number}-{name}": value
        for kind, listed in rows.items()
        for number, row in enumerate(listed)
        for name, value in row.items()
    }
    return {f"{PREFIX}-{name}": value for name, value in (data | cells).items()}


def _join(stage: Mapping[str, Any], number: int, place: int) -> str:
    """Return how a group is joined to the one before it."""
    if place:
        return "or" if stage.get("any") else "and"
    return "then" if number else "and"
