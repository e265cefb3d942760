"""The guide on people from Entra or Okta, followed to the letter with a double of the provider."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from approvals.administration.people.queries import roles_of
from approvals.models import ApiKey, PendingChange
from tests.hitlsite.accounts.test_guides import guide, run_command
from tests.support.desk.pressing import browser
from tests.support.desk.scim import Directory, administrator, user_of
from tests.support.markup import forms, parse
from tests.support.openid_provider import Provider, begin, came_back, use

pytestmark = pytest.mark.django_db

DORA = "dora@example.org"


def press(client: Client, address: str, **fields: str) -> str:
    """Press the only button of a page for this address; return the text of the page that follows."""
    page = client.post(address, fields, follow=True)
    assert page.status_code == 200, page
    return page.text


def confirm(client: Client) -> None:
    """Confirm the only waiting change, as Administration > Waiting changes shows it."""
    (change,) = PendingChange.objects.all()
    page = client.get("/settings/changes/").text
    (form,) = [each for each in forms(page, f"/settings/changes/{change.pk}/") if "shown" in each.fields]
    press(client, f"/settings/changes/{change.pk}/", **form.fields | {"do": "confirm"})
    assert not PendingChange.objects.exists()


def test_people_from_entra_or_okta(settings):
    page = guide("people-from-entra-or-okta")
    first, second = browser(administrator("eva")), browser(administrator("finn"))
    # Create the key, and let another administrator confirm it.
    assert "tick `scim` and no other scope" in page
    key = {"name": "Corp directory", "user": "eva", "scopes": "scim", "last_day": "2027-01-01", "ranges": ""}
    made = press(first, "/settings/keys/", **key)
    text = parse(made).find("pre")[0].words
    assert "another administrator must confirm it" in made
    directory = Directory(text=text)
    assert "Until then, the provider gets a 401" in page
    assert directory.get("/Users").status == 401
    confirm(second)
    # Set up the provider: the address of the page, and the test of the connection.
    shown = parse(first.get("/settings/scim/").text).find("pre")[0].words
    assert shown == f"{settings.PUBLIC_URL}/scim/v2"
    assert directory.get("/Users", filter='userName eq "nobody"').body["totalResults"] == 0
    # People and groups arrive.
    kept = re.findall(r"keep (`userName`.+?)\. You", page)[0]
    names = re.findall(r"`([^`]+)`", kept)
    assert names == [
        "userName", "active", 'emails[type eq "work"].value', "name.givenName", "name.familyName", "displayName", "externalId",
    ]  # fmt: skip
    emails = [{"type": "work", "primary": True, "value": DORA}]
    name = {"givenName": "Dora", "familyName": "Lee"}
    dora = directory.person(DORA, active=True, emails=emails, name=name, displayName="Dora Lee", externalId="d-1")
    group = directory.group("Refund approvers", dora)
    assert roles_of(user_of(dora)) == []
    # Map groups to roles and teams.
    sign_in = first.get("/settings/single-sign-on/").text
    choices = {option.words: option.attributes["value"] for option in parse(sign_in).find("option")}
    mapping = {"issuer": choices["SCIM"], "value": "Refund approvers", "group": choices["Approver"]}
    waits = press(first, "/settings/single-sign-on/", **mapping)
    assert "Map the group “Refund approvers” of SCIM to Approver, which its people then have at once" in waits
    assert roles_of(user_of(dora)) == []
    confirm(second)
    assert roles_of(user_of(dora)) == ["approver"]
    # How these people log in.
    assert "`OIDC_LINK_BY_EMAIL=1`" in page
    with Provider() as provider:
        use(settings, provider.issuer, OIDC_LINK_BY_EMAIL=True)
        client = Client()
        assert came_back(client, begin(client)).status_code == 302
        assert client.session["_auth_user_id"] == str(user_of(dora).pk)
        assert client.get("/").status_code == 200
        # When people leave: first the group, then the account.
        out = {"op": "remove", "path": f'members[value eq "{dora["id"]}"]'}
        assert directory.patch(group, out).status == 204
        assert (roles_of(user_of(dora)), client.get("/").status_code) == ([], 302)
        assert directory.patch(dora, {"op": "replace", "path": "active", "value": False}).status == 204
        assert came_back(client, begin(client)).status_code == 403
    # The last administrators stay, and the page lists the refusal.
    leave = {"op": "replace", "path": "active", "value": False}
    finn = User.objects.get(username="finn")
    assert directory.patch(finn, leave).status == 204
    assert directory.patch(User.objects.get(username="eva"), leave).status == 409
    assert "No one could manage Pausepoint after this" in first.get("/settings/scim/").text


def test_a_key_from_the_command_line():
    administrator("eva")
    text = run_command(guide("people-from-entra-or-okta"), "createkey", USER="eva", NAME="Corp")
    assert Directory(text=text).get("/Users").status == 200
    assert ApiKey.objects.get().scopes == ["scim"]
