"""The page of group mappings, and their changes on record."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User

from approvals.administration.sign_in import actions
from approvals.exceptions import NotFound
from approvals.models import AuditEntry, GroupMapping, Role
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse

pytestmark = pytest.mark.django_db
PAGE = "/settings/single-sign-on/"
ISSUER = "https://login.example.org"


@pytest.fixture(autouse=True)
def provider(settings) -> None:
    settings.OIDC_ISSUER = ISSUER
    settings.OIDC_NAME = "Corp"


@pytest.fixture
def ann() -> User:
    return administrator("ann")


def role(name: str) -> Group:
    return Role.objects.get(name=name).group


def errors(response) -> list[str]:
    page = parse(response.text)
    return [each.words for name in ("refusal", "field-error") for each in page.find("p", class_=name)]


def changes() -> list[dict]:
    return [entry.data for entry in AuditEntry.objects.filter(event="sign_in.changed").order_by("pk")]


def test_an_administrator_maps_a_group_to_a_role_and_to_a_team_and_removes_both(ann):
    client = browser(ann)
    team = Group.objects.create(name="Finance")
    assert "No groups are mapped." in parse(client.get(PAGE).text).words
    for group in (role("approver"), team):
        assert client.post(PAGE, {"issuer": ISSUER, "value": " fin ", "group": group.pk}).status_code == 302
    page = parse(client.get(PAGE).text)
    buttons = [each.attributes["aria-label"] for each in page.find("button", class_="danger")]
    assert buttons == ["Remove fin: role Approver", "Remove fin: team Finance"]
    for mapping in GroupMapping.objects.all():
        assert client.post(f"{PAGE}{mapping.pk}/remove/").status_code == 302
    about = [
        {"issuer": ISSUER, "value": "fin", "group": role("approver").pk, "name": "Approver"},
        {"issuer": ISSUER, "value": "fin", "group": team.pk, "name": "Finance"},
    ]
    assert changes() == [{"change": f"mapping {way}", **each} for way in ("added", "removed") for each in about]


def test_another_administrator_confirms_a_mapping_that_they_read_in_words(ann):
    dora = administrator("dora")
    browser(ann).post(PAGE, {"issuer": ISSUER, "value": "fin", "group": role("approver").pk})
    assert GroupMapping.objects.count() == 0
    page = parse(browser(dora).get(PAGE).text)
    assert page.find("ul", class_="pending-changes")[0].find("a")[0].words == (
        "Map the group “fin” of https://login.example.org to Approver, and take that from everyone else at their log-in"
    )
    confirm(waiting_change(), dora)
    mapping = GroupMapping.objects.get()
    assert (mapping.requested_by, mapping.confirmed_by) == (ann, dora)
    actions.change_mapping(ISSUER, "fin", mapping.group_id, add=False, by=ann)
    page = parse(browser(dora).get("/settings/changes/").text)
    assert page.find("ul", class_="pending-changes")[0].find("a")[0].words == (
        "No longer map the group “fin” of https://login.example.org to Approver, which its people keep"
    )
    confirm(waiting_change(), dora)
    assert GroupMapping.objects.count() == 0


def test_a_mapping_of_a_team_that_was_removed_meanwhile_can_only_be_cancelled(ann):
    dora = administrator("dora")
    team = Group.objects.create(name="Finance")
    actions.change_mapping(ISSUER, "fin", team.pk, add=True, by=ann)
    pk = waiting_change().pk
    team.delete()
    client = browser(dora)
    field = parse(client.get("/settings/changes/").text).find("input", name="shown")[0]
    refused = client.post(f"/settings/changes/{pk}/", {"do": "confirm", "shown": field.attributes["value"]})
    assert refused.status_code == 404
    assert client.post(f"/settings/changes/{pk}/", {"do": "withdraw"}).status_code == 302


def test_a_team_with_permissions_is_mapped_by_superusers_only(ann):
    team = Group.objects.create(name="Powers")
    team.permissions.add(Permission.objects.get(codename="decide_approvalrequest"))
    sent = {"issuer": ISSUER, "value": "fin", "group": team.pk}
    refused = browser(ann).post(PAGE, sent)
    assert errors(refused) == ["The team Powers gives permissions. Only a superuser can change its members."]
    assert parse(refused.text).find("input", name="value")[0].attributes["value"] == "fin"
    assert browser(User.objects.create_superuser("root")).post(PAGE, sent).status_code == 302


@pytest.mark.parametrize(
    ("value", "group"),
    [("", "{role}"), ("x" * 255, "{role}"), ("a\0b", "{role}"), ("fin", ""), ("fin", "x"), ("fin", "999999"), ("fin", "9" * 40)],
)  # fmt: skip
def test_bad_input_gets_the_form_again(ann, value, group):
    sent = {"issuer": ISSUER, "value": value, "group": group.format(role=role("auditor").pk)}
    refused = browser(ann).post(PAGE, sent)
    assert (refused.status_code, len(errors(refused)), GroupMapping.objects.count()) == (422, 1, 0)


def test_the_same_mapping_twice_and_too_many_are_refused(ann, monkeypatch):
    client = browser(ann)
    sent = {"issuer": ISSUER, "value": "fin", "group": role("auditor").pk}
    client.post(PAGE, sent)
    assert errors(client.post(PAGE, sent)) == ["This mapping already exists."]
    monkeypatch.setattr(actions, "MOST", 1)
    other = sent | {"value": "ops"}
    assert errors(client.post(PAGE, other)) == ["There are 1 mappings already. Remove some first."]


def test_a_mapping_that_is_gone_gets_a_page(ann):
    assert browser(ann).post(f"{PAGE}7/remove/").status_code == 404
    with pytest.raises(NotFound):
        actions.change_mapping(ISSUER, "fin", role("auditor").pk, add=False, by=ann)


def test_the_page_names_the_provider_and_the_claim(ann, settings):
    client = browser(ann)
    main = parse(client.get(PAGE).text).find("main")[0]
    (row,) = (each.words for each in main.find("li", class_="row"))
    assert row == "Corp https://login.example.org Set by the environment"
    assert "groups" in [each.words for each in main.find("code")]
    settings.OIDC_ISSUER = ""
    main = parse(client.get(PAGE).text).find("main")[0]
    assert "No providers. People log in with passwords or passkeys." in main.words
    # Groups of SCIM can be mapped without one.
    assert [each.words for each in main.find("select")[0].find("option")] == ["SCIM"]
