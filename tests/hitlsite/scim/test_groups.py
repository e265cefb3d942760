"""Groups of an identity provider: they give the roles and teams to which administrators mapped their names, and nothing else."""

from __future__ import annotations

import json

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client

from approvals.actions.policy.votes.recount import recount_votes
from approvals.administration.changes.actions import confirm_change
from approvals.administration.changes.queries import shown_digest
from approvals.administration.people.actions import give_roles
from approvals.administration.people.queries import roles_of
from approvals.administration.sign_in.actions import change_mapping, set_break_glass
from approvals.models import AuditEntry, Grant, PendingChange
from approvals.models.people import RoleName
from approvals.states import Verdict
from tests.approvals.actions.policy.granting import give, terms
from tests.support.desk.scim import CORE, Directory, administrator, error_of, map_group, path_of, user_of
from tests.support.desk.votes import both, group, make_team, make_voted, progress_of, vote
from tests.support.people import PASSWORD, alice

pytestmark = pytest.mark.django_db


@pytest.fixture
def directory() -> Directory:
    return Directory(administrator())


def added(*people: object) -> dict[str, object]:
    return {"op": "Add", "path": "members", "value": [{"value": each["id"]} for each in people]}


def removed(person: object) -> dict[str, object]:
    return {"op": "Remove", "path": "members", "value": [{"value": person["id"], "display": "Ann"}]}


def test_a_group_gives_what_its_name_is_mapped_to_and_takes_it_again_on_record(directory):
    finance = make_team("Finance")
    map_group("Approvers of refunds", RoleName.APPROVER)
    map_group("Approvers of refunds", finance)
    ann = directory.person("ann")
    made = directory.group("Approvers of refunds", ann, externalId="g-1")
    assert roles_of(user_of(ann)) == ["approver"]
    assert list(finance.user_set.all()) == [user_of(ann)]
    entries = AuditEntry.objects.order_by("-pk")[:2]
    assert [(each.event, each.via, each.actor_name) for each in entries] == [
        ("group.changed", "scim", "API key Corp directory of dora"),
        ("person.changed", "scim", "API key Corp directory of dora"),
    ]
    assert entries[0].data == {
        "group": "Approvers of refunds",
        "change": "created",
        "joined": ["ann"],
        "left": [],
    }
    assert directory.patch(made, removed(ann)).status == 204
    assert (directory.members(made), roles_of(user_of(ann)), list(finance.user_set.all())) == ([], [], [])


def test_a_group_without_a_mapping_gives_nothing(directory):
    ann = directory.person("ann")
    directory.group("Approver", ann)
    assert (roles_of(user_of(ann)), Group.objects.filter(name="Approver").count()) == ([], 1)


def test_what_an_administrator_gave_by_hand_stays_unless_the_person_leaves_its_group(directory):
    map_group("Approvers", RoleName.APPROVER)
    ann = directory.person("ann")
    give_roles(user_of(ann), [RoleName.APPROVER])
    other = directory.group("Approvers")
    directory.patch(ann, {"op": "replace", "path": "displayName", "value": "Ann"})
    directory.patch(other, {"op": "replace", "path": "externalId", "value": "g-2"})
    assert roles_of(user_of(ann)) == ["approver"]
    directory.patch(other, added(ann))
    directory.patch(other, removed(ann))
    assert roles_of(user_of(ann)) == []


def test_one_of_two_groups_is_enough_to_keep_a_role(directory):
    for name in ("A", "B"):
        map_group(name, RoleName.APPROVER)
    ann = directory.person("ann")
    first, second = directory.group("A", ann), directory.group("B", ann)
    assert directory.send("DELETE", path_of(first)).status == 204
    assert roles_of(user_of(ann)) == ["approver"]
    assert directory.patch(second, {"op": "replace", "path": "displayName", "value": "C"}).status == 204
    assert roles_of(user_of(ann)) == []
    assert directory.patch(second, {"op": "replace", "path": "displayName", "value": "A"}).status == 204
    assert roles_of(user_of(ann)) == ["approver"]


def test_a_mapping_that_a_second_administrator_confirms_gives_at_once_to_those_in_the_group(directory):
    ann = directory.person("ann")
    directory.group("Approvers", ann)
    dora, eva = User.objects.get(username="dora"), administrator("eva")
    approvers = Group.objects.get(role__name=RoleName.APPROVER)
    waiting = change_mapping("scim", "Approvers", approvers.pk, add=True, by=dora)
    assert isinstance(waiting, PendingChange)
    assert roles_of(user_of(ann)) == []
    confirm_change(waiting.pk, shown=shown_digest(waiting), by=eva)
    assert roles_of(user_of(ann)) == ["approver"]


