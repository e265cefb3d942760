"""Model providers; which one answers is a setting."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from django.conf import settings
from django.utils.translation import gettext as _

from chats.agent.provider import Provider, ProviderError
from chats.providers.scripted import ScriptedProvider


def current() -> Provider:
    """The provider named by HITL_PROVIDER; ProviderError, saying what to set, if there is none."""
    return _make(settings.HITL_PROVIDER, settings.ANTHROPIC_API_KEY, settings.HITL_MODEL)


@cache
def _make(name: str, api_key: str, model: str) -> Provider:
    if name == ScriptedProvider.name:
        return ScriptedProvider()
    if name == "anthropic":
        # The SDK takes two seconds and 60 MB to load: not where another provider answers.
        provider: Provider = import_module("chats.providers.anthropic").AnthropicProvider(api_key=api_key, model=model)
        return provider
    raise ProviderError(_("No model provider is configured. Set HITL_PROVIDER."))
