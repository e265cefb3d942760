"""What turns tell goes to webhooks too: the whole story of a refund, in order, and without what the tool got or gave."""

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


def test_an_endpoint_hears_a_refund_from_the_question_to_the_end(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with Receiver() as there:
        _, secret = make_endpoint(there.url())
        turn = converse(people.alice(), "approve refund")
        request = only_request(turn)
        actions.decide(request.pk, Answer(Verdict.APPROVE, comment="fine"), by=people.bob(), via=Door.DASHBOARD)
        run(turn)
        carry()
        heard = [got.told(secret) for got in there.got]
    assert [(told["sequence"], told["type"]) for told in heard] == [
        (1, "request.created"),
        (2, "turn.suspended"),
        (3, "request.decided"),
        (4, "tool.result"),
        (5, "turn.completed"),
    ]
    assert len({told["workflow"] for told in heard}) == 1
    assert [told["data"]["run_id"] for told in heard] == [str(turn.run_id)] * 5
    assert not any("fine" in got.body.decode() for got in there.got)
