"""Cards: safe text, values in rows, and refused forms with their input."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest
from django.http import QueryDict
from hypothesis import given
from hypothesis import strategies as st

from approvals.access.standing import standing_of
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest, Decision
from approvals.pages.cards import card_for, refused_card, shown_outcome
from approvals.shown.requests import shown_decision, shown_request
from approvals.states import Door, Kind, Verdict
from approvals.text.markdown import MAX_CHARACTERS, to_html
from approvals.text.tables import TableRow, rows
from tests.support.desk.requests import decide, make_request, stored
from tests.support.people import alice, bob, carol, make_person


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("*a* **b** `c`", "<p><em>a</em> <strong>b</strong> <code>c</code></p>\n"),
        (
            "[site](https://a.example/x 'title')",
            '<p><a href="https://a.example/x" target="_blank" rel="noopener noreferrer nofollow">site</a>'
            ' <span class="target">(https://a.example/x)</span></p>\n',
        ),
        ("<b onclick=alert(1)>x</b>", "<p>&lt;b onclick=alert(1)&gt;x&lt;/b&gt;</p>\n"),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>\n"),
        ("[x](data:text/html,<script>)", "<p>[x](data:text/html,&lt;script&gt;)</p>\n"),
        (
            "![pixel](https://spy.example/p.png)",
            '<p><a href="https://spy.example/p.png" target="_blank" rel="noopener noreferrer nofollow">'
            "Picture: pixel, opens spy.example</a>"
            ' <span class="target">(https://spy.example/p.png)</span></p>\n',
        ),
        ("~~gone~~", "<p><s>gone</s></p>\n"),
        ("- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n"),
    ],
)
def test_markdown_becomes_html_and_nothing_runs_or_loads(text, html):
    assert to_html(text) == html


NASTY = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg/onload=alert(1)>",
    "<iframe src='https://spy.example'></iframe>",
    "<a href='javascript:alert(1)'>x</a>",
    "<style>*{background:url(//spy.example)}</style>",
    "<javascript:alert(1)>",
    "<data:text/html;base64,PHNjcmlwdD4=>",
    "[x](JaVaScRiPt:alert(1))",
    "[x](java&#10;script:alert(1))",
    "[x](vbscript:x)",
    "[x](data:image/svg+xml;base64,PHN2Zz4=)",
    "[x](file:///etc/passwd)",
    "![x](javascript:alert(1))",
    "![x](data:image/png;base64,AAAA)",
    "![x](//spy.example/p.png)",
    "[x]: javascript:alert(1)\n\n[x]",
    '[x](https://a.example "\\" onmouseover=alert(1)")',
    "```html onload=alert(1)\n<script>\n```",
    "<form action=https://spy.example><input name=a></form>",
    "<base href=https://spy.example>",
    "<meta http-equiv=refresh content=0>",
]
HARMLESS = {
    *{"a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "span"},
    *{"strong", "table", "tbody", "td", "th", "thead", "tr", "ul"},
}


class Tags(HTMLParser):
    """Return every element that a browser would create from HTML, with its attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def assert_harmless(html: str) -> None:
    for tag, attributes in Tags(html).found:
        assert tag in HARMLESS
        assert set(attributes) <= {"a": {"href", "rel", "target"}, "ol": {"start"}, "span": {"class"}}.get(tag, set())
        if tag == "a":
            assert attributes["rel"] == "noopener noreferrer nofollow"
            address = re.sub(r"[\x00-\x20]", "", attributes.get("href") or "").lower()
            assert re.match(r"https?:|mailto:", address) or not re.match(r"[a-z][a-z0-9+.-]*:", address)


def test_hostile_text_is_neutralized():
    for text in NASTY:
        assert_harmless(to_html(text))


@given(
    st.lists(st.sampled_from([*NASTY, "\n", "\n\n", "> ", "- ", "| a | b |\n|-|-|\n", "[", "](", ")", "`", "<", "*"]))
)
def test_hostile_text_in_any_arrangement_is_neutralized(pieces):
    assert_harmless(to_html("".join(pieces)))


def test_text_that_is_too_long_is_cut_with_a_note():
    html = to_html("x" * (MAX_CHARACTERS + 1))
    assert html == f"<p>{'x' * MAX_CHARACTERS}</p>\n<p>… <em>(cut: the whole text is in the raw view)</em></p>\n"
    assert "cut" not in to_html("x" * MAX_CHARACTERS)


