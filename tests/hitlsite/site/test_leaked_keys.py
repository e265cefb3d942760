"""Whoever finds the text of a key revokes it by posting it, and learns nothing."""

from __future__ import annotations

import re
from zlib import crc32

import pytest
from django.core import mail
from django.test import Client

from approvals.access import rate_limits
from approvals.administration.keys.actions import create_key, revoke_key
from approvals.models import AuditEntry
from approvals.models.keys import ApiKey, new_text, prefix_in
from approvals.outbound import mailing
from approvals.states import Door
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

ADDRESS = "/api/v1/leaked-keys"
#: What docs/reference/api.md tells scanners.
DOCUMENTED = re.compile(r"\bpp_[0-9a-f]{8}_[0-9A-Za-z]{43}[0-9a-f]{8}\b")


def report(body: object, **more: str) -> tuple[int, bytes]:
    reply = Client().post(ADDRESS, body, content_type="application/json", headers=more)
    return reply.status_code, reply.content


def test_a_reported_key_is_revoked_its_owner_told_and_the_report_recorded(settings):
    settings.HITL_MAIL = True
    owner = alice()
    owner.email = "alice@example.org"
    owner.save()
    key, text = create_key(owner, name="agent", scopes=("read",), ranges=("10.0.0.0/8",))
    kept, other = create_key(owner, name="another", scopes=("read",))
    found = {"token": f" {text}\n", "url": "https://git.example.org/a/b\u0000"}
    assert report(found) == (204, b"")
    key.refresh_from_db()
    kept.refresh_from_db()
    assert (key.revoked_at is not None, kept.revoked_at) == (True, None)
    assert Machine(authorization=f"Bearer {text}").get("/requests").refusal == (401, "not_authenticated")
    assert Machine(authorization=f"Bearer {other}").get("/requests").status == 200
    entry = AuditEntry.objects.get(event="key.revoked")
    assert (entry.actor_id, entry.actor_name, entry.via) == (None, "", "rest")
    assert entry.data == {
        "name": "agent", "prefix": key.prefix, "user": "alice", "leaked": True, "address": "127.0.0.1",
        "url": "https://git.example.org/a/b\ufffd",
    }  # fmt: skip
    assert text not in entry.body
    mailing._thread.submit(bool).result()
    assert [(one.to, str(one.body).splitlines()[0]) for one in mail.outbox] == [
        (
            ["alice@example.org"],
            "Your API key agent was found where others can read it, and has been revoked. Create a new one, and check in "
            "the audit log what was done with it.",
        )
    ]


def test_the_answer_is_the_same_for_every_text_and_no_other_key_is_revoked():
    (key, text), (revoked, gone) = (create_key(alice(), name="a"), create_key(bob(), name="b"))
    revoke_key(revoked.pk, by=key.user, via=Door.DASHBOARD)
    texts = [
        gone, new_text(), f"pp_{key.prefix}_", text[:-1], text[:-1] + ("0" if text[-1] != "0" else "1"), "", "x" * 60_000,
        "\u0000", "\ud800", "ppt_x", text.upper(),
    ]  # fmt: skip
    assert {report({"token": each}) for each in texts} == {(204, b"")}
    key.refresh_from_db()
    assert (key.revoked_at, AuditEntry.objects.filter(event="key.revoked").count()) == (None, 1)
    assert report({"token": text}, authorization=f"Bearer {gone}") == (204, b"")
    assert report({"token": text}) == (204, b"")
    assert AuditEntry.objects.filter(event="key.revoked").count() == 2


@pytest.mark.parametrize(
    ("body", "status"),
    [([], 400), ({}, 422), ({"token": 1}, 422), ({"token": None}, 422), ({"token": "x", "url": 1}, 422), ("{", 400)],
)
def test_a_malformed_report_is_a_problem_that_says_what_is_wrong(body, status):
    reply = Client().post(ADDRESS, body, content_type="application/json")
    assert (reply.status_code, reply.headers["Content-Type"]) == (status, "application/problem+json")
    assert Client().get(ADDRESS).status_code == 405
    assert Client().post(ADDRESS, {"token": "x"}).status_code == 415


def test_reports_are_limited_by_address_with_wrong_keys(settings, monkeypatch):
    settings.HITL_WRONG_KEYS_PER_MINUTE = 2
    monkeypatch.setattr(rate_limits, "wrong_keys", rate_limits.Limit())
    _key, text = create_key(alice(), name="a")
    statuses = [report({"token": each})[0] for each in ("x", "y", text)]
    assert statuses == [204, 204, 429]
    assert ApiKey.objects.get().revoked_at is None


def test_a_scanner_recognizes_keys_by_the_documented_pattern_and_checksum():
    for _ in range(200):
        text = new_text()
        (match,) = DOCUMENTED.findall(f'KEY="{text}";')
        assert (match, f"{crc32(text[:-8].encode()):08x}") == (text, text[-8:])
        assert prefix_in(text) == text[3:11]
        changed = text[:20] + ("a" if text[20] != "a" else "b") + text[21:]
        assert prefix_in(changed) is None
