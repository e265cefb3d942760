"""Branch a chat: a new chat with a copy of everything up to a checkpoint, where pending requests are asked again."""

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

from approvals.db.prepared_writes import write_together
from approvals.exceptions import Conflict, NotAllowed
from approvals.json_types import JsonDict
from approvals.record import audit
from approvals.states import Door
from chats import queries
from chats.actions.asking import ask_people
from chats.actions.attachments import copy_files
from chats.actions.locking import lock_turn
from chats.actions.stepping import suspend
from chats.actions.writes import (
    new_checkpoint,
    new_message,
    notify_after_commit,
    queue_turn,
    store,
)
from chats.agent.agent import Agent
from chats.exceptions import BadMessage, BranchRefused, ChatPruned
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint
from chats.queries import branches, projection
from chats.queries.branches import OpenCalls
from chats.states import CallState, CheckpointKind, FinishReason

#: Messages that are copied at once.
BATCH = 50
_TOKEN = re.compile(r"[0-9a-f]{32}")
_MESSAGE = ("message_id", "role", "parts", "metadata", "created_at")
_TURN = ("message_id", "agent", "agent_version", "source", "created_at")
_TURNS_END = ("state", "finish_reason", "stopped", "stopped_by", "error", "ended_at")
_STEP = (
    "index",
    "blocks",
    "provider",
    "model",
    "stop_reason",
    "stop_details",
    "prefix",
    "answered_by",
    "created_at",
)
_CALL = (
    "tool_call_id",
    "name",
    "input",
    "attempt",
    "approval_id",
    "executed_digest",
    "started_at",
)
_CALLS_END = ("state", "recovery_id", "output", "error_text", "finished_at")


def branch_chat(
    chat: Chat,
    checkpoint: TurnCheckpoint,
    *,
    by: User,
    agent: Agent,
    token: str,
    via: Door,
) -> Chat:
    """Return a new chat of the same owner that continues from a checkpoint of `chat`, one per token (32 hex digits).

    Raise NotAllowed (only the owner may branch a chat), BranchRefused, ChatPruned, BadMessage, or Conflict (the token belongs to
    another branch).
    """
    if chat.root_id is not None:
        raise BranchRefused(
            _(
                "Only an agent can write in this conversation. Branch the chat that started it."
            )
        )
    if not branches.may_branch(by.pk, chat):
        raise NotAllowed(_("Only the owner of a chat can branch it."))
    if not _TOKEN.fullmatch(token):
        raise BadMessage(_("This form is invalid. Reload the page and try again."))
    try:
        with transaction.atomic():
            # A second click waits here, and then finds the branch of the first.
            locked = Chat.objects.select_for_update(of=("self",), no_key=True).get(
                pk=chat.pk
            )
            if locked.pruned_at is not None:
                raise ChatPruned
            return _existing_branch(by, token, checkpoint) or _branch(
                chat, checkpoint, by, agent, token, via
            )
    except IntegrityError:
        made = _existing_branch(by, token, checkpoint)
        if made is None:
            raise
        return made


def _existing_branch(by: User, token: str, checkpoint: TurnCheckpoint) -> Chat | None:
    made = Chat.objects.filter(owner=by, branch_token=token).first()
    if made is not None and made.branched_at != checkpoint.pk:
        raise Conflict(
            _(
                "This form was already used for another branch. Reload the page and try again."
            )
        )
    return made


def _branch(
    chat: Chat,
    checkpoint: TurnCheckpoint,
    by: User,
    agent: Agent,
    token: str,
    via: Door,
) -> Chat:
    turn = branches.turn_of(checkpoint)
    parts = queries.parts_at(checkpoint)
    open_calls = branches.open_calls_at(chat, checkpoint, parts)
    branch = Chat.objects.create(
        owner=by,
        public_id=uuid4().hex,
        agent=chat.agent,
        title=f"{chat.title.removesuffix(' (branch)')[:190] or 'Chat'} (branch)",
        branched_from=chat,
        branched_at=checkpoint.pk,
        branch_token=token,
        key_made_by_id=chat.key_made_by_id,
    )
    copied = _copy_messages(
        branch, branches.messages_before(chat, checkpoint, turn).iterator(BATCH)
    )
    if checkpoint.kind == CheckpointKind.PARTIAL:
        last, new_ids = _copy_paused_turn(branch, turn, parts, open_calls, agent)
    else:
        (last,), new_ids = _copy_turns(branch, [turn]), {}
        if (message := branches.message_of(chat, checkpoint)) is not None:
            values = _values(message, _MESSAGE) | {"parts": parts}
            Message.objects.create(
                chat=branch, position=branch.messages.count(), **values
            )
        reason = FinishReason(checkpoint.finish_reason)
        _write_checkpoint(last, parts, CheckpointKind.FINAL, reason)
    copy_files(chat, branch)
    subject = audit.Subject(
        scope=branch.scope,
        run_id=str(last.run_id),
        thread_id=branch.public_id,
        agent=branch.agent,
    )
    data = {
        "chat": branch.pk,
        "from_chat": chat.pk,
        "from_thread": chat.public_id,
        "checkpoint": checkpoint.pk,
        "checkpoint_kind": checkpoint.kind,
        "checkpoint_digest": checkpoint.digest,
        "messages_before": copied,
        "asked_anew": new_ids,
    }
    audit.record("chat.branched", subject, data=data, actor=by, via=via)
    notify_after_commit(chat.pk)
    return branch


