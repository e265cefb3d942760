"""People read the approved text as it is: no reversed text, no hidden characters, no different values that look the same."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.states import Kind
from approvals.text.differences import changes
from approvals.text.tables import pretty, rows
from approvals.text.text import visible
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.machine import APPROVAL, Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

#: Reads as "1000 EUR" where it is shown as it is.
TURNED = "\u202e0001\u202c EUR"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (TURNED, "⟨U+202E⟩0001⟨U+202C⟩ EUR"),
        ("in\u200bvoice\ufeff\x08", "in⟨U+200B⟩voice⟨U+FEFF⟩⟨U+0008⟩"),
        ("a\u2067b\u2069", "a⟨U+2067⟩b⟨U+2069⟩"),
        ("tag\U000e0041", "tag⟨U+E0041⟩"),
        ("שלום\u200f!", "שלום\u200f!"),
        ("\u0646\u0645\u06cc\u200c 👩\u200d💻\ttwo\r\nlines", "\u0646\u0645\u06cc\u200c 👩\u200d💻\ttwo\r\nlines"),
        ("🏳\ufe0f\u200d🌈 3\ufe0f\u20e3", "🏳\ufe0f\u200d🌈 3\ufe0f\u20e3"),
        ("a\u200d\u200d\u200d\u200fש", "a⟨U+200D⟩⟨U+200D⟩⟨U+200D⟩\u200fש"),
        ("\u0646\u200c\u200c\u200d\u0646", "\u0646\u200c⟨U+200C⟩⟨U+200D⟩\u0646"),
    ],
)
def test_invisible_characters_are_shown_unless_a_script_needs_them(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


@given(st.text())
def test_shown_json_is_the_same_value(text):
    assert json.loads(pretty({"a": text})) == {"a": text}


def test_values_names_and_raw_json_show_invisible_characters():
    (amount, other) = rows({"amount": TURNED, f"to{TURNED[0]}": "Jane"})
    assert (amount.value, other.name) == ("⟨U+202E⟩0001⟨U+202C⟩ EUR", "to⟨U+202E⟩")
    assert pretty({"amount": TURNED}) == '{\n  "amount": "\\u202e0001\\u202c EUR"\n}'


@pytest.mark.django_db
def test_text_direction_of_a_page_is_never_reversed():
    owner, said = alice(), {"title": f"Pay {TURNED}", "message": f"Pay *{TURNED}* now", "context": {"why": TURNED}}
    workflow = make_workflow(owner, agent=TURNED, title=f"Pay {TURNED}")
    request = make_request(owner, workflow=workflow, input={"amount": TURNED}, **said)
    question = make_request(owner, Kind.QUESTION, title="Which?", options=[{"label": TURNED, "description": TURNED}])
    client = browser(bob())
    for path in (
        request.get_absolute_url(),
        question.get_absolute_url(),
        workflow.get_absolute_url(),
        "/",
        "/requests/",
        "/requests/?group=workflow",
    ):
        # The fields of the edit form contain the value itself, so that an unchanged edit returns it.
        page = parse(re.sub(r"(?s)<textarea.*?</textarea>", "", client.get(path).text))
        assert (path, [text for text in page.words.split() if "\u202e" in text]) == (path, [])
        assert "⟨U+202E⟩0001⟨U+202C⟩ EUR" in page.words


@pytest.mark.django_db
def test_tool_names_have_no_invisible_characters():
    refused = Machine(alice()).post("/requests", APPROVAL | {"tool_name": "pay\u200b"})
    assert (refused.refusal, refused.body["errors"]) == (
        (422, "invalid"),
        {"tool_name": "contains an invisible character"},
    )


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({"v": None}, {"v": "null"}, [("v", "null", '"null"')]),
        ({"v": "5"}, {"v": 5}, [("v", '"5"', "5")]),
        ({"v": ""}, {}, [("v", '""', None)]),
        ({"v": " "}, {"v": "  "}, [("v", '" "', '"  "')]),
        ({"v": "a"}, {"v": "b"}, [("v", "a", "b")]),
        ({}, {"v": "b"}, [("v", None, "b")]),
        (
            {"a.b": "1", "a": {"b": "3"}},
            {"a.b": "2", "a": {"b": "4"}},
            [('"a.b"', "1", "2"), ("a.b", "3", "4")],
        ),
        ({"v": "a"}, {"v": "a\u200b"}, [("v", "a", "a⟨U+200B⟩")]),
    ],
)
def test_changed_values_never_look_the_same(before, after, shown):
    assert changes(before, after) == shown


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4), lambda inner: st.lists(inner, max_size=3)
)
OBJECTS = st.dictionaries(st.sampled_from(["a", "b", "a.b", ""]), JSON | st.dictionaries(st.sampled_from("ab"), JSON))


@given(OBJECTS, OBJECTS)
def test_every_difference_is_shown_once_and_visibly(before, after):
    found = changes(before, after)
    assert (found == []) == (json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True))
    assert len({place for place, _before, _after in found}) == len(found)
    assert [row for row in found if row[1] == row[2]] == []


@pytest.mark.django_db
def test_title_stays_within_its_column():
    assert make_request(alice(), title="\u202e" * 200).title == ("⟨U+202E⟩" * 25)
