"""Model providers; which one answers is a setting."""

from __future__ import annotations

from functools import cache

from django.conf import settings

from chats.providers.base import Provider, ProviderError
from chats.providers.scripted import ScriptedProvider


def current() -> Provider:
    """The provider named by HITL_PROVIDER; ProviderError, saying what to set, if there is none."""
    return _make(settings.HITL_PROVIDER)


@cache
def _make(name: str) -> Provider:
    if name == ScriptedProvider.name:
        return ScriptedProvider()
    raise ProviderError("No model provider is configured. Set HITL_PROVIDER.")
