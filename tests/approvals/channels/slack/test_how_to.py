"""`docs/how-to/answer-in-slack.md`, followed step by step: each name in it stands where the step says."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from django.test import Client

from approvals.channels.slack.states import SOCKET_WORDS, WORDS
from approvals.models import ChannelAccount, ChannelConnection, Decision, NotificationRule
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.slack import carry
from tests.support.markup import Form, forms, parse
from tests.support.people import alice, bob
from tests.support.root import ROOT
from tests.support.slack import Slack
from tests.support.slack.delivery import by_django

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/settings/slack/"
RULES = "/settings/rules/"
HOW_TO = (ROOT / "docs" / "how-to" / "answer-in-slack.md").read_text()
STEP = re.compile(r"^\d+\. (.*(?:\n   .*)*)", re.MULTILINE)
#: Names on Slack's own pages, which no test can look at.
IN_SLACK = {"From a manifest", "Install to Workspace", "Basic Information", "OAuth & Permissions"}
#: Ways through the menu of the settings, by page.
MENU = {"Administration > Slack": PAGE, "Administration > Notification rules": RULES}


def steps(heading: str) -> list[str]:
    """Return the numbered steps below a heading."""
    section = HOW_TO.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [step[1].replace("\n   ", " ") for step in STEP.finditer(section)]


def names(step: str) -> list[str]:
    """Return the names in a step that Pausepoint's pages or Slack's cards must show."""
    return [name for name in re.findall(r"\*\*(.+?)\*\*", step) if name not in IN_SLACK]


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    settings.PUBLIC_URL = "https://desk.example.org"
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Slack(post=by_django(Client())) as slack:
        settings.SLACK_API_URL = slack.api
        yield slack


def words_of(client: Client, path: str) -> str:
    """Return what a page shows, its fields and buttons too."""
    page = parse(client.get(path).text)
    return " ".join(page.find("body")[0].words.split())


def check(step: str, words: str, *elsewhere: str) -> None:
    """Require that the page shows the names of a step; `elsewhere` stand on other pages."""
    wanted = [name for name in names(step) if name not in (*MENU, *elsewhere)]
    assert [name for name in wanted if name.lower() not in words.lower()] == [], step


def form_with(client: Client, path: str, button: str) -> Form:
    (form,) = [each for each in forms(client.get(path).text) if button in [label for label, _, _ in each.buttons]]
    return form


def create_app(slack: Slack, client: Client) -> None:
    """Follow *Create the app*."""
    first, second, third, fourth, fifth = steps("Create the app")
    words = words_of(client, PAGE)
    for step in (first, second, third, fourth, fifth):
        check(step, words)
    assert "https://api.slack.com/apps?new_app=1" in second
    slack.create_app(json.loads(parse(client.get(PAGE).text).find("pre")[0].words))
    assert slack.request_url == "https://desk.example.org/api/slack/interactivity"
    assert "`PUBLIC_URL` with `/api/slack/interactivity`" in HOW_TO
    workspace = slack.workspace
    values = {"app_id": workspace.app_id, "signing_secret": workspace.signing_secret, "bot_token": workspace.bot_token}
    form = form_with(client, PAGE, "Connect")
    assert client.post(form.action, form.fields | values).status_code == 302
    assert ChannelConnection.objects.get().team_id == workspace.team_id


def test_the_how_to_leads_from_nothing_to_a_decision_in_slack(slack):
    root = administrator()
    client = browser(root)
    create_app(slack, client)

    invite, copy, send, link = steps("Send a test card")
    person = slack.person("root")
    ops = slack.channel("ops", person)
    assert "/invite @Pausepoint" in invite
    check(f"{copy} {send}", words_of(client, PAGE))
    form = form_with(client, PAGE, "Send test card")
    assert client.post(form.action, form.fields | {"channel_id": ops.id}).status_code == 302
    [card] = ops.messages
    assert {"Link my account", "Link accounts"} == set(names(link))
    (button,) = [name for name, each in card.buttons.items() if each["text"]["text"] == "Link my account"]
    person.click(card, button)
    carry()
    line = person.messages(ops.id)[-1]
    assert line.seen_by == person.id
    (address,) = [each["url"] for each in line.buttons.values()]
    path = address.removeprefix("https://desk.example.org")
    form = form_with(client, path, "Link accounts")
    client.post(form.action or path, form.fields)
    assert ChannelAccount.objects.get().user == root

    choose, how, channel, shows, preview = steps("Choose which requests become cards")
    words = words_of(client, RULES)
    check(f"{choose} {how} {channel} {shows}", words)
    approver = bob()
    rule = {"person": "bob", "route": "buttons", "channel_id": ops.id, "shows": "input", "min_priority": "normal"}
    add = form_with(client, RULES, "Add")
    assert client.post(add.action or RULES, add.fields | rule | {"active": "on"}).status_code == 302
    assert NotificationRule.objects.get().channel_id == ops.id
    check(preview, words_of(client, PAGE))

    make_request(alice(), title="Refund order 4711?", input={"amount": 120})
    carry()
    request_card = slack.message_with(ops, "Refund order 4711?")
    assert request_card is not None
    labels = {each["text"]["text"] for each in request_card.buttons.values()}
    assert labels == {"Approve", "Approve with changes…", "Reject…", "Open"}
    assert [label for label in labels if f"**{label}**" not in HOW_TO] == []
    decider = slack.person("bob")
    ops.members.append(decider.id)
    decider.click(request_card, "pausepoint.approve")
    carry()
    line = decider.messages(ops.id)[-1]
    path = line.buttons["pausepoint.open"]["url"].removeprefix("https://desk.example.org")
    browser(approver).post(path)
    decider.click(request_card, "pausepoint.approve")
    carry()
    assert (Decision.objects.get().by_id, Decision.objects.get().via) == (approver.pk, "slack")


def test_the_words_for_problems_are_those_of_the_page(slack):
    known = " ".join(map(str, [*WORDS.values(), *SOCKET_WORDS.values()]))
    table = HOW_TO.split("| it says | what to do |")[1].split("\n\n")[0]
    said = re.findall(r"^\| ([A-Z].*?) \|", table, re.MULTILINE)
    assert len(said) == 6
    assert [words for words in said if words not in known] == []
