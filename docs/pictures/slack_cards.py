"""The pictures of cards: as the stand-in of Slack renders them, which is close to Slack."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

sys.path.append(str(Path(__file__).resolve().parents[2]))
from tests.support.slack import Slack
from tests.support.slack.workspace import Channel, Message

#: Connects the desk of the demo, and links the two people of Slack.
CONNECT = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.asking.asks import Ask
from approvals.models import ChannelAccount, ChannelConnection, NotificationRule
from approvals.states import Kind, Route
secrets = ChannelSecrets({bot_token!r}, {signing_secret!r})
connection = ChannelConnection.objects.create(kind="slack", app_id={app_id!r}, team_id={team_id!r},
    team_name="Acme", bot_id={bot_user!r}, secret=encrypted(secrets))
approver = User.objects.get(username="approver")
for name, external in {people!r}.items():
    ChannelAccount.objects.create(connection=connection, team_id={team_id!r}, external_id=external,
        user=User.objects.get(username=name))
NotificationRule.objects.create(person=approver, route=Route.BUTTONS, channel_id={channel!r}, tool_name="")
"""
#: Sends requests to the channel, and asks.
ASKS = """
owner = User.objects.get(username="requester")
flow = actions.open_workflow(scope="key:0", key="cards", title="Night run", source="api", owner=owner, agent="billing")
for ask in (
    Ask(kind=Kind.APPROVAL, title="Refund invoice R-2291?", tool_name="refund_invoice",
        input={"invoice": "R-2291", "amount": 1890, "reason": "delivered twice"}),
    Ask(kind=Kind.QUESTION, title="Which hotel?", input={},
        options=[{"label": "Gare du Nord"}, {"label": "Bastille"}, {"label": "Montmartre"}]),
    Ask(kind=Kind.APPROVAL, title="Order 40 chairs?", tool_name="order",
        input={"item": "chair", "quantity": 40, "supplier": "Nordwind GmbH"}),
):
    actions.request_approval(flow, ask, requested_by=owner)
"""
#: Suffix of the file, width, height, color scheme.
SHAPES = [
    ("", 1080, 720, "light"),
    ("-dark", 1080, 720, "dark"),
    ("-phone", 360, 700, "light"),
]


@contextmanager
def workspace() -> Iterator[tuple[Slack, Channel]]:
    """Run the stand-in, with a channel of two people."""
    with Slack() as slack:
        people = [slack.person(name) for name in ("approver", "finance")]
        yield slack, slack.channel("payments", *people)


def connect(slack: Slack, channel: Channel, run: Callable[[str], object]) -> None:
    known = slack.workspace
    names = ("bot_token", "signing_secret", "app_id", "team_id", "bot_user")
    values = {name: getattr(known, name) for name in names}
    people = {name: person.id for name, person in slack.people.items()}
    run(CONNECT.format(**values, people=people, channel=channel.id) + ASKS)


def take_cards(
    browser: Browser,
    slack: Slack,
    channel: Channel,
    base: str,
    store: Callable[[str, Page], None],
) -> None:
    """Answer one of the cards, open the dialog of another, and take both pictures."""
    slack.request_url = f"{base}/api/slack/interactivity"
    person = slack.people["approver"]
    hotel = _card(slack, channel, "Which hotel?")
    chairs = _card(slack, channel, "Order 40 chairs?")
    refund = _card(slack, channel, "Refund invoice R-2291?")
    person.click(chairs, "pausepoint.approve")
    slack.until(lambda: "Approved by" in chairs.words, 60)
    assert "pausepoint.option.0" in hotel.buttons
    address = f"{slack.url}/channels/{channel.id}?as=approver"
    _shoot(browser, address, "slack", store)
    person.click(refund, "pausepoint.reject")
    _shoot(browser, address, "slack-dialog", store)


def _card(slack: Slack, channel: Channel, title: str) -> Message:
    card = slack.until(lambda: slack.message_with(channel, title), 60)
    assert isinstance(card, Message)
    return card


def _shoot(
    browser: Browser, address: str, name: str, store: Callable[[str, Page], None]
) -> None:
    page = browser.new_page()
    for suffix, width, height, scheme in SHAPES:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto(address)
        store(f"{name}{suffix}", page)
    page.close()
