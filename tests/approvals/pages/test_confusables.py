"""No hidden characters in names, and no unmarked lookalikes: invisible characters, mixed alphabets, twins."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from pydantic import BaseModel

from approvals import actions
from approvals.asking.asks import Ask
from approvals.asking.origins import Origin
from approvals.exceptions import Invalid
from approvals.states import Kind
from approvals.text import names
from approvals.text.tables import TableRow, rows
from approvals.text.text import visible, visible_name
from chats.agent.tools import Tool
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request, make_workflow
from tests.support.machine import APPROVAL, Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person

#: DerivedCoreProperties.txt, Default_Ignorable_Code_Point, with the unassigned ones that are reserved for it.
IGNORABLE = [
    (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
]  # fmt: skip
#: Format characters that have a glyph: they stand around or above the numbers behind them.
SEEN = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
FORMATS = {chr(code) for code in range(sys.maxunicode) if unicodedata.category(chr(code)) == "Cf" and code not in SEEN}
CONTROLS = {chr(code) for code in range(0xA0) if unicodedata.category(chr(code)) == "Cc"} - set("\t\n\r")
UNSEEN = sorted(
    {chr(code) for first, last in IGNORABLE for code in range(first, last + 1)}
    | {*BIDI, *FORMATS, *CONTROLS, "\u2028", "\u2029", "\u2800"}
)
HIDDEN = ["\u00ad", "\u034f", "\u115f", "\u1160", "\u17b4", "\u180b", "\u180e", "\u200b", "\u200c", "\u200d", "\u200f",
          "\u2028", "\u202e", "\u2060", "\u2064", "\u2800", "\u3164", "\ufe0f", "\ufeff", "\uffa0", "\U000e0041",
          "\U000e0101"]  # fmt: skip
A = "\u0430"  # CYRILLIC SMALL LETTER A
OTHER_NAMES = {
    "pay ": "contains an invisible space",
    " pay": "contains an invisible space",
    "pay  it": "contains an invisible space",
    "pay\u00a0it": "contains an invisible space",
    f"p{A}y": f"mixes letters of different alphabets: {A} (U+0430, CYRILLIC SMALL LETTER A)",
    "\u0441\u043e\u0440\u0443": "looks like 'copy' but is a different name",
    "\uff50\uff41\uff59": "looks like 'pay' but is a different name",
}
GOOD = [
    "issueRefund",
    "issue_refund",
    "mail.send",
    "\u043e\u043f\u043b\u0430\u0442\u0430",
    "gr\u00f6\u00dfe",
    "\u652f\u6255Pay",
    "pay it",
    "",
]


@pytest.mark.parametrize("text", ["in{}voice", "{}", "a{}", "{}a", "1{}2"])
def test_invisible_characters_are_shown_by_code_point(text):
    shown = {one: visible(text.format(one)) for one in UNSEEN}
    assert [f"{ord(one):04X}" for one in UNSEEN if f"⟨U+{ord(one):04X}⟩" not in shown[one]] == []


@pytest.mark.parametrize(
    "text",
    [
        "\u05e9\u05dc\u05d5\u05dd\u200f!",
        "\u0646\u0645\u06cc\u200c\u0634\u0648\u062f",
        "\u0915\u094d\u200d\u0937",
        "\u2764\ufe0f\u200d\U0001f525",
        "\U0001f469\U0001f3fd\u200d\U0001f680",
        "1\ufe0f\u20e3",
    ],
)
def test_marks_stay_if_a_script_or_an_emoji_needs_them(text):
    assert visible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("10\u200f 20", "10⟨U+200F⟩ 20"),
        ("pay\ufe0f\ufe0fnow", "pay⟨U+FE0F⟩⟨U+FE0F⟩now"),
        ("\u2764\ufe0f\ufe0f", "\u2764\ufe0f⟨U+FE0F⟩"),
        ("\u0646\u200c\u200c", "\u0646\u200c⟨U+200C⟩"),
        ("a\u200d\U0001f525", "a⟨U+200D⟩\U0001f525"),
    ],
)
def test_useless_marks_are_shown(text, shown):
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize("hidden", HIDDEN)
def test_tool_name_with_an_invisible_character_is_refused(hidden):
    assert names.tool_name_problem(f"pay{hidden}ment") == "contains an invisible character"


@pytest.mark.parametrize(("name", "problem"), OTHER_NAMES.items())
def test_tool_name_that_looks_like_another_is_refused(name, problem):
    assert names.tool_name_problem(name) == problem


@pytest.mark.parametrize("name", GOOD)
def test_tool_name_in_any_single_alphabet_is_accepted(name):
    assert names.tool_name_problem(name) == ""


@pytest.mark.django_db
@pytest.mark.parametrize("door", ["rest", "desk", "client", "agent"])
@pytest.mark.parametrize("name", ["pay\u00ad", "pay ", f"p{A}y"])
def test_every_endpoint_refuses_such_a_tool(door, name):
    owner, ask = alice(), Ask(kind=Kind.APPROVAL, title="Pay?", tool_name=name)
    if door == "rest":
        refused = Machine(owner).post("/requests", APPROVAL | {"tool_name": name})
        assert (refused.refusal, list(refused.body["errors"])) == ((422, "invalid"), ["tool_name"])
        return
    asks = {
        "desk": lambda: actions.request_approval(make_workflow(owner), ask, requested_by=owner),
        "client": lambda: actions.ask_for_client(ask, Origin(scope="key:1", digest="x"), by=owner),
        "agent": lambda: Tool(name=name, description="", input_model=BaseModel),
    }
    with pytest.raises((Invalid, ValueError)) as refusal:
        asks[door]()
    assert "name" in str(getattr(refusal.value, "errors", refusal.value))


def test_four_names_that_look_alike_are_shown_differently():
    names = ["amount", "amount ", f"{A}mount", "amo\u00adunt"]
    found = rows(dict.fromkeys(names, 1) | {"other": 1})
    assert [row.name for row in found] == ["amount", "amount⟨U+0020⟩", f"{A}mount", "amo⟨U+00AD⟩unt", "other"]
    alike = "looks like 3 other names here"
    assert [row.note for row in found] == [
        alike, alike, f"{alike}; mixes alphabets: {A} (U+0430, CYRILLIC SMALL LETTER A)", alike, "",
    ]  # fmt: skip


def test_nested_names_are_shown_differently_too():
    (row,) = rows({"card": {"limit": 1, "l\u0456mit": 2}})
    assert [bool(inner.note) for inner in row.rows] == [True, True]


@pytest.mark.parametrize(
    ("value", "note"),
    [
        (f"p{A}ypal.example", f"mixes alphabets: {A} (U+0430, CYRILLIC SMALL LETTER A)"),
        ("\u043f\u0440\u0438\u0432\u0435\u0442, Paypal", ""),
        ("\u6771\u4eac Tower\u30bf\u30ef\u30fc", ""),
        ("plain", ""),
    ],
)
def test_word_of_two_alphabets_is_marked(value, note):
    assert rows({"to": value}) == [TableRow(name="to", value=value, note=note)]


@pytest.mark.parametrize(("name", "shown"), [("", '""'), ("a b", "a b"), ("a\tb", "a⟨U+0009⟩b"), (" a", "⟨U+0020⟩a")])
def test_misleading_spaces_in_a_name_are_shown(name, shown):
    assert visible_name(name) == shown


@pytest.mark.django_db
def test_card_and_edit_form_show_lookalike_names_differently():
    request = make_request(alice(), input={"amount": 1, "amount ": 2, f"{A}mount": 3, "amo\u00adunt": 4})
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    table = page.find("table", class_="values")[0]
    assert len({cell.words for cell in table.find("th")}) == 4
    assert [note.words[:10] for note in table.find("small", class_="misread")] == ["looks like"] * 4
    labels = [label.words for label in page.find("form", class_="fields")[0].find("label")]
    assert {"amount", "amount⟨U+0020⟩", "amo⟨U+00AD⟩unt"} <= set(labels)


@pytest.mark.django_db
def test_title_that_mixes_alphabets_has_a_note():
    request = make_request(alice(), title=f"Pay p{A}ypal?")
    page = parse(browser(bob()).get(request.get_absolute_url()).text)
    (note,) = page.find("header", class_="request-head")[0].find("p", class_="misread")
    assert note.words.startswith("mixes alphabets")


@pytest.mark.django_db
def test_names_of_requesters_and_assignees_are_marked_on_cards_and_rows():
    owner = make_person(f"{A}lice", "add_approvalrequest")
    request = make_request(owner, assigned_to=make_person(f"b{A}rt", "decide_approvalrequest"))
    person = browser(bob())
    page = parse(person.get(request.get_absolute_url()).text)
    (facts,), (assignee,) = page.find("div", class_="request-facts"), page.find("div", class_="assignee")
    assert f"{A}⟨U+0430⟩lice" in facts.words
    assert f"Assigned to b{A}⟨U+0430⟩rt" in assignee.words
    # The form sends the name as it is.
    assert f"b{A}rt" in [one.attributes.get("value") for one in page.find("input", name="instead_of")]
    (row,) = parse(person.get("/").text).find("span", class_="row-people")
    assert (f"{A}⟨U+0430⟩lice" in row.words, f"b{A}⟨U+0430⟩rt" in row.words) == (True, True)
