"""Answering questions on pages, with each kind of form, and forms that no page would send."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client

from approvals.models import Decision
from approvals.states import Kind
from tests.support.desk.pressing import HTMX, at, browser, decision, press, refused, seen
from tests.support.desk.requests import FUTURE, make_request, stored
from tests.support.markup import forms, parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

OPTIONS = [{"label": "Standard", "description": "free"}, {"label": "Express"}]


@pytest.fixture
def refund(db):
    return make_request(alice(), input={"amount": 250, "orderId": "4711"})


def question(**fields):
    return make_request(alice(), Kind.QUESTION, **{"input": {}, "options": OPTIONS, "field_name": "delivery"} | fields)


def test_option_is_a_button():
    asked = question()
    client = browser(asked.requested_by)
    form = forms(client.get(asked.get_absolute_url()).text, "decide/")[0]
    assert press(client, form, "Express").status_code == 302
    assert Decision.objects.get().answer == {"fieldName": "delivery", "selected": ["Express"], "selectedIndex": 1}


def test_multiple_choice_uses_checkboxes():
    asked = question(multiple=True, allow_text=True)
    client = browser(asked.requested_by)
    page = parse(client.get(asked.get_absolute_url()).text)
    assert [(box.attributes["name"], box.attributes["value"]) for box in page.find("input", name="choice")] == [
        ("choice", "0"),
        ("choice", "1"),
    ]
    data = seen(asked) | {"verdict": "respond", "choice": ["1", "0"], "text": "Both!"}
    assert client.post(at(asked), data).status_code == 302
    answer = {"fieldName": "delivery", "selected": ["Standard", "Express"], "selectedIndex": [0, 1], "text": "Both!"}
    assert Decision.objects.get().answer == answer
    (said,) = parse(client.get(asked.get_absolute_url()).text).find("p", class_="answer")
    assert said.words == "“Standard, Express, Both!”"


def test_suggestion_is_a_button_and_free_text_a_field():
    asked = question(options=[], suggestions=["Offer a return", "Say no"], allow_text=True, deadline_at=FUTURE)
    client = browser(asked.requested_by)
    suggestions, own = forms(client.get(asked.get_absolute_url()).text, "decide/")
    assert [words for words, _, _ in suggestions.buttons] == ["Offer a return", "Say no"]
    assert press(client, suggestions, "Say no").status_code == 302
    assert Decision.objects.get().answer == "Say no"
    assert stored(asked).status == "answered"
    assert own.buttons == [("Answer", "verdict", "respond"), ("Decline", "verdict", "reject")]


def test_empty_free_text_is_not_an_answer():
    asked = question(options=[], allow_text=True)
    words = refused(asked, asked.requested_by, {"verdict": "respond", "text": "  "}, 422)
    assert words == "Write an answer first. The answer is empty"
    client = browser(asked.requested_by)
    own = forms(client.get(asked.get_absolute_url()).text, "decide/")[0]
    assert press(client, own, "Answer", text="Leave it at the door.").status_code == 302
    assert Decision.objects.get().answer == "Leave it at the door."


def test_question_can_be_declined_with_a_message():
    asked = question()
    client = browser(asked.requested_by)
    form = forms(client.get(asked.get_absolute_url()).text, "decide/")[-1]
    assert press(client, form, "Decline", comment="Not mine to say.").status_code == 302
    assert decision(asked) == ("reject", "alice", "dashboard", "Not mine to say.")


def test_what_stands_in_the_text_field_is_the_reason_to_decline():
    asked = question(allow_text=True)
    client = browser(asked.requested_by)
    form = forms(client.get(asked.get_absolute_url()).text, "decide/")[-1]
    assert press(client, form, "Decline", text="Ask the warehouse.").status_code == 302
    assert decision(asked) == ("reject", "alice", "dashboard", "Ask the warehouse.")


def test_message_that_is_too_long_is_kept_in_the_form():
    asked, reason = question(), "long " * 1001
    words = refused(asked, asked.requested_by, {"verdict": "reject", "comment": reason}, 422, comment=reason)
    assert words == "The decision is invalid. The message to the agent is longer than 5,000 characters"


def test_answer_that_was_not_offered_is_refused_and_input_is_kept():
    asked = question(allow_text=True)
    for choice, said in (
        (["7"], "That choice is not one of the options. The answer is not one of the options"),
        (["-1"], "That choice is not one of the options. The answer is not one of the options"),
        (["0", "1"], "Choose one option. The answer has more than one option"),
    ):
        data = seen(asked) | {"verdict": "respond", "choice": choice, "text": "My words"}
        assert refused(asked, asked.requested_by, data, 422, text="My words") == said
    assert stored(asked).status == "pending"


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/",
        "//evil.example/x",
        "/\\evil.example",
        "javascript:alert(1)",
        "http:///evil.example",
        "\x00/",
        "",
    ],
)
def test_decision_never_redirects_to_another_site(refund, elsewhere):
    answer = browser(bob()).post(at(refund), seen(refund) | {"verdict": "approve", "next": elsewhere})
    assert (answer.status_code, answer.headers["Location"]) == (302, refund.get_absolute_url())


HOSTILE = [
    "",
    "\x00",
    "\ud800",
    "{",
    "[" * 3000,
    "9" * 5000,
    "NaN",
    "1e999",
    "' OR 1=1 --",
    "\u202e",
    "x" * 200_000,
    "<script>",
]


@pytest.mark.parametrize("third", [0, 1, 2])
@pytest.mark.parametrize("kind", list(Kind))
def test_no_form_causes_a_server_error(kind, third):
    asker, client = alice(), browser(bob())
    answered = {ascii(value)[:20]: sent_everywhere(asker, client, kind, value) for value in HOSTILE[third::3]}
    assert {value: codes for value, codes in answered.items() if not codes <= {200, 302, 400, 409, 422}} == {}


def sent_everywhere(asker: User, client: Client, kind: Kind, value: str) -> set[int]:
    """Return the status codes for a value in each field of each kind of form."""
    fields = {"options": OPTIONS, "allow_text": True} if kind == Kind.QUESTION else {}
    asked, codes = make_request(asker, kind, input={"amount": 1, "nested": {"a": []}}, **fields), set()
    fields = ["verdict", "comment", "text", "choice", "from", "next", "input.amount", "input.nested", value or "x"]
    for verdict, headers in ((value, {}), ("edit", HTMX), ("respond", {}), ("approve", HTMX)):
        data = dict.fromkeys(fields, value) | {"verdict": verdict, **seen(asked)}
        body = urlencode(data, errors="surrogatepass")
        codes.add(client.post(at(asked), body, "application/x-www-form-urlencoded", headers=headers).status_code)
    return codes


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"x" * 3_000_000, "application/x-www-form-urlencoded"),
        (b"a=1&" * 2_000, "application/x-www-form-urlencoded"),
        (b"verdict=approve", "application/x-www-form-urlencoded; charset=utf-16"),
        (b"--no boundary", "multipart/form-data"),
        (b"--b\r\nContent-Disposition: form-data", "multipart/form-data; boundary=b"),
        (b'{"verdict": "approve"}', "application/json"),
        (b"\xff\xfe\x00", "application/x-www-form-urlencoded"),
    ],
    ids=["large", "many-fields", "utf-16", "no-boundary", "cut-off", "json", "no-utf-8"],
)
def test_invalid_body_is_refused(refund, body, kind):
    answer = browser(bob()).post(at(refund), body, content_type=kind)
    assert answer.status_code in {400, 422}
    assert parse(answer.text).find("body") != []
    assert stored(refund).status == "pending"
