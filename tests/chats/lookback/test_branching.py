"""Branches from checkpoints: finished calls stay finished, requests are created again, the origin does not change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.db import DatabaseError, connection

from approvals.exceptions import Conflict, NotAllowed
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.states import Door, Status, Verdict
from chats import actions, queries
from chats.agent import registry
from chats.exceptions import BadMessage
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint, TurnEvent
from chats.states import CallState, TurnState
from tests.support.chats import agents
from tests.support.chats.branches import branch, checkpoints, rows
from tests.support.chats.claims import claim_turn
from tests.support.chats.turns import (
    converse,
    decide,
    last_text,
    make_chat,
    model_history,
    only_request,
    parts,
    reload,
    results_on_record,
    run,
    say,
    shape,
    start_call,
)
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()


def test_branch_of_a_suspended_turn_creates_new_requests(oddball):
    owner, decider = alice(), bob()
    turn = converse(owner, "pay")
    asked = only_request(turn)
    decide(asked, decider, Verdict.APPROVE)
    run(turn)
    assert agents.ran == [("pay", (5, "Eve"))]
    before = rows()

    made = branch(turn, 0)
    again = only_request(queries.last_turn(made))
    assert (again.status, again.input, again.scope) == (Status.PENDING, asked.input, f"chat:{made.pk}")
    assert again.tool_call_id != asked.tool_call_id
    assert again.message.endswith(
        f"*Asked again: this chat is a branch of chat {turn.chat_id}. There, the request was approved by bob on "
        f"{asked.__class__.objects.get(pk=asked.pk).decision.decided_at:%Y-%m-%d %H:%M} UTC.*"
    )
    assert agents.ran == [("pay", (5, "Eve"))]
    assert {table: old.items() - rows()[table].items() for table, old in before.items()} == {
        table: set() for table in before
    }

    decide(again, decider, Verdict.REJECT, comment="Once is enough.")
    ended = run(queries.last_turn(made))
    assert (ended.state, agents.ran) == (TurnState.COMPLETED, [("pay", (5, "Eve"))])
    assert shape(ended) == ["step-start", "output-denied", "step-start", "text"]
    assert last_text(turn) == "It says: paid 5, to Eve"
    assert reload(turn).state == TurnState.COMPLETED


def test_an_approval_in_the_branch_runs_the_tool_once_under_the_new_id(oddball):
    turn = converse(alice(), "pay")
    made = branch(turn, 0)
    mine = queries.last_turn(made)
    decide(only_request(mine), bob(), Verdict.APPROVE)
    ended = run(mine)
    assert agents.ran == [("pay", (5, "Eve"))]
    assert list(results_on_record(ended).values()) == [1]
    assert reload(turn).state == TurnState.SUSPENDED
    assert only_request(turn).status == Status.PENDING


def test_executed_calls_keep_their_results_in_the_branch(oddball):
    turn = converse(alice(), "mixed")
    (counted,) = agents.ran
    assert counted[0] == "count"
    made = branch(turn, 0)
    mine = queries.last_turn(made)
    states = {call.name: call.state for call in mine.tool_calls.all()}
    assert states == {"count": CallState.SUCCEEDED, "askUser": CallState.WAITING, "pay": CallState.WAITING}
    decider = bob()
    for request in queries.open_requests(mine):
        answer = {"verdict": Verdict.REJECT} if request.kind == "approval" else {"verdict": Verdict.RESPOND}
        given = {} if request.kind == "approval" else {"answer": {"selected": ["A"]}}
        decide(request, decider, **answer, **given)
    assert run(mine).state == TurnState.COMPLETED
    assert agents.ran == [counted]


def test_decided_calls_stay_decided_in_the_branch(settings):
    settings.HITL_AGENTS = [f"{agents.__name__}.patient"]
    owner = alice()
    turn = converse(owner, "ask in a row")
    decide(only_request(turn), owner, Verdict.RESPOND, answer={"selected": ["A"]})
    run(turn)
    decide(only_request(turn), owner, Verdict.REJECT, comment="Ask somebody else.")
    run(turn)
    made = branch(turn, 2)
    mine = queries.last_turn(made)
    read = [part["state"] for part in parts(mine) if "state" in part]
    assert read == ["output-available", "output-error", "input-available"]
    told = model_history(mine)
    assert [message.content for message in told[:-2]] == [message.content for message in model_history(turn)[:-2]]
    assert len(queries.open_requests(mine)) == 1


def test_branch_of_a_completed_turn_can_be_continued(oddball):
    owner = alice()
    chat = make_chat(owner)
    run(say(chat, "nothing"))
    turn = run(say(chat, "nothing"))
    run(say(chat, "nothing"))
    made = branch(turn, 0)
    assert [message.role for message in made.shown.order_by("position")] == ["user", "assistant"] * 2
    assert [m.parts for m in made.shown.order_by("position")] == [m.parts for m in chat.shown.order_by("position")[:4]]
    mine = run(say(made, "pay"))
    assert mine.state == TurnState.SUSPENDED
    assert made.turns.count() == 3
    assert chat.turns.count() == 3


def test_unknown_outcome_is_asked_again_with_the_same_id(oddball):
    owner, decider = alice(), bob()
    turn = converse(owner, "pay")
    decide(only_request(turn), decider, Verdict.APPROVE)
    claimed, _, _ = claim_turn(turn.pk, owner="one that dies")
    call = turn.tool_calls.get()
    actions.release_turn(claimed, [start_call(claimed, call.turn).tool_call_id])
    run(turn)
    recovery = only_request(turn)
    assert recovery.kind == "recovery"
    decide(recovery, decider, Verdict.RESPOND, answer={"paid": 5})
    assert run(turn).state == TurnState.COMPLETED

    mine = queries.last_turn(branch(turn, 1))
    again = only_request(mine)
    assert (again.kind, again.tool_call_id, again.attempt) == ("recovery", call.tool_call_id, 1)
    assert mine.tool_calls.get().state == CallState.UNKNOWN
    assert agents.ran == []
    decide(again, decider, Verdict.APPROVE)
    assert run(mine).state == TurnState.COMPLETED
    assert agents.ran == [("pay", (5, "Eve"))]


def test_branch_of_a_branch_can_be_continued(oddball):
    turn = converse(alice(), "pay")
    once = queries.last_turn(branch(turn, 0))
    twice = branch(once, 0)
    assert twice.branched_from_id == once.chat_id
    assert twice.title == "pay (branch)"
    assert only_request(queries.last_turn(twice)).status == Status.PENDING


def test_stop_ends_only_the_branch(oddball):
    turn = converse(alice(), "pay")
    made = branch(turn, 0)
    assert actions.stop_turn(made, by=made.owner, via=Door.CHAT)
    assert queries.last_turn(made).state == TurnState.STOPPED
    assert only_request(turn).status == Status.PENDING


def test_checkpoint_of_a_removed_message_can_be_branched(oddball):
    owner = alice()
    chat = make_chat(owner)
    first = run(say(chat, "nothing"))
    run(say(chat, "pay"))
    agent = registry.get([agents.PATH], "oddball")
    message = chat.shown.filter(role="user").order_by("position").first()
    actions.add_user_message(
        chat, "edited", ["pay twice"], by=owner, agent=agent, via=Door.AI_SDK, in_place_of=message.message_id
    )
    run(queries.last_turn(chat))
    old = branch(first, 0)
    assert [m.parts[0].get("text") for m in old.shown.filter(role="user")] == ["nothing"]
    new = branch(queries.last_turn(chat), 0)
    assert [m.parts[0].get("text") for m in new.shown.filter(role="user")] == ["pay twice"]


def test_branch_and_origin_are_linked_and_recorded(oddball):
    turn = converse(alice(), "pay")
    made = branch(turn, 0)
    (checkpoint,) = checkpoints(turn)
    (entry,) = AuditEntry.objects.filter(event="chat.branched")
    (old,) = turn.tool_calls.values_list("tool_call_id", flat=True)
    (new,) = made.tool_calls.values_list("tool_call_id", flat=True)
    assert (entry.scope, entry.actor_name, entry.via, entry.thread_id) == (
        f"chat:{made.pk}",
        "alice",
        "chat",
        made.public_id,
    )
    assert entry.data == {
        "chat": made.pk,
        "from_chat": turn.chat_id,
        "from_thread": turn.chat.public_id,
        "checkpoint": checkpoint.pk,
        "checkpoint_kind": "partial",
        "checkpoint_digest": checkpoint.digest,
        "messages_before": 1,
        "asked_anew": {old: new},
    }
    assert (made.branched_from_id, made.branched_at) == (turn.chat_id, checkpoint.pk)
    assert [found.pk for found in turn.chat.branches.all()] == [made.pk]


def test_double_press_creates_one_branch(oddball):
    turn = converse(alice(), "pay")
    once, twice = branch(turn, 0, token="a" * 32), branch(turn, 0, token="a" * 32)
    assert once.pk == twice.pk
    assert (Chat.objects.count(), ApprovalRequest.objects.count()) == (2, 2)
    assert branch(turn, 0).pk != once.pk


def test_token_is_bound_to_its_checkpoint(oddball):
    owner = alice()
    one, other = converse(owner, "pay"), converse(owner, "pay twice")
    branch(one, 0, token="b" * 32)
    with pytest.raises(Conflict):
        branch(other, 0, token="b" * 32)


@pytest.mark.parametrize("token", ["", "x" * 32, "A" * 32, "a" * 33, "a" * 31 + "\n"])
def test_invalid_token_is_refused(oddball, token):
    turn = converse(alice(), "pay")
    with pytest.raises(BadMessage):
        branch(turn, 0, token=token)


@pytest.mark.parametrize("person", [bob, carol, mallory])
def test_only_the_owner_branches_a_chat(oddball, person):
    turn = converse(alice(), "pay")
    with pytest.raises(NotAllowed):
        branch(turn, 0, by=person())
    assert Chat.objects.count() == 1


def test_a_tool_that_is_gone_by_then_is_told_to_the_model_and_the_turn_goes_on(oddball, settings):
    turn = converse(alice(), "pay")
    changed = replace(registry.get([agents.PATH], "oddball"), tools=(agents.count,))
    (checkpoint,) = checkpoints(turn)
    made = actions.branch_chat(turn.chat, checkpoint, by=turn.chat.owner, agent=changed, token="c" * 32, via=Door.CHAT)
    mine = queries.last_turn(made)
    assert (mine.state, shape(mine)) == (TurnState.QUEUED, ["step-start", "output-error"])
    assert run(mine).state == TurnState.COMPLETED
    assert queries.running_message(made) is None


@pytest.mark.parametrize("table", [Turn, Step, ToolCall, ApprovalRequest, Workflow, TurnCheckpoint, AuditEntry])
def test_crash_leaves_no_partial_branch(oddball, table):
    owner = alice()
    chat = make_chat(owner)
    run(say(chat, "nothing"))
    turn = run(say(chat, "mixed"))
    before = rows()

    def fail(execute, sql, params, many, context):
        # PostgreSQL gets some rows as parts of one statement.
        if f'INSERT INTO "{table._meta.db_table}"' in sql:
            raise DatabaseError("the server went away")
        return execute(sql, params, many, context)

    with pytest.raises(DatabaseError), connection.execute_wrapper(fail):
        branch(turn, 0)
    assert rows() == before
    assert branch(turn, 0).messages.count() == 4


def test_a_branch_has_no_events_and_the_copies_usage_is_empty(oddball):
    chat = make_chat(alice())
    run(say(chat, "nothing"))
    turn = run(say(chat, "pay"))
    made = branch(turn, 0)
    assert not TurnEvent.objects.filter(turn__chat=made).exists()
    assert [found.usage for found in made.turns.all()] == [{}, {}]
    assert set(Message.objects.filter(chat=made).values_list("message_id", flat=True)) == set(
        Message.objects.filter(chat=chat).values_list("message_id", flat=True)
    )
