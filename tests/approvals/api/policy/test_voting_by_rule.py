"""The rule of the how-to, from its JSON to the second vote."""

from __future__ import annotations

import json

import pytest

from tests.support.desk.ruling import apply_policy
from tests.support.desk.votes import make_team
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person
from tests.support.root import ROOT

pytestmark = pytest.mark.django_db(transaction=True)

HOW_TO = ROOT / "docs/how-to/require-several-approvers.md"


def test_finance_and_security_both_approve_what_the_rule_of_the_how_to_asks_about():
    people = [bob(), make_person("dave", "decide_approvalrequest", "view_approvalrequest")]
    for name, person in zip(["finance", "security"], people, strict=True):
        make_team(name, person)
    document = json.loads(HOW_TO.read_text().partition("```json\n")[2].partition("```")[0])
    apply_policy(*document["rules"])
    agent, (finance, security) = Machine(alice()), map(Machine, people)
    asked = agent.ask(tool_name="pay")
    assert asked["votes"]["progress"] == "0 of 2, finance and security missing"
    assert finance.decide(asked, "approve").body["votes"]["progress"] == "1 of 2, security missing"
    done = security.decide(asked, "approve").body
    assert (done["status"], done["decision"]["by"]) == ("approved", "API key a machine of dave")
