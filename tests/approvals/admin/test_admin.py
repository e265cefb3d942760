"""The admin is read-only; its actions use the same decision path as everything else."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import DatabaseError, connection, transaction
from django.test import Client, RequestFactory

from approvals import actions
from approvals.access.callers import find_key
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.models import ApprovalRequest, AuditEntry, Decision, Vote
from approvals.models.keys import ApiKey
from approvals.states import Door, Kind, Verdict
from chats.models import Turn
from hitlsite.middleware import POLICY
from tests.support import people
from tests.support.markup import inline_code

pytestmark = pytest.mark.django_db


def make_root() -> tuple[Client, User]:
    root = User.objects.create_superuser("root", password=people.PASSWORD)
    client = Client()
    client.force_login(root)
    return client, root


def ask(owner: User, key: str = "run-1") -> ApprovalRequest:
    workflow = actions.open_workflow(scope="key:1", key=key, title="Refund", source="api", owner=owner)
    return actions.request_approval(workflow, Ask(kind=Kind.APPROVAL, title=f"May I? {key}"), requested_by=owner)


SHOWN = [
    "approvals/workflow",
    "approvals/approvalrequest",
    "approvals/decision",
    "approvals/vote",
    "approvals/auditentry",
    "approvals/outboxevent",
    "approvals/apikey",
    "chats/chat",
    "chats/turn",
    "chats/toolcall",
    "chats/turncheckpoint",
]


@pytest.mark.parametrize("name", SHOWN)
def test_not_even_a_superuser_adds_anything(name):
    client, _ = make_root()
    assert client.get(f"/admin/{name}/").status_code == 200
    assert client.get(f"/admin/{name}/add/").status_code == 403


def test_not_even_a_superuser_changes_or_deletes_an_entry():
    client, _ = make_root()
    ask(people.alice())
    entry = AuditEntry.objects.get()
    page = client.get(f"/admin/approvals/auditentry/{entry.pk}/change/").content.decode()
    assert ('name="_save"' in page, "deletelink" in page, "&quot;event&quot;: &quot;request.created&quot;" in page) == (
        False,
        False,
        True,
    )
    assert client.post(f"/admin/approvals/auditentry/{entry.pk}/change/", {"event": "x"}).status_code == 403
    assert client.post(f"/admin/approvals/auditentry/{entry.pk}/delete/", {"post": "yes"}).status_code == 403
    selected = {"action": "delete_selected", "_selected_action": [entry.pk], "post": "yes"}
    client.post("/admin/approvals/auditentry/", selected)
    assert list(AuditEntry.objects.values_list("event", flat=True)) == ["request.created"]


@pytest.mark.parametrize(
    "statement", ["UPDATE approvals_auditentry SET event = 'x'", "DELETE FROM approvals_auditentry"]
)
def test_the_database_itself_refuses_to_change_an_entry(statement):
    ask(people.alice())
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.parametrize(
    "query",
    [
        "?tool=" + "a" * 5000,
        "?from=yesterday",
        "?from=0000-00-00",
        "?from=9999-12-31",
        "?until=9999-12-31",
        "?event=nonsense",
        "?p=9999",
        "?tool=a&tool=b",
        "?person=%F0%9F%A6%8A",
    ],
)
def test_hostile_filter_causes_no_error(query):
    client, _ = make_root()
    assert client.get(f"/admin/approvals/auditentry/{query}").status_code in {200, 302}


@pytest.mark.parametrize(
    "query",
    ["?tool_name__regex=(((", "?at__year=99999999", "?nonsense=1", "?at__gte=x", "?id__in=x", "?body__contains=%00"],
)
def test_only_the_filters_of_the_list_reach_the_database(query):
    client, _ = make_root()
    assert client.get(f"/admin/approvals/auditentry/{query}").status_code == 400


def test_unknown_event_finds_nothing():
    client, _ = make_root()
    ask(people.alice())
    pages = [client.get(f"/admin/approvals/auditentry/{query}") for query in ("", "?event=x")]
    assert [page.context["cl"].result_count for page in pages] == [1, 0]


def test_invalid_day_shows_an_error():
    client, _ = make_root()
    assert "Enter a date like" in client.get("/admin/approvals/auditentry/?from=yesterday").content.decode()


def test_filter_keeps_the_other_filters():
    client, _ = make_root()
    page = client.get("/admin/approvals/auditentry/?tool=issueRefund&person=bob").content.decode()
    assert '<input type="hidden" name="tool" value="issueRefund">' in page
    assert "export.csv?tool=issueRefund&amp;person=bob" in page


def test_export_contains_all_pages_of_the_list():
    client, _ = make_root()
    page = client.get("/admin/approvals/auditentry/?tool=issueRefund&p=1").content.decode()
    assert 'export.jsonl?tool=issueRefund"' in page


def test_cancel_action_uses_the_decision_path_for_each_request():
    client, root = make_root()
    alice, bob = people.alice(), people.bob()
    first, second = ask(alice, "run-1"), ask(alice, "run-2")
    actions.decide(first.pk, Answer(Verdict.APPROVE), by=bob, via=Door.DASHBOARD)
    selected = {"action": "cancel_selected", "_selected_action": [str(first.pk), str(second.pk)]}
    page = client.post("/admin/approvals/approvalrequest/", selected, follow=True).content.decode()
    assert (
        "“May I? run-1”: This request was approved just now by bob" in page,
        "“May I? run-2” was cancelled." in page,
    ) == (True, True)
    decision = Decision.objects.get(request=second)
    assert (decision.verdict, decision.by_id, decision.via) == ("cancel", root.pk, "admin")
    assert AuditEntry.objects.filter(event="request.cancelled", request_id=second.pk, via="admin").count() == 1


def test_readers_get_no_cancel_action():
    carol = people.carol()
    carol.is_staff = True
    carol.save()
    request = ask(people.alice())
    client = Client()
    client.force_login(carol)
    client.post(
        "/admin/approvals/approvalrequest/", {"action": "cancel_selected", "_selected_action": [str(request.pk)]}
    )
    request.refresh_from_db()
    assert request.status == "pending"


def test_a_key_is_revoked_once_and_its_secret_is_never_shown():
    client, root = make_root()
    key, text = create_key(root, name="billing")
    client.post("/admin/approvals/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    revoked_at = ApiKey.objects.get().revoked_at
    client.post("/admin/approvals/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    assert (revoked_at is not None, ApiKey.objects.get().revoked_at) == (True, revoked_at)
    assert find_key(text) is None
    assert key.secret_hash not in client.get(f"/admin/approvals/apikey/{key.pk}/change/").content.decode()


def test_only_the_lists_of_a_key_are_changed_and_on_record():
    client, root = make_root()
    key, _text = create_key(root, name="billing")
    own = f"/admin/approvals/apikey/{key.pk}/change/"
    assert client.post(own, {"gated": "Bash", "allowed": "", "denied": "x y", "name": "other"}).status_code == 200
    assert client.post(own, {"gated": "Bash", "allowed": "", "denied": "", "name": "other"}).status_code == 302
    key.refresh_from_db()
    assert (key.name, key.tool_lists) == ("billing", {"gated": ["Bash"], "allowed": [], "denied": []})
    assert AuditEntry.objects.get(event="key.changed").via == "admin"
    client.post("/admin/approvals/apikey/", {"action": "revoke", "_selected_action": [key.pk]})
    assert (client.get(own).status_code, client.post(own, {"gated": ""}).status_code) == (200, 403)


def test_key_list_says_how_to_create_a_key():
    client, _ = make_root()
    assert "manage.py createkey" in client.get("/admin/approvals/apikey/").content.decode()


@pytest.mark.parametrize("model", [AuditEntry, ApprovalRequest, Decision, Vote, Turn], ids=lambda model: model.__name__)
def test_row_is_shown_completely(model):
    request = RequestFactory().get("/")
    request.user = make_root()[1]
    request.standing = standing_of(request.user)
    columns = {column.name for column in model._meta.fields}
    fields = admin.site._registry[model].get_fields(request)
    shown = {name if name in columns else name.removeprefix("canonical_") for name in fields}
    # From these, hidden values could be found.
    kept = {"ask_digest", "digest_salt", "input_fingerprint"}
    assert shown | {"id"} == columns - kept
    assert ("id" in shown) == (model is ApprovalRequest)


def test_decision_page_names_its_request():
    client, root = make_root()
    request = ask(people.alice())
    actions.decide(request.pk, Answer(Verdict.APPROVE), by=root, via=Door.DASHBOARD)
    page = client.get(f"/admin/approvals/decision/{Decision.objects.get().pk}/change/").content.decode()
    assert f"/admin/approvals/approvalrequest/{request.pk}/change/" in page


@pytest.mark.parametrize("address", ["", "auth/user/", "auth/user/add/", "auth/group/add/", *(f"{n}/" for n in SHOWN)])
def test_admin_pages_have_no_inline_scripts_or_styles(address):
    client, _ = make_root()
    response = client.get(f"/admin/{address}")
    assert (response.status_code, inline_code(response.content.decode())) == (200, [])
    assert response["Content-Security-Policy"] == POLICY


@pytest.mark.parametrize(
    "query", ["?state__regex=(", "?id__in=x", "?owner__password__startswith=a", "?status__exact=nonsense"]
)
def test_only_the_lists_own_filters_reach_the_database(query):
    client, _ = make_root()
    found = {name: client.get(f"/admin/{name}/{query}").status_code for name in SHOWN}
    assert {name: status for name, status in found.items() if status not in {200, 302, 400}} == {}


def test_changes_of_people_and_teams_in_the_admin_are_on_record():
    client, root = make_root()
    bob = people.bob()
    key, _text = create_key(bob, name="k", scopes=["ask"], by=bob, via=Door.DASHBOARD)
    address = f"/admin/auth/user/{bob.pk}/change/"
    dates = {"date_joined_0": "2026-11-23", "date_joined_1": "10:00:00"}
    body = {"username": "bob", "email": "bob@example.org", "is_staff": "on", **dates}
    assert client.post(address, body).status_code == 302
    assert client.post("/admin/auth/group/add/", {"name": "Finance"}).status_code == 302
    team = Group.objects.get(name="Finance")
    assert client.post(f"/admin/auth/group/{team.pk}/delete/", {"post": "yes"}).status_code == 302
    found = [
        (entry.actor_name, entry.via, entry.data["change"], entry.data["model"], entry.data["name"])
        for entry in AuditEntry.objects.filter(event="admin.changed").order_by("pk")
    ]
    assert found == [
        (root.get_username(), "admin", "changed", "auth.user", "bob"),
        (root.get_username(), "admin", "added", "auth.group", "Finance"),
        (root.get_username(), "admin", "removed", "auth.group", "Finance"),
    ]
    changed = AuditEntry.objects.filter(event="admin.changed").earliest("pk").data["fields"]
    assert {"Active", "Email address", "Staff status"} <= set(changed)
    # They would work again as soon as the person is active again.
    key.refresh_from_db()
    assert (key.revoked_at is not None, AuditEntry.objects.filter(event="key.revoked").count()) == (True, 1)