def _copy_messages(branch: Chat, messages: Iterable[Message]) -> int:
    """Copy messages with their turns, in batches; return the number of messages."""
    position = 0
    left = iter(messages)
    while batch := list(islice(left, BATCH)):
        source = batch[0].chat_id
        Message.objects.bulk_create(
            Message(
                chat=branch, position=position + offset, **_values(message, _MESSAGE)
            )
            for offset, message in enumerate(batch)
        )
        answers = [
            message.message_id for message in batch if message.role == "assistant"
        ]
        _copy_turns(
            branch,
            Turn.objects.filter(chat=source, message_id__in=answers).order_by("id"),
        )
        position += len(batch)
    return position


def _copy_turns(branch: Chat, turns: Iterable[Turn]) -> list[Turn]:
    """Copy ended turns with their steps and calls. The copies have no usage, because it was paid only once."""
    sources = list(turns)
    copies = [
        Turn(chat=branch, **_values(source, _TURN + _TURNS_END)) for source in sources
    ]
    Turn.objects.bulk_create(copies)
    by_source = {source.pk: copy for source, copy in zip(sources, copies, strict=True)}
    steps = list(Step.objects.filter(turn__in=sources).order_by("turn_id", "index"))
    fresh = [
        Step(turn=by_source[step.turn_id], **_values(step, _STEP)) for step in steps
    ]
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


def _copy_paused_turn(
    branch: Chat,
    source: Turn,
    parts: Sequence[JsonDict],
    open_calls: OpenCalls,
    agent: Agent,
) -> tuple[Turn, dict[str, str]]:
    """Copy a turn as of its pause, and ask again; return it, and the new toolCallIds by the old ones.

    A call that had not started gets a new id, so that neither an old decision nor a tool that remembers the old id applies to
    it. A call that had started keeps its id, so that an idempotent tool recognizes it.
    """
    turn = Turn.objects.create(chat=branch, **_values(source, _TURN))
    new_ids = {
        call_id: call_id if call_id in open_calls.started else f"call_{uuid4().hex}"
        for call_id in sorted(open_calls.ids)
    }
    notes: dict[str, str] = {}
    committed = sum(part["type"] == "step-start" for part in parts)
    for step in source.steps.filter(index__lt=committed).order_by("index"):
        # Code of the branch runs in a container of its own.
        answered_by = {
            name: value
            for name, value in step.answered_by.items()
            if name != "container"
        }
        own = {
            "blocks": _rename_calls(step.blocks, new_ids),
            "answered_by": answered_by,
        }
        copy = Step.objects.create(turn=turn, **_values(step, _STEP) | own)
        for call in step.tool_calls.select_related(
            "approval__decision", "recovery__decision"
        ).order_by("id"):
            _copy_call(call, branch, turn, copy, new_ids, open_calls.started)
            if call.tool_call_id in new_ids:
                notes[new_ids[call.tool_call_id]] = _note(call)
    write_together([new_message(turn)])
    locked = lock_turn(turn.pk)
    assert locked is not None
    outcome = ask_people(locked, agent, notes=notes)
    if locked.at_rest():
        suspend(locked, outcome)
    else:
        store(locked, outcome.signed)
        # Grants or rules have decided all calls, or the agent has changed so that none could be asked, which is their result.
        parts = projection.message_parts(locked.progress.steps)
        _write_checkpoint(turn, parts, CheckpointKind.PARTIAL, FinishReason.OTHER)
        queue_turn(turn.pk)
    return turn, new_ids


def _write_checkpoint(
    turn: Turn, parts: list[JsonDict], kind: CheckpointKind, reason: FinishReason
) -> None:
    write, _last = new_checkpoint(turn, parts, kind, reason)
    write_together([write])


def _copy_call(
    call: ToolCall,
    branch: Chat,
    turn: Turn,
    step: Step,
    new_ids: Mapping[str, str],
    started: Mapping[str, int],
) -> None:
    values = _values(call, _CALL)
    if call.tool_call_id not in new_ids:
        values |= _values(call, _CALLS_END)
    elif call.tool_call_id in started:
        values |= {"state": CallState.UNKNOWN, "attempt": started[call.tool_call_id]}
    else:
        named = {"tool_call_id": new_ids[call.tool_call_id], "state": CallState.WAITING}
        values = _values(call, ("name", "input")) | named
    ToolCall.objects.create(chat=branch, turn=turn, step=step, **values)


def _values(row: Any, names: Sequence[str]) -> JsonDict:
    return {name: getattr(row, name) for name in names}


def _rename_calls(blocks: Sequence[JsonDict], names: dict[str, str]) -> list[JsonDict]:
    return [
        {**block, "id": names.get(block["id"], block["id"])}
        if block.get("type") == "tool_use"
        else block
        for block in blocks
    ]


def _note(call: ToolCall) -> str:
    """Return a note for the person asked: that this is asked again, and how it ended in the original chat."""
    decisions = [
        queries.decision_of(request) for request in (call.recovery, call.approval)
    ]
    decision = next((decision for decision in decisions if decision is not None), None)
    if decision is None:
        outcome = _("There, the request is still waiting.")
    else:
        outcome = _("There, the request was %(status)s by %(who)s on %(when)s UTC.") % {
            "status": decision.request.get_status_display().lower(),
            "who": decision.by_name or "Pausepoint",
            "when": f"{decision.decided_at.astimezone(UTC):%Y-%m-%d %H:%M}",
        }
    return _("*Asked again: this chat is a branch of chat %(chat)s. %(outcome)s*") % {
        "chat": call.chat_id,
        "outcome": outcome,
    }
