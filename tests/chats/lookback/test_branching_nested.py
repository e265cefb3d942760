"""Branches of chats with sub-agents: refused while they are suspended, copied when they are done."""

from __future__ import annotations

import pytest

from chats import queries
from chats.exceptions import BranchRefused
from chats.models import Chat, Turn
from chats.states import CallState, TurnState
from tests.chats.engine.test_nested import converse, decide, only_request
from tests.support.chats import agents
from tests.support.chats.branches import branch, checkpoints, rows
from tests.support.chats.turns import reload

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _with_the_boss(settings):
    settings.HITL_AGENTS = [agents.BOSS]
    agents.ran.clear()


def test_suspended_sub_agent_cannot_be_branched():
    turn = converse("accountant pay Ann")
    assert turn.state == TurnState.SUSPENDED
    before = rows()
    with pytest.raises(BranchRefused, match="A sub-agent was at work"):
        branch(turn, 0)
    with pytest.raises(BranchRefused, match="Only an agent can write in this conversation"):
        branch(Turn.objects.get(root=turn), 0)
    assert rows() == before

    decide(only_request(turn))
    turn = reload(turn)
    assert turn.state == TurnState.COMPLETED
    made = branch(turn, checkpoints(turn).count() - 1)
    assert queries.last_turn(made).tool_calls.get().state == CallState.SUCCEEDED
    assert Chat.objects.filter(root=made).count() == 0
    with pytest.raises(BranchRefused, match="A sub-agent was at work"):
        branch(turn, 0)
