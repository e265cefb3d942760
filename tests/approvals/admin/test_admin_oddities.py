"""The admin refuses values that a database cannot store or search for."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from approvals.administration.keys.actions import create_key
from approvals.models.keys import ApiKey
from tests.support.people import carol

# PostgreSQL would refuse the rest of a test's transaction, and so hide the page with the refusal.
pytestmark = pytest.mark.django_db(transaction=True)

NUL = [
    "approvals/workflow/?state__exact=%00",
    "approvals/approvalrequest/?status__exact=%00",
    "approvals/approvalrequest/?kind__exact=a%00b",
    "approvals/approvalrequest/?priority__exact=%00",
    "approvals/auditentry/?tool=%00x",
    "approvals/auditentry/export.csv?tool=%00x",
    "approvals/decision/?verdict__exact=%00",
    "approvals/outboxevent/?channel__exact=%00",
    "approvals/notificationrule/?route__exact=%00",
    "chats/turn/?state__exact=%00",
    "auth/user/?username=%00",
    "auth/user/?q=%00",
    "auth/user/?%00=x",
]
ACTIONS = [
    ("approvals/approvalrequest", "cancel_selected"),
    ("approvals/outboxevent", "send_again"),
    ("approvals/apikey", "revoke"),
    ("approvals/webhookendpoint", "delete_selected"),
    ("auth/user", "delete_selected"),
]


@pytest.fixture
def root() -> Client:
    client = Client(raise_request_exception=False)
    client.force_login(User.objects.create_superuser("root"))
    return client


@pytest.mark.parametrize("address", NUL)
def test_nul_in_an_address_is_refused(root, address):
    page = root.get(f"/admin/{address}")
    assert (page.status_code, "The request contains a NUL" in page.content.decode()) == (400, True)


@pytest.mark.parametrize(
    "lookup", ["username__regex=(", "date_joined__year=99999999999", "first_name__range=a", "id__in=" + "9" * 30]
)
def test_user_and_group_lists_accept_only_their_own_filters(root, lookup):
    assert root.get(f"/admin/auth/user/?{lookup}").status_code == 400
    assert root.get("/admin/auth/group/?name__regex=(").status_code == 400


def test_user_filters_still_work(root):
    team = Group.objects.create(name="refunds")
    team.user_set.add(carol())
    for query, found in [
        (f"groups__id__exact={team.pk}", ["carol"]),
        ("groups__isnull=True", ["root"]),
        ("is_superuser__exact=1", ["root"]),
        ("q=car", ["carol"]),
    ]:
        page = root.get(f"/admin/auth/user/?{query}")
        assert [person.username for person in page.context["cl"].result_list] == found, query


@pytest.mark.parametrize("selected", ["x", "", "\0", "1.5", "9" * 30, "True"])
def test_invalid_ids_cannot_be_selected(root, selected):
    words = "The request contains a NUL" if selected == "\0" else "The selected row is not in this list."
    for model, action in ACTIONS:
        page = root.post(f"/admin/{model}/", {"action": action, "_selected_action": selected})
        assert (model, page.status_code, words in page.content.decode()) == (model, 400, True)


def test_selection_with_an_invalid_id_changes_nothing(root):
    key, _ = create_key(User.objects.get(), name="billing")
    assert (
        root.post("/admin/approvals/apikey/", {"action": "revoke", "_selected_action": [key.pk, "x"]}).status_code
        == 400
    )
    assert ApiKey.objects.get().revoked_at is None
    root.post("/admin/approvals/apikey/", {"action": "revoke", "_selected_action": [key.pk, "-1"]})
    assert ApiKey.objects.get().revoked_at is not None


def test_people_without_access_learn_nothing():
    assert Client().get("/admin/auth/user/?username=%00").status_code == 302
