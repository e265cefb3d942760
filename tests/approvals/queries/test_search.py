"""Full-text search: words and their results, permissions, and searches without words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from approvals.actions.rows import index_result
from approvals.models import ApprovalRequest, SearchText
from approvals.queries import search as searching
from approvals.queries.search_words import MAX_KEPT, MAX_WORDS, for_postgresql, for_sqlite, parse_search, words_to_index
from approvals.states import Kind, Verdict
from tests.support.desk.requests import decide, make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def found(search: str) -> list[str]:
    """Return the titles that a search finds."""
    return sorted(searching.with_words(ApprovalRequest.objects.all(), search).values_list("title", flat=True))


@pytest.fixture
def desk():
    """Create one request for each place of a word; the last one is decided."""
    owner, decider = alice(), bob()
    make_request(owner, title="Refund for Müller", input={})
    make_request(owner, title="message", message="The **parcel** came back: 50%_off", input={})
    make_request(owner, title="input", input={"orderId": "4711-2", "deep": [{"note": "late Straße"}], "amount": 12.5})
    make_request(owner, title="context", context={"before": ["she said 'maybe'"]}, input={})
    make_request(owner, title="tool", tool_name="issueRefund", tool_call_id="call_AbC", input={})
    make_request(owner, title="日本語の質問", input={})
    decide(make_request(owner, title="comment", input={}), decider, Verdict.REJECT, comment="Not before Friday.")
    edited = make_request(owner, title="edited", input={"a": 1})
    decide(edited, decider, Verdict.EDIT, edited_input={"a": "seventeen"})
    answered = make_request(owner, Kind.QUESTION, title="answer", allow_text=True, input={})
    decide(answered, decider, Verdict.RESPOND, answer="purple")


#: Searches, and the titles that they find; "mull" is a prefix only if it is the last word.
FOUND = [
    ("refund", ["Refund for Müller", "tool"]),
    ("REFUND muller", ["Refund for Müller"]),
    ("müll", ["Refund for Müller"]),
    ("mull refund", []),
    ("mull for", []),
    ("parcel", ["message"]),
    ("parcel 50", ["message"]),
    ("4711", ["input"]),
    ("4711-2", ["input"]),
    ("orderid", ["input"]),
    ("late strasse", ["input"]),
    ("12", ["input"]),
    ("maybe", ["context"]),
    ("issueR", ["tool"]),
    ("call_abc", ["tool"]),
    ("本語", ["日本語の質問"]),
    ("friday", ["comment"]),
    ("seventeen", ["edited"]),
    ("purple", ["answer"]),
    ("nowhere", []),
]


def test_words_are_found_in_every_part_of_a_request(desk):
    assert [(search, found(search)) for search, _ in FOUND] == FOUND


WORDLESS = ["", "-", '"', "'", "*", "\x00", "  ", "%", "()", ":", "_", "&|!", "\ud800"]


def test_a_search_without_a_word_finds_nothing(desk):
    assert [search for search in WORDLESS if found(search)] == []


#: What would be syntax in the language of a database.
SYNTAX = [
    '"refund', "refund*", "refund AND", "NOT refund", "refund OR (", "words: refund", "^refund", "refund & !", "ref' und",
    "NEAR(refund)", "{refund}", "refund:*", "a\x00refund", "\\refund", "refund" * 200, "x " * 500,
]  # fmt: skip


def test_search_has_no_syntax(desk):
    for search in SYNTAX:
        found(search)


@pytest.mark.parametrize("few", [0, 500])
def test_frequent_and_rare_words_are_found(desk, monkeypatch, few):
    monkeypatch.setattr(searching, "FEW", few)
    assert (found("refund"), found("for mul"), found("parc"), found("arcel")) == (
        ["Refund for Müller", "tool"],
        ["Refund for Müller"],
        ["message"],
        [],
    )


def test_index_follows_deleted_and_changed_texts(desk):
    SearchText.objects.filter(request__title="message").update(words="something else")
    SearchText.objects.filter(request__title="input").delete()
    assert (found("parcel"), found("something"), found("4711")) == ([], ["message"], [])


def test_indexed_text_is_bounded():
    assert len(words_to_index({"a": " ".join(f"word{n}" for n in range(100_000))})) <= MAX_KEPT
    assert words_to_index("a b", ["A", {"c": None, "b": True}]) == "a b c"
    assert len(parse_search("x " * 90)) == MAX_WORDS


@given(st.text())
def test_indexed_words_are_those_that_a_search_looks_for(text):
    assert set(parse_search(text)) <= set(words_to_index(text).split())
    words = parse_search(text) or ["x"]
    assert (for_sqlite(words).count('"'), for_postgresql(words).count("'")) == (2 * len(words), 2 * len(words))


class Searches(TestCase):
    """Test random searches."""

    def setUp(self):
        self.owner = alice()

    @given(st.text(max_size=80))
    def test_any_text_finds_the_request_that_says_it(self, text):
        made = make_request(self.owner, input={"said": text.encode("utf-8", "ignore").decode().replace("\x00", "")})
        hits = searching.with_words(ApprovalRequest.objects.filter(pk=made.pk), text)
        assert hits.exists() == bool(parse_search(text))


def test_a_result_is_found_by_its_words_and_repeats_none_of_the_input():
    request = make_request(alice(), title="refund", input={"order": "4711", "note": "the parcel came back"})
    index_result(request, {"paid": "the parcel 4711, in EUR"}, "")
    (words,) = SearchText.objects.filter(request=request).values_list("words", flat=True)
    assert (words.split().count("parcel"), words.split()[-3:]) == (1, ["paid", "in", "eur"])
    assert [found(search) for search in ("eur", "paid parcel")] == [["refund"]] * 2
