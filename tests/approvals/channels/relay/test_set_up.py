"""The pages of relays: set up by an administrator, loosened by two, and the links of accounts."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from approvals.actions.channels.connections import secrets_of
from approvals.models import AuditEntry, ChannelAccount, ChannelConnection, NotificationRule, Relay
from approvals.schema.check import schema_problem
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.relay import DESK, connected, linked, rule_for
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse
from tests.support.people import bob, carol, make_person

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/settings/relays/"
NEW = {"name": "telegram", "address": "https://relay.example.com/pausepoint?key=hidden", "shows": "title", "up_to": ""}


def test_a_relay_is_added_its_secret_is_shown_once_and_its_test_message_arrives(settings):
    root = administrator()
    client = browser(root)
    with connected(settings) as chat:
        page = client.post(PAGE, NEW)
        [lines] = [each.words for each in parse(page.text).find("pre")]
        assert "PAUSEPOINT_RELAY=https://desk.example.org/api/v1/relays/telegram" in lines
        [secret] = re.findall(r"whsec_\S+", lines)
        stored = ChannelConnection.objects.get(team_id="telegram")
        secrets = secrets_of(stored)
        assert secrets is not None
        assert (secrets.signing_secret, secret in stored.secret) == (secret, False)
        bodies = [entry.body for entry in AuditEntry.objects.all()]
        pages = [client.get(address).text for address in (PAGE, f"{PAGE}telegram/")]
        assert [text for text in [*bodies, *pages] if secret in text] == []
        assert [body for body in bodies if "hidden" in body] == []
        sent = client.post(f"{PAGE}mattermost/test/", {"account": "u-1"})
        assert (sent.status_code, [each["account"] for each in chat.notices]) == (302, ["u-1"])
        chat.status = 401
        refused = client.post(f"{PAGE}mattermost/test/", {"account": "u-1"})
        assert (refused.status_code, "The relay refuses the signature." in refused.text) == (422, True)
        assert "The relay refuses the signature." in client.get(f"{PAGE}mattermost/").text


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"name": "My relay"}, "Use lowercase letters, digits and hyphens, such as mattermost."),
        ({"name": "mattermost"}, "There is a relay with this name."),
        ({"address": "https://10.0.0.1/"}, "which is in a private network"),
        ({"address": "relay"}, "The address"),
        ({"up_to": "-1"}, "greater than or equal to 0"),
    ],
)
def test_wrong_settings_are_said_in_words(settings, changes, error):
    with connected(settings):
        settings.HITL_WEBHOOK_ALLOW_PRIVATE = False
        page = browser(administrator()).post(PAGE, NEW | changes)
        errors = [each.words for each in parse(page.text).find("p", class_="field-error")]
        assert (page.status_code, [each for each in errors if error in each] != []) == (422, True), errors
        assert Relay.objects.count() == 1


def test_looser_settings_wait_for_a_second_administrator_and_tighter_ones_do_not(settings):
    first = administrator()
    second = make_person("second", "administer")
    client = browser(first)
    with connected(settings, shows="fields", up_to=100) as chat:
        address = f"{PAGE}mattermost/"
        tight = {"address": chat.url(), "shows": "title", "up_to": "50"}
        assert client.post(address, tight).headers["Location"] == address
        relay = Relay.objects.get()
        assert (relay.shows, relay.up_to) == ("title", 50)
        for loose in ({"shows": "input"}, {"up_to": ""}, {"up_to": "51"}, {"address": chat.url("/elsewhere")}):
            client.post(address, tight | loose)
            relay.refresh_from_db()
            assert (relay.shows, relay.up_to, relay.address) == ("title", 50, chat.url())
        page = browser(second).get("/settings/changes/").text
        assert "Let the relay mattermost carry requests to" in page
        confirm(waiting_change(), second)
        relay.refresh_from_db()
        assert relay.address == chat.url("/elsewhere")
        client.post(PAGE, NEW)
        assert ChannelConnection.objects.filter(team_id="telegram").count() == 0
        confirm(waiting_change("relay"), second)
        assert ChannelConnection.objects.get(team_id="telegram").team_name == "telegram"


def test_an_account_is_linked_by_logging_in_and_confirming(settings):
    person = bob()
    with connected(settings) as chat:
        offered = chat.send("links", {"account": "u-1", "name": "robert"})
        assert offered.status_code == 201
        address = offered.json()["url"].removeprefix(DESK)
        assert Client().get(address).headers["Location"].startswith("/login/")
        client = browser(person)
        page = client.get(address).text
        assert ("robert" in page, "u-1" in page, ChannelAccount.objects.count()) == (True, True, 0)
        assert client.post(address).headers["Location"] == "/settings/"
        assert client.post(address).status_code == 404
        account = ChannelAccount.objects.get()
        assert (account.user, account.recorded) == (person, "relay:mattermost/u-1")
        assert AuditEntry.objects.get(event="account.linked").data["account"] == "relay:mattermost/u-1"
        other = chat.send("links", {"account": "u-1"}).json()["url"].removeprefix(DESK)
        assert browser(carol()).post(other).status_code == 409
        unlink = f"/settings/relay-unlink/{account.pk}/"
        assert unlink in client.get("/settings/").text
        assert client.post(unlink).headers["Location"] == "/settings/"
        assert ChannelAccount.objects.count() == 0


def test_a_new_secret_replaces_the_former_one_and_removal_switches_rules_off(settings):
    client = browser(administrator())
    approver = bob()
    with connected(settings) as chat:
        linked(approver)
        rule_for(approver)
        page = client.post(f"{PAGE}mattermost/secret/").text
        assert chat.send("links", {"account": "u-2"}).status_code == 401
        [chat.secret] = re.findall(r"whsec_\S+", parse(page).find("pre")[0].words)
        assert chat.send("links", {"account": "u-2"}).status_code == 201
        assert client.post(f"{PAGE}mattermost/remove/").headers["Location"] == PAGE
        counts = [model.objects.count() for model in (ChannelConnection, Relay, ChannelAccount)]
        assert (counts, NotificationRule.objects.get().active) == ([0, 0, 0], False)
        assert chat.send("links", {"account": "u-2"}).status_code == 401
        changes = [entry.data["change"] for entry in AuditEntry.objects.filter(event="channel.changed").order_by("pk")]
        assert changes == ["secret rotated", "disconnected"]


def test_the_pages_are_for_administrators_only(settings):
    with connected(settings):
        client = browser(carol())
        addresses = [PAGE, f"{PAGE}mattermost/"]
        posts = [f"{PAGE}mattermost/{name}/" for name in ("secret", "test", "remove")]
        assert {client.get(each).status_code for each in addresses} == {404}
        assert {client.post(each).status_code for each in [*addresses, *posts]} == {404}


def test_the_schemas_are_published_and_are_what_answers_are_checked_with(settings):
    with connected(settings) as chat:
        schema = Client().get("/api/v1/relays/schema.json").json()
        assert sorted(schema["$defs"]) == sorted(
            ["request.show", "request.end", "notice", "answer", "answered", "link", "link_offered"]
        )
        assert [name for name, each in schema["$defs"].items() if schema_problem(each)] == []
        refused = chat.send("answers", {"token": "x", "account": "u-1", "verdict": "edit", "by": "root"})
        assert (refused.status_code, sorted(refused.json()["errors"])) == (422, ["", "verdict"])


def test_wrong_signatures_are_refused_and_counted_by_address(settings):
    settings.HITL_WRONG_KEYS_PER_MINUTE = 3
    with connected(settings):
        client = Client(REMOTE_ADDR="203.0.113.78")
        statuses = [client.post("/api/v1/relays/mattermost/answers").status_code for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
