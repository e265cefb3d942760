"""No body is expensive: neither a refused one nor the largest that is accepted.

Each case has to end within the two seconds of a fast test; without bounds one took five.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from approvals.db import canonical_json
from approvals.db.canonical_json import MAX_BYTES, MAX_VALUES, NotCanonical, load, parse
from approvals.models import ApprovalRequest
from approvals.queries.search_words import MAX_KEPT, words_to_index
from approvals.text.tables import rows
from tests.support.database import rolled_back
from tests.support.machine import Machine, Reply
from tests.support.people import alice, bob, make_person

#: Room for the rest of the request.
ROOM = MAX_VALUES - 100


def nested(levels: int) -> Any:
    value: Any = 0
    for _ in range(levels):
        value = [value]
    return value


#: The largest accepted value of each kind, by bytes or by values.
LARGEST: dict[str, Any] = {
    "zeros": {"l": [0] * ROOM},
    "empty lists": {"l": [[]] * ROOM},
    "numbers": {"l": [1.2345678901234e300] * ROOM},
    "objects": {"l": [{"a": 0}] * (ROOM // 2)},
    "names": {f"k{number}": 0 for number in range(ROOM)},
    "objects in objects": {f"k{number}": {f"m{inner}": 0 for inner in range(99)} for number in range(ROOM // 100)},
    "deep rows": {"l": [nested(58)] * (ROOM // 59)},
    "long text": {"t": "x" * 950_000},
    "text of signs": {"t": "<" * 950_000},
    "unseen characters": {"t": "\u202e" * 150_000},
    "words": {"t": " ".join(f"w{number}" for number in range(130_000))},
    "texts": {f"k{number}": "y " * 40 for number in range(ROOM)},
    "names of functions": {f"k{number}": "aB" * 40 for number in range(ROOM)},
}
#: The most expensive bodies to read for their bytes: 900 KB each.
TOO_WIDE = {
    "zeros": "[" + ",".join(["0"] * 440_000) + "]",
    "empty lists": "[" + ",".join(["[]"] * 300_000) + "]",
    "objects": "[" + ",".join(['{"a":0}'] * 110_000) + "]",
    "texts": "[" + ",".join(['""'] * 300_000) + "]",
    "names": "{" + ",".join(f'"k{number}":0' for number in range(80_000)) + "}",
    "deep rows": "[" + ",".join(["[" * 58 + "0" + "]" * 58] * 7_600) + "]",
}


@pytest.fixture(scope="module")
def read(django_db_setup, django_db_blocker):
    """Everything that a process reads once, such as templates, has been read."""
    with django_db_blocker.unblock(), rolled_back():
        asked = Machine(make_person("early")).ask()
        browser = Client()
        browser.force_login(make_person("bird", "decide_approvalrequest"))
        for address in (f"/requests/{asked['id']}/", "/requests/"):
            assert browser.get(address).status_code == 200


@pytest.fixture
def warm(read, db):
    """A database for a process that is past its first pages."""


def asking(machine: Machine, value: Any) -> Callable[[], Reply]:
    body = {"kind": "approval", "title": "t", "tool_name": "x", "input": value}
    text = json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
    assert len(text) <= MAX_BYTES
    return lambda: machine.send("POST", "/requests", text)


@pytest.fixture
def asked(warm, request) -> Reply:
    """The answer to an ask with the largest body of a kind."""
    return asking(Machine(alice()), LARGEST[request.param])()


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("kind", LARGEST)
def test_asking_with_the_largest_body_is_cheap(kind):
    assert asking(Machine(alice()), LARGEST[kind])().status == 201


@pytest.mark.parametrize("asked", LARGEST, indirect=True)
def test_viewing_the_largest_body_is_cheap(asked):
    browser = Client()
    browser.force_login(bob())
    for address in (f"/requests/{asked.body['id']}/", "/requests/"):
        assert browser.get(address).status_code == 200


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("kind", TOO_WIDE)
def test_refusing_a_body_is_cheap(kind):
    machine = Machine(alice())
    body = f'{{"kind":"approval","title":"t","tool_name":"x","input":{{"l":{TOO_WIDE[kind]}}}}}'.encode()
    assert len(body) < MAX_BYTES
    refused = machine.send("POST", "/requests", body)
    assert refused.refusal == (400, "bad_body")
    assert "more than 10,000 values" in refused.body["detail"]
    assert ApprovalRequest.objects.filter(requested_by__username="alice").count() == 0


@pytest.mark.usefixtures("warm")
@pytest.mark.parametrize("kind", TOO_WIDE)
def test_a_chat_body_of_eight_megabytes_is_cheap(kind):
    machine = Machine(alice())
    many = ",".join([TOO_WIDE[kind]] * (7_900_000 // len(TOO_WIDE[kind])))
    body = f'{{"id":"c1","messages":[{many}]}}'.encode()
    headers = {"Authorization": machine.headers["authorization"]}
    post = Client().post
    refused = post("/api/chat", body, content_type="application/json", headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_body")


@pytest.mark.django_db
def test_edits_and_answers_have_the_same_bound():
    asked = Machine(alice()).ask()
    decider, wide = Machine(bob()), {"l": [0] * MAX_VALUES}
    refused = decider.decide(asked, "edit", edited_input=wide, input_digest=asked["input_digest"])
    assert refused.refusal == (400, "bad_body")
    with pytest.raises(NotCanonical, match="more than 10,000 values"):
        parse(json.dumps(wide))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text('[]{},:"\\ a\n', max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text('[]{},"\\', max_size=3), inner, max_size=4),
    max_leaves=20,
)


def counted(value: Any) -> int:
    match value:
        case dict():
            return len(value) + sum(map(counted, value.values()))
        case list():
            return len(value) + sum(map(counted, value))
    return 0


@given(value=JSON, indent=st.sampled_from([None, 0, 2]))
def test_values_are_counted_correctly_before_parsing(value, indent):
    text, number = json.dumps(value, indent=indent), counted(value)
    assert load(text, max_values=number) == value
    if number:
        with pytest.raises(NotCanonical, match="values"):
            load(text, max_values=number - 1)
        with pytest.raises(NotCanonical, match="values"):
            canonical_json.canonical(value, max_values=number - 1)


def test_an_unterminated_string_is_refused_at_once():
    for text in ('"' + "x" * 900_000, '"' + "\\a" * 450_000, '["' + '\\"' * 450_000, "[" * 900_000):
        with pytest.raises(NotCanonical):
            load(text)


def test_search_finds_the_beginning_of_very_long_texts():
    assert words_to_index("beta " * 200_000, "omega") == "beta"
    assert words_to_index("beta " * 1_000, "omega") == "beta omega"
    assert len(words_to_index(*(f"word{number}" for number in range(50_000)))) <= MAX_KEPT


def test_a_table_shows_the_first_of_thousands_of_members():
    found = rows({f"k{number}": 0 for number in range(3_000)})
    assert (len(found), found[-1].value) == (501, "2,500 more, in the raw JSON")
