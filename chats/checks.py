"""Checks of an installation.

The agents can be loaded, and the configured provider's model supports their settings.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info
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
        # A provider may know the limits of its models.
        problems: Any = getattr(provider, "problems", lambda agent: [])
        for agent in agents.values():
            message = _("HITL_AGENTS: agent %(agent)s: %(problem)s")
            errors += [
                Error(
                    message % {"agent": agent.name, "problem": problem}, id="chats.E003"
                )
                for problem in problems(agent)
            ]
    except providers.NoProvider as error:
        hint = _(
            "Agents that run elsewhere need none. Set HITL_PROVIDER and a key to let a model answer in chats."
        )
        errors.append(Info(translated(error), hint=hint, id="chats.I001"))
    except ProviderError as error:
        hint = _("HITL_PROVIDER=scripted works offline and without a key.")
        errors.append(
            Error(f"HITL_PROVIDER: {translated(error)}", hint=hint, id="chats.E002")
        )
    return errors
