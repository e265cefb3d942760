"""The pictures of cards in Teams: rendered with Microsoft's own code, in colors like those of Teams."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from playwright.sync_api import Browser, Page
from slack_cards import ASKS, SHAPES

from tests.support.teams import Teams
from tests.support.teams.pages import PACKAGES, show

#: Connects the desk of the demo, and links a person of Teams.
CONNECT = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.asking.asks import Ask
from approvals.channels.teams.issuers import issuers_of
from approvals.models import ChannelAccount, ChannelConnection, ChannelIssuer, NotificationRule
from approvals.states import Kind, Route
connection = ChannelConnection.objects.create(kind="teams", app_id={app_id!r}, team_id={tenant!r}, team_name="Acme",
    bot_id={bot_id!r}, secret=encrypted(ChannelSecrets(client_secret={client_secret!r})))
for issuer, url in issuers_of({tenant!r}).items():
    ChannelIssuer.objects.create(connection=connection, issuer=issuer, keys_url=url)
approver = User.objects.get(username="approver")
ChannelAccount.objects.create(connection=connection, team_id={tenant!r}, external_id={person!r}, user=approver)
NotificationRule.objects.create(person=approver, route=Route.TEAMS, channel_id={channel!r}, tool_name="")
"""


def environment_of(teams: Teams) -> dict[str, str]:
    return {
        "TEAMS_SERVICE_URL": teams.service,
        "TEAMS_LOGIN_URL": teams.url,
        "TEAMS_KEYS_URL": f"{teams.url}keys",
    }


def take_teams(
    browser: Browser,
    teams: Teams,
    base: str,
    run: Callable[[str], object],
    store: Callable[[str, Page], None],
) -> None:
    """Ask, answer one of the cards, unfold a form of another, and take the picture."""
    teams.endpoint = f"{base}/api/teams/messages"
    person, channel = teams.person("approver"), teams.channel("payments")
    names = ("app_id", "tenant", "bot_id", "client_secret")
    values = {name: getattr(teams, name) for name in names}
    run(CONNECT.format(**values, person=person.id, channel=channel.id) + ASKS)
    titles = ("Order 40 chairs?", "Which hotel?", "Refund invoice R-2291?")
    cards = [
        teams.until(lambda title=title: teams.message_with(channel, title), 60)
        for title in titles
    ]
    person.click(cards[0], "Approve")
    teams.until(lambda: "Approved by" in cards[0].words, 60)
    install = ["npm", "install", "--no-save", "--no-audit", "--no-fund"]
    subprocess.run(install, cwd=PACKAGES, check=True, stdout=subprocess.DEVNULL)
    page = browser.new_page()
    for suffix, width, height, scheme in SHAPES:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        show(page, [message.card for message in cards])
        page.get_by_role("button", name="Reject…").click()
        page.get_by_label("Message to the agent").fill("Ask for a credit note.")
        page.evaluate("scrollTo(0, document.body.scrollHeight)")
        store(f"teams{suffix}", page)
    page.close()
