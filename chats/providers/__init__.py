"""Model providers; HITL_PROVIDER says which one answers."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from django.conf import settings
from django.utils.translation import gettext as _

from chats.agent.provider import Provider, ProviderError
from chats.providers.scripted import ScriptedProvider


def current() -> Provider:
    """Return the provider named by HITL_PROVIDER. ProviderError, which says what to set, without one."""
    return _make(settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY, settings.HITL_MODEL)


@cache
def _make(name: str, api_key: str, model: str) -> Provider:
    if name == ScriptedProvider.name:
        return ScriptedProvider()
    if name == "anthropic":
        # Imported only when needed: the SDK takes two seconds and 60 MB to load.
        provider: Provider = import_module("chats.providers.anthropic").AnthropicProvider(api_key=api_key, model=model)
        return provider
    raise ProviderError(_("No model provider is configured. Set HITL_PROVIDER."))
