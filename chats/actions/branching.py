"""A new chat that goes on from a checkpoint: what was said and done until then, copied; what was asked then, asked anew."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from itertools import islice
from typing import Any
from uuid import uuid4

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from approvals.exceptions import Conflict, NotAllowed
from approvals.record import audit
from approvals.states import Door
from chats import queries
from chats.actions.keeping import queue_turn, refresh_message, ring_after_commit, tell_apps, write_checkpoint
from chats.actions.stepping import ask_all
from chats.agent.agent import Agent
from chats.exceptions import BadMessage, BranchRefused, ChatPruned
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint
from chats.queries import branches, subagents
from chats.queries.branches import Opened
from chats.states import CallState, CheckpointKind, FinishReason, TurnState

#: Messages that are copied in one go.
BATCH = 50
_TOKEN = re.compile(r"[0-9a-f]{32}")
_TURN = ("message_id", "agent", "agent_version", "source", "created_at")
_TURNS_END = ("state", "finish_reason", "stopped", "stopped_by", "error", "ended_at")
_STEP = ("index", "blocks", "provider", "model", "stop_reason", "created_at")
_CALL = ("tool_call_id", "name", "input", "attempt", "approval_id", "executed_digest", "started_at")
_CALLS_END = ("state", "recovery_id", "output", "error_text", "finished_at")


def branch_chat(chat: Chat, checkpoint: TurnCheckpoint, *, by: User, agent: Agent, token: str, via: Door) -> Chat:
    """A chat of the same owner that goes on from this checkpoint of `chat`, once per token (32 hex digits).

    NotAllowed (only who writes in a chat branches it), BranchRefused, ChatPruned, BadMessage, Conflict (the token is
    another branch's).
    """
    if chat.root_id is not None:
        raise BranchRefused(_("Only an agent writes in this conversation. Branch the chat that started it."))
    if not branches.may_branch(by, chat):
        raise NotAllowed(_("Only the owner of a chat can branch it."))
    if not _TOKEN.fullmatch(token):
        raise BadMessage(_("This form is invalid. Reload the page and try again."))
    try:
        with transaction.atomic():
            # A doubled press waits here, and then finds what the first one made.
            locked = Chat.objects.select_for_update(of=("self",), no_key=True).get(pk=chat.pk)
            if locked.pruned_at is not None:
                raise ChatPruned
            return _made_before(by, token, checkpoint) or _branch(chat, checkpoint, by, agent, token, via)
    except IntegrityError:
        made = _made_before(by, token, checkpoint)
        if made is None:
            raise
        return made


def _made_before(by: User, token: str, checkpoint: TurnCheckpoint) -> Chat | None:
    made = Chat.objects.filter(owner=by, branch_token=token).first()
    if made is not None and made.branched_at != checkpoint.pk:
        raise Conflict(_("This form was already used for another branch. Reload the page and try again."))
    return made


def _branch(chat: Chat, checkpoint: TurnCheckpoint, by: User, agent: Agent, token: str, via: Door) -> Chat:
    turn, parts = branches.turn_of(checkpoint), queries.parts_at(checkpoint)
    opened = branches.opened_at(chat, checkpoint, parts)
    branch = Chat.objects.create(
        owner=by,
        public_id=uuid4().hex,
        agent=chat.agent,
        title=f"{chat.title.removesuffix(' (branch)')[:190] or 'Chat'} (branch)",
        branched_from=chat,
        branched_at=checkpoint.pk,
        branch_token=token,
    )
    copied = _copy_messages(branch, branches.messages_before(chat, checkpoint, turn).iterator(BATCH))
    if checkpoint.kind == CheckpointKind.PARTIAL:
        last, asked = _ask_anew(branch, turn, checkpoint, parts, opened, agent)
    else:
        (last,), asked = _copy_turns(branch, [turn]), {}
        _copy_last_message(branch, branches.message_of(chat, checkpoint), parts)
        write_checkpoint(last, parts, CheckpointKind.FINAL, FinishReason(checkpoint.finish_reason))
    _record(branch, last, checkpoint, by=by, via=via, copied=copied, asked=asked)
    ring_after_commit(chat.pk)
    return branch


def _copy_messages(branch: Chat, messages: Iterable[Message]) -> int:
    """Messages with their turns, in batches; gives their number."""
    position, left = 0, iter(messages)
    while batch := list(islice(left, BATCH)):
        source = batch[0].chat_id
        Message.objects.bulk_create(
            Message(
                chat=branch,
                message_id=message.message_id,
                role=message.role,
                parts=message.parts,
                position=position + offset,
                created_at=message.created_at,
            )
            for offset, message in enumerate(batch)
        )
        said = [message.message_id for message in batch if message.role == "assistant"]
        _copy_turns(branch, Turn.objects.filter(chat=source, message_id__in=said).order_by("id"))
        position += len(batch)
    return position


def _copy_last_message(branch: Chat, message: Message | None, parts: list[dict[str, Any]]) -> None:
    if message is not None:
        position = branch.messages.count()
        Message.objects.create(
            chat=branch,
            message_id=message.message_id,
            role=message.role,
            parts=parts,
            position=position,
            created_at=message.created_at,
        )


def _copy_turns(branch: Chat, turns: Iterable[Turn]) -> list[Turn]:
    """Turns that had ended, with their steps and calls. What they used was paid for once: the copies' usage is empty."""
    sources = list(turns)
    copies = [Turn(chat=branch, **_values(source, _TURN + _TURNS_END)) for source in sources]
    Turn.objects.bulk_create(copies)
    by_source = {source.pk: copy for source, copy in zip(sources, copies, strict=True)}
    steps = list(Step.objects.filter(turn__in=sources).order_by("turn_id", "index"))
    fresh = [Step(turn=by_source[step.turn_id], **_values(step, _STEP)) for step in steps]
    Step.objects.bulk_create(fresh)
    step_of = {step.pk: copy for step, copy in zip(steps, fresh, strict=True)}
    calls = ToolCall.objects.filter(turn__in=sources).order_by("id")
    ToolCall.objects.bulk_create(
        ToolCall(
            chat=branch,
            turn=by_source[call.turn_id],
            step=step_of[call.step_id],
            **_values(call, _CALL + _CALLS_END),
        )
        for call in calls
    )
    return copies


def _ask_anew(
    branch: Chat,
    source: Turn,
    checkpoint: TurnCheckpoint,
    parts: Sequence[dict[str, Any]],
    opened: Opened,
    agent: Agent,
) -> tuple[Turn, dict[str, str]]:
    """The turn as it paused, waiting again; and the toolCallIds of what it asks, the new by the old.

    A call that had not begun is another call here, with an id of its own: what was decided about the old one, and a tool's
    memory of its id, must not answer for it. One that had begun keeps its id, so that its tool knows it again.
    """
    turn = Turn.objects.create(chat=branch, **_values(source, _TURN))
    asked = {call_id: call_id if call_id in opened.begun else f"call_{uuid4().hex}" for call_id in sorted(opened.ids)}
    notes: dict[str, str] = {}
    committed = sum(part["type"] == "step-start" for part in parts)
    for step in source.steps.filter(index__lt=committed).order_by("index"):
        copy = Step.objects.create(turn=turn, **_values(step, _STEP) | {"blocks": _renamed(step.blocks, asked)})
        for call in step.tool_calls.select_related("approval__decision", "recovery__decision").order_by("id"):
            _copy_call(call, branch, turn, copy, asked, opened.begun)
            if call.tool_call_id in asked:
                notes[asked[call.tool_call_id]] = _note(call)
    requests, _count = ask_all(turn, agent, notes=notes)
    reason = FinishReason.OTHER
    if subagents.at_rest(turn):
        turn.state, turn.finish_reason = TurnState.SUSPENDED, FinishReason.TOOL_CALLS
        turn.save(update_fields=["state", "finish_reason"])
        reason = FinishReason.TOOL_CALLS
        tell_apps("turn.suspended", turn, {"requests": [str(request.pk) for request in requests]})
    else:
        # Nothing could be asked any more: the agent has changed. It is told so, and goes on.
        queue_turn(turn.pk)
    write_checkpoint(turn, refresh_message(turn), CheckpointKind.PARTIAL, reason)
    return turn, asked


def _copy_call(
    call: ToolCall, branch: Chat, turn: Turn, step: Step, asked: Mapping[str, str], begun: Mapping[str, int]
) -> None:
    values = _values(call, _CALL)
    if call.tool_call_id not in asked:
        values |= _values(call, _CALLS_END)
    elif call.tool_call_id in begun:
        values |= {"state": CallState.UNKNOWN, "attempt": begun[call.tool_call_id]}
    else:
        named = {"tool_call_id": asked[call.tool_call_id], "state": CallState.WAITING}
        values = _values(call, ("name", "input")) | named
    ToolCall.objects.create(chat=branch, turn=turn, step=step, **values)


def _values(row: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}


def _renamed(blocks: Sequence[dict[str, Any]], names: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {**block, "id": names.get(block["id"], block["id"])} if block.get("type") == "tool_use" else block
        for block in blocks
    ]


def _note(call: ToolCall) -> str:
    """For who is asked now: that it is asked again, and what became of it where it was asked first."""
    decisions = [queries.decision_of(request) for request in (call.recovery, call.approval)]
    decision = next((found for found in decisions if found is not None), None)
    if decision is None:
        became = _("There, the request is still waiting.")
    else:
        became = _("There, the request was %(status)s by %(who)s on %(when)s UTC.") % {
            "status": decision.request.get_status_display().lower(),
            "who": decision.by_name or "Pausepoint",
            "when": f"{decision.decided_at.astimezone(UTC):%Y-%m-%d %H:%M}",
        }
    return _("*Asked again: this chat is a branch of chat %(chat)s. %(outcome)s*") % {
        "chat": call.chat_id,
        "outcome": became,
    }


def _record(
    branch: Chat,
    last: Turn,
    checkpoint: TurnCheckpoint,
    *,
    by: User,
    via: Door,
    copied: int,
    asked: dict[str, str],
) -> None:
    source = branch.branched_from
    assert source is not None
    subject = audit.Subject(scope=branch.scope, run_id=str(last.run_id), thread_id=branch.public_id, agent=branch.agent)
    data = {
        "chat": branch.pk,
        "from_chat": source.pk,
        "from_thread": source.public_id,
        "checkpoint": checkpoint.pk,
        "checkpoint_kind": checkpoint.kind,
        "checkpoint_digest": checkpoint.digest,
        "messages_before": copied,
        "asked_anew": asked,
    }
    audit.record("chat.branched", subject, data=data, actor=by, via=via)
