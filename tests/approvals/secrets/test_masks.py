"""Masked values, the text of masks, and that masking takes time in proportion to the text."""

from __future__ import annotations

import json
import time

import pytest

from approvals.asking.secrets import secrets_in_schema
from approvals.text.differences import changes
from approvals.text.secrets import Hidden, comparable, hidden_in, mask_text, masked
from approvals.text.true_values import StillHidden, concealed, restored, true_values

LONG = "a1B2" * 10


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"use ghp_{LONG} now", "use ⟨••• hidden: GitHub token, ending in a1B2⟩ now"),
        (f"github_pat_{LONG}", "⟨••• hidden: GitHub token, ending in a1B2⟩"),
        ("AKIAIOSFODNN7EXAMPLE", "⟨••• hidden: AWS key⟩"),
        ("xoxb-1234567890-abc", "⟨••• hidden: Slack token⟩"),
        (f"sk_live_{LONG}", "⟨••• hidden: Stripe key, ending in a1B2⟩"),
        (f"sk-ant-api03-{LONG}", "⟨••• hidden: Anthropic key, ending in a1B2⟩"),
        (f"sk-proj-{LONG}", "⟨••• hidden: OpenAI key, ending in a1B2⟩"),
        (f"pp_0123abcd_{LONG}", "⟨••• hidden: Pausepoint key, ending in a1B2⟩"),
        (f"eyJhbGciOiJI.eyJzdWIiOiIx.{LONG}", "⟨••• hidden: JSON Web Token, ending in a1B2⟩"),
        ("Authorization: Bearer abcdefgh12345678", "Authorization: Bearer ⟨••• hidden: bearer token⟩"),
        ("https://bob:hunter2@example.org/", "https://bob:⟨••• hidden: password⟩@example.org/"),
        ("PGPASSWORD=hunter2 psql", "PGPASSWORD=⟨••• hidden: secret value⟩ psql"),
        ("-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----", "⟨••• hidden: private key⟩"),
        ("cut off at ghp_abcdef", "cut off at ⟨••• hidden: GitHub token⟩"),
    ],
)
def test_keys_are_known_by_their_shape(text, shown):
    assert mask_text(text) == shown


@pytest.mark.parametrize(
    "text", ["task-force-of-twenty-five-people", "PGPASSWORD=$SECRET psql", "the token is below", ""]
)
def test_other_texts_stay_the_very_same(text):
    assert mask_text(text) is text


def test_a_mask_says_the_kind_and_the_class_of_the_length_and_no_character():
    value = {
        "Pass-Word": "hunter2",
        "api_key": 12345678,
        "pin": "",
        "token": None,
        "tokens": 5,
        "x": {"secret": ["a" * 70]},
    }
    assert masked(value) == {
        "Pass-Word": "⟨••• hidden: password, fewer than 8 characters⟩",
        "api_key": "⟨••• hidden: secret value, 8 to 15 characters⟩",
        "pin": "",
        "token": None,
        "tokens": 5,
        "x": {"secret": ["⟨••• hidden: secret value, 64 characters or more⟩"]},
    }


def test_pointers_names_and_the_setting_add_to_the_names(settings):
    settings.HITL_SECRET_FIELDS = ["Door-Code"]
    value = {"card": {"number": "1"}, "rows": [{"x": "2"}], "iban": "3", "door_code": "4", "plain": "5"}
    shown = masked(value, ["/card/number", "/rows/*/x", "IBAN"], "/input")
    known = true_values(value, shown)
    assert [(hidden.pointer, known[hidden.handle]) for hidden in hidden_in(shown)] == [
        ("/input/card/number", "1"),
        ("/input/rows/0/x", "2"),
        ("/input/iban", "3"),
        ("/input/door_code", "4"),
    ]
    assert masked({"plain": 5}) == {"plain": 5}


def test_a_schema_says_what_is_secret():
    node = {"properties": {"pin": {"format": "password"}, "next": {"$ref": "#/$defs/node"}}}
    schema = {
        "$defs": {"node": node},
        "properties": {
            "a/b": {"writeOnly": True},
            "list": {"items": {"allOf": [{"properties": {"x": {"format": "password"}}}]}},
        },
    }
    assert secrets_in_schema(schema) == ["/a~1b", "/list/*/x"]
    assert secrets_in_schema({"type": "string", "format": "password"}) == [""]
    assert secrets_in_schema({"$defs": {"node": node}, "$ref": "#/$defs/node"})[:3] == [
        "/pin",
        "/next/pin",
        "/next/next/pin",
    ]
    assert secrets_in_schema({"properties": {"x": {"type": "string"}}}) == []


