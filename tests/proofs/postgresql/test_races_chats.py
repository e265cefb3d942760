"""Turns under real locks: a stop, a late result, an edit and a decision at once leave one truth, and none blocks another."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.exceptions import AlreadyDecided, Refusal
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.states import Door, Status, Verdict
from chats import actions
from chats.actions.calling import Execution
from chats.actions.locking import Claim
from chats.agent import registry
from chats.agent.events import ModelFinished
from chats.agent.loop import PlannedCall
from chats.agent.provider import ProviderError
from chats.exceptions import LeaseLost, StopRequested, TurnRunning
from chats.models import Chat, Step, ToolCall, Turn
from chats.states import CallState, TurnState
from tests.proofs.postgresql.racing import failures, race
from tests.support.chats import agents
from tests.support.chats.turns import decide, make_chat, reload, results_on_record
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

PAYMENT = {"amount": 5, "to": "Eve"}


@pytest.fixture(autouse=True)
def with_the_oddball(settings):
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()


def running(chat: Chat, **below: object) -> Turn:
    """A turn that some runner has."""
    until = timezone.now() + timedelta(minutes=5)
    return Turn.objects.create(
        chat=chat, message_id=uuid4().hex, agent="oddball", state="running", attempt=1, lease_until=until, **below
    )


def call_of(turn: Turn, state: CallState, name: str = "pay") -> ToolCall:
    step, _ = Step.objects.get_or_create(
        turn=turn, index=0, defaults={"blocks": [], "provider": "x", "stop_reason": "tool_use"}
    )
    return ToolCall.objects.create(
        chat=turn.chat, turn=turn, step=step, tool_call_id=uuid4().hex, name=name, input=PAYMENT, state=state, attempt=1
    )


def below(top: Turn) -> Turn:
    """A running sub-agent of this turn's."""
    chat = Chat.objects.create(owner=top.chat.owner, public_id=uuid4().hex, agent="oddball", root=top.chat)
    call = call_of(top, CallState.DELEGATED, "accountant")
    return running(chat, parent_call=call, root=top, depth=1)


def pause(turn: Turn) -> object:
    (oddball,) = registry.load((agents.PATH,)).values()
    return actions.pause_turn(Claim(turn.pk, turn.attempt), oddball, 0, [], 1)


def execution_of(call: ToolCall) -> Execution:
    return Execution(call.turn_id, call.tool_call_id, call.name, call.input, call.attempt, 1)


def test_a_stop_at_the_top_while_those_below_pause_and_record_leaves_nobody_waiting():
    owner = alice()
    for _ in range(10):
        top = running(make_chat(owner))
        subs = [below(top) for _ in range(4)]
        for sub in subs[:3]:
            call_of(sub, CallState.WAITING)
        ran = call_of(subs[3], CallState.EXECUTING)
        found = race(
            *(lambda sub=sub: pause(sub) for sub in subs[:3]),
            lambda ran=ran: actions.finish_call(execution_of(ran), output="paid"),
            lambda top=top: actions.end_stopped(Claim(top.pk, 1), actions.UnfinishedAnswer(), 0, [], 1).added,
        )
        assert failures(found, StopRequested, LeaseLost) == []
        assert (reload(top).state, isinstance(found[4], list)) == ("stopped", True)
        for sub in subs:
            sub = reload(sub)
            # One that was at work sees the stop at its next write.
            assert sub.stopped
            assert sub.state in {TurnState.STOPPED, TurnState.RUNNING}
            if sub.state == TurnState.RUNNING:
                actions.end_stopped(Claim(sub.pk, 1), actions.UnfinishedAnswer(), 0, [], 1)
        assert not ApprovalRequest.objects.filter(status=Status.PENDING).exists()
        calls = ToolCall.objects.filter(turn__in=[top, *subs])
        assert set(calls.exclude(pk=ran.pk).values_list("state", flat=True)) == {"cancelled"}
        assert AuditEntry.objects.filter(event="tool.result", run_id=str(top.run_id)).count() == calls.count() == 8


