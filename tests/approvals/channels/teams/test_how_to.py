"""`docs/how-to/answer-in-teams.md`, followed step by step: each name in it stands where the step says."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from approvals.channels.teams.states import WORDS
from approvals.models import ChannelAccount, ChannelConnection, Decision, NotificationRule
from tests.approvals.administration.people.test_people import administrator
from tests.approvals.channels.slack.test_how_to import STEP, form_with, words_of
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.teams import DESK, card_in, unconnected
from tests.support.people import alice, bob
from tests.support.root import ROOT
from tests.support.teams import Teams
from tests.support.teams.cards import buttons, titles

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "/settings/microsoft-teams/"
RULES = "/settings/rules/"
HOW_TO = (ROOT / "docs" / "how-to" / "answer-in-teams.md").read_text()
#: Names on the pages of Microsoft, which no test can look at, and ways through the menu of the settings.
ELSEWHERE = {"Azure Bot", "Single Tenant", "Configuration", "Channels", "Microsoft Teams", "Manage Password", "Apps"}
ELSEWHERE |= {"Manage your apps", "Administration > Microsoft Teams", "Administration > Notification rules"}


def steps(heading: str) -> list[str]:
    """Return the numbered steps below a heading."""
    section = HOW_TO.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return [step[1].replace("\n   ", " ") for step in STEP.finditer(section)]


def check(words: str, *shown: str) -> None:
    """Require that a page shows the names of these steps."""
    names = [name for step in shown for name in re.findall(r"\*\*(.+?)\*\*", step) if name not in ELSEWHERE]
    assert names
    assert [name for name in names if name.lower() not in words.lower()] == []


@pytest.fixture
def teams(settings) -> Iterator[Teams]:
    with unconnected(settings) as teams:
        yield teams


def test_the_how_to_leads_from_nothing_to_a_decision_in_teams(teams):
    root = administrator()
    client = browser(root)
    page = words_of(client, PAGE)
    check(page, *steps("Create the bot"))
    assert f"{DESK}/api/teams/messages" in page
    assert "`PUBLIC_URL` with `/api/teams/messages`" in HOW_TO
    form = form_with(client, PAGE, "Connect")
    values = {"app_id": teams.app_id, "tenant": teams.tenant, "client_secret": teams.client_secret}
    assert client.post(form.action, form.fields | values).status_code == 302
    assert ChannelConnection.objects.get().team_id == teams.tenant
    check(words_of(client, PAGE), steps("Add the app to Teams")[0])
    assert client.get(f"{PAGE}package/").headers["Content-Type"] == "application/zip"

    menu, enter, link = steps("Send a test card")
    ops = teams.channel("ops")
    assert "**Get link to channel**" in menu
    check(words_of(client, PAGE), enter)
    form = form_with(client, PAGE, "Send test card")
    assert client.post(form.action, form.fields | {"channel_id": teams.link_to(ops)}).status_code == 302
    [card] = ops.messages
    person = teams.person("root")
    assert "**Link my account**" in link
    person.click(card, "Link my account")
    path = buttons(person.card(card))["Link my account"].action["url"].removeprefix(DESK)
    confirmed = form_with(client, path, "Link accounts")
    client.post(confirmed.action or path, confirmed.fields)
    assert ChannelAccount.objects.get().user == root

    choose, how, channel, shows, preview = steps("Choose which requests become cards")
    check(words_of(client, RULES), choose, channel, shows)
    assert "**Microsoft Teams**" in how
    approver = bob()
    rule = {"person": "bob", "route": "teams", "channel_id": teams.link_to(ops), "shows": "input"}
    add = form_with(client, RULES, "Add")
    sent = add.fields | rule | {"min_priority": "normal", "active": "on"}
    assert client.post(add.action or RULES, sent).status_code == 302
    assert NotificationRule.objects.get().channel_id == ops.id
    check(words_of(client, PAGE), preview)

    make_request(alice(), title="Refund order 4711?", input={"amount": 120})
    request_card = card_in(teams, ops, "Refund order 4711?")
    assert titles(request_card.card) == ["Approve", "Approve with changes…", "Reject…", "Open"]
    assert [title for title in titles(request_card.card) if f"**{title}**" not in HOW_TO] == []
    decider = teams.person("bob")
    decider.click(request_card, "Approve")
    path = buttons(decider.card(request_card))["Link my account"].action["url"].removeprefix(DESK)
    browser(approver).post(path)
    assert "**Show the request**" in HOW_TO
    decider.click(request_card, "Show the request")
    decider.click(request_card, "Approve")
    assert (Decision.objects.get().by_id, Decision.objects.get().via) == (approver.pk, "teams")


def test_the_words_for_problems_are_those_of_the_page(teams):
    known = " ".join(map(str, WORDS.values()))
    table = HOW_TO.split("| it says | what to do |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| ([A-Z].*?) \|", table, re.MULTILINE)
    assert len(rows) == 5
    assert [words for words in rows if words not in known] == []