def test_an_edit_keeps_a_secret_only_where_it_is():
    value = {"password": "hunter2", "n": [{"pin": 7}], "note": f"use ghp_{LONG}", "to": "bob"}
    shown = masked(value)
    sent = json.loads(json.dumps(shown))
    assert restored(sent, value, shown) == value
    assert restored(sent | {"password": "other"}, value, shown) == value | {"password": "other"}
    assert restored(sent | {"note": f"{sent['note']}!"}, value, shown) == value | {"note": f"use ghp_{LONG}!"}
    with pytest.raises(StillHidden):
        restored(sent | {"to": sent["password"]}, value, shown)
    assert concealed(value | {"to": "eve"}, value, shown) == sent | {"to": "eve"}


def test_two_secrets_that_look_alike_are_shown_as_changed():
    mask = "⟨••• hidden: password, fewer than 8 characters⟩"
    assert changes({"password": "one", "x": 1}, {"password": "two", "x": 1}) == [("password", mask, f"{mask}, changed")]
    assert changes({"password": "one"}, {"password": "one"}) == []


EVIL = ["eyJ", "ghp_", "A", "sk-", "-----BEGIN PRIVATE KEY-----", "://a:", "PASSWORD=", "A_", "Bearer ", "SG.", "xoxb-",
        "eyJaaaaaaaaa.", "AKIA", "'", "pp_00000000_", "authorization: basic ", "A=", "--password ", "--a=",
        "X-Api-Key: ", "a-Key:\n", "-H", "Cookie: $A "]  # fmt: skip


@pytest.mark.parametrize("piece", EVIL)
def test_masking_takes_time_in_proportion_to_the_text(piece):
    def seconds(length: int) -> float:
        text = piece * (length // len(piece))
        begun = time.process_time()
        mask_text(text)
        return time.process_time() - begun

    # A pattern that goes back for every character would take hours.
    assert seconds(400_000) < 10


def reached_from(hidden: Hidden) -> list[str]:
    return [str(hidden), hidden.rest, hidden.pointer, *hidden.marks, str(vars(hidden))]


def test_what_is_hidden_holds_no_secret_not_even_one_in_the_name_of_a_member():
    token = f"ghp_{LONG}"
    # So long that no random mark contains it.
    pin = 7_316_004_273_160_042
    value = {token: {"password": "hunter2", "n/a~": [pin, f"x {token}"]}, "pin": pin}
    shown = masked(value, ["/*/n~1a~0/*"], "/input")
    everything = [text for hidden in hidden_in(shown) for text in reached_from(hidden)]
    assert [text for text in everything if "hunter2" in text or str(pin) in text or token in text] == []
    name = "/input/⟨••• hidden: GitHub token, ending in a1B2⟩"
    assert [hidden.pointer for hidden in hidden_in(shown)] == [
        name,
        f"{name}/password",
        f"{name}/n~1a~0/0",
        f"{name}/n~1a~0/1",
        "/input/pin",
    ]
    assert restored(json.loads(json.dumps(shown)), value, shown) == value


def test_names_that_look_alike_are_all_shown_and_can_all_be_sent_back():
    mask = "⟨••• hidden: GitHub token, ending in a1B2⟩"
    value = {f"ghp_{LONG}": 1, f"ghp_0{LONG}": 2, mask: 3}
    shown = masked(value)
    assert shown == {mask: 1, f"{mask} ": 2, f"{mask}  ": 3}
    assert restored(json.loads(json.dumps(shown)), value, shown) == value


def test_values_are_equal_by_their_marks_if_and_only_if_they_are():
    one, other = masked([{"pin": 1}, {"pin": "1"}, {"pin": 1}]), masked([{"pin": 2}])
    first, text, same = map(comparable, one)
    assert (first == same, first == text, first == comparable(other[0])) == (True, False, False)
