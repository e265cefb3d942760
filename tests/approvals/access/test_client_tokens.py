"""A client token has the current rights of its key, not those from when the key made the token."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals.access.callers import SCOPES, Caller, caller_by_token, client_token
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.models import ApiKey
from approvals.models.actors import SessionActor
from tests.support.people import bob

pytestmark = pytest.mark.django_db

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


def test_who_acts_with_the_token_of_a_session_is_known_by_that_session():
    client, person = Client(), bob()
    client.force_login(person)
    session = client.session.session_key or ""
    maker = Caller(user=person, standing=standing_of(person), scopes=frozenset(SCOPES), session_key=session)
    caller = caller_by_token(client_token(maker, thread="chat-1"))
    assert caller is not None
    assert isinstance(caller.actor, SessionActor)
    assert (caller.actor.session_key, caller.by_session, caller.actor.until is None) == (session, False, False)
