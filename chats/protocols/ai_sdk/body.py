"""The body posted by an AI SDK client: `{id, messages | message, trigger?, messageId?, agent?}`, with its shape checked.

Nothing in it is trusted: older messages, inputs and outputs are compared with the stored ones, and never stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from pydantic import (
    AfterValidator,
    BaseModel,
    FailFast,
    Field,
    PlainValidator,
    ValidationInfo,
)

from approvals.api.bodies import Body
from approvals.db.canonical_json import NotCanonical, canonical
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict, JsonMapping
from approvals.text.translation import translated
from chats.actions.attachments import SentFile, checked_file
from chats.actions.storable import check_storable
from chats.exceptions import BadFile
from chats.protocols.bodies import Id, OptionalId

#: Maximum size of a client's own data with a message.
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
    """A checked body. `last` is the last message in it, `message_id` the client's id or "".

    `answers` is the assistant message with the client's answers; None for a user's message or a regeneration.
    """

    chat_id: str
    agent: str
    regenerate: bool
    message_id: str
    last: JsonMapping
    answers: JsonMapping | None


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
    parts: Annotated[
        list[Annotated[Any, PlainValidator(_part)]], FIRST_ERROR, AfterValidator(_parts)
    ]


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
    """Check a body. Raise Invalid, naming each wrong field."""
    if not isinstance(body, dict):
        raise Invalid(_("The body must be a JSON object."), {"": _("is not an object")})
    messages: Any = body["messages"] if "messages" in body else [body.get("message")]
    post = _Post.read({**body, "messages": messages})
    last = messages[-1]
    subject = next(
        (message for message in reversed(messages) if message["id"] == post.message_id),
        last,
    )
    regenerate = post.trigger == "regenerate-message"
    answers = subject if subject["role"] == "assistant" and not regenerate else None
    if answers is None:
        # Only answers to open calls are stored, and are checked once it is known which calls are open.
        check_storable(
            last | {"parts": [_without_content(part) for part in last["parts"]]}
        )
    return Posted(
        chat_id=post.id,
        agent=post.agent,
        regenerate=regenerate,
        message_id=post.message_id,
        last=last,
        answers=answers,
    )


def _without_content(part: JsonDict) -> JsonDict:
    # Files have limits of their own.
    is_content = part["type"] == "file" and str(part["url"]).startswith("data:")
    return (
        {name: value for name, value in part.items() if name != "url"}
        if is_content
        else part
    )


def texts(message: JsonMapping) -> list[str]:
    """Return the texts of a user's message. Raise Invalid if it holds anything but text and files."""
    if message["role"] != "user":
        raise Invalid(
            _("Only messages with the role “user” can be sent."),
            {"role": _("is “%(role)s”") % {"role": message["role"]}},
        )
    unsupported = {
        index: part
        for index, part in enumerate(message["parts"])
        if part["type"] not in ("text", "file")
    }
    if unsupported:
        errors = {
            f"parts.{index}": _("has the type %(type)r, which is not supported")
            % {"type": part["type"][:50]}
            for index, part in unsupported.items()
        }
        raise Invalid(_("A message can only contain text and files."), errors)
    return [part["text"] for part in message["parts"] if part["type"] == "text"]


def files(message: JsonMapping) -> list[SentFile]:
    """Return the files of a user's message. Raise Invalid, naming each rejected one."""
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


def metadata(message: JsonMapping) -> Any:
    """Return the client's own data with a message; None without any. Raise Invalid if it is too large."""
    value = message.get("metadata")
    try:
        canonical(value, max_bytes=MAX_METADATA_BYTES)
    except NotCanonical as error:
        raise Invalid(
            _("The metadata of this message cannot be stored."),
            {"metadata": translated(error)},
        ) from error
    return value


def tool_parts(message: JsonMapping) -> list[JsonDict]:
    """Return the tool parts of an assistant's message, including dynamic ones."""
    return [part for part in message["parts"] if _is_tool(part["type"])]


def _is_tool(kind: str) -> bool:
    return kind.startswith("tool-") or kind == "dynamic-tool"


def _part_problem(part: object) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    if not isinstance(part, dict) or not isinstance(kind, str):
        return _("is not an object with a type")
    # A message may have thousands of parts: `match` and unions of types take several times as long.
    if kind == "text":
        return "" if isinstance(part.get("text"), str) else _("has no text")
    if kind == "file":
        is_file = isinstance(part.get("url"), str) and isinstance(
            part.get("filename", ""), str | None
        )
        return "" if is_file else _("has no url, or a filename that is not text")
    if not _is_tool(kind):
        return ""
    call_id = part.get("toolCallId")
    state = part.get("state")
    if not isinstance(call_id, str) or not call_id:
        return _("has no toolCallId")
    return (
        ""
        if isinstance(state, str) and state in TOOL_STATES
        else _("has no known state")
    )
