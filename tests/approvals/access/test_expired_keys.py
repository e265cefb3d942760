"""An API key stops working when it expires, at every address for programs, and so do the client tokens that it made."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.access import callers
from approvals.administration.keys.actions import create_key
from approvals.models import AuditEntry
from approvals.models.keys import ApiKey
from tests.hitlsite.site.test_security import WITHOUT_CODES, addresses
from tests.support.machines import Machine
from tests.support.people import alice

pytestmark = pytest.mark.django_db(transaction=True)


def key_until(seconds: float) -> tuple[ApiKey, str]:
    return create_key(
        alice(), name="agent", scopes=("ask", "read"), expires_at=timezone.now() + timedelta(seconds=seconds)
    )


def test_a_key_works_until_it_expires_at_every_address():
    key, text = key_until(3600)
    token = callers.client_token(callers.caller_by_token(text), thread="t-1")
    found = set(addresses(for_machines=True)) - WITHOUT_CODES
    assert [Machine(held).get("/api/v1/requests").status for held in (text, token)] == [200, 403]
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    after = {address: [Machine(held).get(address).code for held in (text, token)] for address in found}
    assert after == dict.fromkeys(found, ["not_authenticated"] * 2)
    assert key.pk == ApiKey.objects.get().pk


def test_a_stream_asks_again_and_finds_that_its_key_has_expired():
    _key, text = key_until(3600)
    credentials = callers.Credentials(text, None)
    assert credentials.caller() is not None
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert credentials.caller() is None


def test_when_a_key_expires_is_on_record():
    key, _text = key_until(60)
    assert AuditEntry.objects.get(event="key.created").data["expires_at"][:16] == key.expires_at.isoformat()[:16]
