"""In Django's admin, only a superuser gives rights, or changes people with any."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core import mail

from approvals.administration.keys.actions import create_key
from approvals.models.keys import ApiKey
from approvals.models.subscriptions import SigningSecret
from approvals.outbound import mailing
from tests.support.desk.pressing import browser
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

RIGHTS = (
    "add_user",
    "change_user",
    "delete_user",
    "view_user",
    "add_group",
    "change_group",
    "delete_group",
    "view_group",
)


def staff(name: str = "sam", *more: str) -> User:
    person = make_person(name)
    person.is_staff = True
    person.save()
    person.user_permissions.set(Permission.objects.filter(codename__in=(*RIGHTS, *more)))
    return User.objects.get(pk=person.pk)


def test_staff_who_may_change_users_cannot_give_rights_to_anybody():
    sam, target = staff(), alice()
    client, everything = browser(sam), str(Permission.objects.get(codename="decide_approvalrequest").pk)
    sent = {
        "username": "alice", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00", "is_active": "on",
        "is_superuser": "on", "is_staff": "on", "user_permissions": [everything],
        "groups": [str(Group.objects.get(name="Approver").pk)],
    }  # fmt: skip
    assert client.post(f"/admin/auth/user/{target.pk}/change/", sent).status_code == 302
    target = User.objects.get(pk=target.pk)
    assert (target.is_superuser, target.is_staff, target.get_all_permissions()) == (False, False, set())
    assert client.post(f"/admin/auth/user/{sam.pk}/change/", sent | {"username": "sam"}).status_code == 403
    assert not User.objects.get(pk=sam.pk).is_superuser


def test_only_superusers_change_people_who_decide_administer_or_are_staff():
    sam = browser(staff())
    root = User.objects.create_superuser("root")
    changers = make_person("rosa")
    changers.user_permissions.add(Permission.objects.get(codename="change_group"))
    for person in (bob(), root, changers, make_person("dan", "administer")):
        for page in ("change", "password", "delete"):
            address = f"/admin/auth/user/{person.pk}/{page}/"
            new = {"password1": "a quite different text", "password2": "a quite different text", "post": "yes"}
            assert (person, page, sam.post(address, new).status_code) == (person, page, 403)
    chosen = {"action": "delete_selected", "_selected_action": [str(root.pk)], "post": "yes"}
    sam.post("/admin/auth/user/", chosen)
    assert User.objects.filter(pk=root.pk).exists()
    assert browser(root).get(f"/admin/auth/user/{root.pk}/change/").status_code == 200


def test_only_superusers_change_what_groups_give():
    sam, group = browser(staff()), Group.objects.get(name="Requester")
    everything = [str(pk) for pk in Permission.objects.values_list("pk", flat=True)]
    answers = [
        sam.post("/admin/auth/group/add/", {"name": "Root", "permissions": everything}),
        sam.post(f"/admin/auth/group/{group.pk}/change/", {"name": "Requester", "permissions": everything}),
        sam.post(f"/admin/auth/group/{group.pk}/delete/", {"post": "yes"}),
    ]
    assert [answer.status_code for answer in answers] == [403, 403, 403]
    assert (group.permissions.count(), Group.objects.count()) == (0, 4)


def test_staff_cannot_open_the_gate_of_a_superusers_key():
    sam = browser(staff("sam", "change_apikey", "view_apikey"))
    create_key(User.objects.create_superuser("root"), name="theirs")
    key = ApiKey.objects.get()
    sent = {"allowed": "*", "gated": "", "denied": ""}
    assert sam.post(f"/admin/approvals/apikey/{key.pk}/change/", sent).status_code == 403
    assert ApiKey.objects.get().tool_lists is None


@pytest.mark.django_db(transaction=True)
def test_a_new_address_is_told_to_the_old_one_too(settings):
    settings.HITL_MAIL = True
    person, root = alice(), User.objects.create_superuser("root")
    User.objects.filter(pk=person.pk).update(email="old@example.org")
    sent = {"username": "alice", "email": "new@example.org", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    sent["is_active"] = "on"
    assert browser(root).post(f"/admin/auth/user/{person.pk}/change/", sent).status_code == 302
    mailing._thread.submit(bool).result()
    told = [
        one.to[0] for one in mail.outbox if "changed the email address of your account to new@example.org" in one.body
    ]
    assert sorted(told) == ["new@example.org", "old@example.org"]


def test_staff_make_no_secrets_for_the_keys_of_superusers():
    sam, root = staff("sam", "view_apikey", "change_apikey"), User.objects.create_superuser("root")
    beyond, own = (create_key(person, name="k", scopes=["ask"])[0] for person in (root, alice()))
    for action in ("new_webhook_secret", "end_old_webhook_secrets"):
        sent = {"action": action, "_selected_action": [str(beyond.pk)]}
        page = browser(sam).post("/admin/approvals/apikey/", sent, follow=True)
        assert "Only a superuser can change the secrets" in page.text
    assert SigningSecret.objects.count() == 0
    browser(sam).post("/admin/approvals/apikey/", {"action": "new_webhook_secret", "_selected_action": [str(own.pk)]})
    assert SigningSecret.objects.count() == 1
