"""Administration: rights, people and roles, and that an administrator always remains."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.test import Client

from approvals.administration.keys.actions import create_key
from approvals.administration.people.actions import add_person, change_person, create_roles, give_roles, remove_team
from approvals.exceptions import NotAllowed
from approvals.models import AuditEntry, Role
from approvals.models.keys import ApiKey
from approvals.models.people import PersonSession, RoleName
from tests.support.desk.days import day_in
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.ruling import apply_policy
from tests.support.desk.votes import make_team
from tests.support.markup import Element, parse
from tests.support.people import PASSWORD, alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db

GETS = (
    "people",
    "people/{bob}",
    "connect",
    "webhooks",
    "rules",
    "single-sign-on",
    "token-issuers",
    "engines",
    "tools",
    "tools/refund",
    "system",
    "first-run",
)
POSTS = (
    "people", "people/{bob}", "people/{bob}/active", "people/{bob}/link", "people/{bob}/invite",
    "teams", "teams/1", "connect", "keys/1/revoke", "keys/1/rotate",
    "webhooks", "webhooks/1/secret", "webhooks/1/remove", "webhooks/1/resend/1", "rules", "rules/1/remove",
    "single-sign-on", "single-sign-on/1/remove", "token-issuers", "token-issuers/1",
    "token-issuers/1/switch", "engines/1", "engines/1/switch", "engines/1/try",
    "token-issuers/1/mappings", "token-mappings/1/remove",
    "tools/refund", "first-run/dismiss",
)  # fmt: skip


def administrator(name: str = "dora") -> User:
    person = User.objects.create_user(name, password=PASSWORD)
    give_roles(person, [RoleName.ADMINISTRATOR])
    return User.objects.get(pk=person.pk)


def may(person: User) -> set[str]:
    return {name.partition(".")[2] for name in User.objects.get(pk=person.pk).get_all_permissions()}


def events() -> list[tuple[str, str]]:
    return list(AuditEntry.objects.order_by("pk").values_list("event", "actor_name"))


def test_administrators_see_every_page_and_everyone_else_none():
    target = bob()
    make_request(alice(), tool_name="refund")
    paths = [f"/settings/{path.format(bob=target.pk)}/" for path in GETS]
    dora = browser(administrator())
    assert {path: dora.get(path).status_code for path in paths} == dict.fromkeys(paths, 200)
    absent = parse(browser(carol()).get("/settings/nowhere/").text).find("h1")[0].words
    for person in (mallory(), target, User.objects.get(username="alice")):
        client = browser(person)
        found = {path: client.get(path) for path in paths}
        assert {path: page.status_code for path, page in found.items()} == dict.fromkeys(paths, 404)
        assert {parse(page.text).find("h1")[0].words for page in found.values()} == {absent}
        assert "/settings/people/" not in client.get("/").text


def test_nobody_else_changes_anything():
    target, client = bob(), browser(mallory())
    paths = [f"/settings/{path.format(bob=target.pk)}/" for path in POSTS]
    sent = {"username": "eve", "name": "eve", "user": "mallory", "scopes": "decide", "roles": "administrator"}
    assert {path: client.post(path, sent).status_code for path in paths} == dict.fromkeys(paths, 404)
    assert (User.objects.count(), Group.objects.count(), ApiKey.objects.count(), events()) == (2, 4, 0, [])


def test_roles_are_made_once_and_leave_a_group_of_the_same_name_alone():
    Role.objects.all().delete()
    Group.objects.all().delete()
    own = Group.objects.create(name="Approver")
    create_roles()
    create_roles()
    assert sorted(Group.objects.values_list("name", flat=True)) == [
        "Administrator", "Approver", "Approver (role)", "Auditor", "Requester",
    ]  # fmt: skip
    assert (own.permissions.count(), Role.objects.count()) == (0, 4)


def test_who_makes_a_link_to_the_password_of_somebody_is_on_record():
    target, dora = carol(), administrator()
    page = browser(dora).post(f"/settings/people/{target.pk}/link/")
    assert (page.status_code, "/password/reset/" in parse(page.text).find("pre")[0].words) == (200, True)
    entry = AuditEntry.objects.get(event="person.changed")
    assert (entry.actor_name, entry.data) == (
        "dora",
        {"user": "carol", "user_id": target.pk, "change": "password_link"},
    )
    User.objects.filter(pk=target.pk).update(is_active=False)
    assert browser(dora).post(f"/settings/people/{target.pk}/link/").status_code == 404
    assert AuditEntry.objects.filter(event="person.changed").count() == 1


def test_a_new_person_gets_roles_and_a_link_that_sets_a_password_once(settings):
    dora = administrator()
    sent = {"username": "eve", "email": "eve@example.org", "roles": ["requester", "auditor"]}
    settings.HITL_MAIL = False
    page = browser(dora).post("/settings/people/", sent)
    link = parse(page.text).find("pre")[0].words
    eve = User.objects.get(username="eve")
    assert may(eve) == {"view_approvalrequest", "view_auditentry"}
    new = {"password1": "a quite different text", "password2": "a quite different text"}
    stranger = Client()
    form = stranger.get(link.removeprefix("http://127.0.0.1:8000"), follow=True)
    assert stranger.post(form.request["PATH_INFO"], new).status_code == 302
    sent = {"username": "eve", "password": "a quite different text"}
    assert Client().post("/login/", sent).headers["Location"] == "/"
    again = Client().get(link.removeprefix("http://127.0.0.1:8000"), follow=True)
    assert "This link is no longer valid" in again.text
    assert events()[0] == ("person.created", "dora")


def test_a_username_that_is_taken_is_refused_in_the_form():
    bob()
    refused = browser(administrator()).post("/settings/people/", {"username": "BOB", "roles": []})
    assert refused.status_code == 422
    assert [one.words for one in parse(refused.text).find("p", class_="refusal")] == [
        "That username is taken. Choose another one."
    ]


def test_roles_and_teams_of_a_person_change_on_record_and_their_own_permissions_stay():
    dora, target = administrator(), make_person("bob", "view_approvalrequest")
    client = browser(dora)
    assert client.post("/settings/teams/", {"name": "Payments"}).status_code == 302
    team = Group.objects.get(name="Payments")
    sent = {"email": "bob@example.org", "roles": ["auditor"], "teams": [str(team.pk)]}
    assert client.post(f"/settings/people/{target.pk}/", sent).status_code == 302
    assert may(target) == {"view_approvalrequest", "view_auditentry"}
    assert sorted(target.groups.values_list("name", flat=True)) == ["Auditor", "Payments"]
    entry = AuditEntry.objects.get(event="person.changed")
    assert entry.data == {
        "user": "bob",
        "user_id": target.pk,
        "before": {"email": "", "roles": [], "rights": [], "teams": []},
        "after": {"email": "bob@example.org", "roles": ["auditor"], "rights": [], "teams": ["Payments"]},
    }
    assert client.post(f"/settings/teams/{team.pk}/", {"do": "rename", "name": "Refunds"}).status_code == 302
    assert client.post(f"/settings/teams/{team.pk}/", {"do": "remove"}).status_code == 302
    role = Role.objects.get(name="approver").group_id
    assert client.post(f"/settings/teams/{role}/", {"do": "remove"}).status_code == 404
    changes = [entry.data["change"] for entry in AuditEntry.objects.filter(event="team.changed").order_by("pk")]
    assert changes == ["created", "renamed", "removed"]


def test_a_deactivated_person_has_no_sessions_and_no_keys_and_can_come_back():
    dora, target = administrator(), bob()
    theirs = Client()
    theirs.post("/login/", {"username": "bob", "password": PASSWORD})
    create_key(target, name="agent")
    client = browser(dora)
    assert client.post(f"/settings/people/{target.pk}/active/").status_code == 302
    assert theirs.get("/chats/").status_code == 302
    assert (ApiKey.objects.get().revoked_at is None, PersonSession.objects.count()) == (False, 0)
    assert client.post(f"/settings/people/{target.pk}/active/", {"active": "yes"}).status_code == 302
    assert (theirs.get("/chats/").status_code, User.objects.get(pk=target.pk).is_active) == (302, True)
    named = [name for name, _who in events() if name != "login.succeeded"]
    assert named == ["key.created", "key.revoked", "person.changed", "person.changed"]


def test_the_last_administrator_cannot_be_removed_in_any_way():
    dora, second = administrator(), administrator("ewa")
    client, own = browser(dora), f"/settings/people/{dora.pk}/"
    assert client.post(f"{own}active/").status_code == 409
    assert client.post(f"/settings/people/{second.pk}/active/").status_code == 302
    User.objects.create_superuser("root")
    User.objects.filter(is_superuser=True).update(is_active=False)
    assert client.post(own, {"roles": []}).status_code == 302
    with pytest.raises(NotAllowed):
        change_person(dora.pk, email="", roles=[], team_ids=[], by=User.objects.get(username="root"))
    assert "administer" in may(dora)
    User.objects.filter(is_superuser=True).update(is_active=True)
    team = Group.objects.create(name="Root")
    team.permissions.add(Permission.objects.get(codename="administer"))
    dora.groups.set([team])
    User.objects.filter(is_superuser=True).update(is_active=False)
    assert client.post(f"/settings/teams/{team.pk}/", {"do": "remove"}).status_code == 403
    with pytest.raises(NotAllowed):
        remove_team(team.pk, by=User.objects.get(username="root"))
    assert "administer" in may(dora)


def test_an_administrator_cannot_take_over_a_superuser():
    root = User.objects.create_superuser("root", password=PASSWORD)
    client = browser(administrator())
    paths = [f"/settings/people/{root.pk}/{path}" for path in ("active/", "link/")]
    assert [client.post(path).status_code for path in paths] == [403, 403]
    assert client.post(f"/settings/people/{root.pk}/", {"email": "eve@example.org", "roles": []}).status_code == 422
    sent = {"name": "agent", "user": "root", "scopes": ["decide"], "last_day": day_in(30)}
    assert client.post("/settings/keys/", sent).status_code == 422
    assert (User.objects.get(pk=root.pk).email, ApiKey.objects.count()) == ("", 0)


def test_people_are_found_by_name_and_listed_page_by_page(django_assert_max_num_queries):
    dora = administrator()
    for number in range(55):
        add_person(username=f"person-{number:02}", email="", roles=["requester"], by=dora)
    client = browser(dora)
    with django_assert_max_num_queries(16):
        first = parse(client.get("/settings/people/").text)
    names = [one.words for one in first.find("ul", class_="people")[0].find("a", class_="row-title")]
    assert (len(names), names[0]) == (50, "dora")
    after = parse(client.get(f"/settings/people/?after={names[-1]}").text)
    assert len(after.find("ul", class_="people")[0].find("a", class_="row-title")) == 6
    found = parse(client.get("/settings/people/?q=person-07").text)
    assert [one.words for one in found.find("a", class_="row-title")] == ["person-07"]


def test_the_page_of_a_person_says_which_rules_of_the_policy_need_them():
    named, member, other = (
        bob(),
        make_person("dave", "decide_approvalrequest"),
        make_person("erin", "decide_approvalrequest"),
    )
    make_team("finance", member)
    stages = [{"groups": [{"people": ["bob"]}]}, {"groups": [{"teams": ["finance"]}]}]
    version = apply_policy(
        {"name": "Large", "ask": {"stages": stages}, "then": "ask"}, {"name": "Anyone", "then": "ask"}
    ).number
    client = browser(administrator())

    def shown(person: User) -> Element:
        (section,) = parse(client.get(f"/settings/people/{person.pk}/").text).find("section", aria_labelledby="scopes")
        return section

    for person in (named, member):
        assert [one.words.partition(":")[0] for one in shown(person).find("li")] == ["Large"]
        assert f"In version {version} of the policy, these rules name this person" in shown(person).words
    assert f"In version {version} of the policy, no rule names this person" in shown(other).words
