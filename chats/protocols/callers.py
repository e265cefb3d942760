"""The chats that an API caller may use, the same for every chat protocol."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.access.callers import Caller
from approvals.api.frame import reaches
from chats import actions, queries
from chats.exceptions import BadMessage, ChatNotFound
from chats.models import Chat
from chats.queries.agents import agent_named, agents


def confine(caller: Caller, public_id: str, *, owner: int | None = None) -> None:
    """Raise ChatNotFound for a client token of another chat."""
    if not reaches(caller, public_id, owner=owner):
        raise ChatNotFound


def own_chat(caller: Caller, public_id: str) -> Chat:
    """Return the caller's own chat with that id. Raise ChatNotFound or ChatPruned."""
    confine(caller, public_id)
    return queries.get_own_chat(caller.user, public_id)


def chat_for(
    caller: Caller, public_id: str, agent: str, text: str = ""
) -> tuple[Chat, bool]:
    """Return the caller's own chat with that id, and whether it is new. An empty id means a new chat.

    An empty `agent` means the default. `text` is the first message of a new chat. Raise ChatNotFound or BadMessage (no such
    agent, or the chat has another one).
    """
    confine(caller, public_id)
    named = agent_named(agent or agents()[0].name)
    chat, created = actions.find_or_create_chat(
        owner=caller.user, agent=named, public_id=public_id, text=text
    )
    if agent and chat.agent != agent:
        raise BadMessage(
            _("This chat is with the agent %(agent)r. Start a new chat for %(other)r.")
            % {"agent": chat.agent, "other": agent}
        )
    return chat, created
