"""The statements with which a turn is written."""

from __future__ import annotations

from django.db.models import BigAutoField, CharField, DurationField, F, OuterRef, PositiveBigIntegerField, Subquery
from django.db.models.functions import Coalesce, Now

from approvals.db.prepared import Insert, Parameter, Update
from approvals.models.subscriptions import heard
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint, TurnEvent
from chats.states import CLOSED

_PK = Parameter("pk", BigAutoField())
_CHAT = Parameter("chat", BigAutoField())


def _next_position() -> Coalesce:
    before = Message.objects.filter(chat=Parameter("chat_id", BigAutoField())).order_by("-position").values("position")
    return Coalesce(Subquery(before[:1]) + 1, 0)


#: The last message of its chat. The caller has locked the chat or the turn.
MESSAGE = Insert(Message, position=_next_position())
NEW_CHAT = Insert(Chat, ignore_conflicts=True, returning=("id",))
#: A turn that is queued has no lease.
TURN = Insert(Turn, returning=("id",), lease_until=Now() + Parameter("lease", DurationField()))
STEP = Insert(Step, returning=("id",))
CALL = Insert(ToolCall)
CHECKPOINT = Insert(TurnCheckpoint)
#: While a thread waited for the lock, another thread of the same runner may have stored some of the same events.
EVENT = Insert(TurnEvent, ignore_conflicts=True)


def _change_call(*times: str) -> Update[ToolCall]:
    columns = ("state", "attempt", "approval", "recovery", "output", "error_text", "executed_digest", *times)
    named = Parameter("tool_call_id", CharField())
    # A second guard beside the lock: a closed call never changes.
    return Update(
        lambda: ToolCall.objects.filter(chat=_CHAT, tool_call_id=named).exclude(state__in=sorted(CLOSED)), *columns
    )


CHANGE_CALL, START_CALL, CLOSE_CALL = _change_call(), _change_call("started_at"), _change_call("finished_at")


def last_seq() -> Coalesce:
    """Return the number of the last stored event of a turn; 0 without one."""
    stored = TurnEvent.objects.filter(turn=OuterRef("pk")).order_by("-seq").values("seq")[:1]
    return Coalesce(Subquery(stored), 0)


#: Lock a turn. Only these columns change while a runner knows the turn. `heard()`: whether anyone is subscribed to events.
LOCK_TURN = Update(
    lambda: Turn.objects.filter(pk=_PK),
    version=F("version") + Parameter("added", PositiveBigIntegerField()),
    returning=("version", "state", "attempt", "stopped", last_seq(), heard()),
)
CLAIM_TURN = Update(
    lambda: Turn.objects.filter(pk=_PK),
    *("state", "attempt", "version", "lease_owner", "finish_reason"),
    lease_until=Now() + Parameter("lease", DurationField()),
)
#: A turn that rests has no lease.
REST_TURN = Update(
    lambda: Turn.objects.filter(pk=_PK),
    *("state", "finish_reason", "lease_until", "usage", "error", "ended_at"),
)
STORE_MESSAGE = Update(
    lambda: Message.objects.filter(chat=_CHAT, message_id=Parameter("named", CharField()), cut_at=None),
    *("parts", "metadata"),
)
TOUCH_CHAT = Update(lambda: Chat.objects.filter(pk=_PK), "updated_at")
NAME_CHAT = Update(lambda: Chat.objects.filter(pk=_PK), "title", "updated_at")
