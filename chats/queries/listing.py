"""The list of chats: its filters, and the state of each chat's last turn."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import OuterRef, Q, QuerySet, Subquery

from approvals.access.standing import Standing
from chats.models import Chat, Turn
from chats.queries.chats import chats_for
from chats.states import TurnState

#: A search for words or for a past state examines this many of the latest chats, since neither has an index.
WINDOW = 5_000
MAX_WORDS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatFilters:
    """The filters of the list. An empty value does not filter; `words` are searched in titles, `state` is of the last turn."""

    words: str = ""
    agent: str = ""
    state: str = ""

    def __bool__(self) -> bool:
        return bool(self.words or self.agent or self.state)

    def query(self, *, before: int) -> str:
        """Return the query string of the page of chats that are older than the one with this id."""
        parameters = {
            "q": self.words,
            "agent": self.agent,
            "state": self.state,
            "before": before,
        }
        return urlencode({name: value for name, value in parameters.items() if value})


def filtered_chats_for(
    viewer: Standing, filters: ChatFilters, *, after: int | None = None
) -> QuerySet[Chat]:
    """Return the chats that people write in, latest first, with the state of the last turn in `state`.

    Sub-agents' chats are linked from their parents. `after` is the id of the last chat of the previous page.
    """
    chats = chats_for(viewer).filter(root=None)
    if filters:
        chats = _filtered(chats, filters)
    last = chats_for(viewer).filter(pk=after).first() if after is not None else None
    if last is not None:
        chats = chats.filter(updated_at__lte=last.updated_at).filter(
            Q(updated_at__lt=last.updated_at) | Q(pk__lt=last.pk)
        )
    return chats.annotate(state=_last_state())  # type: ignore[no-redef]  # declared on the model, to be read


def _last_state() -> Subquery:
    return Subquery(
        Turn.objects.filter(chat=OuterRef("pk")).order_by("-id").values("state")[:1]
    )


def _filtered(chats: QuerySet[Chat], filters: ChatFilters) -> QuerySet[Chat]:
    if filters.state in {TurnState.QUEUED, TurnState.RUNNING, TurnState.SUSPENDED}:
        # A chat has at most one such turn, which is its last; an index finds it.
        states = (
            [TurnState.SUSPENDED]
            if filters.state == TurnState.SUSPENDED
            else [TurnState.QUEUED, TurnState.RUNNING]
        )
        chats = chats.filter(
            pk__in=Turn.objects.filter(state__in=states).values("chat")
        )
    else:
        chats = chats.model.objects.select_related("owner").filter(
            pk__in=chats.values("pk")[:WINDOW]
        )
        chats = chats.order_by("-updated_at", "-id")
        if filters.state:
            chats = chats.annotate(ended_as=_last_state()).filter(
                ended_as=filters.state
            )
    if filters.agent:
        chats = chats.filter(agent=filters.agent)
    for word in filters.words.split():
        chats = chats.filter(title__icontains=word)
    return chats
