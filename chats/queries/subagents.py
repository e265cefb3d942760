"""Who is below whom: a turn, the sub-agents that its calls were given to, and what all of them ask people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from approvals.models import ApprovalRequest
from approvals.states import Status
from chats.models import Chat, ToolCall, Turn
from chats.states import CallState, TurnState


def delegated(turn: Turn) -> list[tuple[ToolCall, Turn]]:
    """The calls of a turn that sub-agents are at, each with the turn that carries it out."""
    below = Turn.objects.filter(parent_call__turn=turn, parent_call__state=CallState.DELEGATED)
    found = below.select_related("parent_call", "chat").order_by("parent_call", "id")
    return [(each.parent_call, each) for each in found if each.parent_call is not None]


def path_of(turn: Turn) -> list[str]:
    """The names of the calls that lead to a sub-agent's turn, from the top; none for the turn at the top."""
    path: list[str] = []
    call = turn.parent_call
    while call is not None:
        path.insert(0, call.name)
        call = call.turn.parent_call
    return path


def open_requests(turn: Turn) -> dict[str, list[ApprovalRequest]]:
    """What sub-agents below a turn wait for, by the toolCallId of the turn's own call that leads to them."""
    family = {each.pk: each for each in Turn.objects.filter(root=turn.root_id or turn.pk).select_related("parent_call")}
    leads = {pk: lead for pk in family if (lead := _leading_call(turn, pk, family)) is not None}
    found: dict[str, list[ApprovalRequest]] = {}
    for call in _waiting(list(leads)):
        request = call.recovery if call.state == CallState.UNKNOWN else call.approval
        if request is not None and request.status == Status.PENDING:
            found.setdefault(leads[call.turn_id], []).append(request)
    return found


def _leading_call(turn: Turn, pk: int, family: Mapping[int, Turn]) -> str | None:
    """The toolCallId of the call of `turn` below which another turn stands; None if it stands elsewhere."""
    each = family.get(pk)
    while each is not None and each.parent_call is not None:
        if each.parent_call.turn_id == turn.pk:
            return each.parent_call.tool_call_id
        each = family.get(each.parent_call.turn_id)
    return None


def _waiting(turns: Sequence[int]) -> Sequence[ToolCall]:
    if not turns:
        return []
    asked = ("decision", "workflow", "requested_by", "assigned_to")
    joined = [f"{which}__{name}" for which in ("approval", "recovery") for name in asked]
    waiting = ToolCall.objects.filter(turn__in=turns, state__in=[CallState.WAITING, CallState.UNKNOWN])
    return list(waiting.select_related(*joined).order_by("id"))


def conversations(chat_pk: int, call_ids: Sequence[str]) -> dict[str, int]:
    """The conversations of the sub-agents that these calls were given to, by toolCallId."""
    if not call_ids:
        return {}
    below = Turn.objects.filter(parent_call__chat=chat_pk, parent_call__tool_call_id__in=call_ids)
    return dict(below.order_by("id").values_list("parent_call__tool_call_id", "chat"))


def chat_above(chat: Chat) -> Chat | None:
    """The conversation from which a sub-agent's was begun; None for one that people write in."""
    if chat.root_id is None:
        return None
    return Chat.objects.filter(tool_calls__children__chat=chat).first()


def at_rest(turn: Turn) -> bool:
    """Whether the turn can do nothing: a call of its own waits for a person, or all that its sub-agents do is wait."""
    states = {below.state for _, below in delegated(turn)}
    if states:
        return states == {TurnState.SUSPENDED}
    return turn.tool_calls.filter(state__in=[CallState.WAITING, CallState.UNKNOWN]).exists()
