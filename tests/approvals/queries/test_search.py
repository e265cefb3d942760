"""Full-text search: words and their results, permissions, and searches without words."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from approvals.actions.rows import index_result
from approvals.models import ApprovalRequest, AuditEntry, SearchText
from approvals.queries import amounts
from approvals.queries import search as searching
from approvals.queries.search_words import (
    MAX_KEPT,
    MAX_SEARCH,
    MAX_WORDS,
    PAIR,
    check_search,
    for_postgresql,
    for_sqlite,
    parse_search,
    words_to_index,
)
from approvals.states import Kind, Verdict
from tests.support.desk.requests import decide, make_request, make_workflow
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


WORDLESS = ["", "-", '"', '""', "'", "*", "\x00", "  ", "%", "()", ":", "_", "&|!", "\ud800"]


def test_a_search_without_a_word_finds_nothing(desk):
    assert [search for search in WORDLESS if found(search)] == []


#: What would be syntax in the language of a database.
SYNTAX = [
    '"refund', "refund*", "refund AND", "NOT refund", "refund OR (", "words: refund", "^refund", "refund & !", "ref' und",
    "NEAR(refund)", "{refund}", "refund:*", "a\x00refund", "\\refund", "refund" * 200, "x " * 500,
]  # fmt: skip


def test_no_search_is_syntax_of_a_database(desk):
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


class Counted(list):
    """A list that counts the items that were read."""

    read = 0

    def __iter__(self):
        for item in super().__iter__():
            self.read += 1
            yield item


def test_nothing_is_read_beyond_the_limit():
    words = Counted(f"word{number}" for number in range(10_000))
    assert words_to_index(words, limit=24) == "word0 word1 word2 word3"
    assert words.read == 5


def test_indexed_text_is_bounded():
    assert len(words_to_index({"a": " ".join(f"word{n}" for n in range(100_000))})) <= MAX_KEPT
    assert words_to_index("a b", ["A", {"c": None, "b": True}]) == "a b c"
    assert len(parse_search("x " * 90).words) == MAX_WORDS


#: Texts that look like searches, without quotes.
TERMS = st.lists(
    st.sampled_from(["a:b", "x:y:z", "https://a.b", "tool", "Ä:ß", "a.b:c-d:" + "e" * 99, ":", "1:2"]) | st.text(),
    max_size=4,
)
TEXTS = TERMS.map(lambda terms: " ".join(terms).replace('"', ""))


@given(TEXTS)
def test_indexed_words_are_those_that_a_search_looks_for(text):
    assume(not parse_search(text).problem)
    facts = {word for word in parse_search(text).words if word.startswith(PAIR)}
    assert set(parse_search(text).words) - facts <= set(words_to_index(text[:MAX_SEARCH]).split(" "))
    words = parse_search(text).words or ["x"]
    assert (for_sqlite(words).count('"'), for_postgresql(words).count("'")) == (2 * len(words), 2 * len(words))


class Searches(TestCase):
    """Test random searches."""

    def setUp(self):
        self.owner = alice()

    @given(st.text(max_size=80))
    def test_any_text_finds_the_request_that_says_it(self, text):
        made = make_request(self.owner, input={"said": text.encode("utf-8", "ignore").decode().replace("\x00", "")})
        quoted = text.replace('"', " ")
        hits = searching.with_words(ApprovalRequest.objects.filter(pk=made.pk), f'"{quoted}"')
        assert hits.exists() == bool(parse_search(f'"{quoted}"').words)


def test_a_result_is_found_by_its_words_and_repeats_none_of_the_input():
    request = make_request(alice(), title="refund", input={"order": "4711", "note": "the parcel came back"})
    index_result(request, {"paid": "the parcel 4711, in EUR"}, "")
    (words,) = SearchText.objects.filter(request=request).values_list("words", flat=True)
    plain = [word for word in words.split() if PAIR not in word]
    assert (plain.count("parcel"), plain[-3:]) == (1, ["paid", "in", "eur"])
    assert [found(search) for search in ("eur", "paid parcel")] == [["refund"]] * 2


#: Searches of values, and the titles that they find.
BY_VALUE = [
    ("tool:wire", ["Acme", "Bolt"]),
    ("TOOL:wire_tr", ["Acme", "Bolt"]),
    ("tool:transfer customer:acme", ["Acme"]),
    ('customer:"acme gmbh"', ["Acme"]),
    ("customer:acme", ["Acme", "Nested"]),
    ("customer_id:47", ["Bolt"]),
    ("name:acme", ["Nested"]),
    ("iban:acme", []),
    ("amount>100", ["Bolt"]),
    ("amount >= 100", ["Acme", "Bolt"]),
    ("amount:100", ["Acme"]),
    ("amount=100 amount<50", []),
    ("amount<2", ["Nested"]),
    ("amount>50 gmbh", ["Acme"]),
    ("amount>50 nowhere", []),
    ("error:timeout", ["Written"]),
    ("timeout:error", []),
    ("agent:payments", ["Bolt"]),
    ("agent:wire", []),
    ("amount<9000 tool:pay", []),
]


@pytest.fixture
def payments():
    """Create requests with values, one of them decided; one has a field that is named like a fact."""
    owner = alice()
    make_request(owner, title="Acme", tool_name="wire_transfer", input={"customer": "ACME GmbH", "amount": 100})
    paying = make_workflow(owner, agent="Payments bot")
    bolt = {"customer_id": "C 47", "amount": 250.5}
    decide(
        make_request(owner, title="Bolt", workflow=paying, tool_name="wireTransfer", input=bolt),
        bob(),
        Verdict.APPROVE,
    )
    make_request(
        owner, title="Nested", tool_name="refund", input={"customer": [{"name": "Acme"}], "amount": 1.5, "tool": "wire"}
    )
    make_request(owner, title="Written", message="It said (error:timeout), twice.", input={"agent": "wire"})


@pytest.mark.parametrize("few", [0, 500])
def test_values_are_found_by_their_fields(payments, monkeypatch, few):
    monkeypatch.setattr(searching, "FEW", few)
    monkeypatch.setattr(amounts, "FEW_ABOUT", few)
    assert [(search, found(search)) for search, _ in BY_VALUE] == BY_VALUE
    requests = ApprovalRequest.objects.all()
    each = [
        sorted(searching.with_words(requests, search, each=True).values_list("title", flat=True))
        for search, _ in BY_VALUE
    ]
    assert each == [titles for _, titles in BY_VALUE]


def test_hidden_values_are_not_found(settings):
    settings.HITL_SECRET_FIELDS = ["amount", "customer"]
    make_request(alice(), title="Hidden", tool_name="pay", input={"customer": "Acme", "amount": 100, "total": 7})
    searches = ["customer:acme", "amount:100", "amount>1", "tool:pay amount<1000"]
    assert [found(search) for search in [*searches, "total:7"]] == [[], [], [], [], ["Hidden"]]
    entries = AuditEntry.objects.all()
    about = [searching.with_words_of_requests(entries, search)[0].count() for search in searches]
    assert (about, amounts.with_amounts(entries, [(">", 1)])[0].count()) == ([0, 0, 0, 0], 0)


#: Searches that cannot be read, and the word that is to blame.
UNREADABLE = [
    ("refund amount>abc", "amount>abc"), ("amount >", "amount >"), ("amount:1,000", "amount:1,000"), ("amount>1e5", "amount>1e5"),
    ("total>5 x", "total>5"), ("tool:", "tool:"), ("late tool: wire", "tool:"), ("AGENT:-", "AGENT:-"),
]  # fmt: skip


@pytest.mark.parametrize(("search", "word"), UNREADABLE)
def test_a_search_that_cannot_be_read_names_the_word_and_finds_nothing(payments, search, word):
    assert (found(search), parse_search(search).problem.partition(":")[0]) == ([], f"“{word}”".partition(":")[0])
    assert f"“{word}”" in check_search(search)


@given(st.text(max_size=250) | TEXTS)
def test_every_search_is_read_or_has_a_problem(text):
    parsed = parse_search(text)
    assert len(parsed.words) <= MAX_WORDS
    assert parsed.is_empty or not parsed.problem


@given(
    st.from_regex(r"[a-z]{1,9}", fullmatch=True),
    st.text("abcÄß日 _-.,12", min_size=1, max_size=60),
    st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=3),
)
def test_a_field_is_found_by_its_name_and_value(name, value, others):
    assume(name not in ("amount", "tool", "agent"))
    parsed = parse_search(f'{name}:"{value}"')
    assert set(parsed.words) <= set(words_to_index(others | {name: value}).split(" "))
