"""Model providers; HITL_PROVIDER selects one."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from django.conf import settings
from django.utils.translation import gettext as _

from chats.agent.provider import Provider, ProviderError
from chats.providers.scripted import ScriptedProvider


class NoProvider(ProviderError):
    """No provider is configured, as for an installation whose agents all run elsewhere."""


#: As in the extra `openai` of pyproject.toml.
OPENAI_PACKAGE = '"openai>=3.54,<4"'

#: The providers for the two APIs of OpenAI: Chat Completions and Responses.
OPENAI = ("openai", "openai-responses")


def current() -> Provider:
    """Return the provider named by HITL_PROVIDER. Raise ProviderError, with instructions, without one."""
    if settings.HITL_PROVIDER in OPENAI:
        key = settings.OPENAI_API_KEY
        base_url = settings.OPENAI_BASE_URL
    else:
        key = settings.ANTHROPIC_API_KEY
        base_url = ""
    return _make(
        settings.HITL_PROVIDER,
        key,
        settings.HITL_MODEL,
        settings.HITL_MODEL_PATIENCE,
        base_url,
    )


@cache
def _make(
    name: str, api_key: str, model: str, patience: int, base_url: str
) -> Provider:
    if name == ScriptedProvider.name:
        return ScriptedProvider()
    # The others are imported only when needed: an SDK takes two seconds and 60 MB to load.
    if name == "anthropic":
        from chats.providers import anthropic  # noqa: PLC0415 - loaded late

        return anthropic.AnthropicProvider(
            api_key=api_key, model=model, patience=patience
        )
    if name in OPENAI:
        provider: Provider = _openai(name).PROVIDERS[name](
            api_key=api_key, model=model, base_url=base_url, patience=patience
        )
        return provider
    message = _("No model provider is configured. Set HITL_PROVIDER.")
    raise ProviderError(message) if name else NoProvider(message)


def _openai(name: str) -> ModuleType:
    """Return the package of the providers for OpenAI. Raise ProviderError without its SDK, which is optional."""
    try:
        from chats.providers import openai  # noqa: PLC0415 - loaded late
    except ModuleNotFoundError as error:
        if error.name != "openai":
            raise
        message = _(
            "HITL_PROVIDER=%(name)s needs the package openai. Install it: pip install %(package)s"
        )
        raise ProviderError(
            message % {"name": name, "package": OPENAI_PACKAGE}
        ) from None
    return openai
