"""People of an identity provider: created, found, changed, deactivated and deleted by SCIM, each on record."""

from __future__ import annotations

import pytest
from allauth.socialaccount.models import SocialAccount
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals.administration.keys.actions import create_key
from approvals.administration.people.actions import give_roles, set_active
from approvals.administration.sign_in.actions import set_break_glass
from approvals.models import ApiKey, AuditEntry, Invitation
from approvals.models.people import PersonSession, RoleName
from tests.support.desk.scim import CORE, Directory, administrator, error_of, path_of, user_of
from tests.support.people import PASSWORD, alice, bob

pytestmark = pytest.mark.django_db

DEACTIVATE = {"op": "replace", "path": "active", "value": False}
ACTIVATE = {"op": "replace", "path": "active", "value": True}


@pytest.fixture
def directory() -> Directory:
    return Directory(administrator())


def last_entry() -> AuditEntry:
    return AuditEntry.objects.latest("pk")


def test_a_person_is_created_without_a_password_and_with_no_right_on_record(directory):
    name = {"givenName": "Ann", "familyName": "Lee"}
    emails = [{"value": "ann@corp.local", "type": "work", "primary": True}]
    made = directory.person("ann@corp.local", externalId="x-1", name=name, emails=emails, active=True)
    person = user_of(made)
    assert (person.username, person.email, person.first_name) == ("ann@corp.local", "ann@corp.local", "Ann Lee")
    assert (person.has_usable_password(), person.get_all_permissions()) == (False, set())
    entry = last_entry()
    assert (entry.event, entry.via, entry.actor_name) == (
        "person.created",
        "scim",
        "API key Corp directory of dora",
    )
    meta = made.pop("meta")
    assert made == {
        "schemas": [f"{CORE}User"],
        "id": f"p{person.pk}",
        "externalId": "x-1",
        "userName": "ann@corp.local",
        "name": name,
        "emails": emails,
        "active": True,
    }
    assert meta["location"] == f"http://127.0.0.1:8000/scim/v2{path_of(made)}"


def test_people_are_found_by_name_id_and_address_in_any_case(directory):
    directory.person("Ann", externalId="X-1", emails=[{"value": "Ann@corp.local", "primary": True}])
    directory.person("ben")
    filters = {
        'userName eq "ANN"': ["Ann"],
        'username Eq "ann"': ["Ann"],
        f'{CORE}User:userName eq "ann"': ["Ann"],
        'externalId eq "X-1"': ["Ann"],
        'externalId eq "x-1"': [],
        'emails.value eq "ann@CORP.local"': ["Ann"],
        'emails[value eq "ann@corp.local"]': ["Ann"],
        'emails eq "ann@corp.local"': ["Ann"],
        'userName sw "a" and active eq true': ["Ann"],
        'not (userName eq "ann")': ["ben", "dora"],
        "userName pr": ["Ann", "ben", "dora"],
    }
    results = {each: directory.get("/Users", filter=each).body for each in filters}
    names = {each: sorted(row["userName"] for row in body.get("Resources", [])) for each, body in results.items()}
    assert names == filters
    assert error_of(directory.get("/Users", filter="userName eq"))[:2] == (400, "invalidFilter")


def test_lists_are_paged_and_sorted(directory):
    for name in ("cem", "ann", "ben"):
        directory.person(name)
    page = directory.get("/Users", startIndex="2", count="2").body
    assert (page["totalResults"], page["startIndex"], page["itemsPerPage"]) == (4, 2, 2)
    assert [each["userName"] for each in page["Resources"]] == ["cem", "ann"]
    ordered = directory.get("/Users", sortBy="userName", sortOrder="descending", count="3").body
    assert [each["userName"] for each in ordered["Resources"]] == ["dora", "cem", "ben"]
    assert directory.get("/Users", count="0").body["totalResults"] == 4
    everything = directory.get("", filter='userName eq "ann" or displayName eq "ann"').body
    assert everything["totalResults"] == 1


def test_a_taken_or_misleading_username_is_refused(directory):
    directory.person("ann")
    sent = {"schemas": [f"{CORE}User"], "userName": "ANN"}
    assert error_of(directory.send("POST", "/Users", sent)) == (409, "uniqueness", "That username is taken.")
    status, kind, _words = error_of(directory.send("POST", "/Users", sent | {"userName": "\u0430nn"}))
    assert (status, kind) == (400, "invalidValue")
    assert error_of(directory.send("POST", "/Users", sent | {"userName": "a b"}))[:2] == (400, "invalidValue")
    emails = [{"value": "no address"}]
    assert error_of(directory.send("POST", "/Users", sent | {"userName": "ben", "emails": emails}))[0] == 400
    assert User.objects.count() == 2


def test_tags_protect_against_a_change_in_between(directory):
    ann = directory.person("ann")
    reply = directory.get(path_of(ann))
    tag = reply.headers["etag"]
    assert directory.send("GET", path_of(ann), if_none_match=tag).status == 304
    rename = {"op": "replace", "path": "displayName", "value": "Ann"}
    assert directory.patch(ann, rename, if_match=tag).status == 204
    assert error_of(directory.patch(ann, rename, if_match=tag))[0] == 412
    assert error_of(directory.send("DELETE", path_of(ann), if_match=tag))[0] == 412


