"""Retention removes old data in batches; requests, decisions, audit entries and everything unfinished stay."""

from __future__ import annotations

from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from approvals.background import sweep
from approvals.db import append_only
from approvals.models import ApprovalRequest, AuditEntry, Decision, OutboxEvent, Workflow
from approvals.states import Door, Verdict
from chats import actions, queries
from chats.actions import pruning
from chats.exceptions import ChatPruned
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint, TurnEvent
from chats.states import TurnState
from tests.support.chats.turns import converse, decide, make_chat, only_request, reload, run, say
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

INSIDE = (Message, Turn, Step, ToolCall, TurnCheckpoint, TurnEvent)


def refunded(asks=None, decides=None) -> Turn:
    """Return a chat whose turn was suspended, approved and completed."""
    turn = converse(asks or alice(), "Please refund order 4711, 250 euros")
    decide(only_request(turn), decides or bob(), Verdict.APPROVE)
    turn = run(reload(turn))
    assert turn.state == TurnState.COMPLETED
    return turn


def age(turn: Turn, days: int = 200) -> None:
    """Move everything in the chat so far into the past."""
    then = timezone.now() - timedelta(days=days)
    Chat.objects.filter(pk=turn.chat_id).update(updated_at=then)
    Turn.objects.filter(chat=turn.chat_id, ended_at__isnull=False).update(ended_at=then)


def inside(chat: Chat) -> list[int]:
    by_chat: list[Any] = [
        Message.objects.filter(chat=chat),
        Turn.objects.filter(chat=chat),
        Step.objects.filter(turn__chat=chat),
        ToolCall.objects.filter(chat=chat),
        TurnCheckpoint.objects.filter(chat_pk=chat.pk),
        TurnEvent.objects.filter(turn__chat=chat),
    ]
    return [rows.count() for rows in by_chat]


def prune(*options: str) -> str:
    out = StringIO()
    call_command("prune", *options, stdout=out)
    return out.getvalue()


def test_stream_events_are_removed_a_day_after_the_turn_and_the_message_stays():
    turn = refunded()
    kept = list(Message.objects.order_by("pk").values())
    sweep.run_once()
    assert turn.events.exists()

    age(turn, days=2)
    sweep.run_once()
    assert (turn.events.count(), reload(turn).events_pruned) == (0, True)
    assert list(Message.objects.order_by("pk").values()) == kept


def test_the_stream_of_a_suspended_turn_stays_at_any_age():
    turn = converse(alice(), "Please refund order 4711, 250 euros")
    Turn.objects.filter(pk=turn.pk).update(created_at=timezone.now() - timedelta(days=400))
    before = turn.events.count()
    sweep.run_once()
    assert turn.events.count() == before > 0