def test_values_are_shown_in_rows_and_long_ones_in_blocks():
    assert rows({"text": "a", "number": 1.5, "none": None, "list": [1, 2], "long": "x" * 81, "lines": "a\nb"}) == [
        TableRow(name="text", value="a"),
        TableRow(name="number", value="1.5"),
        TableRow(name="none", value="no value", empty=True),
        TableRow(name="list", value="1, 2"),
        TableRow(name="long", value="x" * 81, block=True),
        TableRow(name="lines", value="a\nb", block=True),
    ]
    assert rows(["\u20ac"]) == [TableRow(name="", rows=[TableRow(name="1", value="\u20ac")])]
    assert rows({}) == []


def test_nested_values_are_tables_in_tables_down_to_where_they_are_json():
    (row,) = rows({"a": {"b": {"c": {"d": {"e": 1}}}, "empty": {}}})
    assert [inner.name for inner in row.rows] == ["b", "empty"]
    assert row.rows[0].rows[0].rows == [TableRow(name="d", value='{\n  "e": 1\n}', block=True)]
    assert row.rows[1] == TableRow(name="empty", value="empty object", empty=True)


def test_long_values_are_folded_with_a_count():
    text, many, contacts = rows({"text": "x" * 12_345, "many": ["a"] * 50, "contacts": ["a"] * 650})
    assert (text.value, text.folded, text.fold) == ("x" * 4_000 + "…", "x" * 12_345, "all 12,345 characters")
    assert (len(many.rows), len(many.more), many.fold) == (40, 10, "10 more values")
    assert (contacts.size, contacts.fold, contacts.more[-1].value) == (
        650,
        "610 more values",
        "150 more, in the raw JSON",
    )
    assert [rows({"text": long})[0].folded for long in ("x" * 4_400, "a\n" * 42)] == ["", ""]
    (lines,) = rows({"text": "\n".join(map(str, range(100)))})
    assert lines.value == "\n".join(map(str, range(40))) + "…"


def test_a_deep_value_of_many_lines_is_folded():
    (row,) = rows({"a": {"b": {"c": {"d": {f"e{number}": number for number in range(60)}}}}})
    (deep,) = row.rows[0].rows[0].rows
    assert (deep.value.count("\n"), deep.folded.count("\n")) == (39, 61)


def test_a_file_in_a_text_is_shown_by_its_type_size_and_digest():
    content = bytes(range(256)) * 10
    address = f"data:image/png;base64,{base64.b64encode(content).decode()}"
    digest = hashlib.sha256(content).hexdigest()[:16]
    (row,) = rows({"logo": f"<img src='{address}'>"})
    assert row.value == f"<img src='[image/png file, 2,560 bytes, SHA-256 {digest}…]'>"
    # A text is read, however it is written.
    written = f"data:text/plain;base64,{'QUJD' * 30}"
    assert rows({"note": written})[0].value == written


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        ({"a": 1, "b": 2}, {"a": 1, "b": 3}, [("b", "2", "3")]),
        ({"a": 1}, {"a": True}, [("a", "1", "true")]),
        ({"a": "x"}, {"a": "x", "b": None}, [("b", None, "null")]),
        ({"a": None}, {}, [("a", "null", None)]),
        ({"a": [0]}, {"a": [False]}, [("a", "[\n  0\n]", "[\n  false\n]")]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [("a.c", "2", "3")]),
        ({"a": {"b": 1}}, {"a": {}}, [("a", '{\n  "b": 1\n}', "{}")]),
    ],
)
def test_every_change_of_an_edit_is_shown(before, after, shown):
    request = ApprovalRequest(kind=Kind.APPROVAL, input=before)
    decision = Decision(verdict=Verdict.EDIT, edited_input=after)
    found = shown_outcome(shown_request(request), shown_decision(request, decision)).changed_rows
    assert found == shown


