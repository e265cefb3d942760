"""Anthropic's errors: whether and when to retry, and messages for people."""

from __future__ import annotations

from collections.abc import Sequence

import anthropic
from django.utils.translation import gettext as _

from approvals.json_types import JsonDict
from chats.agent.provider import ModelRequest
from chats.agent.server_tools import CODE
from chats.providers import retries
from chats.providers.anthropic.blocks import USES, declared_name, used_id
from chats.providers.anthropic.history import THOUGHTS
from chats.providers.anthropic.patience import Silent
from chats.providers.files import refuses_files
from chats.providers.scrubbing import scrub, scrub_ids

#: The header with the id of a request.
REQUEST_ID = "request-id"
#: HTTP statuses by the type of an `error` event, which arrives in a stream that began with status 200.
STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def _status(error: Exception) -> int:
    """Return the HTTP status, also of an error inside a stream that began with status 200; 0 without a response."""
    if not isinstance(error, anthropic.APIStatusError):
        return 0
    if retries.is_redirect(error.status_code):
        return error.status_code
    return STATUSES.get(error.type or "", error.status_code)


def _api_message(error: Exception) -> str:
    """Return the API's own error message."""
    message = error.api_message if isinstance(error, anthropic.APIStatusError) else None
    return message if isinstance(message, str) else str(error)


def unsupported_feature(error: Exception, arguments: JsonDict) -> str:
    """Return the part of the request that this model refused and that can be left out; "" for any other error.

    One of the values of `request_arguments(without=)`. Thoughts are also refused after the history or the account changed.
    """
    message = _api_message(error).lower()
    if (
        _status(error) in {400, 404}
        and "container" in message
        and _uses_container(arguments)
    ):
        return "container"
    if _status(error) != 400:
        return ""
    if "temperature" in arguments.get("extra_body", {}) and "temperature" in message:
        return "temperature"
    extra = arguments.get("extra_body", {})
    if "context_management" in extra and any(
        word in message for word in ("context_management", "compact", "clear_tool")
    ):
        return "compaction"
    if "effort" in arguments.get("output_config", {}) and "effort" in message:
        return "effort"
    if (
        "thinking" in arguments
        and "thinking" in message
        and not message.startswith("messages")
    ):
        return str(arguments["thinking"]["type"])
    has_thoughts = any(
        block["type"] in THOUGHTS
        for sent in arguments["messages"]
        for block in sent["content"]
    )
    about_thoughts = any(
        word in message for word in ("thinking", "signature", "block is bound")
    )
    return "thoughts" if has_thoughts and about_thoughts else ""


def _uses_container(arguments: JsonDict) -> bool:
    """Return whether a request names a container, or ends with code that waits to be run in one."""
    results = {
        used_id(block)
        for sent in arguments["messages"]
        for block in sent["content"]
        if not block.get("id")
    }
    uses = (
        block
        for sent in arguments["messages"]
        for block in sent["content"]
        if block["type"] in USES
    )
    waits = any(
        declared_name(use) == CODE and used_id(use) not in results for use in uses
    )
    return waits or "container" in arguments.get("extra_body", {})


def about_files(error: Exception, request: ModelRequest) -> bool:
    """Return whether the API refused the files in the request."""
    return refuses_files(request, _status(error), _api_message(error))


def is_too_long(error: Exception) -> bool:
    """Return whether the conversation is longer than the model can read."""
    message = _api_message(error)
    return _status(error) == 413 or (
        _status(error) == 400 and ("too long" in message or "context limit" in message)
    )


def is_temporary(error: Exception) -> bool:
    """Return whether the same request may succeed a moment later."""
    return retries.is_temporary(_status(error))


def retry_after(error: Exception) -> float | None:
    """Return the wait requested by the response, in seconds; None if there is none."""
    if not isinstance(error, anthropic.APIStatusError):
        return None
    return retries.retry_after(error.response.headers.get("retry-after", ""))


def request_id_of(error: Exception, secrets: Sequence[str]) -> str:
    """Return the API's id of the request; "" without one."""
    header = (
        error.response.headers.get(REQUEST_ID)
        if isinstance(error, anthropic.APIStatusError)
        else None
    )
    return scrub_ids(secrets, id=header).get("id", "")


def error_for_the_log(error: Exception, secrets: Sequence[str]) -> str:
    """Return a log message for an error: its type, the API's message and the request's id, without secrets."""
    parts = (
        type(error).__name__,
        scrub(_api_message(error), secrets),
        request_id_of(error, secrets),
    )
    return " ".join(filter(None, parts))


def _is_from_a_proxy(error: Exception) -> bool:
    """Return whether something between here and the API has responded: the API's own errors are JSON objects."""
    return isinstance(error, anthropic.APIStatusError) and not isinstance(
        error.body, dict
    )


def error_for_people(error: Exception, model: str, secrets: Sequence[str] = ()) -> str:
    """Return a message about the problem with instructions for a person; `secrets` are not repeated."""
    status = _status(error)
    message = _api_message(error)
    later = retries.later(retry_after(error))
    if isinstance(error, anthropic.APIConnectionError):
        return _(
            "Claude cannot be reached. Check the server's network, then send your message again."
        )
    if isinstance(error, Silent):
        return _("Claude did not begin to answer in time. Send your message again.")
    if not status:
        return _(
            "The model's answer ended before it was complete. Send your message again."
        )
    if retries.is_redirect(status):
        return retries.words_of_redirect(status, "ANTHROPIC_BASE_URL")
    if 400 <= status < 500 and _is_from_a_proxy(error):
        proxy = _(
            "Something between this server and Claude answered with status %(status)d. Check ANTHROPIC_BASE_URL."
        )
        return proxy % {"status": status}
    if status == 401:
        return _("Claude rejected the API key. Check ANTHROPIC_API_KEY.")
    if status == 402 or "credit balance" in message:
        return _(
            "The account of ANTHROPIC_API_KEY has no credit left. Add credit, then send your message again."
        )
    if status == 403:
        no_access = _(
            "The API key does not have access to the model %(model)s. Check ANTHROPIC_API_KEY and HITL_MODEL."
        )
        return no_access % {"model": model}
    if status == 404 and "file" in message.lower():
        return _(
            "Claude cannot find a file of this agent: %(said)s Upload it again, and change the agent's files."
        ) % {"said": scrub(message, secrets)}
    if status == 404:
        return _(
            "No model is named %(model)s. Check HITL_MODEL, or the agent's model."
        ) % {"model": model}
    if is_too_long(error):
        return _("This chat is too long for the model. Start a new chat.")
    if status == 429:
        return _("Claude's rate limit is reached. %(later)s") % {"later": later}
    if status == 529:
        return _("Claude is overloaded right now. %(later)s") % {"later": later}
    if 400 <= status < 500:
        return _("Claude did not accept the request: %(said)s") % {
            "said": scrub(message, secrets)
        }
    return _("Claude has a problem right now. %(later)s") % {"later": later}
