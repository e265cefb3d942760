"""A process that continues a turn which it has suspended itself reads only data that may have changed since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided
from approvals.models import ApprovalRequest
from approvals.states import Door, Verdict
from chats import actions, doorbell, queries
from chats.actions.claiming import Begun
from chats.models import Turn
from tests.support.chats.turns import converse, model_history, only_request, reload
from tests.support.people import bob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def begun() -> Iterator[list[Begun]]:
    """The runs that were begun in this process, which no runner goes on with."""
    runs: list[Begun] = []
    yield runs
    doorbell.set_handlers(on_queued=None, on_stop=None)


def suspended(begun: list[Begun]) -> Turn:
    """Return a turn that this process has suspended, of a chat whose turns run here from now on."""
    turn = converse(bob(), "approve refund")
    doorbell.set_handlers(on_queued=None, on_stop=None, on_claimed=begun.append, owner="this process")
    return turn


def approve(turn: Turn) -> CaptureQueriesContext:
    """Approve the turn's one call as an AI SDK client does; return the statements."""
    (call,) = turn.tool_calls.filter(state="waiting")
    approval = {"id": str(call.approval_id), "approved": True}
    part = {"type": f"tool-{call.name}", "toolCallId": call.tool_call_id, "state": "approval-responded"}
    with CaptureQueriesContext(connection) as statements:
        actions.take_answers(
            turn.chat.public_id, turn.message_id, [part | {"approval": approval}], by=turn.chat.owner, via=Door.AI_SDK
        )
    return statements


def reads_of(statements: CaptureQueriesContext) -> set[str]:
    """Return which tables of the chat are read, but for how often a tool was run, which a tool may be told."""
    tables = ("chats_message", "chats_step", "chats_toolcall", "chats_turnevent")
    sent = [query["sql"] for query in statements.captured_queries]
    sql = [each for each in sent if each.startswith("SELECT") and "SUM(" not in each]
    return {table for table in tables if any(f'FROM "{table}" ' in each.partition(" WHERE ")[0] + " " for each in sql)}


def test_an_answer_of_a_client_continues_its_turn_in_its_own_commit(begun):
    turn = suspended(begun)
    statements = [query["sql"] for query in approve(turn).captured_queries]
    assert sum(sql.startswith("BEGIN") for sql in statements) == 1
    (run,) = begun
    assert (reload(turn).state, [call.state for call in turn.tool_calls.all()], len(run[3])) == (
        "running",
        ["executing"],
        1,
    )


def test_nothing_of_the_turn_is_read_again(begun):
    paused = suspended(begun)
    after = queries.last_seq(paused)
    assert reads_of(approve(paused)) == set()
    ((claim, turn, last_seq, _),) = begun
    assert (claim.known.progress.history, last_seq) == (model_history(turn), after)
    assert [*claim.known.progress.calls] == [*queries.steps_of(turn.pk)[-1].calls]


def test_what_the_result_needs_of_the_request_is_what_would_be_read(begun):
    approve(suspended(begun))
    (call,) = begun[0][0].known.progress.calls
    assert call.request == queries.request_of(replace(call, request=None))


def test_a_decision_of_which_the_turn_has_not_heard_stays(begun):
    turn = suspended(begun)
    # By this door, no receiver looks for the turn.
    desk.decide(only_request(turn).pk, Answer(Verdict.REJECT), by=turn.chat.owner, via=Door.AI_SDK)
    with pytest.raises(AlreadyDecided):
        approve(turn)
    assert (ApprovalRequest.objects.get().status, begun) == ("rejected", [])


def test_all_is_read_again_if_someone_else_has_changed_the_turn(begun):
    turn = suspended(begun)
    Turn.objects.filter(pk=turn.pk).update(version=F("version") + 1)
    assert reads_of(approve(turn)) == {"chats_message", "chats_step", "chats_toolcall", "chats_turnevent"}
    assert len(begun) == 1
