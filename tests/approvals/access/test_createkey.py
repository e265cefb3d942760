"""`manage.py createkey`: one line on standard output, a hash in the database."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from approvals.access.callers import find_key
from approvals.models.keys import ApiKey
from tests.support import people

pytestmark = pytest.mark.django_db


def createkey(*arguments: str) -> str:
    out = StringIO()
    call_command("createkey", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_the_key_alone_and_the_key_works():
    alice = people.alice()
    printed = createkey("--user", "alice", "--name", "billing agent", "--scopes", "ask,decide,read")
    (text,) = printed.splitlines()
    key = find_key(text).key
    assert (key.user, key.name, key.scopes) == (alice, "billing agent", ["ask", "decide", "read"])


@pytest.mark.parametrize("scope", ["ask", "decide", "read", "audit", "grant", "absence", "advise"])
def test_a_key_has_each_scope_that_the_docs_name(scope):
    people.alice()
    text = createkey("--user", "alice", "--name", "agent", "--scopes", scope).strip()
    found = find_key(text)
    assert found is not None
    assert found.key.allowed_scopes == {scope}


def test_each_key_is_found_by_its_own_text_and_acts_as_a_program():
    people.alice()
    texts = [createkey("--user", "alice", "--name", name).strip() for name in ("first", "second")]
    found = [find_key(text) for text in texts]
    assert [each and (each.key.name, each.standing.by_key) for each in found] == [("first", True), ("second", True)]
    # The prefix of one and the secret of the other.
    assert find_key(texts[0][:11] + texts[1][11:]) is None


def test_the_secret_is_not_stored():
    people.alice()
    text = createkey("--user", "alice", "--name", "billing").strip()
    stored = ApiKey.objects.values().get()
    assert stored["scopes"] == ["ask", "read"]
    assert [name for name, value in stored.items() if text in str(value) or text.split("_", 2)[2] in str(value)] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--user", "nobody", "--name", "x"], "No active user is named 'nobody'"),
        (["--user", "alice", "--name", " "], "Say what the key is for"),
        (["--user", "alice", "--name", "x", "--scopes", "ask,rule"], "not rule"),
        (["--user", "alice", "--name", "x", "--scopes", ","], "not nothing"),
    ],
)
def test_wrong_arguments_are_refused_with_a_message(arguments, words):
    people.alice()
    with pytest.raises(CommandError, match=words):
        createkey(*arguments)
    assert ApiKey.objects.count() == 0


def test_an_inactive_user_gets_no_key():
    alice = people.alice()
    alice.is_active = False
    alice.save()
    with pytest.raises(CommandError):
        createkey("--user", "alice", "--name", "x")


@pytest.mark.parametrize(
    "text", ["", "pp_", "pp__", "pp_12345678_wrong", "Bearer x", "pp_\x00_x", "pp_" + "a" * 10_000 + "_x"]
)
def test_no_other_text_is_a_key(text):
    people.alice()
    createkey("--user", "alice", "--name", "x")
    assert find_key(text) is None


def test_a_revoked_key_and_a_key_of_an_inactive_user_are_refused():
    alice = people.alice()
    text = createkey("--user", "alice", "--name", "x").strip()
    alice.is_active = False
    alice.save()
    assert find_key(text) is None
    alice.is_active = True
    alice.save()
    assert find_key(text) is not None
    ApiKey.objects.update(revoked_at="2026-01-01T00:00:00Z")
    assert find_key(text) is None
