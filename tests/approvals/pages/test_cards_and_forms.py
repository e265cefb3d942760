"""Edit and answer forms: an unchanged form changes nothing, and hostile text does nothing."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client
from django.urls import reverse
from hypothesis import given
from hypothesis import strategies as st

from approvals.asking.answers import ABSENT, Answer, answer_to
from approvals.db.canonical_json import canonical
from approvals.exceptions import Invalid
from approvals.forms.decision import sent_decision, sent_door
from approvals.models import ApprovalRequest, Decision
from approvals.states import Door, Kind, Verdict
from tests.support.desk.edit_forms import untouched
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob

INPUT = {
    "tenth": 0.1,
    "huge": 1e21,
    "large": 1e20,
    "integer": 2**53 - 1,
    "negative": -7,
    "words": "two\nlines \U0001f600",
    "windows": "one\r\ntwo\nthree\rfour",
    "leading": "\n\n  indented",
    "markup": "</textarea><script>alert(1)</script> \" ' &amp;",
    "comma": "1,000",
    "empty": "",
    "null": None,
    "yes": True,
    "no": False,
    "nested": {"b": [1, {"c": None}], "a": "\u20ac", "large": [1e20]},
    "list": [],
    "": "no name",
    "a b=c&d": "odd name",
}


def approval(value: dict[str, Any] | None = None) -> ApprovalRequest:
    return ApprovalRequest(kind=Kind.APPROVAL, input=INPUT if value is None else value)


def question(**fields: Any) -> ApprovalRequest:
    labels = [{"label": label} for label in ("Red", "Blue", "Green")]
    return ApprovalRequest(**{"kind": Kind.QUESTION, "options": labels, "field_name": "colour"} | fields)


def form(**fields: str | list[str]) -> QueryDict:
    data = QueryDict(mutable=True)
    for name, value in fields.items():
        data.setlist(name, value if isinstance(value, list) else [value])
    return data


def as_browser_sends(value: dict[str, Any], **changes: str) -> QueryDict:
    """Return the unchanged edit form, with line breaks as CRLF, updated with `changes`."""
    data = untouched(value, None)
    data.update({f"input.{name}": text for name, text in changes.items()})
    return data


def problems(request: ApprovalRequest, data: QueryDict) -> dict[str, str]:
    with pytest.raises(Invalid) as refusal:
        sent_decision(request, data)
    return refusal.value.errors


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)
PLAIN = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXT
JSON = st.recursive(
    PLAIN | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def test_unchanged_edit_form_returns_the_input():
    sent = sent_decision(approval(), as_browser_sends(INPUT))
    assert sent == Answer(Verdict.EDIT, "", INPUT, ABSENT)
    assert {name: type(value) for name, value in sent.edited_input.items()} == {n: type(v) for n, v in INPUT.items()}


@given(st.dictionaries(TEXT, JSON, max_size=5))
def test_unchanged_edit_form_returns_any_input(value):
    sent = sent_decision(approval(value), as_browser_sends(value))
    assert canonical(sent.edited_input) == canonical(value)


class Fields(HTMLParser):
    """Return the fields of the form around a button, as a browser reads them."""

    def __init__(self, page: str, button: str) -> None:
        super().__init__()
        self.button, self.found, self.area, self.current = button, {}, None, {}
        self.feed(page.replace("\r\n", "\n").replace("\r", "\n"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "form":
            self.current = {}
        elif tag == "textarea":
            self.area = given["name"]
            self.current[self.area] = ""
        elif (
            tag == "input"
            and "name" in given
            and (given.get("type") not in {"checkbox", "radio"} or "checked" in given)
        ):
            self.current[given["name"]] = given.get("value") or ""
        elif tag == "button" and given.get("value") == self.button:
            self.found = {name: text.replace("\n", "\r\n") for name, text in self.current.items()}

    def handle_data(self, data: str) -> None:
        if self.area is not None:
            self.current[self.area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self.current[self.area] = self.current[self.area].removeprefix("\n")
            self.area = None


@pytest.mark.django_db
def test_unchanged_page_approves_the_proposed_input():
    request, browser = make_request(alice(), input=INPUT), Client()
    browser.force_login(bob())
    page = browser.get(request.get_absolute_url()).content.decode()
    assert "<script>alert" not in page
    fields = Fields(page, "edit").found
    nested = {"nested.b", "nested.a", "nested.large"}
    assert {name.removeprefix("input.") for name in fields if name.startswith("input.")} == {*INPUT, *nested} - {
        "nested"
    }
    answered = browser.post(
        reverse("approvals:decide", args=[request.pk]), fields | {"verdict": "edit", "digest": request.input_digest}
    )
    assert (answered.status_code, answered["Location"]) == (302, request.get_absolute_url())
    found = Decision.objects.get()
    assert (found.verdict, found.edited_input, found.approved_digest) == ("approve", None, request.input_digest)


@pytest.mark.parametrize(
    ("name", "typed", "value"),
    [
        ("tenth", " 0,5 ", 0.5),
        ("integer", "-12", -12),
        ("integer", "0,125", 0.125),
        ("integer", "1,234,567.8", 1234567.8),
        ("words", "one\r\ntwo", "one\ntwo"),
        ("windows", "one\r\ntwo", "one\r\ntwo"),
        ("empty", "  ", "  "),
        ("null", '"text"', "text"),
        ("null", "[1.5, true]", [1.5, True]),
        ("list", " 7 ", [" 7 "]),
        ("nested.b", "[]", None),
        ("no", "0", True),
    ],
)
def test_changed_field_changes_only_its_value(name, typed, value):
    sent = sent_decision(approval(), as_browser_sends(INPUT, **{name: typed}))
    if name == "nested.b":
        assert sent.edited_input == INPUT | {"nested": INPUT["nested"] | {"b": []}}
        return
    assert sent.edited_input == INPUT | {name: value}
    assert type(sent.edited_input[name]) is type(value)


@pytest.mark.parametrize(
    ("name", "typed", "error"),
    [
        ("integer", "", "is missing"),
        ("yes", "7", "is not one of the options"),
        ("integer", "twelve", "must be a number"),
        ("integer", "true", "must be a number"),
        ("integer", "9007199254740993", "is too large or too precise for a number"),
        ("integer", "1,000", "is ambiguous; write it without a thousands separator"),
        ("integer", "1,234,5678", "must be a number"),
        (
            "nested.b",
            "{",
            "is not valid JSON: look at line 1, column 2",
        ),
        ("null", "NaN", "cannot be used: NaN is not JSON"),
    ],
)
def test_unreadable_values_are_errors_by_field(name, typed, error):
    assert problems(approval(), as_browser_sends(INPUT, **{name: typed})) == {f"edited_input.{name}": error}


def test_an_edit_form_that_lacks_fields_is_refused():
    missing = {"edited_input.a": "is missing", "edited_input.b": "is missing"}
    assert problems(approval({"a": 1, "b": True}), form(verdict="edit")) == missing


def test_input_with_too_many_values_is_edited_as_json():
    many = {str(place): place for place in range(201)}
    assert sent_decision(approval(many), as_browser_sends(many)).edited_input == many
    sent = sent_decision(approval(many), form(verdict="edit", input='{"0": 5}'))
    assert sent.edited_input == {"0": 5}
    assert "edited_input" in problems(approval(many), form(verdict="edit", input="{"))


def test_a_mistyped_name_is_reported_with_the_other_problems_of_the_form():
    request = approval()
    request.priority, request.tool_name, request.title = "critical", "dropOrders", "Drop"
    wrong = as_browser_sends(INPUT, integer="many")
    assert [*problems(request, wrong)] == ["edited_input.integer", "typed_name"]
    data = as_browser_sends(INPUT)
    data["comment"] = "x" * 5_001
    assert [*problems(request, data)] == ["comment", "typed_name"]
    data["typed_name"] = "dropOrders"
    assert sent_decision(request, data).verdict == Verdict.EDIT


NAMES = st.sampled_from(["verdict", "comment", "choice", "text", "input.a", "input.b", "input.c", "input.d", "from"])
WORDS = st.sampled_from(
    [*Verdict.values, "accept", "on", "0", "1", "99999", "-1", "\u0661", "[[", '{"a":', "1e999", "NaN"]
)
RAW = st.text(st.characters(exclude_categories=()), max_size=8)
HOSTILE = st.dictionaries(NAMES | RAW, st.lists(WORDS | RAW, max_size=3), max_size=8)


@given(st.sampled_from(Kind), st.sampled_from([*Verdict.values, "answer"]) | RAW, HOSTILE, st.booleans(), st.booleans())
def test_forms_raise_only_invalid(kind, verdict, fields, multiple, allow_text):
    request = question(multiple=multiple, allow_text=allow_text, input={"a": 1, "b": "x", "c": True, "d": [1]})
    request.kind, request.options = kind, request.options if multiple or allow_text else []
    data = form(verdict=verdict, **{name: value for name, value in fields.items() if name != "verdict"})
    assert sent_door(data) in {Door.CHAT, Door.DASHBOARD}
    try:
        sent = sent_decision(request, data)
    except Invalid as refusal:
        assert refusal.errors != {}
    else:
        assert (sent.edited_input is not ABSENT, sent.answer is not ABSENT) == (
            sent.verdict == Verdict.EDIT,
            sent.verdict == Verdict.RESPOND,
        )


@pytest.mark.parametrize(
    ("fields", "sent", "answer"),
    [
        ({}, {"choice": "1"}, {"fieldName": "colour", "selected": ["Blue"], "selectedIndex": 1}),
        (
            {"multiple": True},
            {"choice": ["2", "0", "2"]},
            {"fieldName": "colour", "selected": ["Red", "Green"], "selectedIndex": [0, 2]},
        ),
        (
            {"allow_text": True},
            {"text": " Pink\r\nish "},
            {"fieldName": "colour", "selected": [], "selectedIndex": None, "text": "Pink\nish"},
        ),
        (
            {"allow_text": True, "multiple": True},
            {"text": "and Pink", "choice": "0"},
            {"fieldName": "colour", "selected": ["Red"], "selectedIndex": [0], "text": "and Pink"},
        ),
        (
            {"allow_text": True, "multiple": True},
            {"text": "Pink"},
            {"fieldName": "colour", "selected": [], "selectedIndex": [], "text": "Pink"},
        ),
        ({"options": []}, {"text": " Pink "}, "Pink"),
        ({"kind": Kind.FORM}, {"text": '{"a": [1]}'}, {"a": [1]}),
        ({"kind": Kind.RECOVERY}, {"text": "null"}, None),
    ],
)
def test_answer_has_one_shape_per_kind(fields, sent, answer):
    assert sent_decision(question(**fields), form(verdict="respond", **sent)) == Answer(
        Verdict.RESPOND, "", ABSENT, answer
    )


@pytest.mark.parametrize(
    ("fields", "sent", "error"),
    [
        ({}, {}, "is empty"),
        ({"options": []}, {"text": " \r\n"}, "is empty"),
        ({}, {"choice": "3"}, "is not one of the options"),
        ({}, {"choice": "-1"}, "is not one of the options"),
        ({}, {"choice": "\u0661"}, "is not one of the options"),
        ({}, {"choice": ["0", "1"]}, "has more than one option"),
        ({}, {"choice": "0", "text": "x"}, "does not accept text"),
        ({"kind": Kind.FORM}, {"text": ""}, "is missing"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(fields, sent, error):
    assert problems(question(**fields), form(verdict="respond", **sent)) == {"answer": error}


def test_answer_to_accepts_only_indexes_of_the_options():
    for places in ([-1], [3], [0, 3]):
        with pytest.raises(Invalid):
            answer_to(question(multiple=True), chosen=places)
