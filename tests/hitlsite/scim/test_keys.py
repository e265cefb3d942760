"""Keys for SCIM: confirmed by a second administrator, for an administrator, for nothing else; and no other credential gets in."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from approvals.access.callers import SCOPES
from approvals.administration.changes.actions import confirm_change
from approvals.administration.changes.queries import shown_digest
from approvals.administration.keys.actions import NewKey, make_key
from approvals.administration.people.actions import give_roles
from approvals.exceptions import NotAllowed
from approvals.models import ApiKey, PendingChange, ScimRefusal
from approvals.states import Door
from tests.support.desk.pressing import browser
from tests.support.desk.scim import CORE, Directory, administrator, error_of
from tests.support.machine import API, Machine
from tests.support.people import bob

pytestmark = pytest.mark.django_db


def new_key(owner: User, *scopes: str) -> NewKey:
    return NewKey(user=owner, name="Corp directory", scopes=scopes)


def test_a_key_for_scim_works_once_a_second_administrator_has_confirmed_it():
    dora, eva = administrator(), administrator("eva")
    change, text = make_key(new_key(dora, "scim"), by=dora, via=Door.DASHBOARD)
    assert isinstance(change, PendingChange)
    directory = Directory(text=text)
    assert error_of(directory.get("/Users"))[0] == 401
    with pytest.raises(NotAllowed):
        confirm_change(change.pk, shown=shown_digest(change), by=dora)
    confirm_change(change.pk, shown=shown_digest(change), by=eva)
    assert directory.get("/Users").status == 200


def test_a_key_for_scim_has_no_other_scope_and_an_administrator():
    dora, approver = administrator(), bob()
    with pytest.raises(NotAllowed, match="A key for SCIM has no other scope"):
        make_key(new_key(dora, "scim", "read"), by=dora, via=Door.DASHBOARD)
    for owner, maker in ((approver, approver), (approver, dora)):
        with pytest.raises(NotAllowed, match="A key for SCIM must act for an administrator"):
            make_key(new_key(owner, "scim"), by=maker, via=Door.DASHBOARD)
    for name, scopes in (("bob", "scim"), ("dora", "scim,read")):
        with pytest.raises(CommandError, match="A key for SCIM"):
            call_command("createkey", user=name, name="Corp", scopes=scopes)
    assert ApiKey.objects.count() == 0


def test_a_key_for_scim_opens_nothing_else():
    dora = administrator()
    machine = Machine(dora, scopes=("scim",))
    refused = {
        path: machine.get(path).refusal
        for path in ("/requests", "/audit", "/grants", "/people", "/policy", "/requests/x", "/events")
    }
    assert set(refused.values()) == {(401, "not_authenticated")}
    said = machine.get("/requests").body["detail"]
    assert said == "This key only works for SCIM."
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    client = Client(raise_request_exception=False, headers=machine.headers)
    statuses = [
        client.post("/mcp", body, "application/json").status_code,
        client.post(f"{API}/hooks/claude-code", {}, "application/json").status_code,
        client.post("/chat", {}, "application/json").status_code,
        client.get("/").status_code,
    ]
    assert statuses == [401, 401, 401, 302]


def test_no_other_credential_is_accepted_by_scim():
    dora = administrator()
    for scope in SCOPES:
        machine = Machine(dora, scopes=(scope,))
        directory = Directory()
        directory.headers = machine.headers
        status, _kind, words = error_of(directory.get("/Users"))
        assert (status, words) == (403, "This key or token does not have the scope “scim”. Use one that has it.")
    session = browser(dora)
    assert session.get("/scim/v2/Users").status_code == 403
    assert session.post("/scim/v2/Users", "{}", "application/json").status_code == 403
    nobody = Directory(text="")
    for text in ("", "pp_00000000_x", "garbage"):
        nobody.headers = {"authorization": f"Bearer {text}"}
        reply = nobody.get("/ServiceProviderConfig")
        assert (error_of(reply)[0], reply.headers["www-authenticate"]) == (401, "Bearer")


def test_the_key_stops_working_when_its_person_no_longer_administers():
    dora = administrator()
    directory = Directory(dora)
    administrator("eva")
    give_roles(dora, [])
    assert error_of(directory.get("/Users")) == (
        403,
        "",
        "The person for whom this key acts no longer administers.",
    )


def test_an_expired_or_revoked_key_is_refused():
    directory = Directory(administrator())
    past = timezone.now() - timedelta(seconds=2)
    for change in ({"expires_at": past}, {"expires_at": None, "revoked_at": past}):
        ApiKey.objects.update(**change)
        assert error_of(directory.get("/Users"))[0] == 401


def test_calls_are_limited_per_key(settings):
    settings.HITL_ASKS_PER_MINUTE = 2
    directory = Directory(administrator())
    assert [directory.get("/Users").status for _ in range(2)] == [200, 200]
    reply = directory.get("/Users")
    assert (error_of(reply)[0], "retry-after" in reply.headers) == (429, True)


def test_the_latest_refused_changes_are_kept():
    directory = Directory(administrator())
    sent = {"schemas": [f"{CORE}User"], "userName": "dora"}
    for _ in range(22):
        directory.send("POST", "/Users", sent)
    error_of(directory.get("/Users/p999"))
    rows = ScimRefusal.objects.order_by("pk")
    assert len(rows) == 20
    last = rows[19]
    assert (last.key_name, last.method, last.path, last.status, last.detail) == (
        "Corp directory",
        "POST",
        "/Users",
        409,
        "That username is taken.",
    )
