"""Microsoft's own packages read our cards whole, and the clicks and tokens of the stand-in as those of Teams."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from approvals.channels.teams import cards
from approvals.states import Kind, Verdict
from tests.contract.frameworks import environments
from tests.support.desk.requests import decide, make_request
from tests.support.desk.slack import carry
from tests.support.desk.teams import connected, linked, rule_for
from tests.support.people import alice, bob
from tests.support.services import missing
from tests.support.teams.cards import Json

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "microsoft_teams"
FORM = {
    "type": "object",
    "properties": {
        "amount": {"type": "number", "maximum": 500},
        "colour": {"enum": ["red", "blue"]},
        "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True},
        "on": {"type": "string", "format": "date"},
        "note": {"type": "string"},
    },
}
VALUES = {"amount": 120, "colour": "red", "tags": ["a"], "on": "2026-12-24", "note": "x"}


def read_by_vendor(case: Json) -> Json:
    if not environments.ready(NAME):
        missing(f"no environment for {NAME}", f"make contract NAME={NAME}")
    command = [str(environments.python(NAME)), str(Path(__file__).parent / "vendor.py")]
    ran = subprocess.run(command, input=json.dumps(case), capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-4000:]
    (line,) = (line for line in ran.stdout.splitlines() if line.startswith("TOLD "))
    answer: Json = json.loads(line.removeprefix("TOLD "))
    return answer


def test_cards_are_read_whole_and_clicks_and_tokens_are_those_of_teams(settings):
    with connected(settings) as teams:
        approver = bob()
        person = linked(teams, approver)
        ops = teams.channel("ops")
        rule_for(approver, ops)
        asker = alice()
        make_request(asker, tool_name="pay", input=VALUES, response_schema=FORM)
        make_request(
            asker, kind=Kind.QUESTION, title="Which?", options=[{"label": "A"}, {"label": "B"}], allow_text=True
        )
        make_request(asker, kind=Kind.FORM, title="Fill it in", response_schema=FORM)
        decide(make_request(asker, title="Done?"), approver, Verdict.APPROVE)
        carry()
        stranger = teams.person("carol")
        payment = teams.message_with(ops, "May I?")
        assert payment is not None
        stranger.click(payment, "Approve")
        shown = [message.card for message in ops.messages]
        shown += [cards.test_card().body, stranger.card(payment)]
        activities = [
            person.activity(payment, "Approve"),
            person.activity(payment, "Change and approve", edit_0="99", edit_2="0,1"),
        ]
        answer = read_by_vendor(
            {
                "cards": shown,
                "activities": activities,
                "token": teams.token(),
                "app_id": teams.app_id,
                "service": teams.service,
                "metadata": f"{teams.url}v1/.well-known/openidconfiguration",
            }
        )
    assert answer["cards"] == shown
    actions = [activity["value"]["action"] for activity in activities]
    name = "AdaptiveCardInvokeActivity"
    assert answer["clicks"] == [[name, action["verb"], action["data"], person.id] for action in actions]
    assert answer["issuer"] == "https://api.botframework.com"
