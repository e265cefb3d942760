"""Malformed and hostile bodies get a problem document and never cause a server error."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from tests.support.machine import API, APPROVAL, Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

DEEP = b"[" * 100_000 + b"]" * 100_000
HOSTILE = {
    "nothing": (b"", 400),
    "no JSON": (b"{", 400),
    "text": (b'"x"', 422),
    "null": (b"null", 422),
    "a list": (b"[]", 422),
    "NaN": (b'{"kind": "approval", "title": "x", "context": NaN}', 400),
    "infinity": (b'{"kind": "approval", "title": "x", "context": 1e999}', 400),
    "a huge integer": (b'{"kind": "approval", "title": "x", "context": 9007199254740993}', 400),
    "an integer of 5,000 digits": (b'{"kind": "approval", "title": "x", "context": ' + b"9" * 5000 + b"}", 400),
    "NUL": (b'{"kind": "approval", "title": "x\\u0000"}', 400),
    "part of a character": (b'{"kind": "approval", "title": "\\ud800"}', 400),
    "a key with NUL": (b'{"kind": "approval", "title": "x", "input": {"\\u0000": 1}}', 400),
    "no UTF-8": (b'{"kind": "approval", "title": "\xff"}', 400),
    "another encoding": ('{"kind": "approval", "title": "é"}'.encode("utf-16"), 400),
    "deep": (DEEP, 400),
    "deep inside": (b'{"kind": "approval", "title": "x", "context": ' + DEEP + b"}", 400),
    "deeper than is kept": (b'{"kind": "approval", "title": "x", "context": ' + b"[" * 70 + b"]" * 70 + b"}", 400),
    "the same name twice": (b'{"kind": "approval", "title": "x", "title": ""}', 400),
    "the same name twice inside": (b'{"kind": "approval", "title": "x", "input": {"amount": 5, "amount": 5000}}', 400),
    "a byte order mark": (b'\xef\xbb\xbf{"kind": "approval", "title": "x"}', 400),
    "a thousand unknown names": (json.dumps({f"n{n}": n for n in range(1000)}).encode(), 422),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_body_is_refused_in_json(name):
    body, status = HOSTILE[name]
    reply = Machine(bob()).send("POST", "/requests", body)
    assert reply.status == status
    assert reply.refusal[1] == {400: "bad_body", 422: "invalid"}[status]
    assert len(json.dumps(reply.body)) < 20_000


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]
)
def test_another_content_type_is_refused(kind):
    assert Machine(bob()).send("POST", "/requests", b"{}", content_type=kind or " ").refusal == (415, "not_json")


@pytest.mark.parametrize("key", [" ", "a b", "x" * 201, "é"])
def test_a_malformed_idempotency_key_is_refused(key):
    reply = Machine(bob()).post("/requests", APPROVAL, idempotency_key=key)
    assert (reply.refusal, list(reply.body["errors"])) == ((422, "invalid"), ["Idempotency-Key"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=6,
)
FIELDS = ["kind", "title", "input", "options", "response_schema", "context", "timeout", "deadline", "default_response",
          "step_path", "suggestions", "assigned_to", "callback_url", "workflow_id", "priority", "tool_call_id"]  # fmt: skip


class AnyBody(TestCase):
    """Any JSON is accepted, or refused in our words."""

    @settings(max_examples=60)
    @given(st.dictionaries(st.sampled_from(FIELDS), json_values, max_size=5))
    def test_any_request_is_answered(self, changes):
        reply = self.machine().post("/requests", APPROVAL | changes)
        assert reply.status in {200, 201} or reply.refusal[0] in {400, 409, 422}

    @settings(max_examples=60)
    @given(
        st.sampled_from(
            ["decision", "cancel", "result", "resume", "resume/renew", "resume/release", "resume/complete"]
        ),
        json_values,
    )
    def test_anything_said_to_a_request_is_answered(self, what, body):
        machine = self.machine()
        reply = machine.post(f"/requests/{machine.ask()['id']}/{what}", body)
        assert reply.status in {200, 201} or reply.refusal[0] in {400, 409, 422}

    @staticmethod
    def machine() -> Machine:
        return Machine(User.objects.filter(username="bob").first() or bob())


def test_a_body_that_is_too_large_or_not_json_is_refused():
    agent = Machine(alice())
    assert agent.send("POST", "/requests", b" " * 1_000_001).refusal == (413, "too_large")
    assert agent.send("POST", "/requests", b"{}", content_type="text/plain").refusal == (415, "not_json")
    assert agent.post("/requests", [1]).refusal == (422, "invalid")
    assert agent.client.post(f"{API}/requests", {"kind": "approval"}, headers=agent.headers).status_code == 415
