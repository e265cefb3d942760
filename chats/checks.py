"""System checks: the agents can be loaded, and a provider is configured."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error
from django.utils.translation import gettext as _

from approvals.runtime.translation import translated
from chats import providers
from chats.agent import registry
from chats.agent.provider import ProviderError


def check_agents(**kwargs: Any) -> list[CheckMessage]:
    found: list[CheckMessage] = []
    try:
        registry.load(tuple(settings.HITL_AGENTS))
    except (ImportError, TypeError, ValueError) as error:
        found.append(Error(f"HITL_AGENTS: {translated(error)}", id="chats.E001"))
    try:
        providers.current()
    except ProviderError as error:
        hint = _("HITL_PROVIDER=scripted works offline and without a key.")
        found.append(Error(f"HITL_PROVIDER: {translated(error)}", hint=hint, id="chats.E002"))
    return found