@pytest.mark.parametrize("verdict", [Verdict.REJECT, Verdict.RESPOND, Verdict.APPROVE])
def test_a_late_result_and_a_persons_word_about_it_close_the_call_once(verdict):
    owner, decider = alice(), bob()
    for _ in range(10):
        turn = running(make_chat(owner))
        call = call_of(turn, CallState.UNKNOWN)
        pause(turn)
        question = ApprovalRequest.objects.get(workflow__key=str(turn.run_id))
        said = {"answer": "found it"} if verdict == Verdict.RESPOND else {}
        found = race(
            lambda call=call: actions.finish_call(execution_of(call), output="paid"),
            lambda question=question, said=said: decide(question, decider, verdict, **said),
        )
        assert failures(found, AlreadyDecided) == []
        call.refresh_from_db()
        decision = Decision.objects.get(request=question)
        results = {CallState.SUCCEEDED: {"paid", "found it"}, CallState.FAILED: {None}, CallState.READY: {None}}
        assert call.output in results[CallState(call.state)]
        # The late result is true: it stands unless the person's answer had settled the call before.
        assert (call.output == "paid") == (found[0] is True)
        if decision.by_id is None:
            assert (call.output, isinstance(found[1], AlreadyDecided)) == ("paid", True)
        closed = call.state != CallState.READY
        assert results_on_record(turn) == {call.tool_call_id: int(closed)}
        assert reload(turn).state == "queued"


def test_an_edit_and_the_decision_that_resumes_the_turn_leave_one_turn_going():
    owner, decider = alice(), bob()
    (oddball,) = registry.load((agents.PATH,)).values()
    for _ in range(10):
        chat = make_chat(owner)
        turn = actions.add_user_message(chat, "u1", ["pay"], by=owner, agent=oddball, via=Door.AI_SDK)
        Turn.objects.filter(pk=turn.pk).update(state="running", attempt=1)
        call = call_of(turn, CallState.WAITING)
        pause(reload(turn))
        request = ApprovalRequest.objects.get(workflow__key=str(turn.run_id))
        found = race(
            lambda chat=chat: actions.add_user_message(
                chat, "u2", ["hello"], by=owner, agent=oddball, via=Door.AI_SDK, in_place_of="u1"
            ),
            lambda request=request: decide(request, decider, Verdict.APPROVE),
        )
        assert failures(found, AlreadyDecided, TurnRunning) == []
        assert not all(isinstance(one, Refusal) for one in found)
        assert Decision.objects.filter(request=request).count() == 1
        turn = reload(turn)
        edited = isinstance(found[0], Turn)
        assert turn.state == ("stopped" if edited else "queued")
        assert list(chat.turns.filter(state="queued")) == [found[0] if edited else turn]
        call.refresh_from_db()
        assert call.state == ("cancelled" if edited else "ready")
        assert results_on_record(turn) == {call.tool_call_id: int(edited)}
        assert list(chat.shown.filter(role="user").values_list("message_id", flat=True)) == ["u2" if edited else "u1"]


def commit(turn: Turn, call_id: str) -> None:
    finished = ModelFinished(blocks=[], stop_reason="tool_use", model="m")
    (oddball,) = registry.load((agents.PATH,)).values()
    planned = PlannedCall(call_id, "pay", PAYMENT, oddball.tool("pay"))
    actions.commit_step(Claim(turn.pk, 1), 0, finished, [planned], [], provider="p")


def test_of_two_sub_agents_whose_models_give_one_id_at_once_one_fails_in_words():
    owner: User = alice()
    for _ in range(10):
        top = running(make_chat(owner))
        subs, call_id = [below(top) for _ in range(2)], uuid4().hex
        found = race(*(lambda sub=sub, call_id=call_id: commit(sub, call_id) for sub in subs))
        assert failures(found, ProviderError) == []
        (said,) = [str(one) for one in found if isinstance(one, ProviderError)]
        assert (
            said
            == "The model used the id of an earlier tool call again, so its answer cannot be used. Send your message again."
        )
        (winner,) = [sub for sub, one in zip(subs, found, strict=True) if one is None]
        assert ToolCall.objects.get(tool_call_id=call_id).turn == winner
        pause(winner)
        assert ApprovalRequest.objects.filter(scope=top.chat.scope, tool_call_id=call_id).count() == 1
