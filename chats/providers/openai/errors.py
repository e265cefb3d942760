"""Failures of requests to a server: retries, and messages for people.

No text from the server leaves this module without `scrub`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any

import openai
from django.utils.translation import gettext as _

from approvals.json_types import JsonMapping
from chats.providers import retries
from chats.providers.openai.answer import MEMBER
from chats.providers.scrubbing import scrub, scrub_ids

#: The header with the id of a request.
REQUEST_ID = "x-request-id"
#: HTTP statuses by the type or the code of an error inside a stream, which began with status 200.
STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "insufficient_quota": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "model_not_found": 404,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "server_error": 500,
    "api_error": 500,
    "overloaded_error": 503,
    "context_length_exceeded": 413,
    # Codes of failed answers in Responses.
    "invalid_prompt": 400,
    "bio_policy": 400,
    "misalignment_policy_violation": 400,
}
#: How servers say that they do not support an argument at all. A wrong value is for people to change.
NOT_TAKEN = re.compile(
    r"unsupported|(?:not|n.t) support|extra|unknown|unrecogni|unexpected|permitted|deprecated",
    re.I,
)
#: How DeepSeek says that an older model does not accept its thoughts back.
REMOVE = re.compile(r"\bremove\b", re.I)
#: OpenAI's messages about an argument without its name.
UNNAMED = {"Encrypted content is not supported": "include"}
#: How servers report thoughts that they cannot read or find, or that lack related items.
ABOUT_THOUGHTS = re.compile(r"encrypted.content|reasoning|\brs_", re.IGNORECASE)
TOO_LONG = (
    "context_length_exceeded",
    "maximum context length",
    "context window",
    "too long",
)


class StreamBroken(Exception):
    """The stream ended, or became unreadable, before the server gave the stop reason."""


def status_of(error: Exception) -> int:
    """Return the HTTP status, also of an error inside a stream; 0 without one."""
    if not isinstance(error, openai.APIError):
        return 0
    if isinstance(error, openai.APIStatusError) and retries.is_redirect(
        error.status_code
    ):
        return error.status_code
    # Responses has many codes for pictures that cannot be read.
    for word in (error.code, error.type):
        if isinstance(word, str) and (word in STATUSES or "image" in word):
            return STATUSES.get(word, 400)
    if isinstance(error, openai.APIStatusError):
        return error.status_code
    code = error.code or ""
    return int(code) if code.isdecimal() and 400 <= int(code[:3]) < 600 else 0


def said_by(error: Exception) -> str:
    """Return the server's own message, unscrubbed."""
    body = error.body if isinstance(error, openai.APIError) else None
    # Servers use {"error": {"message": ...}}, of which the SDK has taken the inner object, or a format of their own.
    message = (
        body.get("message") or body.get("detail") or body.get("error")
        if isinstance(body, dict)
        else body
    )
    return message if isinstance(message, str) else str(error)


def unsupported_argument(
    error: Exception, arguments: JsonMapping, optional: Iterable[str]
) -> str:
    """Return which of the `optional` arguments this model refused; "" for any other error.

    An argument inside another one is named with a dot.
    """
    if status_of(error) not in {400, 422} or not NOT_TAKEN.search(
        f"{_code(error)} {said_by(error)}"
    ):
        return ""
    texts = [
        said_by(error),
        str(error.param) if isinstance(error, openai.APIError) else "",
    ]
    texts += [name for message, name in UNNAMED.items() if message in texts[0]]
    return next(
        (
            name
            for name in optional
            if name in " ".join(texts) and _has(arguments, name)
        ),
        "",
    )


def unsupported_member(error: Exception, members: Collection[str]) -> str:
    """Return which of a vendor's own members a server does not accept back, after MEMBER; "" for any other error."""
    if status_of(error) not in {400, 422}:
        return ""
    text = (
        f"{said_by(error)} {error.param if isinstance(error, openai.APIError) else ''}"
    )
    if not (NOT_TAKEN.search(text) or REMOVE.search(text)):
        return ""
    named = (
        name for name in sorted(members) if re.search(rf"\b{re.escape(name)}\b", text)
    )
    return next((f"{MEMBER}{name}" for name in named), "")


def _has(arguments: JsonMapping, name: str) -> bool:
    outer, _dot, inner = name.partition(".")
    return outer in arguments and (not inner or inner in arguments[outer])


def refuses_thoughts(error: Exception) -> bool:
    """Return whether a server refuses thoughts that are sent back, perhaps because another account made them."""
    return (
        status_of(error) in {400, 404, 422}
        and ABOUT_THOUGHTS.search(f"{_code(error)} {said_by(error)}") is not None
    )


def is_temporary(error: Exception) -> bool:
    """Return whether the same request may succeed a moment later."""
    return retries.is_temporary(status_of(error))


def retry_after(error: Exception) -> float | None:
    """Return the wait requested by the response, in seconds; None if there is none."""
    if not isinstance(error, openai.APIStatusError):
        return None
    return retries.retry_after(error.response.headers.get("retry-after", ""))


def request_id_of(error: Exception, secrets: Collection[str]) -> str:
    """Return the server's id of the request; "" without one."""
    header = (
        error.response.headers.get(REQUEST_ID)
        if isinstance(error, openai.APIStatusError)
        else None
    )
    return scrub_ids(secrets, id=header).get("id", "")


def error_for_people(
    error: Exception, model: str, secrets: Collection[str], *, begun: bool
) -> str:
    """Return a message about the problem with instructions; `begun` if a part of the answer had arrived."""
    status = status_of(error)
    message = said_by(error)
    later = retries.later(retry_after(error))
    if isinstance(error, openai.APIConnectionError) and not begun:
        return _(
            "The model's server cannot be reached. Check OPENAI_BASE_URL, then send your message again."
        )
    if retries.is_redirect(status):
        return retries.words_of_redirect(status, "OPENAI_BASE_URL")
    if status == 401:
        return _("The model's server rejected the API key. Check OPENAI_API_KEY.")
    if status == 402:
        return _(
            "The account of OPENAI_API_KEY has no credit left. Add credit, then send your message again."
        )
    if status == 403:
        text = _(
            "The API key does not have access to the model %(model)s. Check OPENAI_API_KEY and HITL_MODEL."
        )
        return text % {"model": model}
    if status == 404:
        text = _(
            "The server at this address has no model %(model)s. Check HITL_MODEL and OPENAI_BASE_URL."
        )
        return text % {"model": model}
    if status == 413 or any(word in f"{_code(error)} {message}" for word in TOO_LONG):
        return _("This chat is too long for the model. Start a new chat.")
    if status == 429:
        return _("The rate limit of the model's server is reached. %(later)s") % {
            "later": later
        }
    if 400 <= status < 500:
        return _refused(scrub(message, secrets))
    if status:
        return _("The model's server has a problem right now. %(later)s") % {
            "later": later
        }
    return _(
        "The model's answer ended before it was complete. Send your message again."
    )


def _code(error: Exception) -> Any:
    return error.code if isinstance(error, openai.APIError) else ""


def _refused(message: str) -> str:
    if not message:
        return _(
            "The model's server did not accept the request and gave no reason. Check OPENAI_BASE_URL."
        )
    return _("The model's server did not accept the request: %(said)s") % {
        "said": message
    }
