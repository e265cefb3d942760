"""The Slack page: set-up by an administrator, confirmed by a second one, and the links of accounts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial

import pytest
from django.test import Client

from approvals.actions.channels.connections import secrets_of
from approvals.actions.channels.links import offer_link
from approvals.models import (
    AuditEntry,
    ChannelAccount,
    ChannelCard,
    ChannelConnection,
    ChannelLinkOffer,
    NotificationRule,
)
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.slack import DESK, card_in, carry, connect, linked, rule_for
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person
from tests.support.slack import Slack
from tests.support.slack.delivery import by_django, verify_url

pytestmark = pytest.mark.django_db(transaction=True)
PAGE = "/settings/slack/"


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    settings.PUBLIC_URL = "https://desk.example.org"
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Slack(post=by_django(Client())) as slack:
        settings.SLACK_API_URL = slack.api
        yield slack


def fields(slack: Slack) -> dict[str, str]:
    workspace = slack.workspace
    return {
        "app_id": workspace.app_id,
        "signing_secret": workspace.signing_secret,
        "bot_token": workspace.bot_token,
    }


def test_an_app_made_from_the_manifest_is_connected_and_posts_a_test_card_that_links(slack):
    root = administrator()
    client = browser(root)
    manifest = json.loads(parse(client.get(PAGE).text).find("pre")[0].words)
    slack.create_app(manifest)
    assert slack.request_url == "https://desk.example.org/api/slack/interactivity"
    assert client.post(PAGE, fields(slack)).headers["Location"] == PAGE
    connection = ChannelConnection.objects.get()
    assert (connection.team_id, connection.app_id) == (slack.workspace.team_id, slack.workspace.app_id)
    secrets = secrets_of(connection)
    assert secrets is not None
    assert secrets.bot_token == slack.workspace.bot_token
    page = client.get(PAGE).text
    bodies = [entry.body for entry in AuditEntry.objects.all()]
    for secret in (secrets.bot_token, secrets.signing_secret):
        assert [text for text in (page, connection.secret, *bodies) if secret in text] == []
    person = slack.person("dora")
    ops = slack.channel("ops", person)
    assert client.post(f"{PAGE}test/", {"channel_id": ops.id}).headers["Location"] == PAGE
    [card] = ops.messages
    person.click(card, "pausepoint.link")
    carry()
    address = person.messages(ops.id)[-1].buttons["pausepoint.open"]["url"].removeprefix("https://desk.example.org")
    client.post(address)
    assert ChannelAccount.objects.get().user == root
    assert "dora" in parse(client.get(PAGE).text).find("span", class_="row-title")[0].words


@pytest.mark.parametrize(
    ("changes", "refusal", "error"),
    [
        ({"bot_token": "xoxb-wrong"}, "", "The bot token no longer works."),
        ({"bot_token": "abc"}, "", "A bot token begins with xoxb-."),
        ({}, "account_inactive", "The app was removed from the workspace."),
        ({"app_id": "abc"}, "", "An app ID begins with A"),
    ],
)
def test_tokens_that_do_not_work_are_said_in_words(slack, changes, refusal, error):
    slack.refuse(refusal)
    answer = browser(administrator()).post(PAGE, fields(slack) | changes)
    errors = [each.words for each in parse(answer.text).find("p", class_="field-error")]
    assert (answer.status_code, [each[: len(error)] for each in errors]) == (422, [error])
    assert ChannelConnection.objects.count() == 0


def test_slack_that_cannot_be_reached_is_said_in_words(slack, settings):
    settings.SLACK_API_URL = "http://127.0.0.1:9/api/"
    answer = browser(administrator()).post(PAGE, fields(slack))
    assert "Slack could not be reached." in answer.text


def test_a_second_administrator_confirms_the_connection(slack):
    first = administrator()
    second = make_person("second", "administer")
    browser(first).post(PAGE, fields(slack))
    assert ChannelConnection.objects.count() == 0
    page = browser(second).get("/settings/changes/").text
    assert f"Let people answer in Slack: {slack.workspace.team_name}" in page
    confirm(waiting_change(), second)
    assert ChannelConnection.objects.get().team_name == slack.workspace.team_name
    assert [entry for entry in AuditEntry.objects.all() if slack.workspace.bot_token in entry.body] == []


def test_the_page_is_for_administrators_only(slack):
    connect(slack)
    client = browser(carol())
    answers = [client.get(PAGE), *(client.post(f"{PAGE}{name}") for name in ("test/", "disconnect/"))]
    assert [answer.status_code for answer in answers] == [404, 404, 404]


@pytest.mark.parametrize(
    ("prepare", "words"),
    [
        (lambda ops: setattr(ops, "archived", True), "The channel is archived."),
        (lambda ops: ops.members.clear(), "The app is not in the channel."),
    ],
)
def test_a_test_card_that_cannot_be_posted_says_why(slack, prepare, words):
    connect(slack)
    ops = slack.channel("ops")
    prepare(ops)
    client = browser(administrator())
    answer = client.post(f"{PAGE}test/", {"channel_id": ops.id})
    assert (answer.status_code, words in answer.text) == (422, True)
    assert words in parse(client.get(PAGE).text).find("p", role="status")[0].words


def test_disconnecting_forgets_links_and_switches_its_rules_off(slack):
    connect(slack)
    approver = bob()
    ops = slack.channel("ops", linked(slack, approver))
    rule_for(approver, ops)
    make_request(alice())
    card_in(slack, ops)
    browser(administrator()).post(f"{PAGE}disconnect/")
    counts = [model.objects.count() for model in (ChannelConnection, ChannelAccount, ChannelCard)]
    assert (counts, NotificationRule.objects.get().active) == ([0, 0, 0], False)
    assert Client().post("/api/slack/interactivity").status_code == 404


def test_accounts_are_linked_one_to_one(slack):
    connection = connect(slack)
    approver = bob()
    linked(slack, approver)
    other = carol()
    team = slack.workspace.team_id
    taken = offer_link(connection, team, ChannelAccount.objects.get().external_id, "bob")
    second = offer_link(connection, team, "U999", "robert")
    assert browser(other).post(f"{PAGE}link/{taken}/").status_code == 409
    assert browser(approver).post(f"{PAGE}link/{second}/").status_code == 409
    assert ChannelAccount.objects.count() == 1


def test_a_link_works_once_for_a_while_and_only_as_it_was_sent(slack):
    connection = connect(slack)
    client = browser(bob())
    old = offer_link(connection, slack.workspace.team_id, "U1", "bob")
    new = offer_link(connection, slack.workspace.team_id, "U1", "bob")
    assert client.post(f"{PAGE}link/{old}/").status_code == 404
    assert client.post(f"{PAGE}link/{new[:-1]}x/").status_code == 404
    ChannelLinkOffer.objects.update(expires_at="2026-01-01T00:00:00Z")
    assert client.get(f"{PAGE}link/{new}/").status_code == 404
    assert ChannelAccount.objects.count() == 0


def test_people_remove_their_own_link_and_administrators_any(slack):
    connect(slack)
    approver = bob()
    other = carol()
    linked(slack, approver)
    linked(slack, other)
    mine, theirs = (ChannelAccount.objects.get(user=user).pk for user in (approver, other))
    client = browser(approver)
    assert f"{PAGE}unlink/{mine}/" in client.get("/settings/").text
    assert client.post(f"{PAGE}unlink/{theirs}/").status_code == 404
    assert client.post(f"{PAGE}unlink/{mine}/").headers["Location"] == "/settings/"
    assert browser(administrator()).post(f"{PAGE}unlink/{theirs}/").headers["Location"] == PAGE
    entries = AuditEntry.objects.filter(event="account.unlinked").order_by("pk")
    assert [(entry.actor_name, entry.data["user"]) for entry in entries] == [("bob", "bob"), ("dora", "carol")]


def test_wrong_signatures_are_refused_and_counted_by_address(slack, settings):
    connect(slack)
    settings.HITL_WRONG_KEYS_PER_MINUTE = 3
    client = Client(REMOTE_ADDR="203.0.113.77")
    answers = [client.post("/api/slack/interactivity", {"payload": "{}"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]
    assert [answer.headers["Content-Type"] for answer in answers[:1]] == ["application/problem+json"]
    assert client.get("/api/slack/interactivity").status_code == 405


def test_events_over_http_end_the_connection_and_their_address_is_verified_before_it(slack):
    page = browser(administrator()).get(PAGE)
    slack.create_app(json.loads(parse(page.text).find("pre")[0].words))
    assert slack.events_url == f"{DESK}/api/slack/events"
    client = Client()
    post = partial(client.post, "/api/slack/events", content_type="application/json")
    wrong = {"type": "url_verification", "challenge": "<script>"}
    other = {"type": "event_callback", "event": {"type": "app_uninstalled"}}
    assert [post(each).status_code for each in (wrong, other)] == [404, 404]
    verify_url(slack)
    connect(slack)
    verify_url(slack)
    assert post({"type": "url_verification", "challenge": "abc"}).status_code == 401
    foreign = slack.workspace.app_id
    slack.workspace.app_id = "A0OTHER"
    [refused] = slack.send_event({"type": "app_uninstalled"})
    slack.workspace.app_id = foreign
    assert (refused.status, ChannelConnection.objects.get().problem) == (200, "")
    for event, problem in [("app_uninstalled", "app_uninstalled"), ("tokens_revoked", "token_revoked")]:
        answers = slack.send_event({"type": event}, repeats=1)
        assert [answer.status for answer in answers] == [200, 200]
        assert ChannelConnection.objects.get().problem == problem


def test_the_preview_shows_the_card_of_a_rule_and_no_more_than_the_administrator_may_see(slack):
    connect(slack)
    approver = bob()
    rule = rule_for(approver, slack.channel("ops"))
    make_request(alice(), title="Refund order 4711?")
    stranger = make_person("second", "administer")
    page = browser(administrator()).get(f"{PAGE}preview/{rule.pk}/")
    own = browser(stranger).get(f"{PAGE}preview/{rule.pk}/")
    assert (page.status_code, own.status_code) == (200, 200)
    assert "Refund order 4711?" not in own.text
    assert browser(stranger).get(PAGE).status_code == 200
    make_request(stranger, title="Mine?")
    shown = parse(browser(stranger).get(f"{PAGE}preview/{rule.pk}/").text)
    assert [badge.words for badge in shown.find("span", class_="badge")] == [
        "Approve",
        "Approve with changes…",
        "Reject…",
        "Open",
    ]
