"""Model providers; HITL_PROVIDER says which one answers."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chats.agent.provider import Provider, ProviderError
from chats.providers.scripted import ScriptedProvider


class NoProvider(ProviderError):
    """No provider is named, as on a desk whose agents all run elsewhere."""


#: As in the extra `openai` of pyproject.toml.
OPENAI_PACKAGE = '"openai>=3.54,<4"'

#: The providers for the two APIs of OpenAI: Chat Completions and Responses.
OPENAI = ("openai", "openai-responses")


def current() -> Provider:
    """Return the provider named by HITL_PROVIDER. ProviderError, which says what to set, without one."""
    if settings.HITL_PROVIDER in OPENAI:
        key, base_url = settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL
    else:
        key, base_url = settings.ANTHROPIC_API_KEY, ""
    return _make(settings.HITL_PROVIDER, key, settings.HITL_MODEL, settings.HITL_MODEL_PATIENCE, base_url)


@cache
def _make(name: str, api_key: str, model: str, patience: int, base_url: str) -> Provider:
    provider: Provider
    if name == ScriptedProvider.name:
        return ScriptedProvider()
    # The others are imported only when needed: an SDK takes two seconds and 60 MB to load.
    if name == "anthropic":
        anthropic = import_module("chats.providers.anthropic")
        provider = anthropic.AnthropicProvider(api_key=api_key, model=model, patience=patience)
        return provider
    if name in OPENAI:
        make = _openai(name).PROVIDERS[name]
        provider = make(api_key=api_key, model=model, base_url=base_url, patience=patience)
        return provider
    message = _("No model provider is configured. Set HITL_PROVIDER.")
    raise ProviderError(message) if name else NoProvider(message)


def _openai(name: str) -> Any:
    """Return the package of the providers for OpenAI. ProviderError without its SDK, which is optional."""
    try:
        return import_module("chats.providers.openai")
    except ModuleNotFoundError as error:
        if error.name != "openai":
            raise
        message = _("HITL_PROVIDER=%(name)s needs the package openai. Install it: pip install %(package)s")
        raise ProviderError(message % {"name": name, "package": OPENAI_PACKAGE}) from None
