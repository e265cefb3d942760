"""Every read of chats: who may see which, and what the runner and the pages need, in a constant number of queries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q, QuerySet

from approvals.access.permissions import Person, sees_everything
from approvals.asking.transcripts import MAX_MESSAGES
from approvals.models import ApprovalRequest, Decision
from approvals.queries import UNREAD
from approvals.states import Kind, Status
from chats import checkpoints
from chats.agent.provider import ModelMessage
from chats.exceptions import ChatNotFound, ChatPruned
from chats.history import pending_approvals, pending_tool_calls
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint, TurnEvent
from chats.queries import subagents
from chats.queries.projection import CallView, StepView, model_messages, tool_part, user_message
from chats.states import UNFINISHED, CallState, TurnState


def chats_for(user: Person) -> QuerySet[Chat]:
    """Chats this person may read: their own; deciders and auditors read all."""
    found = Chat.objects.select_related("owner").order_by("-updated_at", "-id")
    return found if sees_everything(user) else found.filter(owner=user.pk)


def listed_chats_for(user: Person) -> QuerySet[Chat]:
    """Those that people write in; sub-agents' conversations are reached from there."""
    return chats_for(user).filter(root=None)


def chats_older_than(found: QuerySet[Chat], last: Chat) -> QuerySet[Chat]:
    """The page behind the one that `last` ends."""
    found = found.filter(updated_at__lte=last.updated_at)
    return found.filter(Q(updated_at__lt=last.updated_at) | Q(pk__lt=last.pk))


def get_chat_for(user: Person, pk: int) -> Chat:
    found = chats_for(user).filter(pk=pk).first()
    if found is None:
        raise ChatNotFound
    return found


def get_own_chat(user: Person, public_id: str) -> Chat:
    """The person's chat of that public id. ChatNotFound, ChatPruned."""
    found = Chat.objects.select_related("owner").filter(owner=user.pk, public_id=public_id).first()
    if found is None:
        raise ChatNotFound
    if found.pruned_at is not None:
        raise ChatPruned
    return found


def unfinished_turn(chat: Chat) -> Turn | None:
    return chat.turns.filter(state__in=UNFINISHED).first()


def unfinished_turns(cap: int) -> dict[str, int]:
    """How many turns are in each state that is no end; `cap` stands for so many or more."""
    return {state: Turn.objects.filter(state=state).order_by()[:cap].count() for state in sorted(UNFINISHED)}


def last_said(chat: Chat) -> list[tuple[str, str]]:
    """Role and text of the last messages, the oldest first; what tools did is not said."""
    last = chat.shown.order_by("-position").values_list("role", "parts")[:MAX_MESSAGES]
    return [
        (role, "\n\n".join(part["text"] for part in parts if part.get("type") == "text"))
        for role, parts in reversed(last)
    ]


def last_turn(chat: Chat) -> Turn | None:
    return chat.turns.order_by("-id").first()


def open_requests(turn: Turn) -> list[ApprovalRequest]:
    """What the turn and the sub-agents below it wait for."""
    return own_open_requests(turn) + [asked for below in subagents.open_requests(turn).values() for asked in below]


def own_open_requests(turn: Turn) -> list[ApprovalRequest]:
    """Return the pending requests of the turn's own calls, in the order of the calls."""
    calls = list(turn.tool_calls.select_related("approval__decision", "recovery").order_by("id"))
    parts = [tool_part(call_view(call)) for call in calls]
    chain = [{"id": turn.message_id, "role": "assistant", "parts": parts}]
    waiting = {row["toolCallId"] for row in [*pending_tool_calls(chain), *pending_approvals(chain)]}
    # A recovery asks about the outcome of a call; no part of the message shows it.
    asked = [(call.approval if call.tool_call_id in waiting else None, call.recovery) for call in calls]
    # A request may have ended a moment before its call takes the outcome.
    return [request for pair in asked for request in pair if request is not None and request.pending]


