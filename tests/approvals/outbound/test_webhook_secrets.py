"""Secrets of webhooks: two during a change-over, none stored, and nothing is sent without one."""

from __future__ import annotations

import pytest
from django.utils import timezone
from standardwebhooks import WebhookVerificationError

from approvals.actions import create_signing_secret, end_old_signing_secrets
from approvals.outbound import webhooks
from approvals.states import Verdict
from tests.support.desk.carrying import carry, later, make_endpoint, make_key, states, workflow_of
from tests.support.desk.requests import decide, make_request
from tests.support.people import alice, bob
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _local(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True


def test_a_signature_is_valid_for_its_secret_only():
    with Receiver() as there:
        make_endpoint(there.url())
        _, other = make_endpoint(there.url(), active=False)
        make_request(alice())
        carry()
        (got,) = there.got
    with pytest.raises(WebhookVerificationError):
        got.told(other)


def test_two_secrets_sign_during_a_change_over():
    with Receiver() as there:
        endpoint, first = make_endpoint(there.url())
        second, third = create_signing_secret(endpoint), create_signing_secret(endpoint)
        make_request(alice())
        carry()
        end_old_signing_secrets(endpoint)
        make_request(bob())
        carry()
        both, alone = there.got
    assert both.told(third) == both.told(second)
    assert alone.told(third)["type"] == "request.created"
    for got, ended in ((both, first), (alone, second)):
        with pytest.raises(WebhookVerificationError):
            got.told(ended)


def test_the_previous_secret_expires_by_itself():
    endpoint, _ = make_endpoint("https://app.example.org/")
    newest = create_signing_secret(endpoint)
    assert len(webhooks.secrets_of(endpoint)) == 2
    endpoint.secrets.filter(expires_at__isnull=False).update(expires_at=timezone.now())
    assert webhooks.secrets_of(endpoint) == [newest]


def test_no_secret_is_stored():
    endpoint, secret = make_endpoint("https://app.example.org/")
    stored = [str(value) for row in endpoint.secrets.values() for value in row.values()]
    assert [value for value in stored if secret.removeprefix("whsec_") in value] == []


def test_a_changed_secret_key_is_noticed_and_nothing_is_sent_with_a_wrong_signature(settings):
    with Receiver() as there:
        endpoint, _ = make_endpoint(there.url())
        make_request(alice())
        settings.SECRET_KEY = "another"
        carry()
        assert (there.got, "different SECRET_KEY" in states()[0][3]) == ([], True)
        secret = create_signing_secret(endpoint)
        end_old_signing_secrets(endpoint)
        later()
        carry()
        assert there.got[0].told(secret)["type"] == "request.created"


def test_a_callback_of_a_key_without_a_secret_waits_for_one():
    with Receiver() as there:
        key, _ = make_key(alice())
        key.webhook_secrets.all().delete()
        request = make_request(key.user, workflow=workflow_of(key), callback_url=there.url())
        decide(request, bob(), Verdict.APPROVE)
        carry()
        assert (there.got, states()) == (
            [],
            [("request.decided", False, False, "there is no signing secret; create one in the admin or with"
              " `manage.py webhooksecret`")],
        )  # fmt: skip
        secret = create_signing_secret(key)
        later()
        carry()
        assert there.got[0].told(secret)["data"]["verdict"] == "approve"
