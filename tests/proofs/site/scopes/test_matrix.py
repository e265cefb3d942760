"""Every address, for every role and every scope of a key: nothing is seen or changed that approver scopes leave out."""

from __future__ import annotations

import json
from http import HTTPStatus

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from approvals.access.callers import SCOPES
from approvals.models.people import ROLE_PERMISSIONS, RoleName
from chats.models import Message
from tests.proofs.site.scopes.hidden import (
    SECRET,
    Hidden,
    addresses,
    admin_addresses,
    forms,
    hide,
    queries,
    shown,
)
from tests.support.desk.files import folder
from tests.support.desk.requests import make_request
from tests.support.desk.scopes import make_scope
from tests.support.machine import Machine
from tests.support.people import make_person

pytestmark = pytest.mark.django_db
__all__ = ["folder"]

EVERY_ROLE = tuple({permission for names in ROLE_PERMISSIONS.values() for permission in names})
#: The rights of each person, and those by the one scope that names them, over other tools; "" is in no scope.
LIMITED = {
    "approver": (ROLE_PERMISSIONS[RoleName.APPROVER], "decide"),
    "approver in no scope": (ROLE_PERMISSIONS[RoleName.APPROVER], ""),
    "auditor": (ROLE_PERMISSIONS[RoleName.AUDITOR], "see"),
    "auditor in no scope": (ROLE_PERMISSIONS[RoleName.AUDITOR], ""),
    "administrator": (ROLE_PERMISSIONS[RoleName.ADMINISTRATOR], "see"),
    "everything but ignoring scopes": (EVERY_ROLE, "answer"),
    "stranger": ((), "decide"),
}


@pytest.fixture
def hidden(folder) -> Hidden:
    root = User.objects.create_superuser("root")
    hidden = hide(make_person("alice"), root)
    make_person("mallory")
    return hidden


def limited(who: str) -> User:
    """A person with these rights; the scopes name them for another tool only."""
    permissions, may = LIMITED[who]
    person, root = make_person("erin", *permissions), User.objects.get(username="root")
    make_scope(root, by=root, tools=["payroll"])
    if may:
        make_scope(person, by=root, may=may, tools=["refund"])
        make_request(make_person("asker"), tool_name="refund")
    return person


def browser(person: User) -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(person)
    return client


def leaks(client: Client, found: list[str], **headers: str) -> list[str]:
    return [address for address in found if SECRET in shown(client, address, headers=headers)]


def every_read(hidden: Hidden) -> list[str]:
    found = list(dict.fromkeys(addresses(hidden)))
    return [*found, *(address + query for address in found for query in queries(address))]


def test_the_secret_is_where_the_unlimited_look(hidden):
    limited("approver")
    wanted = {"/requests/", "/workflows/", "/audit/export.csv", "/audit/export.jsonl", "/audit/export.ocsf",
              "/api/v1/requests", "/settings/tools/",
              f"/requests/{hidden.waiting.pk}/", f"/requests/{hidden.ended.pk}/record/", f"/chats/{hidden.chat.pk}/",
              f"/api/v1/requests/{hidden.waiting.pk}", f"/workflows/{hidden.waiting.workflow_id}/",
              f"/api/v1/requests/{hidden.waiting.pk}/comments", "/admin/approvals/approvalrequest/",
              "/admin/approvals/auditentry/export.csv", "/admin/approvals/auditentry/export.ocsf",
              f"/chats/{hidden.chat.pk}/messages/{Message.objects.latest('pk').pk}/parts/1/"}  # fmt: skip
    found = set(leaks(browser(User.objects.get(username="root")), [*dict.fromkeys([*addresses(hidden), *wanted])]))
    assert (wanted - found, len(found) > 20) == (set(), True)


@pytest.mark.parametrize("who", LIMITED)
def test_no_page_shows_what_scopes_leave_out(hidden, who):
    assert leaks(browser(limited(who)), every_read(hidden)) == []


@pytest.mark.parametrize("who", LIMITED)
def test_no_page_of_the_admin_shows_what_scopes_leave_out(hidden, who):
    person = limited(who)
    person.is_staff = True
    person.save()
    models = Permission.objects.exclude(codename="ignore_scopes").exclude(content_type__app_label="auth")
    person.user_permissions.set(models)
    assert leaks(browser(person), list(admin_addresses(hidden))) == []


@pytest.mark.parametrize("who", LIMITED)
def test_no_key_reads_what_scopes_leave_out(hidden, who):
    person, found = limited(who), {}
    read = [address for address in every_read(hidden) if address.startswith(("/api/", "/chat", "/mcp"))]
    for scopes in [*((scope,) for scope in SCOPES), SCOPES]:
        machine = Machine(person, scopes)
        if leaking := leaks(machine.client, read, **machine.headers):
            found[scopes] = leaking
    assert found == {}


@pytest.mark.parametrize("who", LIMITED)
def test_no_post_shows_or_changes_what_scopes_leave_out(hidden, who):
    person = limited(who)
    client, machine = browser(person), Machine(person)
    before, leaking = hidden.state(), []
    for address in dict.fromkeys(addresses(hidden)):
        if address.startswith(("/logout", "/login", "/settings/sessions", "/settings/sign-in", "/password")):
            continue
        for form in forms(hidden, address):
            sent = json.dumps(form)
            # Problems come as JSON, which says more than the page that the form gets and is not rendered.
            answers = [
                client.post(address, sent, content_type="application/json", headers={"accept": "application/json"})
            ]
            # Where nothing may be posted, no body is read, whoever sends it.
            if answers[0].status_code != HTTPStatus.METHOD_NOT_ALLOWED:
                fields = {name: value for name, value in form.items() if not isinstance(value, dict)}
                answers += [
                    client.post(address, fields),
                    machine.client.post(address, sent, content_type="application/json", headers=machine.headers),
                ]
            leaking += [address for answer in answers if not answer.streaming and SECRET in answer.content.decode()]
    assert (leaking, hidden.state()) == ([], before)
