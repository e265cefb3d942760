"""Checks of an installation.

The agents can be loaded, and the model of a configured provider takes what the agents ask for. A database that is upgraded has
one unfinished turn in a chat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info
from django.core.management import CommandError
from django.db import connections
from django.utils.translation import gettext as _

from approvals.text.translation import translated
from chats import providers
from chats.agent import registry
from chats.agent.agent import Agent
from chats.agent.provider import ProviderError
from chats.states import UNFINISHED


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
    except providers.NoProvider as error:
        hint = _("Agents that run elsewhere need none. Set HITL_PROVIDER and a key to let a model answer in chats.")
        errors.append(Info(translated(error), hint=hint, id="chats.I001"))
    except ProviderError as error:
        hint = _("HITL_PROVIDER=scripted works offline and without a key.")
        errors.append(Error(f"HITL_PROVIDER: {translated(error)}", hint=hint, id="chats.E002"))
    return errors


def refuse_doubled_turns(*, plan: Sequence[tuple[Any, bool]], using: str, **kwargs: Any) -> None:
    """Refuse to migrate a desk with two unfinished turns in a chat, before anything is changed.

    `0002_one_unfinished_turn` would fail with a traceback. Which of the turns is to end, a person has to say.
    """
    if not any(migration.name == "0002_one_unfinished_turn" for migration, _backwards in plan):
        return
    connection = connections[using]
    with connection.cursor() as cursor:
        if "chats_turn" not in connection.introspection.table_names(cursor):
            return
        doubled = "SELECT chat_id FROM chats_turn WHERE state IN (%s, %s, %s) GROUP BY chat_id HAVING COUNT(*) > 1"
        cursor.execute(f"{doubled} ORDER BY chat_id LIMIT 1", sorted(UNFINISHED))
        for (chat,) in cursor.fetchall():
            raise CommandError(
                _(
                    "Chat %(chat)d has more than one unfinished turn, and this version allows one. Nothing was changed. "
                    "Stop the chat with the version that you upgrade from, until one is left, and run `manage.py migrate` "
                    "again."
                )
                % {"chat": chat}
            )
