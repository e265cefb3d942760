"""The body that an AI SDK client posts: `{id, messages | message, trigger?, messageId?, agent?}`, checked for its shape.

Nothing in it is trusted: older messages, inputs and outputs are compared with the stored ones, and never stored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.utils.translation import gettext as _

from approvals.db.canonical_json import MAX_BYTES, NotCanonical, canonical
from approvals.exceptions import Invalid
from approvals.text.translation import translated
from chats.actions.attachments import SentFile, checked_file
from chats.checkpoints import MAX_MESSAGE_DEPTH
from chats.exceptions import BadFile
from chats.protocols.bodies import text_problem

#: The size of what a client keeps with a message.
MAX_METADATA_BYTES = 10_000
#: The number of invalid messages' fields that an error names.
MAX_ERRORS = 20
ROLES = ("user", "assistant", "system")
SUBMIT, REGENERATE = "submit-message", "regenerate-message"
#: States of a tool part (packages/ai/src/ui/ui-messages.ts).
TOOL_STATES = frozenset(
    {
        "input-streaming",
        "input-available",
        "approval-requested",
        "approval-responded",
        "output-available",
        "output-error",
        "output-denied",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A checked body. `last` is the last message in it, `message_id` the id that the client names or "".

    `answers` is the assistant message with the client's answers; None for a user's message or a regeneration.
    """

    chat_id: str
    agent: str
    regenerate: bool
    message_id: str
    last: Mapping[str, Any]
    answers: Mapping[str, Any] | None


def read(body: object) -> Posted:
    """Check a body. Invalid names each field that does not fit."""
    if not isinstance(body, dict):
        raise Invalid(_("The body must be a JSON object."), {"": _("is not an object")})
    errors: dict[str, str] = {}
    messages: Any = body["messages"] if "messages" in body else [body.get("message")]
    for name in ("id", "messageId", "agent"):
        if (name == "id" or body.get(name) is not None) and (problem := text_problem(body.get(name))):
            errors[name] = problem
    if body.get("trigger", SUBMIT) not in (SUBMIT, REGENERATE):
        errors["trigger"] = _("must be %(submit)s or %(regenerate)s") % {"submit": SUBMIT, "regenerate": REGENERATE}
    errors |= _message_errors(messages)
    if errors:
        raise Invalid(_("The body is not a valid AI SDK request."), errors)
    return _posted(body, messages)


def _posted(body: dict[str, Any], messages: list[dict[str, Any]]) -> Posted:
    named = body.get("messageId") or ""
    last = messages[-1]
    subject = next((message for message in reversed(messages) if message["id"] == named), last)
    regenerate = body.get("trigger") == REGENERATE
    answers = subject if subject["role"] == "assistant" and not regenerate else None
    for message in (last, subject) if subject is not last else (last,):
        _check_storable(message)
    return Posted(
        chat_id=body["id"],
        agent=body.get("agent") or "",
        regenerate=regenerate,
        message_id=named,
        last=last,
        answers=answers,
    )


def _check_storable(message: dict[str, Any]) -> None:
    # Files have bounds of their own.
    message = message | {"parts": [_without_content(part) for part in message["parts"]]}
    try:
        # A cheap check of the size first: the exact one takes seconds for a message of megabytes.
        if len(json.dumps(message)) > MAX_BYTES:
            raise NotCanonical(_("one is larger than %(limit)s bytes") % {"limit": f"{MAX_BYTES:,}"})
        canonical(message, max_depth=MAX_MESSAGE_DEPTH)
    except RecursionError as error:
        raise Invalid(_("A message is invalid."), {"messages": _("nested too deeply")}) from error
    except NotCanonical as error:
        raise Invalid(_("A message is invalid."), {"messages": translated(error)}) from error


def _without_content(part: dict[str, Any]) -> dict[str, Any]:
    is_content = part["type"] == "file" and str(part["url"]).startswith("data:")
    return {name: value for name, value in part.items() if name != "url"} if is_content else part


def texts(message: Mapping[str, Any]) -> list[str]:
    """Return the texts of a user's message. Invalid if it holds anything but text and files."""
    if message["role"] != "user":
        raise Invalid(
            _("Only messages with the role “user” can be sent."),
            {"role": _("is “%(role)s”") % {"role": message["role"]}},
        )
    found = {index: part for index, part in enumerate(message["parts"]) if part["type"] not in ("text", "file")}
    if found:
        errors = {
            f"parts.{index}": _("has the type %(type)r, which is not supported") % {"type": part["type"][:50]}
            for index, part in found.items()
        }
        raise Invalid(_("A message can only contain text and files."), errors)
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def files(message: Mapping[str, Any]) -> list[SentFile]:
    """Return the files of a user's message. Invalid names each that cannot be taken."""
    found: list[SentFile] = []
    errors: dict[str, str] = {}
    for index, part in enumerate(message["parts"]):
        if part["type"] == "file":
            try:
                found.append(checked_file(part["url"], part.get("filename") or ""))
            except BadFile as error:
                errors[f"parts.{index}"] = str(error)
    if errors:
        raise Invalid(_("A file of this message cannot be accepted."), errors)
    return found


def metadata(message: Mapping[str, Any]) -> Any:
    """Return what the client keeps with a message; None without any. Invalid if it is too large."""
    value = message.get("metadata")
    try:
        canonical(value, max_bytes=MAX_METADATA_BYTES)
    except NotCanonical as error:
        raise Invalid(_("The metadata of this message cannot be stored."), {"metadata": translated(error)}) from error
    return value


def tool_parts(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tool parts of an assistant's message, including dynamic ones."""
    return [part for part in message["parts"] if _is_tool(part)]


def _is_tool(part: Mapping[str, Any]) -> bool:
    kind: str = part["type"]
    return kind == "dynamic-tool" or kind.startswith("tool-")


def _message_errors(messages: object) -> dict[str, str]:
    if not isinstance(messages, list) or not messages:
        return {"messages": _("must be a list with at least one message")}
    found = (problem for index, message in enumerate(messages) for problem in _problems(f"messages.{index}", message))
    return dict(islice(found, MAX_ERRORS))


def _problems(at: str, message: object) -> Iterator[tuple[str, str]]:
    if not isinstance(message, dict):
        yield at, _("is not an object")
        return
    if problem := text_problem(message.get("id")):
        yield f"{at}.id", problem
    if message.get("role") not in ROLES:
        yield f"{at}.role", _("must be one of %(roles)s") % {"roles": ", ".join(ROLES)}
    parts = message.get("parts")
    if not isinstance(parts, list) or not (parts or message.get("role") == "assistant"):
        yield f"{at}.parts", _("must be a list with at least one part")
        return
    for place, part in enumerate(parts):
        if problem := _part_problem(part):
            yield f"{at}.parts.{place}", problem


def _is_text_or_none(value: object) -> bool:
    return value is None or isinstance(value, str)


def _part_problem(part: object) -> str:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return _("is not an object with a type")
    if part["type"] == "text" and not isinstance(part.get("text"), str):
        return _("has no text")
    if part["type"] == "file" and not (isinstance(part.get("url"), str) and _is_text_or_none(part.get("filename"))):
        return _("has no url, or a filename that is not text")
    if not _is_tool(part):
        return ""
    call_id, state = part.get("toolCallId"), part.get("state")
    if not isinstance(call_id, str) or not call_id:
        return _("has no toolCallId")
    return "" if isinstance(state, str) and state in TOOL_STATES else _("has no known state")
