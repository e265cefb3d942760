"""Approver scopes over REST: their document, and the right to read it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from tests.support.desk.scopes import make_scope
from tests.support.machine import Machine
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


def administrator() -> Machine:
    return Machine(make_person("ann", "administer", "view_approvalrequest", "view_auditentry"))


def test_a_scope_shows_whom_it_names_what_it_fits_and_what_they_may_do(root):
    team = Group.objects.create(name="Refunds")
    amounts = [{"pointer": "/amount", "at_most": 100}]
    scope = make_scope(bob(), carol(), team, by=root, limit=1_000, tools=["refund*"], input=amounts)
    machine = administrator()
    shown = machine.get(f"/scopes/{scope.pk}").body
    assert shown == {
        "id": scope.pk,
        "name": "Scope 1",
        "people": ["bob", "carol"],
        "teams": ["Refunds"],
        "may": "decide",
        "limit": 1_000,
        "match": {"tools": ["refund*"], "input": amounts},
        "created_at": shown["created_at"],
    }
    assert machine.get("/scopes").body == {"items": [shown], "next": None}


def test_scopes_are_listed_by_page(root):
    scopes = [make_scope(root, by=root, tools=[f"tool-{number}"]).pk for number in range(3)]
    machine = administrator()
    first = machine.get("/scopes?limit=2").body
    rest = machine.get(f"/scopes?limit=2&cursor={first['next']}").body
    assert ([scope["id"] for scope in first["items"] + rest["items"]], rest["next"]) == (scopes, None)
    for wrong in ("x", "-1", "9" * 19):
        assert machine.get(f"/scopes?cursor={wrong}").refusal == (422, "invalid")


@pytest.mark.parametrize(
    ("rights", "reads"),
    [
        (("administer",), True),
        (("view_auditentry", "ignore_scopes"), True),
        # A person with scopes reads no audit log, and so not the list of deciders.
        (("view_auditentry",), False),
        (("decide_approvalrequest", "view_approvalrequest", "ignore_scopes"), False),
    ],
)
def test_only_administrators_and_readers_of_the_whole_record_read_scopes(root, rights, reads):
    scope = make_scope(alice(), by=root)
    machine = Machine(make_person("ann", *rights))
    replies = [machine.get("/scopes"), machine.get(f"/scopes/{scope.pk}"), machine.get("/scopes/999")]
    assert [reply.status for reply in replies] == ([200, 200, 404] if reads else [403, 403, 403])


def test_a_key_needs_the_scope_audit(root):
    scope = make_scope(alice(), by=root)
    reader = Machine(root, ("ask", "decide", "read", "grant"))
    assert reader.get("/scopes").refusal == reader.get(f"/scopes/{scope.pk}").refusal == (403, "scope_missing")


@pytest.mark.parametrize("address", ["/scopes/0", "/scopes/9" + "9" * 40])
def test_a_scope_that_does_not_exist_is_not_found(root, address):
    assert Machine(root).get(address).refusal == (404, "not_found")
