"""Which chats a caller's word reaches, the same through every door for chat clients."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.access.callers import Caller
from chats import actions, queries
from chats.exceptions import BadMessage, ChatNotFound
from chats.models import Chat
from chats.queries.agents import agent_named, agents


def confine(caller: Caller, public_id: str) -> None:
    """A client token is good for its own chat; any other does not exist for it."""
    if caller.thread not in {None, public_id}:
        raise ChatNotFound


def own_chat(caller: Caller, public_id: str) -> Chat:
    """The caller's chat of that id. ChatNotFound."""
    confine(caller, public_id)
    return queries.get_own_chat(caller.user, public_id)


def chat_for(caller: Caller, public_id: str, agent: str) -> Chat:
    """The caller's chat of that id, made on first use, with the agent that the client names; an empty id gets a new chat.

    ChatNotFound, BadMessage (there is no such agent, or the chat is with another).
    """
    confine(caller, public_id)
    named = agent_named(agent or agents()[0].name)
    chat = actions.open_chat(owner=caller.user, agent=named, public_id=public_id)
    if agent and chat.agent != agent:
        raise BadMessage(
            _("This chat is with the agent %(agent)r. Start a new chat for %(other)r.")
            % {"agent": chat.agent, "other": agent}
        )
    return chat