@pytest.mark.parametrize(
    ("verdict", "answer", "words"),
    [
        (Verdict.RESPOND, "Pink", "Pink"),
        (Verdict.RESPOND, {"fieldName": "", "selected": ["Red", "Blue"], "selectedIndex": [0, 1]}, "Red, Blue"),
        (Verdict.RESPOND, {"fieldName": "", "selected": ["Red"], "selectedIndex": 0, "text": "or so"}, "Red, or so"),
        (Verdict.RESPOND, {"selected": ["a form's"], "b": 1}, '{\n  "selected": [\n    "a form\'s"\n  ],\n  "b": 1\n}'),
        (Verdict.RESPOND, {"other": [1]}, '{\n  "other": [\n    1\n  ]\n}'),
        (Verdict.EXPIRE, "no", "no"),
        (Verdict.EXPIRE, None, ""),
        (Verdict.REJECT, "never shown", ""),
    ],
)
def test_answer_is_shown_as_text(verdict, answer, words):
    decision = Decision(verdict=verdict, answer=answer)
    request = ApprovalRequest(kind=Kind.QUESTION)
    card = shown_outcome(shown_request(request), shown_decision(request, decision))
    assert card.answer_text == words


@pytest.mark.django_db
def test_card_shows_each_person_their_own_buttons_and_none_after_the_decision():
    owner, decider, auditor, assignee = alice(), bob(), carol(), make_person("dora")
    request, question = make_request(owner), make_request(owner, Kind.QUESTION, assigned_to=assignee)
    ApprovalRequest.objects.filter(pk=request.pk).update(assigned_to=assignee)
    people = (owner, decider, auditor, assignee)
    offered = [
        (card.may_close, card.may_cancel)
        for card in (card_for(standing_of(person), stored(request)) for person in people)
    ]
    assert offered == [(False, True), (True, True), (False, False), (False, False)]
    assert card_for(standing_of(assignee), stored(question)).may_close
    before = card_for(standing_of(decider), stored(request))
    decision = decide(request, decider, Verdict.APPROVE).decision
    after = [card_for(standing_of(person), stored(request)) for person in people]
    assert {(card.may_close, card.may_cancel, card.outcome.decision) for card in after} == {
        (False, False, shown_decision(request, decision))
    }
    assert before.version != after[0].version


@pytest.mark.django_db
def test_refused_edit_keeps_the_input_including_cleared_checkboxes():
    request = make_request(alice(), input={"amount": 5, "dry": True, "sure": False, "note": "x"})
    typed = QueryDict("verdict=edit&input.amount=lots&input.sure=0&input.note=")
    refusal = Invalid("The changed input could not be read.", {"edited_input.amount": "must be a number"})
    card = refused_card(standing_of(bob()), request, refusal, typed, Door.CHAT)
    fields = [
        (field.name, field.value, sorted(field.chosen), field.error) for field in card.answering.edit_form.children
    ]
    assert fields == [
        ("input.amount", "lots", [], "must be a number"),
        ("input.dry", "", [], ""),
        ("input.sure", "0", [0], ""),
        ("input.note", "", [], ""),
    ]
    assert (card.answering.refusal, card.answering.errors, card.door) == (str(refusal), refusal.errors, "chat")


@pytest.mark.django_db
def test_refusal_of_another_button_resets_the_edit_form():
    request = make_request(alice(), input={"amount": 5, "dry": True})
    typed = QueryDict("verdict=reject&comment=c")
    card = refused_card(standing_of(bob()), request, Invalid("No.", {}), typed, Door.DASHBOARD)
    assert [(field.name, field.value, sorted(field.chosen)) for field in card.answering.edit_form.children] == [
        ("input.amount", "5", []),
        ("input.dry", "", [0]),
    ]


def answered(answer):
    decision = Decision(verdict=Verdict.RESPOND, answer=answer)
    request = ApprovalRequest(kind=Kind.FORM)
    return shown_outcome(shown_request(request), shown_decision(request, decision))


def test_answer_of_a_form_is_shown_like_an_input():
    found = [(row.name, row.value) for row in answered({"company": "Acme", "seats": 3}).answer_rows]
    assert found == [("company", "Acme"), ("seats", "3")]
    choice = {"fieldName": "size", "selected": ["S", "M"], "selectedIndex": [0, 1]}
    assert [([*answered(one).answer_rows], answered(one).answer_text) for one in (choice, "Fine.", None)] == [
        ([], "S, M"),
        ([], "Fine."),
        ([], ""),
    ]
