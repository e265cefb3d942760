"""The rows in the form of a rule: a tool, a value of the input, a group of voters, or a time after which people are notified."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.administration.forms import combobox
from approvals.administration.people.queries import teams
from approvals.administration.rules.texts import (
    LinesField,
    TextField,
    in_lines,
    number_in,
    pointer_in,
    shown_pointer,
    shown_text,
    shown_value,
    text_in,
    value_in,
)
from approvals.forms.number_fields import WholeNumberField
from approvals.models.people import RoleName
from approvals.policy.globs import pattern_of, plain_test
from approvals.policy.value_types import ValueType
from approvals.policy.words import TYPES
from approvals.text.text import visible

Data = dict[str, Any]
#: Seconds of each unit, and its name.
UNITS = {
    3600: gettext_lazy("hours"),
    60: gettext_lazy("minutes"),
    86400: gettext_lazy("days"),
    1: gettext_lazy("seconds"),
}
_TESTS = {
    "at_most": gettext_lazy("at most"),
    "at_least": gettext_lazy("at least"),
    "more_than": gettext_lazy("more than"),
    "less_than": gettext_lazy("less than"),
    "between": gettext_lazy("between"),
    "is": gettext_lazy("is"),
    "one_of": gettext_lazy("is one of"),
    "contains": gettext_lazy("contains"),
    "starts_with": gettext_lazy("starts with"),
    "ends_with": gettext_lazy("ends with"),
    "like": gettext_lazy("matches the pattern"),
}
_RANGES = ("at_most", "at_least", "more_than", "less_than", "between")
_SAME = ("is", "one_of")
_PATTERNS = ("contains", "ends_with", "like")
_WRITTEN = ("starts_with", *_PATTERNS)
MEMBERS = "members"
#: The tests of each type of value, with its name in the list; without a type, any value can be compared.
_TESTS_OF: Mapping[str, tuple[Any, Sequence[str]]] = {
    ValueType.AMOUNT: (gettext_lazy("number"), (*_RANGES, *_SAME)),
    ValueType.ADDRESS: (gettext_lazy("email address"), (*_SAME, "ends_with", "like")),
    ValueType.ADDRESSES: (
        gettext_lazy("email addresses"),
        (*_SAME, "ends_with", "like"),
    ),
    ValueType.LINE: (gettext_lazy("line of text"), (*_SAME, *_WRITTEN)),
    ValueType.TEXT: (gettext_lazy("text"), (*_SAME, *_WRITTEN)),
    ValueType.PATH: (gettext_lazy("path"), (*_SAME, *_WRITTEN)),
    ValueType.HOST: (gettext_lazy("host"), (*_SAME, "ends_with", "like")),
    "": (gettext_lazy("any value"), (*_RANGES, *_SAME, *_WRITTEN)),
}


def _tests() -> list[tuple[str, list[tuple[str, str]]]]:
    """Return the tests as `type.test` with their names, grouped by type. Those of numbers come first and do not name it."""
    groups = []
    for kind, (label, names) in _TESTS_OF.items():
        named = "{test}" if kind == ValueType.AMOUNT else "{test} ({label})"
        tests = [
            (f"{kind}.{name}", named.format(test=_TESTS[name], label=label))
            for name in names
        ]
        if kind:
            typed = {"type": TYPES[ValueType(kind)]}
            tests.append((f"{kind}.any", _("is %(type)s") % typed))
        groups.append((capfirst(str(label)), tests))
    members = (f".{MEMBERS}", _("has no members but"))
    return [*groups, (_("Object"), [members])]


class CheckboxSelectMultiple(forms.CheckboxSelectMultiple):
    """Check boxes, which also show chosen names that are no longer among the choices."""

    def optgroups(self, name: str, value: list[Any], attrs: Any = None) -> Any:
        known = {each for each, _label in self.choices}
        missing = [(each, visible(each)) for each in value if each not in known]
        self.choices = [*self.choices, *missing]
        return super().optgroups(name, value, attrs)


class NamesField(forms.MultipleChoiceField):
    """Names that the document itself is checked for."""

    widget = CheckboxSelectMultiple

    def valid_value(self, value: str) -> bool:
        return True


def _groups() -> list[tuple[str, str]]:
    """Return teams and roles as choices; `team:` and `role:` tell equal names apart."""
    names = teams().order_by("name").values_list("name", flat=True)
    return [
        *((f"team:{name}", visible(name)) for name in names),
        *((f"role:{name}", str(label)) for name, label in RoleName.choices),
    ]


class DataForm(forms.Form):
    """A form of posted data, which it checks, or only shows while they are incomplete."""

    def __init__(self, data: Mapping[str, Any], *, checked: bool, prefix: str) -> None:
        super().__init__(data if checked else None, prefix=prefix)
        for name, field in {} if checked else self.fields.items():
            key = self.add_prefix(name)
            if not field.widget.value_omitted_from_data(data, {}, key):
                self.initial[name] = field.widget.value_from_datadict(data, {}, key)


class Row(DataForm):
    """A row; if its `filled` fields are empty, it is left out. The first of them shows faults of the whole row."""

    use_required_attribute = False
    filled: Sequence[str] = ()
    #: The name of the row with its `number`, and that of the button that removes it.
    heading_text: Any = ""
    removal_text: Any = ""

    def __init__(
        self, data: Mapping[str, Any], *, checked: bool, prefix: str, number: int
    ) -> None:
        super().__init__(data, checked=checked, prefix=prefix)
        self.heading = self.heading_text % {"number": number}
        self.removal = self.removal_text % {"number": number}

    @property
    def is_filled(self) -> bool:
        return any(self.cleaned_data.get(name) for name in self.filled) or bool(
            self.errors
        )


class ToolRow(Row):
    filled = ("name",)
    heading_text = gettext_lazy("Tool %(number)s")
    removal_text = gettext_lazy("Remove tool %(number)s")
    name = TextField(label=gettext_lazy("Tool"), widget=combobox("tools"))

    def clean_name(self) -> str:
        return text_in(self.cleaned_data["name"])

    @staticmethod
    def data_for(name: str) -> Data:
        return {"name": shown_text(name)}


class ValueRow(Row):
    """A condition on a value of the input."""

    filled = ("value", "pointer")
    heading_text = gettext_lazy("Value %(number)s")
    removal_text = gettext_lazy("Remove value %(number)s")
    pointer = TextField(
        label=gettext_lazy("Field"),
        widget=forms.TextInput(
            attrs={"list": "known-fields", "autocapitalize": "none"}
        ),
    )
    test = forms.ChoiceField(label=gettext_lazy("Test"), required=False, choices=_tests)
    value = LinesField(label=gettext_lazy("Value"), read=str, rows=1)

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if not self.is_filled or self.errors:
            return cleaned
        if not cleaned["pointer"]:
            self.add_error(
                "pointer",
                _("Enter the name of a field, such as amount or customer.country."),
            )
            return cleaned
        kind, _dot, test = cleaned["test"].partition(".")
        typed = {"type": kind} if kind else {}
        try:
            tested = _tested(test, kind, cleaned["value"])
        except ValidationError as error:
            self.add_error("value", error)
        else:
            pointer = pointer_in(cleaned["pointer"])
            cleaned["condition"] = {"pointer": pointer} | typed | tested
        return cleaned

    @staticmethod
    def data_for(condition: Data) -> Data:
        kind = condition.get("type", "")
        values: list[Any] = []
        match [name for name in condition if name not in {"pointer", "type"}]:
            case []:
                test = "any"
            case [_least, _most]:
                test = "between"
                values = [condition["at_least"], condition["at_most"]]
            case ["equals"]:
                test = "is"
                values = [condition["equals"]]
            case ["one_of"]:
                test = "one_of"
                values = condition["one_of"]
            case ["like"]:
                test, pattern = plain_test(condition["like"])
                values = [pattern]
            case [test]:
                values = condition[test] if test == MEMBERS else [condition[test]]
            case _:
                raise ValueError(condition)
        shown = shown_text if _is_text(test, kind) else shown_value
        return {
            "pointer": shown_pointer(condition["pointer"]),
            "test": f"{kind}.{test}",
            "value": "" if test == "any" else in_lines(values, shown),
        }


def _is_text(test: str, kind: str) -> bool:
    """Return whether a test compares with texts, so that 50 is one too."""
    is_untyped = kind in {"", ValueType.AMOUNT}
    return not is_untyped or test in {*_WRITTEN, MEMBERS}


def _tested(test: str, kind: str, lines: Sequence[str]) -> Data:
    """Return the test of a condition with its typed values. Raise ValidationError."""
    if test == "any":
        return {}
    read = number_in if test in _RANGES else value_in
    values = [(text_in if _is_text(test, kind) else read)(line) for line in lines]
    match test, values:
        case _, []:
            raise ValidationError(_("Enter a value."))
        case "between", [least, most] if least <= most:
            return {"at_least": least, "at_most": most}
        case "between", _:
            raise ValidationError(
                _("Enter two numbers, one per line, the smaller one first.")
            )
        case "members" | "one_of", _:
            return {test: values}
        case "is", [value]:
            return {"equals": value}
        case "is", _:
            return {"one_of": values}
        case _, [_first, _second, *_rest]:
            raise ValidationError(_("Enter only one value."))
        case (("contains" | "ends_with"), [text]) if "*" in text:
            raise ValidationError(
                _("Enter text without a star, or choose “matches the pattern”.")
            )
        case (("contains" | "ends_with" | "like"), [text]):
            return {"like": pattern_of(test, text)}
    return {test: values[0]}


class PeopleRow(Row):
    """People, teams and roles."""

    groups = NamesField(
        label=gettext_lazy("Teams and roles"), required=False, choices=_groups
    )
    people = TextField(
        label=gettext_lazy("People"),
        widget=forms.TextInput(
            attrs={
                "autocapitalize": "none",
                "placeholder": gettext_lazy("Usernames, with commas"),
            }
        ),
    )

    def named(self) -> dict[str, Any]:
        """Return the people, teams and roles as in the document."""
        groups = [name.partition(":") for name in sorted(self.cleaned_data["groups"])]
        people = [name.strip() for name in self.cleaned_data["people"].split(",")]
        named = {
            "people": list(dict.fromkeys(filter(None, people))),
            "teams": [name for kind, _colon, name in groups if kind == "team"],
            "roles": [name for kind, _colon, name in groups if kind == "role"],
        }
        return {kind: names for kind, names in named.items() if names}

    @staticmethod
    def names_data(named: Data) -> dict[str, Any]:
        groups = [f"team:{name}" for name in named.get("teams", ())]
        groups += [f"role:{name}" for name in named.get("roles", ())]
        return {"groups": groups, "people": ", ".join(named.get("people", ()))}


class SeatRow(PeopleRow):
    """A group of voters, joined to the one before it."""

    filled = ("people", "votes", "groups")
    heading_text = gettext_lazy("Group %(number)s")
    removal_text = gettext_lazy("Remove group %(number)s")
    join = forms.ChoiceField(
        label=gettext_lazy("Joined by"),
        required=False,
        choices=[
            ("and", gettext_lazy("and")),
            ("or", gettext_lazy("or")),
            ("then", gettext_lazy("then (the next stage)")),
        ],
    )
    votes = WholeNumberField(
        label=gettext_lazy("How many"), required=False, min_value=1, max_value=50
    )
    field_order = ("join", "votes", "people", "groups")

    def group(self) -> dict[str, Any]:
        votes = self.cleaned_data["votes"] or 1
        return self.named() | ({"votes": votes} if votes > 1 else {})

    @staticmethod
    def data_for(group: Data, join: str) -> Data:
        return PeopleRow.names_data(group) | {
            "join": join,
            "votes": str(group.get("votes", 1)),
        }


def unit_field() -> forms.ChoiceField:
    return forms.ChoiceField(
        label=gettext_lazy("Unit"), required=False, choices=list(UNITS.items())
    )


def seconds_in(cleaned: Data) -> int:
    """Return the time in the fields `after` and `unit`; hours if nothing is chosen."""
    return (cleaned["after"] or 0) * int(cleaned["unit"] or 3600)


class FollowUpRow(PeopleRow):
    """A reminder or, with names, a step of escalation."""

    filled = ("people", "after", "groups")
    heading_text = gettext_lazy("Reminder %(number)s")
    removal_text = gettext_lazy("Remove reminder %(number)s")
    after = WholeNumberField(label=gettext_lazy("After"), required=False, min_value=1)
    unit = unit_field()
    field_order = ("after", "unit", "people", "groups")

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        if self.is_filled and not cleaned.get("after") and not self.errors:
            self.add_error("after", _("Enter a number."))
        return cleaned

    @property
    def seconds(self) -> int:
        return seconds_in(self.cleaned_data)

    @staticmethod
    def data_for(after: int, named: Data) -> Data:
        return PeopleRow.names_data(named) | time_data(after)


def time_data(seconds: int) -> Data:
    """Return a time in its largest whole unit."""
    unit = max(unit for unit in UNITS if seconds % unit == 0)
    return {"after": str(seconds // unit), "unit": str(unit)}


ROWS: Mapping[str, type[Row]] = {
    "tools": ToolRow,
    "values": ValueRow,
    "seats": SeatRow,
    "steps": FollowUpRow,
}


def indexes(data: Iterable[str], kind: str) -> list[int]:
    """Return the numbers of the rows in posted data, which have gaps where rows were removed."""
    keys = (re.fullmatch(rf"rule-{kind}-([0-9]{{1,3}})-.+", key) for key in data)
    return sorted({int(key[1]) for key in keys if key})
