"""The statements that write a turn."""

from __future__ import annotations

from django.db.models import (
    BigAutoField,
    CharField,
    DurationField,
    F,
    OuterRef,
    PositiveBigIntegerField,
    Subquery,
)
from django.db.models.functions import Coalesce, Now

from approvals.db.prepared import Parameter
from approvals.db.prepared_writes import Insert, Update
from approvals.models.subscriptions import heard
from chats.models import Chat, Message, Step, ToolCall, Turn, TurnCheckpoint, TurnEvent
from chats.states import CLOSED

_PK = Parameter("pk", BigAutoField())
_CHAT = Parameter("chat", BigAutoField())


def _next_position() -> Coalesce:
    before = (
        Message.objects.filter(chat=Parameter("chat_id", BigAutoField()))
        .order_by("-position")
        .values("position")
    )
    return Coalesce(Subquery(before[:1]) + 1, 0)


#: The last message of its chat. The caller has locked the chat or the turn.
MESSAGE = Insert(Message, position=_next_position())
#: Adds a chat, unless another transaction has opened it meanwhile.
NEW_CHAT = Insert(Chat, ignore_conflicts=True, returning=("id",))
#: A queued turn has no lease.
TURN = Insert(
    Turn, returning=("id",), lease_until=Now() + Parameter("lease", DurationField())
)
#: Adds a model's answer.
STEP = Insert(Step, returning=("id",))
#: Adds a call of a step.
CALL = Insert(ToolCall)
#: Adds a checkpoint of a message.
CHECKPOINT = Insert(TurnCheckpoint)
#: While a thread waited for the lock, another thread of the same runner may have stored some of the same events.
EVENT = Insert(TurnEvent, ignore_conflicts=True)


def _change_call(*times: str) -> Update[ToolCall]:
    columns = (
        "state",
        "attempt",
        "approval",
        "recovery",
        "output",
        "error_text",
        "executed_digest",
        *times,
    )
    named = Parameter("tool_call_id", CharField())
    # A second guard beside the lock: a closed call never changes.
    return Update(
        lambda: ToolCall.objects.filter(chat=_CHAT, tool_call_id=named).exclude(
            state__in=sorted(CLOSED)
        ),
        *columns,
    )


#: Change an open call.
CHANGE_CALL = _change_call()
#: Change a call that starts.
START_CALL = _change_call("started_at")
#: Change a call that closes.
CLOSE_CALL = _change_call("finished_at")


def last_seq() -> Coalesce:
    """Return the number of the last stored event of a turn; 0 without one."""
    stored = (
        TurnEvent.objects.filter(turn=OuterRef("pk")).order_by("-seq").values("seq")[:1]
    )
    return Coalesce(Subquery(stored), 0)


#: Lock a turn. Only these columns change while a runner knows the turn. `heard()`: whether anyone is subscribed to events.
LOCK_TURN = Update(
    lambda: Turn.objects.filter(pk=_PK),
    version=F("version") + Parameter("added", PositiveBigIntegerField()),
    returning=("version", "state", "attempt", "stopped", last_seq(), heard()),
)
#: Gives a turn to a runner.
CLAIM_TURN = Update(
    lambda: Turn.objects.filter(pk=_PK),
    *("state", "attempt", "version", "lease_owner", "finish_reason"),
    lease_until=Now() + Parameter("lease", DurationField()),
)
#: A turn at rest has no lease.
REST_TURN = Update(
    lambda: Turn.objects.filter(pk=_PK),
    *("state", "finish_reason", "lease_until", "usage", "error", "ended_at"),
)
#: Stores the parts of an ended turn's message.
STORE_MESSAGE = Update(
    lambda: Message.objects.filter(
        chat=_CHAT, message_id=Parameter("named", CharField()), cut_at=None
    ),
    *("parts", "metadata"),
)
#: Stores the time of the last change in a chat.
TOUCH_CHAT = Update(lambda: Chat.objects.filter(pk=_PK), "updated_at")
#: Stores the time of a new message, with the title that the first one gives its chat.
NAME_CHAT = Update(lambda: Chat.objects.filter(pk=_PK), "title", "updated_at")
