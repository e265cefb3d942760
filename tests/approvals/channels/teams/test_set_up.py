"""The page of Teams: set-up by an administrator, the app package, and the links of accounts, unique both ways."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator

import pytest

from approvals.actions.channels.connections import secrets_of
from approvals.actions.channels.links import offer_link
from approvals.models import AuditEntry, ChannelAccount, ChannelConnection, NotificationRule
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.teams import connect, linked, rule_for, unconnected
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person
from tests.support.teams import Teams
from tests.support.teams.cards import buttons, titles

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/settings/microsoft-teams/"


@pytest.fixture
def teams(settings) -> Iterator[Teams]:
    with unconnected(settings) as teams:
        yield teams


def fields(teams: Teams) -> dict[str, str]:
    return {"app_id": teams.app_id, "tenant": teams.tenant, "client_secret": teams.client_secret}


def test_a_connected_bot_has_a_package_and_posts_a_test_card_that_links(teams):
    root = administrator()
    client = browser(root)
    assert "https://desk.example.org/api/teams/messages" in parse(client.get(PAGE).text).words
    assert client.post(PAGE, fields(teams) | {"app_id": teams.app_id.upper()}).headers["Location"] == PAGE
    connection = ChannelConnection.objects.get()
    assert (connection.app_id, connection.team_id, connection.bot_id) == (teams.app_id, teams.tenant, teams.bot_id)
    secrets = secrets_of(connection)
    assert secrets is not None
    assert secrets.client_secret == teams.client_secret
    texts = [client.get(PAGE).text, connection.secret, *(entry.body for entry in AuditEntry.objects.all())]
    assert [text for text in texts if teams.client_secret in text] == []
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"{PAGE}package/").content))
    assert sorted(archive.namelist()) == ["color.png", "manifest.json", "outline.png"]
    manifest = json.loads(archive.read("manifest.json"))
    assert (manifest["bots"][0]["botId"], manifest["validDomains"]) == (teams.app_id, ["desk.example.org"])
    ops = teams.channel("ops")
    assert client.post(f"{PAGE}test/", {"channel_id": teams.link_to(ops)}).headers["Location"] == PAGE
    [card] = ops.messages
    person = teams.person("dora")
    person.click(card, "Link my account")
    address = buttons(person.card(card))["Link my account"].action["url"].removeprefix("https://desk.example.org")
    client.post(address)
    assert ChannelAccount.objects.get().user == root
    assert "dora" in parse(client.get(PAGE).text).words
    person.own.clear()
    person.click(card, "Link my account")
    assert person.lines == ["Your account is linked to dora in Pausepoint."]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_secret": "wrong"}, "The client secret is wrong or has expired."),
        ({"app_id": "11111111-2222-3333-4444-555555555555"}, "The app ID does not exist in this tenant."),
        ({"tenant": "11111111-2222-3333-4444-555555555555"}, "The tenant does not exist."),
        ({"tenant": "example.org"}, "This is not an ID such as"),
        ({"client_secret": "é"}, "The client secret is wrong or has expired."),
    ],
)
def test_what_does_not_work_is_said_in_words(teams, changes, error):
    answer = browser(administrator()).post(PAGE, fields(teams) | changes)
    errors = [each.words for each in parse(answer.text).find("p", class_="field-error")]
    assert (answer.status_code, [each[: len(error)] for each in errors]) == (422, [error])
    assert ChannelConnection.objects.count() == 0


def test_microsoft_that_cannot_be_reached_and_a_channel_without_the_app_are_said_in_words(teams, settings):
    client = browser(administrator())
    connect(teams)
    ops = teams.channel("ops", with_bot=False)
    for entered, words in (
        (teams.link_to(ops), "The app is not in the team or chat."),
        ("https://teams.microsoft.com/l/channel/19%3Aother%40thread.tacv2/x", "The channel does not exist"),
        ("ops", "This is not a link to a channel of Teams."),
    ):
        answer = client.post(f"{PAGE}test/", {"channel_id": entered})
        assert (answer.status_code, words in parse(answer.text).words) == (422, True)
    assert "The channel does not exist" in parse(client.get(PAGE).text).words
    settings.TEAMS_LOGIN_URL = "http://127.0.0.1:9/"
    answer = client.post(PAGE, fields(teams) | {"client_secret": "another"})
    assert "Microsoft could not be reached." in answer.text


def test_a_second_administrator_confirms_the_connection(teams):
    first = administrator()
    second = make_person("second", "administer")
    browser(first).post(PAGE, fields(teams))
    assert ChannelConnection.objects.count() == 0
    assert f"Let people answer in Microsoft Teams: {teams.tenant}" in browser(second).get("/settings/changes/").text
    confirm(waiting_change(), second)
    assert sorted(ChannelConnection.objects.get().issuers.values_list("issuer", flat=True)) == [
        f"{teams.url}{teams.tenant}/v2.0",
        "https://api.botframework.com",
        f"https://sts.windows.net/{teams.tenant}/",
    ]
    assert [entry for entry in AuditEntry.objects.all() if teams.client_secret in entry.body] == []


def test_the_page_is_for_administrators_only(teams):
    connect(teams)
    client = browser(carol())
    answers = [client.get(PAGE), client.get(f"{PAGE}package/")]
    answers += [client.post(f"{PAGE}{name}") for name in ("test/", "disconnect/")]
    assert [answer.status_code for answer in answers] == [404] * 4


def test_a_rule_takes_the_link_to_a_channel_and_its_card_is_previewed(teams):
    root = administrator()
    client = browser(root)
    rule = {"person": "dora", "route": "teams", "shows": "input", "min_priority": "normal", "active": "on"}
    ops = teams.channel("ops")
    sent = rule | {"channel_id": teams.link_to(ops)}
    assert "Connect Microsoft Teams first, under Administration." in client.post("/settings/rules/", sent).text
    connect(teams)
    wrong = client.post("/settings/rules/", rule | {"channel_id": "C012AB3CD"})
    assert "This is not a link to a channel of Teams." in parse(wrong.text).words
    assert client.post("/settings/rules/", sent).status_code == 302
    stored = NotificationRule.objects.get()
    assert (stored.channel_id, stored.kind) == (ops.id, "teams")
    make_request(root, title="Refund order 4711?")
    preview = parse(client.get(f"{PAGE}preview/{stored.pk}/").text)
    assert ("Refund order 4711?" in preview.words, "Approve" in preview.words) == (True, True)


def test_links_are_unique_both_ways_and_end_with_the_connection(teams):
    connection = connect(teams)
    approver = bob()
    person = linked(teams, approver)
    other = carol()
    token = offer_link(connection, teams.tenant, person.id, "bob")
    assert browser(other).post(f"{PAGE}link/{token}/").status_code == 409
    token = offer_link(connection, teams.tenant, teams.person("x").id, "x")
    refused = browser(approver).post(f"{PAGE}link/{token}/")
    assert (refused.status_code, "Another account in Microsoft Teams" in refused.text) == (409, True)
    rule_for(alice(), teams.channel("ops"))
    account = ChannelAccount.objects.get()
    assert browser(approver).post(f"{PAGE}unlink/{account.pk}/").headers["Location"] == "/settings/"
    linked(teams, other)
    browser(administrator()).post(f"{PAGE}disconnect/")
    assert (ChannelAccount.objects.count(), NotificationRule.objects.get().active) == (0, False)


def test_the_test_card_has_one_button(teams):
    connect(teams)
    client = browser(administrator())
    ops = teams.channel("ops")
    client.post(f"{PAGE}test/", {"channel_id": ops.id})
    assert titles(ops.messages[0].card) == ["Link my account"]
    assert re.search("Pausepoint can post here", ops.messages[0].words)