def test_a_put_without_active_deactivates_nobody(directory):
    ann = directory.person("ann")
    put = {"schemas": [f"{CORE}User"], "userName": "anna"}
    assert directory.send("PUT", path_of(ann), put).body["active"] is True
    assert user_of(ann).username == "anna"
    directory.patch(ann, DEACTIVATE)
    assert directory.send("PUT", path_of(ann), put).body["active"] is False


def test_a_leaver_loses_everything_within_the_answer(directory, settings):
    ann = directory.person("ann")
    person = user_of(ann)
    give_roles(person, [RoleName.APPROVER])
    person.set_password(PASSWORD)
    person.save()
    client = Client()
    client.post("/login/", {"username": "ann", "password": PASSWORD})
    create_key(person, name="bot", scopes=("ask",))
    assert client.get("/").status_code == 200
    assert directory.patch(ann, DEACTIVATE).status == 204
    assert client.get("/").status_code == 302
    assert ApiKey.objects.filter(user=person, revoked_at=None).count() == 0
    assert PersonSession.objects.filter(person=person).count() == 0
    entry = last_entry()
    assert (entry.event, entry.via, entry.data["active"]) == ("person.changed", "scim", False)


def test_only_what_scim_deactivated_is_activated_by_it(directory):
    ann = directory.person("ann")
    directory.patch(ann, DEACTIVATE)
    assert directory.patch(ann, ACTIVATE).status == 204
    set_active(user_of(ann).pk, active=False, by=User.objects.get(username="dora"))
    refused = error_of(directory.patch(ann, ACTIVATE))
    assert refused == (
        409,
        "",
        "An administrator deactivated ann. Only an administrator can activate them, in Pausepoint.",
    )
    assert user_of(ann).is_active is False


def test_a_deleted_person_leaves_everything_and_comes_back_with_nothing(directory):
    ann = directory.person("ann", externalId="x-1")
    person = user_of(ann)
    group = directory.group("Finance", ann)
    give_roles(person, [RoleName.APPROVER])
    SocialAccount.objects.create(user=person, provider="https://login.example.org", uid="a-1")
    assert directory.send("DELETE", path_of(ann)).status == 204
    assert error_of(directory.get(path_of(ann)))[0] == 404
    assert directory.get("/Users", filter='userName eq "ann"').body["totalResults"] == 0
    assert directory.members(group) == []
    assert error_of(directory.send("DELETE", path_of(ann)))[0] == 404
    again = directory.person("ann", active=True)
    person = user_of(again)
    assert (again["id"], person.is_active, list(person.groups.all())) == (ann["id"], True, [])
    assert SocialAccount.objects.count() == 0


def test_the_last_administrator_and_the_break_glass_account_stay(directory):
    dora = User.objects.get(username="dora")
    words = "No one could manage Pausepoint after this. Make someone else an administrator first."
    assert error_of(directory.patch(dora, DEACTIVATE)) == (409, "", words)
    assert error_of(directory.send("DELETE", path_of(dora))) == (409, "", words)
    administrator("eva")
    set_break_glass(dora)
    refused = error_of(directory.patch(dora, DEACTIVATE))
    assert refused == (
        409,
        "",
        "dora is the break-glass account. Only an administrator can change it, in Pausepoint.",
    )
    assert error_of(directory.send("DELETE", path_of(dora)))[0] == 409
    assert User.objects.get(username="dora").is_active


def test_superusers_and_staff_are_out_of_reach(directory):
    root = User.objects.create_superuser("root", password=PASSWORD)
    assert error_of(directory.patch(root, DEACTIVATE))[0] == 403
    assert error_of(directory.send("DELETE", path_of(root)))[0] == 403
    for path in ("userName", "displayName", "externalId"):
        assert error_of(directory.patch(root, {"op": "replace", "path": path, "value": "r"}))[0] == 403


def test_whom_scim_did_not_create_keeps_the_address_that_opens_an_account_that_decides(directory):
    approver = bob()
    move = {"op": "replace", "path": "emails", "value": [{"value": "eve@corp.local", "primary": True}]}
    assert error_of(directory.patch(approver, move)) == (
        403,
        "",
        "bob may decide or administer, and was not created by SCIM. Change their username and address in Pausepoint.",
    )
    assert directory.patch(alice(), move).status == 204
    ann = directory.person("ann")
    give_roles(user_of(ann), [RoleName.APPROVER])
    assert directory.patch(ann, move).status == 204
    assert [user_of(each).email for each in (approver, ann)] == ["", "eve@corp.local"]


def test_the_key_ends_with_the_administrator_for_whom_it_acts(directory):
    administrator("eva")
    dora = User.objects.get(username="dora")
    assert directory.patch(dora, DEACTIVATE).status == 204
    assert error_of(directory.get("/Users"))[0] == 401


def test_an_invitation_of_a_leaver_is_withdrawn(directory):
    ann = directory.person("ann")
    Invitation.objects.create(person=user_of(ann), sent_at=timezone.now(), expires_at=timezone.now(), invited_by="d")
    directory.patch(ann, DEACTIVATE)
    assert Invitation.objects.count() == 0
