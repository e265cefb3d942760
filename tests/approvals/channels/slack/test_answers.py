"""Answers on cards in Slack: each ends in the one decision path, as on the pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from approvals.models import AuditEntry, ChannelClick, Decision
from approvals.states import Kind, Verdict
from tests.support.desk.requests import cancel, decide, make_request, stored
from tests.support.desk.slack import card_in, carry, connected, linked, outcomes, rule_for
from tests.support.people import alice, bob, mallory
from tests.support.slack import Slack

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def slack(settings) -> Iterator[Slack]:
    with connected(settings) as slack:
        yield slack


def test_a_click_approves_and_the_card_says_so(slack):
    approver = bob()
    person = linked(slack, approver)
    ops = slack.channel("ops", person)
    rule_for(approver, ops)
    request = make_request(alice(), input={"amount": 120, "note": "<!channel> *bold* <https://evil.example|here>"})
    card = card_in(slack, ops)
    assert [each for each in card.words.splitlines() if "amount" in each] == ["amount: 120"]
    assert sorted(card.buttons) == ["pausepoint.approve", "pausepoint.open", "pausepoint.reject"]
    answer = person.click(card, "pausepoint.approve")
    assert (answer.status, answer.failed, stored(request).status) == (200, "", "pending")
    carry()
    decision = Decision.objects.get()
    assert (decision.by_id, decision.by_name, decision.via, decision.verdict) == (
        approver.pk,
        "bob",
        "slack",
        "approve",
    )
    entry = AuditEntry.objects.get(event="request.decided")
    assert entry.data["account"] == f"slack:{slack.workspace.team_id}/{person.id}"
    carry()
    assert sorted(card.buttons) == ["pausepoint.open"]
    assert "Approved by bob" in card.words
    assert outcomes() == ["decided"]
