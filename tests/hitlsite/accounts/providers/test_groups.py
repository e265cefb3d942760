"""Groups of the OpenID provider: the roles and teams that they give and take at each log-in."""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import Group, Permission, User

from approvals.administration.people.actions import create_roles
from approvals.administration.people.queries import roles_of
from approvals.models import AuditEntry, GroupMapping, Role
from tests.support.desk.away import away
from tests.support.markup import parse
from tests.support.openid_provider import Provider, log_in, use

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(settings):
    """A provider that knows Dora, who has an account."""
    create_roles()
    with Provider() as provider:
        use(settings, provider.issuer)
        User.objects.create_superuser("root")
        link(User.objects.create_user("dora", "dora@example.org"), provider)
        yield provider


def dora() -> User:
    return User.objects.get(username="dora")


def link(person: User, provider: Provider, subject: str = "d-1") -> None:
    SocialAccount.objects.create(user=person, provider=provider.issuer, uid=subject)


def role(name: str) -> Group:
    return Role.objects.get(name=name).group


def map_group(value: str, group: Group, by: User | None = None, confirmed_by: User | None = None) -> None:
    issuer = settings.OIDC_ISSUER
    GroupMapping.objects.create(
        issuer=issuer, value=value, group=group, requested_by=by, confirmed_by=confirmed_by or by
    )


def groups_after_log_in(client, provider, groups) -> list[str]:
    provider.person["groups"] = groups
    assert log_in(client).status_code == 302
    return sorted(dora().groups.values_list("name", flat=True))


def test_mapped_roles_and_teams_follow_the_groups_at_each_log_in_on_record(client, provider):
    finance = Group.objects.create(name="Finance")
    own = Group.objects.create(name="Own team")
    for value, group in (("fin", finance), ("/appr", role("approver")), ("lead", role("approver"))):
        map_group(value, group)
    dora().groups.add(own, role("auditor"))
    kept = ["Auditor", "Own team"]
    assert groups_after_log_in(client, provider, ["fin", "/appr", "x"]) == sorted([*kept, "Approver", "Finance"])
    assert groups_after_log_in(client, provider, ["lead"]) == sorted([*kept, "Approver"])
    assert groups_after_log_in(client, provider, ["FIN", "fin ", "/APPR"]) == kept
    assert groups_after_log_in(client, provider, "fin") == sorted([*kept, "Finance"])
    assert groups_after_log_in(client, provider, []) == kept
    provider.person.pop("groups")
    log_in(client)
    changes = AuditEntry.objects.filter(event="person.changed").order_by("pk")
    moves = [
        (entry.data["groups"], entry.data["after"]["roles"], entry.data["after"]["teams"], entry.data["provider"])
        for entry in changes
    ]
    at = provider.issuer
    assert moves == [
        (["/appr", "fin"], ["approver", "auditor"], ["Finance", "Own team"], at),
        (["lead"], ["approver", "auditor"], ["Own team"], at),
        ([], ["auditor"], ["Own team"], at),
        (["fin"], ["auditor"], ["Finance", "Own team"], at),
        ([], ["auditor"], ["Own team"], at),
    ]


def test_groups_are_not_stored_with_the_link(client, provider):
    map_group("fin", role("auditor"))
    groups_after_log_in(client, provider, ["fin", "a secret project"])
    assert "secret" not in json.dumps(SocialAccount.objects.get().extra_data)


@pytest.mark.parametrize(
    "claims",
    [
        {"_claim_names": {"groups": "src1"}, "_claim_sources": {"src1": {"endpoint": "https://graph.example"}}},
        {"_claim_names": {"groups": "src1"}, "groups": []},
        {"_claim_names": "groups"},
        {"hasgroups": True},
        {"groups": {"fin": True}},
        {"groups": ["fin", 7]},
        {"groups": 7},
    ],
)
@pytest.mark.parametrize("where", ["claims", "userinfo"])
def test_groups_that_the_provider_does_not_list_are_never_read_as_none(client, provider, claims, where):
    map_group("fin", role("approver"))
    dora().groups.add(role("approver"))
    setattr(provider, where, claims)
    refused = log_in(client)
    assert (refused.status_code, "_auth_user_id" in client.session, roles_of(dora())) == (403, False, ["approver"])
    assert parse(refused.text).find("h1")[0].words == (
        "Corp does not list your groups, perhaps because there are too many, so Pausepoint cannot tell your roles. Ask "
        "an administrator to look at the guide on single sign-on."
    )
    assert AuditEntry.objects.get().data["reason"] == "no_groups"
    GroupMapping.objects.all().delete()
    assert log_in(client).status_code == 302