def requests_of(chat: Chat, call_ids: Sequence[str]) -> dict[str, ApprovalRequest]:
    """The requests of these calls by toolCallId, the latest where one call asked twice."""
    found = ApprovalRequest.objects.filter(scope=chat.scope, tool_call_id__in=call_ids).defer(UNREAD)
    ordered = found.select_related("decision", "workflow", "requested_by", "assigned_to").order_by("created_at", "id")
    return {str(request.tool_call_id): request for request in ordered}


def step_views(turns: Sequence[int]) -> dict[int, list[StepView]]:
    """The steps of these turns, each with its calls, by turn id."""
    calls: dict[int, list[CallView]] = defaultdict(list)
    rows = ToolCall.objects.filter(turn__in=turns).select_related("approval__decision", "recovery__decision")
    rows = rows.defer(f"approval__{UNREAD}", f"recovery__{UNREAD}")
    for call in rows.order_by("id"):
        calls[call.step_id].append(call_view(call))
    views: dict[int, list[StepView]] = defaultdict(list)
    for step in Step.objects.filter(turn__in=turns).order_by("turn_id", "index"):
        views[step.turn_id].append(StepView(step.blocks, calls[step.pk], step.provider, step.model))
    return views


def call_view(call: ToolCall) -> CallView:
    """A call with what people decided about it."""
    asked = call.approval if call.approval is not None and call.approval.kind == Kind.APPROVAL else None
    decision = decision_of(asked)
    approved = None
    if asked is not None and asked.status != Status.PENDING:
        approved = asked.status == Status.APPROVED
    reason = decision.comment if decision is not None else ""
    if asked is not None and asked.status == Status.EXPIRED:
        reason = "Nobody decided before the deadline."
    return CallView(
        tool_call_id=call.tool_call_id,
        name=call.name,
        input=call.input,
        state=call.state,
        output=call.output,
        error_text=call.error_text,
        approval_id=str(asked.pk) if asked is not None else "",
        approved=approved,
        reason=reason,
        edited_input=decision.edited_input if decision is not None else None,
        declined=asked is None and call.approval is not None and call.approval.status == Status.REJECTED,
    )


def decision_of(request: ApprovalRequest | None) -> Decision | None:
    return getattr(request, "decision", None)


def model_history(turn: Turn) -> list[ModelMessage]:
    """Everything said in the chat before and in this turn, as the model is shown it."""
    turns = {found.message_id: found.pk for found in turn.chat.turns.order_by("id")}
    views = step_views(list(turns.values()))
    history: list[ModelMessage] = []
    shown = list(turn.chat.shown.order_by("position"))
    latest = next((message.pk for message in reversed(shown) if message.role == "user"), None)
    for message in shown:
        if message.role == "user":
            history.append(user_message(message.parts, current=message.pk == latest))
        elif message.message_id in turns:
            history += model_messages(views[turns[message.message_id]])
    return history


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a turn is: how many steps are committed, how the last one ended, and its calls."""

    steps: int
    stop_reason: str
    calls: Sequence[ToolCall]


def progress_of(turn_id: int) -> Progress:
    last = Step.objects.filter(turn=turn_id).order_by("-index").first()
    if last is None:
        return Progress(0, "", [])
    return Progress(
        last.index + 1, last.stop_reason, list(last.tool_calls.select_related("approval__decision").order_by("id"))
    )


def last_seq(turn: Turn) -> int:
    """The `seq` of the last stored event of a turn's stream; 0 if there is none."""
    return turn.events.aggregate(last=Max("seq"))["last"] or 0


def states_below(turn_id: int) -> dict[str, list[int]]:
    """The turns of the sub-agents that this turn has called and not heard of again, by state."""
    found: dict[str, list[int]] = defaultdict(list)
    below = Turn.objects.filter(parent_call__turn=turn_id, parent_call__state=CallState.DELEGATED)
    for pk, state in below.values_list("pk", "state"):
        found[state].append(pk)
    return found


