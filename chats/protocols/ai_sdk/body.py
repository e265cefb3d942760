"""The body that an AI SDK client posts: `{id, messages | message, trigger?, messageId?, agent?}`, checked for its shape.

Nothing in it is trusted: older messages, inputs and outputs are compared with the stored ones, and never stored.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import AfterValidator, BaseModel, FailFast, Field, PlainValidator, ValidationInfo

from approvals.api.bodies import Body
from approvals.db.canonical_json import MAX_BYTES, NotCanonical, canonical
from approvals.exceptions import Invalid
from approvals.text.numbers import grouped
from approvals.text.translation import translated
from chats.actions.attachments import SentFile, checked_file
from chats.checkpoints import MAX_MESSAGE_DEPTH
from chats.exceptions import BadFile
from chats.protocols.bodies import Id, OptionalId

#: The size of what a client keeps with a message.
MAX_METADATA_BYTES = 10_000
#: Lists are read to their first wrong item: naming each of 200,000 takes seconds.
FIRST_ERROR = FailFast()
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


def _part(value: object) -> object:
    if problem := _part_problem(value):
        raise ValueError(problem)
    return value


def _parts(value: list[Any], info: ValidationInfo) -> list[Any]:
    if not value and info.data.get("role") != "assistant":
        raise ValueError
    return value


class _Message(BaseModel):
    id: Id = Field("", validate_default=True)
    role: Literal["user", "assistant", "system"]
    parts: Annotated[list[Annotated[Any, PlainValidator(_part)]], FIRST_ERROR, AfterValidator(_parts)]


class _Post(Body):
    refusal = gettext_lazy("The body is not a valid AI SDK request.")
    member_errors: ClassVar = {
        "trigger": gettext_lazy("must be submit-message or regenerate-message"),
        "messages": gettext_lazy("must be a list with at least one message"),
        "model_type": gettext_lazy("is not an object"),
        "role": gettext_lazy("must be one of user, assistant, system"),
        "parts": gettext_lazy("must be a list with at least one part"),
    }

    id: Id = Field("", validate_default=True)
    message_id: OptionalId = ""
    agent: OptionalId = ""
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    messages: Annotated[list[_Message], Field(min_length=1), FIRST_ERROR]


def read(body: object) -> Posted:
    """Check a body. Invalid names each field that does not fit."""
    if not isinstance(body, dict):
        raise Invalid(_("The body must be a JSON object."), {"": _("is not an object")})
    messages: Any = body["messages"] if "messages" in body else [body.get("message")]
    post, last = _Post.read({**body, "messages": messages}), messages[-1]
    subject = next((message for message in reversed(messages) if message["id"] == post.message_id), last)
    regenerate = post.trigger == "regenerate-message"
    answers = subject if subject["role"] == "assistant" and not regenerate else None
    for message in (last, subject) if subject is not last else (last,):
        _check_storable(message)
    return Posted(
        chat_id=post.id,
        agent=post.agent,
        regenerate=regenerate,
        message_id=post.message_id,
        last=last,
        answers=answers,
    )


def _check_storable(message: dict[str, Any]) -> None:
    # Files have bounds of their own.
    message = message | {"parts": [_without_content(part) for part in message["parts"]]}
    try:
        # A cheap check of the size first: the exact one takes seconds for a message of megabytes.
        if len(json.dumps(message)) > MAX_BYTES:
            raise NotCanonical(_("one is larger than %(limit)s bytes") % {"limit": grouped(MAX_BYTES)})
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
    unsupported = {index: part for index, part in enumerate(message["parts"]) if part["type"] not in ("text", "file")}
    if unsupported:
        errors = {
            f"parts.{index}": _("has the type %(type)r, which is not supported") % {"type": part["type"][:50]}
            for index, part in unsupported.items()
        }
        raise Invalid(_("A message can only contain text and files."), errors)
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def files(message: Mapping[str, Any]) -> list[SentFile]:
    """Return the files of a user's message. Invalid names each that cannot be taken."""
    sent: list[SentFile] = []
    errors: dict[str, str] = {}
    for index, part in enumerate(message["parts"]):
        if part["type"] == "file":
            try:
                sent.append(checked_file(part["url"], part.get("filename") or ""))
            except BadFile as error:
                errors[f"parts.{index}"] = str(error)
    if errors:
        raise Invalid(_("A file of this message cannot be accepted."), errors)
    return sent


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


def _part_problem(part: object) -> str:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return _("is not an object with a type")
    if part["type"] == "text" and not isinstance(part.get("text"), str):
        return _("has no text")
    if part["type"] == "file" and not (
        isinstance(part.get("url"), str) and isinstance(part.get("filename"), str | None)
    ):
        return _("has no url, or a filename that is not text")
    if not _is_tool(part):
        return ""
    call_id, state = part.get("toolCallId"), part.get("state")
    if not isinstance(call_id, str) or not call_id:
        return _("has no toolCallId")
    return "" if isinstance(state, str) and state in TOOL_STATES else _("has no known state")
