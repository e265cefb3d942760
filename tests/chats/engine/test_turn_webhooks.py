"""Webhooks receive the events of a turn, in order and without the tool's input or output."""

from __future__ import annotations

import pytest

from approvals import actions
from approvals.asking.answers import Answer
from approvals.states import Door, Verdict
from tests.support import people
from tests.support.chats.turns import converse, only_request, run
from tests.support.desk.carrying import carry, make_endpoint
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_webhook_receives_every_event_of_a_refund(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Receiver() as there:
        _, secret = make_endpoint(there.url())
        turn = converse(people.alice(), "approve refund")
        request = only_request(turn)
        actions.decide(request.pk, Answer(Verdict.APPROVE, comment="fine"), by=people.bob(), via=Door.DASHBOARD)
        run(turn)
        carry()
        sent = [got.told(secret) for got in there.got]
    assert [(event["sequence"], event["type"]) for event in sent] == [
        (1, "request.created"),
        (2, "turn.suspended"),
        (3, "request.decided"),
        (4, "tool.result"),
        (5, "turn.completed"),
    ]
    assert len({event["workflow"] for event in sent}) == 1
    assert [event["data"]["run_id"] for event in sent] == [str(turn.run_id)] * 5
    assert not any("fine" in got.body.decode() for got in there.got)
