"""The agents that people may write to, listed in `HITL_AGENTS`."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _

from chats.agent import registry
from chats.agent.agent import Agent
from chats.exceptions import BadMessage


def agent_named(name: str) -> Agent:
    """Return the listed agent with that name. Raise BadMessage without one."""
    agent = registry.load(tuple(settings.HITL_AGENTS)).get(name)
    if agent is None:
        raise BadMessage(
            _("No agent is named %(name)r. Start a new chat with another agent.")
            % {"name": name}
        )
    return agent


def agents() -> list[Agent]:
    """Return the listed agents, the default first."""
    return list(registry.load(tuple(settings.HITL_AGENTS)).values())