def test_the_claim_with_the_groups_and_the_scopes_are_settings(client, provider, settings):
    settings.OIDC_GROUPS_CLAIM = "https://example.org/roles"
    settings.OIDC_SCOPES = ["openid", "groups"]
    map_group("fin", role("auditor"))
    provider.person["https://example.org/roles"] = ["fin"]
    assert groups_after_log_in(client, provider, ["nothing"]) == ["Auditor"]
    asked = parse_qs(urlsplit(client.get("/login/sso/").headers["Location"]).query)
    # allauth keeps them in a set.
    assert {*asked["scope"][0].split()} == {"openid", "groups"}


def test_new_people_of_a_mapped_group_get_an_account_and_others_do_not(client, provider, settings):
    map_group("fin", role("auditor"))
    provider.person |= {"sub": "e-1", "preferred_username": "erin", "email": "erin@example.org", "groups": ["x"]}
    assert log_in(client).status_code == 403
    provider.person["groups"] = ["fin"]
    assert log_in(client).status_code == 302
    assert roles_of(User.objects.get(username="erin")) == ["auditor"]
    settings.OIDC_DEFAULT_ROLE = "auditor"
    provider.person |= {"sub": "f-1", "preferred_username": "finn", "email": "finn@example.org", "groups": ["x"]}
    assert log_in(client).status_code == 302
    assert roles_of(User.objects.get(username="finn")) == []


@pytest.mark.parametrize("rank", ["is_superuser", "is_staff", "may change users"])
def test_superusers_staff_and_those_who_change_users_stay_as_they_are(client, provider, rank):
    person = dora()
    if rank.startswith("is_"):
        setattr(person, rank, True)
        person.save()
    else:
        person.user_permissions.add(Permission.objects.get(codename="change_user"))
    person.groups.add(role("auditor"))
    map_group("fin", role("auditor"))
    map_group("adm", role("administrator"))
    assert groups_after_log_in(client, provider, ["adm"]) == ["Auditor"]


def test_the_last_administrator_stays_one(client, provider):
    User.objects.filter(username="root").delete()
    map_group("adm", role("administrator"))
    map_group("fin", role("auditor"))
    dora().groups.add(role("administrator"), role("auditor"))
    assert groups_after_log_in(client, provider, []) == ["Administrator"]
    User.objects.create_user("erin").groups.add(role("administrator"))
    assert groups_after_log_in(client, provider, []) == []


def test_a_mapping_gives_nothing_to_the_administrators_who_made_it_and_takes_nothing_from_them(client, provider):
    finance = Group.objects.create(name="Finance")
    other = User.objects.create_user("other")
    dora().groups.add(role("administrator"))
    map_group("fin", finance, dora(), other)
    map_group("appr", role("approver"), other, dora())
    both = ["fin", "appr"]
    assert groups_after_log_in(client, provider, both) == ["Administrator"]
    dora().groups.add(finance, role("approver"))
    assert groups_after_log_in(client, provider, both) == ["Administrator", "Approver", "Finance"]
    assert groups_after_log_in(client, provider, []) == ["Administrator"]
    map_group("appr-2", role("approver"), other)
    assert groups_after_log_in(client, provider, ["appr-2"]) == ["Administrator", "Approver"]


def test_a_mapping_gives_nothing_to_people_for_whom_its_administrators_decide(client, provider):
    author = User.objects.create_user("author")
    away(dora(), author)
    map_group("appr", role("approver"), author)
    assert groups_after_log_in(client, provider, ["appr"]) == []