def test_neither_the_makers_of_a_mapping_nor_of_the_key_gain_by_it(directory):
    map_group("Approvers", RoleName.APPROVER)
    dora = User.objects.get(username="dora")
    directory.group("Approvers", {"id": f"p{dora.pk}"})
    assert roles_of(dora) == ["administrator"]


def test_the_last_administrator_the_break_glass_account_and_superusers_are_not_mapped_away(directory):
    map_group("Administrators", RoleName.ADMINISTRATOR)
    dora, eva = User.objects.get(username="dora"), administrator("eva")
    root = User.objects.create_superuser("root")
    give_roles(root, [RoleName.ADMINISTRATOR])
    ids = [{"id": f"p{each.pk}"} for each in (dora, eva, root)]
    made = directory.group("Administrators", *ids)
    set_break_glass(dora)
    words = "%s is a superuser, staff, or the break-glass account: SCIM takes no role or team from them."
    assert error_of(directory.patch(made, removed(ids[0]))) == (409, "", words % "dora")
    assert error_of(directory.patch(made, removed(ids[2]))) == (409, "", words % "root")
    assert error_of(directory.send("DELETE", path_of(made)))[0] == 409
    assert len(directory.members(made)) == 3
    assert directory.patch(made, removed(ids[1])).status == 204
    assert roles_of(eva) == []


def test_removal_from_the_mapped_group_of_the_last_administrator_is_refused():
    directory = Directory(administrator())
    map_group("Administrators", RoleName.ADMINISTRATOR)
    made = directory.group("Administrators", {"id": f"p{User.objects.get(username='dora').pk}"})
    refused = error_of(directory.patch(made, removed({"id": directory.members(made)[0]})))
    words = "No one could manage Pausepoint after this. Make someone else an administrator first."
    assert refused == (409, "", words)


def test_a_removed_member_loses_session_grant_and_vote_within_the_answer(directory):
    map_group("Approvers", RoleName.APPROVER)
    ann = directory.person("ann")
    made = directory.group("Approvers", ann)
    person = user_of(ann)
    person.set_password(PASSWORD)
    person.save()
    person = user_of(ann)
    client = Client()
    client.post("/login/", {"username": "ann", "password": PASSWORD})
    asker = alice()
    granted = give(person, asker, terms())
    voted = make_voted(asker, both(group(person, administrator("eva"), votes=2)), tool_name="pay")
    vote(voted, person, Verdict.APPROVE)
    before = progress_of(voted)
    assert directory.patch(made, removed(ann)).status == 204
    assert client.get("/").status_code == 302
    assert Grant.objects.get(pk=granted.pk).ended_at is not None
    recount_votes()
    assert (before, progress_of(voted)) == ("1 of 2, ann or eva missing", "0 of 2, ann or eva missing")


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "Remove", "path": "members", "value": [{"value": "ANN", "$ref": None}]},
        {"op": "remove", "path": "members", "value": [{"value": "ANN", "display": "Ann", "type": "User"}]},
        {"op": "remove", "path": 'members[value eq "ANN"]'},
        {"op": "Remove", "path": "members", "value": "ANN"},
        {"op": "Remove", "path": "Members", "value": {"value": "ANN"}},
        {"op": "replace", "path": "members", "value": [{"value": "BEN"}]},
        {"op": "replace", "value": {"members": [{"value": "BEN", "display": "Ben"}]}},
    ],
)
def test_a_member_is_removed_in_every_form_that_providers_send(directory, operation):
    ann, ben = directory.person("ann"), directory.person("ben")
    made = directory.group("Finance", ann, ben)
    sent = json.loads(json.dumps(operation).replace("ANN", ann["id"]).replace("BEN", ben["id"]))
    assert directory.patch(made, sent).status == 204
    assert directory.members(made) == [ben["id"]]


def test_unknown_members_groups_in_groups_and_taken_names_are_refused(directory):
    made = directory.group("Finance")
    unknown = "A member of this group is unknown. Create them first."
    for member in ("p999999", made["id"], "1", "", "p1\u0661"):
        sent = {"schemas": [f"{CORE}Group"], "displayName": "Other", "members": [{"value": member}]}
        assert error_of(directory.send("POST", "/Groups", sent)) == (400, "invalidValue", unknown)
    sent = {"schemas": [f"{CORE}Group"], "displayName": "FINANCE"}
    assert error_of(directory.send("POST", "/Groups", sent)) == (409, "uniqueness", "Another group has this name.")
    assert error_of(directory.send("POST", "/Groups", sent | {"displayName": " "}))[0] == 400


def test_groups_are_found_without_their_members(directory):
    made = directory.group("Finance", directory.person("ann"), externalId="g-1")
    for condition in ('displayName eq "finance"', 'externalId eq "g-1"'):
        body = directory.get("/Groups", filter=condition, excludedAttributes="members").body
        assert [(each["id"], "members" in each) for each in body["Resources"]] == [(made["id"], False)]