def running_turn(chat_pk: int) -> tuple[int, int] | None:
    """The chat's turn that is being worked on, and the `seq` behind which its uncommitted step begins; None if none is."""
    turn = Turn.objects.filter(chat=chat_pk, state__in=[TurnState.QUEUED, TurnState.RUNNING]).first()
    if turn is None:
        return None
    committed = turn.events.filter(step__lt=turn.steps.count()).aggregate(last=Max("seq"))["last"]
    return turn.pk, committed or 0


def first_response(chat: Chat) -> Turn | None:
    """The chat's turn that is being worked on and has not paused yet."""
    turn = chat.turns.filter(state__in=[TurnState.QUEUED, TurnState.RUNNING]).first()
    if turn is None or checkpoints_of(chat).filter(message_id=turn.message_id).exists():
        return None
    return turn


def names_message(chat: Chat, message_id: str) -> bool:
    """Whether a client may know a message by this id: it is shown, or an answer that never came to be one; or no id."""
    return (
        not message_id
        or chat.shown.filter(message_id=message_id).exists()
        or chat.turns.filter(message_id=message_id).exists()
    )


def tool_parts_of(turn: Turn) -> dict[str, dict[str, Any]]:
    """The tool parts of the turn's message as it is stored, by toolCallId."""
    message = turn.chat.shown.filter(message_id=turn.message_id).first()
    parts = message.parts if message is not None else []
    return {part["toolCallId"]: part for part in parts if "toolCallId" in part}


def events_after(turn_id: int, seq: int, limit: int = 500) -> list[tuple[int, dict[str, Any]]]:
    """Stored chunks of a turn's stream behind `seq`."""
    rows = TurnEvent.objects.filter(turn=turn_id, seq__gt=seq).order_by("seq")
    return list(rows.values_list("seq", "chunk")[:limit])


def last_messages(chat: Chat, *, limit: int, before: int | None = None) -> list[Message]:
    """The chat's last messages, before a position where one is given, in their order."""
    found = chat.shown.order_by("-position")
    if before is not None:
        found = found.filter(position__lt=before)
    return list(found[:limit])[::-1]


def lately_cut(chat: Chat, *, limit: int) -> list[int]:
    """The messages that an edit or a regeneration cut off last."""
    found = chat.messages.filter(cut_at__isnull=False).order_by("-cut_at", "-position")
    return list(found.values_list("pk", flat=True)[:limit])


def checkpoints_of(chat: Chat) -> QuerySet[TurnCheckpoint]:
    """A chat's checkpoints, message by message, each in order."""
    return TurnCheckpoint.objects.filter(chat_pk=chat.pk).order_by("id")


def get_checkpoint_for(user: Person, pk: int) -> tuple[Chat, TurnCheckpoint, list[dict[str, Any]]]:
    """A checkpoint, its chat and its whole parts. ChatNotFound, ChatPruned."""
    found = TurnCheckpoint.objects.filter(pk=pk).first()
    if found is None:
        raise ChatNotFound
    chat = get_chat_for(user, found.chat_pk)
    if (chat.root or chat).pruned_at is not None:
        raise ChatPruned
    return chat, found, parts_at(found)


def parts_at(checkpoint: TurnCheckpoint) -> list[dict[str, Any]]:
    """The whole parts of a checkpoint."""
    earlier = TurnCheckpoint.objects.filter(
        chat_pk=checkpoint.chat_pk, message_id=checkpoint.message_id, ordinal__lte=checkpoint.ordinal
    )
    return checkpoints.fold(earlier.order_by("ordinal"))


def group_by_message(found: Iterable[TurnCheckpoint]) -> dict[str, list[TurnCheckpoint]]:
    """Checkpoints by message id, both in order."""
    grouped: dict[str, list[TurnCheckpoint]] = defaultdict(list)
    for checkpoint in found:
        grouped[checkpoint.message_id].append(checkpoint)
    return dict(grouped)
