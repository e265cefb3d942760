"""System checks: the agents can be loaded, a provider is configured, and its model takes what the agents ask for."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.utils.translation import gettext as _

from approvals.text.translation import translated
from chats import providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.provider import ProviderError


def check_agents(**kwargs: Any) -> list[CheckMessage]:
    errors: list[CheckMessage] = []
    agents: dict[str, Agent] = {}
    try:
        for agent in registry.load(tuple(settings.HITL_AGENTS)).values():
            agents |= {member.name: member for member in agent.family}
    except (ImportError, TypeError, ValueError) as error:
        errors.append(Error(f"HITL_AGENTS: {translated(error)}", id="chats.E001"))
    try:
        provider = providers.current()
        # A provider may know what its models refuse.
        problems: Any = getattr(provider, "problems", lambda agent: [])
        for agent in agents.values():
            message = _("HITL_AGENTS: agent %(agent)s: %(problem)s")
            errors += [
                Error(message % {"agent": agent.name, "problem": problem}, id="chats.E003")
                for problem in problems(agent)
            ]
    except ProviderError as error:
        hint = _("HITL_PROVIDER=scripted works offline and without a key.")
        errors.append(Error(f"HITL_PROVIDER: {translated(error)}", hint=hint, id="chats.E002"))
    return errors
