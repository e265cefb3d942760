"""Teams and a real server: everybody answers at once, in Slack too, the server dies, and all cards are right all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.proofs.server.test_slack import Scene, at_once, mcp_outcome
from tests.support.machine import Remote
from tests.support.processes.ports import free_port
from tests.support.processes.server import PATIENCE, Server
from tests.support.slack import Slack
from tests.support.teams import Teams
from tests.support.teams.cards import titles
from tests.support.teams.server import LOST, UNREACHED, Message

ROUNDS = 3
#: Connects Teams, links the people of Teams, and sends cards to its channel. The rights are those that Slack's scene has given.
CONNECT = """
from django.contrib.auth.models import User
from approvals.actions.channels.connections import ChannelSecrets, encrypted
from approvals.channels.teams.issuers import issuers_of
from approvals.models import ChannelAccount, ChannelConnection, ChannelIssuer, NotificationRule
from approvals.models.channels import Shows
from approvals.states import Route
connection = ChannelConnection.objects.create(kind="teams", app_id={app_id!r}, team_id={tenant!r}, team_name={tenant!r},
    bot_id={bot_id!r}, secret=encrypted(ChannelSecrets(client_secret={client_secret!r})))
for issuer, url in issuers_of({tenant!r}).items():
    ChannelIssuer.objects.create(connection=connection, issuer=issuer, keys_url=url)
for name, external in {people!r}.items():
    person = User.objects.get(username=name)
    ChannelAccount.objects.create(connection=connection, team_id={tenant!r}, external_id=external, user=person)
approver = User.objects.get(username="approver")
NotificationRule.objects.create(person=approver, route=Route.TEAMS, channel_id={channel!r}, shows=Shows.INPUT)
"""


class Desk:
    """A server that is connected to both stand-ins, with a channel in each, and the same two people."""

    def __init__(self, server: Server, slack: Slack, teams: Teams) -> None:
        self.slack = Scene(server, slack, socket_mode=False)
        self.server = server
        self.teams = teams
        self.agent = self.slack.agent
        self.ops = teams.channel("ops")
        self.person = teams.person("auditor")
        names = ("app_id", "tenant", "bot_id", "client_secret")
        people = {name: teams.person(name).id for name in ("approver", "auditor")}
        values = {name: getattr(teams, name) for name in names}
        server.run(CONNECT.format(**values, people=people, channel=self.ops.id))
        teams.endpoint = f"{server.address}/api/teams/messages"

    def ask(self, title: str) -> tuple[str, Message]:
        """Ask, and return the id of the request and its card in Teams."""
        asked = self.agent.ask(title=title)
        card = self.teams.until(lambda: self.teams.message_with(self.ops, title), PATIENCE)
        return asked["id"], card

    def status(self, request: str) -> str:
        return self.slack.status(request)

    def until_ended(self, card: Message, words: str) -> None:
        self.teams.until(lambda: titles(card.card) == ["Open"] and words in card.words, PATIENCE)


@contextmanager
def desk_with_both(tmp_path: Path) -> Iterator[Desk]:
    port = free_port()
    with Slack() as slack, Teams() as teams:
        slack.be_patient()
        settings = {
            "SLACK_API_URL": slack.api,
            "TEAMS_SERVICE_URL": teams.service,
            "TEAMS_LOGIN_URL": teams.url,
            "TEAMS_KEYS_URL": f"{teams.url}keys",
            "HITL_WEBHOOK_ALLOW_PRIVATE": "1",
        }
        served = Server(tmp_path, PUBLIC_URL=f"http://127.0.0.1:{port}", **settings)
        served.port = port
        with served as server:
            yield Desk(server, slack, teams)


def test_all_answer_at_once_in_both_channels_and_one_wins_everywhere(tmp_path):
    with desk_with_both(tmp_path) as desk:
        page = desk.server.person("admin")
        program = Remote(desk.server, "approver", ("decide", "read"))
        slack = desk.slack
        for number in range(ROUNDS):
            title = f"Refund {number}?"
            request, card = desk.ask(title)
            block = slack.slack.until(lambda title=title: slack.slack.message_with(slack.ops, title), PATIENCE)
            click = slack.person("auditor").click_payload(block, "pausepoint.approve")
            seen = at_once(
                lambda card=card: desk.teams.person("approver").click(card, "Approve"),
                lambda click=click: slack.person("auditor").send(click),
                lambda request=request: page.decide(request, verdict="approve"),
                lambda request=request: program.send("POST", f"/requests/{request}/decision", {"verdict": "approve"}),
                lambda request=request: mcp_outcome(desk.server, desk.agent.key, request),
            )[4]
            winner = desk.agent.send("GET", f"/requests/{request}").body["decision"]["by"]
            assert (seen["status"], seen["by"]) == ("approved", winner)
            desk.until_ended(card, f"Approved by {winner}")
            slack.until_ended(block)
            slack.slack.until(lambda block=block, winner=winner: f"Approved by {winner}" in block.words, PATIENCE)
        assert slack.decided() == ROUNDS


def test_a_card_is_right_after_a_kill_between_the_decision_and_its_update(tmp_path):
    with desk_with_both(tmp_path) as desk:
        request, card = desk.ask("Refund order 4711?")
        desk.teams.faults["PUT"] += [UNREACHED] * 1000
        desk.person.click(card, "Approve")
        assert desk.status(request) == "approved"
        desk.server.kill()
        assert "Approve" in titles(card.card)
        desk.teams.faults.clear()
        desk.server.start()
        desk.until_ended(card, "Approved by auditor")
        assert desk.slack.decided() == 1


def test_a_card_whose_posting_got_no_answer_is_still_answered_and_updated(tmp_path):
    with desk_with_both(tmp_path) as desk:
        desk.teams.faults["POST"].append(LOST)
        request, card = desk.ask("Refund order 4711?")
        desk.person.click(card, "Approve")
        desk.until_ended(card, "Approved by auditor")
        assert desk.status(request) == "approved"


def test_a_person_who_was_removed_between_the_card_and_the_click_decides_nothing(tmp_path):
    with desk_with_both(tmp_path) as desk:
        request, card = desk.ask("Refund order 4711?")
        desk.server.run(
            "from django.contrib.auth.models import User\nUser.objects.filter(username='auditor').update(is_active=False)",
        )
        desk.person.click(card, "Approve")
        assert (desk.status(request), len(desk.person.lines)) == ("pending", 1)
        desk.teams.person("approver").click(card, "Approve")
        desk.until_ended(card, "Approved by approver")
