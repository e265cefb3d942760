"""A client token has the current rights of its key, not those from when the key made the token."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.utils import timezone

from approvals.access.callers import SCOPES, Caller, caller_by_token, client_token, record_use
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.models import ApiKey
from approvals.models.actors import SessionActor
from tests.support.people import bob

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)

#: By the scopes of the key now, those of a token that it made when it had all.
TOKEN_SCOPES = [
    (SCOPES, {"ask", "read", "decide"}),
    (["ask", "read"], {"ask", "read"}),
    (["read", "audit"], {"read"}),
    (["grant", "absence"], set()),
    ([], set()),
]


@pytest.mark.parametrize(("now", "left"), TOKEN_SCOPES)
def test_a_token_has_no_scope_that_its_key_has_lost(now, left):
    key, text = create_key(bob(), name="page", scopes=SCOPES)
    maker = caller_by_token(text)
    assert maker is not None
    token = client_token(maker, thread="chat-1")
    ApiKey.objects.filter(pk=key.pk).update(scopes=list(now))
    caller = caller_by_token(token)
    assert caller is not None
    assert set(caller.scopes) == left


def test_a_token_never_gains_a_scope_that_its_key_has_got_since():
    key, text = create_key(bob(), name="page", scopes=("read",))
    maker = caller_by_token(text)
    assert maker is not None
    token = client_token(maker, thread="chat-1")
    ApiKey.objects.filter(pk=key.pk).update(scopes=list(SCOPES))
    caller = caller_by_token(token)
    assert caller is not None
    assert set(caller.scopes) == {"read"}


def in_a_browser(person: User) -> Caller:
    client = Client()
    client.force_login(person)
    session = client.session.session_key or ""
    return Caller(user=person, standing=standing_of(person), scopes=frozenset(SCOPES), session_key=session)


def test_who_acts_with_the_token_of_a_session_is_known_by_that_session():
    maker = in_a_browser(bob())
    session = maker.session_key
    caller = caller_by_token(client_token(maker, thread="chat-1"))
    assert caller is not None
    assert isinstance(caller.actor, SessionActor)
    assert (caller.actor.session_key, caller.by_session, caller.actor.until is None) == (session, False, False)


def test_a_program_acts_with_the_token_of_a_key_and_a_person_with_that_of_a_session():
    _, text = create_key(bob(), name="page", scopes=SCOPES)
    by_key = caller_by_token(text)
    assert by_key is not None
    callers = [caller_by_token(client_token(maker, thread="c1")) for maker in (by_key, in_a_browser(by_key.user))]
    assert [caller and (caller.standing.by_key, caller.standing.pk) for caller in callers] == [
        (True, by_key.user.pk), (False, by_key.user.pk),
    ]  # fmt: skip


def test_what_pausepoint_signs_for_another_purpose_is_no_token():
    _, text = create_key(bob(), name="page", scopes=SCOPES)
    maker = caller_by_token(text)
    assert maker is not None
    token = client_token(maker, thread="c1")
    claims = signing.Signer(salt="approvals.client-token").unsign_object(token.removeprefix("ppt_"))
    forged = ["ppt_" + signer.sign_object(claims) for signer in (signing.Signer(), signing.Signer(salt="another"))]
    assert [caller_by_token(text) for text in forged] == [None, None]


def test_the_use_of_a_key_is_noted_again_only_after_a_minute(monkeypatch):
    key, _ = create_key(bob(), name="page", scopes=SCOPES)
    moments = [NOON + timedelta(seconds=seconds) for seconds in (0, 1, 60, 61)]
    noted = []
    for now in moments:
        monkeypatch.setattr(timezone, "now", lambda now=now: now)
        record_use(ApiKey.objects.get(pk=key.pk))
        noted.append(ApiKey.objects.get(pk=key.pk).last_used_at)
    assert noted == [moments[0], moments[0], moments[0], moments[3]]


def test_the_use_of_a_key_is_noted_at_that_key_alone():
    person = bob()
    used, other = (create_key(person, name=name, scopes=SCOPES)[0] for name in ("used", "other"))
    record_use(used)
    noted = dict(ApiKey.objects.values_list("pk", "last_used_at"))
    assert {pk: at is not None for pk, at in noted.items()} == {used.pk: True, other.pk: False}


def test_a_token_is_that_of_its_own_key_and_ends_with_the_account():
    person = bob()
    texts = [create_key(person, name=name, scopes=SCOPES)[1] for name in ("first", "second")]
    makers = [caller_by_token(text) for text in texts]
    tokens = [client_token(maker, thread="c1") for maker in makers if maker]
    callers = [caller_by_token(token) for token in tokens]
    assert [caller and caller.key and caller.key.name for caller in callers] == ["first", "second"]
    User.objects.update(is_active=False)
    assert [caller_by_token(token) for token in tokens] == [None, None]


def test_a_token_has_ended_at_its_last_moment_as_it_has_for_a_call_that_waited(monkeypatch):
    _, text = create_key(bob(), name="page", scopes=SCOPES)
    maker = caller_by_token(text)
    assert maker is not None
    clock = [NOON]
    monkeypatch.setattr(timezone, "now", lambda: clock[0])
    token = client_token(maker, thread="c1", seconds=60)
    valid = []
    for seconds in (0, 59, 1):
        clock[0] += timedelta(seconds=seconds)
        valid.append(caller_by_token(token) is not None)
    assert valid == [True, True, False]


def test_a_caller_without_a_session_has_none_and_no_session_is_in_what_is_logged_of_a_caller():
    person = bob()
    caller = Caller(user=person, standing=standing_of(person), scopes=frozenset(SCOPES))
    assert isinstance(caller.actor, SessionActor)
    assert (caller.by_session, caller.actor.session_key, caller.counted) == (False, "", False)
    maker = in_a_browser(person)
    by_token = caller_by_token(client_token(maker, thread="c1"))
    assert by_token is not None
    assert by_token.token_session == maker.session_key
    assert maker.session_key not in repr(maker) + repr(by_token)