def test_a_long_stream_is_removed_in_batches(monkeypatch):
    turn = refunded()
    number = turn.events.count()
    age(turn)
    monkeypatch.setattr(pruning, "BATCH", 5)
    removed = [actions.prune_events(timezone.now()) for _ in range(number // 5 + 2)]
    assert removed == [5] * (number // 5) + [number % 5, 0]
    assert reload(turn).events_pruned


def test_prune_without_yes_only_reports():
    turn = refunded()
    age(turn)
    before = inside(turn.chat)
    said = [line.split(maxsplit=1) for line in prune().splitlines()]
    assert inside(turn.chat) == before
    figures = {words: int(number) for number, words in said if number.isdecimal()}
    assert [
        figures[name] for name in ("messages", "turns", "steps", "tool calls", "checkpoints", "stream events")
    ] == before
    assert figures["chats, and in them:"] == 1
    assert not AuditEntry.objects.filter(event="retention.pruned").exists()


def test_prune_removes_messages_and_keeps_requests_decisions_and_the_audit_log():
    turn = refunded()
    age(turn)
    entries = list(AuditEntry.objects.order_by("pk").values())
    kept = [list(model.objects.values()) for model in (ApprovalRequest, Decision, Workflow)]
    counted = inside(turn.chat)
    assert "Removed 1 chat" in prune("--yes")

    assert inside(turn.chat) == [0] * len(INSIDE)
    assert [list(model.objects.values()) for model in (ApprovalRequest, Decision, Workflow)] == kept
    last = AuditEntry.objects.latest("pk")
    assert list(AuditEntry.objects.exclude(pk=last.pk).order_by("pk").values()) == entries
    assert (last.event, last.scope) == ("retention.pruned", turn.chat.scope)
    names = ("message", "turn", "step", "toolcall", "turncheckpoint", "turnevent")
    assert [last.data[name] for name in names] == counted
    assert append_only.missing_triggers(connection) == []


def test_waiting_and_recent_chats_are_not_pruned():
    asks, decides = alice(), bob()
    waits, young = converse(asks, "Please refund order 4713, 180 euros"), refunded(asks, decides)
    age(waits)
    before = inside(waits.chat), inside(young.chat)
    assert "Removed 0 chats" in prune("--yes")
    assert (inside(waits.chat), inside(young.chat)) == before
    decide(only_request(waits), decides, Verdict.APPROVE)
    assert run(reload(waits)).state == TurnState.COMPLETED


def test_a_chat_that_is_used_again_is_not_pruned():
    turn = refunded()
    age(turn)
    before = timezone.now() - timedelta(days=180)
    (found,) = actions.old_chats(before)
    say(reload(turn).chat, "What is the weather in Paris")
    assert not actions.begin_pruning(found.pk, before)
    assert Chat.objects.get(pk=found.pk).pruned_at is None


def test_a_killed_prune_is_continued(monkeypatch):
    turn = refunded()
    age(turn)
    before = timezone.now() - timedelta(days=180)
    assert actions.begin_pruning(turn.chat_id, before)
    monkeypatch.setattr(pruning, "BATCH", 3)
    assert actions.prune_contents(turn.chat_id) == 3
    assert sum(inside(turn.chat)) > 0
    prune("--yes")
    assert inside(turn.chat) == [0] * len(INSIDE)
    assert AuditEntry.objects.filter(event="retention.pruned").count() == 1
    assert not actions.partly_pruned_chats().exists()


def test_a_chat_is_pruned_with_its_sub_agents_chats(settings):
    settings.HITL_AGENTS = [
        "chats.agent.demo.support",
        "tests.support.chats.agents.boss",
        "tests.support.chats.agents.clerk",
    ]
    top = refunded()
    below = Chat.objects.create(owner=top.chat.owner, public_id="below", agent="support", root=top.chat)
    nested = Turn.objects.create(
        chat=below, message_id="m", agent="support", state=TurnState.COMPLETED, root=top, depth=1,
        parent_call=top.tool_calls.first(), ended_at=timezone.now(),
    )  # fmt: skip
    TurnEvent.objects.create(turn=nested, seq=1, attempt=1, step=0, chunk={})
    age(top)
    prune("--yes")
    assert [model.objects.count() for model in INSIDE] == [0] * len(INSIDE)
    assert list(Chat.objects.values_list("pk", flat=True)) == [top.chat_id]


def test_prune_removes_delivered_outbox_events_only():
    then = timezone.now() - timedelta(days=200)

    def event(**changes):
        return OutboxEvent.objects.create(
            event_id="12345678-1234-5678-1234-567812345678", name="request.created", stream="s", payload={},
            created_at=then, **changes,
        )  # fmt: skip

    event(target="arrived", delivered_at=then)
    event(target="arrived lately", delivered_at=timezone.now())
    event(target="on its way")
    event(target="given up", dead_at=then)
    prune("--yes")
    left = list(OutboxEvent.objects.order_by("pk").values_list("target", flat=True))
    assert left == ["arrived lately", "on its way", "given up"]
    (entry,) = AuditEntry.objects.filter(event="retention.pruned")
    assert entry.data["outbox_events"] == 1


def test_prune_removes_expired_sessions_only(client):
    client.force_login(alice())
    ended = client.session
    other = type(ended)()
    other.set_expiry(-60)
    other.save()
    prune("--yes")
    assert (ended.exists(ended.session_key), other.exists(other.session_key)) == (True, False)


def test_pages_and_api_say_that_a_chat_was_removed(client):
    turn = refunded()
    chat = turn.chat
    age(turn)
    prune("--yes")
    client.force_login(chat.owner)
    for path in (f"/chats/{chat.pk}/", f"/chats/{chat.pk}/checkpoints/"):
        page = client.get(path)
        assert (page.status_code, "deleted because of their age" in page.content.decode()) == (200, True)
        assert "<textarea" not in page.content.decode()
    assert "Deleted chat" in client.get("/chats/").content.decode()
    posted = client.post(f"/chats/{chat.pk}/messages/", {"text": "Hello again"})
    assert (posted.status_code, "deleted because of their age" in posted.content.decode()) == (410, True)
    assert client.post(f"/chats/{chat.pk}/stop/").status_code == 302
    read = client.get(f"/api/chat/{chat.public_id}")
    assert (read.status_code, read.json()["code"]) == (410, "chat_removed")
    workflow = Workflow.objects.get(scope=chat.scope)
    assert client.get(workflow.get_absolute_url()).status_code == 200


def test_a_removed_chat_takes_no_message():
    chat = make_chat(alice())
    Chat.objects.filter(pk=chat.pk).update(pruned_at=timezone.now())
    with pytest.raises(ChatPruned):
        say(chat, "Hello")
    with pytest.raises(ChatPruned):
        queries.get_own_chat(chat.owner, chat.public_id)
    assert not actions.stop_turn(chat, by=chat.owner, via=Door.CHAT)


@pytest.mark.parametrize("wrong", ["180", "0d", "1.5d", "36501d", "six months", ""])
def test_an_invalid_age_is_refused(wrong):
    with pytest.raises(CommandError, match="Enter a number of days, like 180d"):
        call_command("prune", "--older-than", wrong)
