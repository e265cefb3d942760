"""The pages of API keys."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry
from approvals.models.keys import ApiKey
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.days import day_in
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_a_key_is_shown_once_works_and_is_revoked():
    alice()
    client = browser(administrator())
    sent = {"name": "billing agent", "user": "alice", "scopes": ["ask", "read"], "last_day": day_in(30)}
    made = client.post("/settings/keys/", sent)
    text = parse(made.text).find("pre")[0].words
    key = ApiKey.objects.get()
    assert (key.user.username, key.scopes, f"{key.expires_at:%Y-%m-%d %H:%M}") == (
        "alice",
        ["ask", "read"],
        f"{day_in(31)} 00:00",
    )
    assert made.headers["Cache-Control"] == "private, no-store"
    machine = Machine(authorization=f"Bearer {text}")
    assert machine.ask()["status"] == "pending"
    listed = client.get("/settings/keys/").text
    assert (text in listed, key.prefix in listed) == (False, True)
    assert client.post(f"/settings/keys/{key.pk}/revoke/").status_code == 302
    assert machine.get("/requests").refusal == (401, "not_authenticated")
    assert client.post(f"/settings/keys/{key.pk}/revoke/").status_code == 404


def test_the_lists_of_a_key_are_changed_on_its_page_and_on_record():
    key = Machine(alice()).key
    client, own = browser(administrator()), f"/settings/keys/{key.pk}/"
    shown = [one.words for one in parse(client.get(own).text).find("textarea")]
    assert (shown[0], "Read" in shown[1].split(), shown[2]) == ("*", True, "")
    sent = {"gated": "Bash\r\n mcp__* \r\n\r\nBash", "allowed": "", "denied": "WebFetch"}
    assert client.post(own, sent).status_code == 302
    key.refresh_from_db()
    assert key.tool_lists == {"gated": ["Bash", "mcp__*"], "allowed": [], "denied": ["WebFetch"]}
    wrong = [{"denied": "rm -rf"}, {"gated": "ä"}, {"allowed": "\n".join(map(str, range(101)))}, {"gated": "x" * 101}]
    assert [client.post(own, sent | one).status_code for one in wrong] == [422] * 4
    entry = AuditEntry.objects.get(event="key.changed")
    assert (entry.data["tool_lists"], entry.via) == (key.tool_lists, "dashboard")
    others = [browser(bob()), browser(key.user)]
    assert [one.get(own).status_code for one in others] + [one.post(own, sent).status_code for one in others] == [
        404,
        200,
        404,
        404,
    ]
    client.post(f"{own}revoke/")
    assert [client.get(own).status_code, client.post(own, sent).status_code] == [404, 404]


@pytest.mark.parametrize(
    "wrong",
    [
        {"user": "nobody"},
        {"scopes": []},
        {"scopes": ["root"]},
        {"name": ""},
        {"last_day": ""},
        {"last_day": "soon"},
        {"last_day": "2026-01-01"},
        {"last_day": "9999-12-31"},
    ],
)
def test_a_wrong_key_form_is_refused_and_makes_nothing(wrong):
    sent = {"name": "agent", "user": "dora", "scopes": ["ask"], "last_day": day_in(30)} | wrong
    refused = browser(administrator()).post("/settings/keys/", sent)
    assert (refused.status_code, ApiKey.objects.count()) == (422, 0)
