"""A program's new request, in terms of the REST API and the MCP tools, and the shared code that creates it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field, PrivateAttr, StrictBool, StrictInt, model_validator

from approvals import actions, queries
from approvals.access.callers import Caller
from approvals.access.tool_lists import Ruling, lists_from
from approvals.actions import AskOutcome
from approvals.api import frame
from approvals.api.bodies import (
    NULL,
    WHOLE,
    Document,
    Moment,
    Name,
    Short,
    WebAddress,
    WorkflowId,
    shown_with,
    when,
)
from approvals.asking import transcripts
from approvals.asking.answers import ABSENT
from approvals.asking.asks import (
    MAX_LABEL,
    MAX_MESSAGE,
    MAX_OPTIONS,
    MAX_SUGGESTIONS,
    MAX_TITLE,
    Ask,
)
from approvals.asking.attachments import MAX_BYTES as MAX_FILE_BYTES
from approvals.asking.attachments import MAX_FILES, NewFile, checked_file
from approvals.asking.origins import Origin
from approvals.asking.transcripts import MAX_MESSAGES, MAX_TEXT_BYTES
from approvals.db.canonical_json import MAX_BYTES, digest
from approvals.engines.kinds import ENGINES
from approvals.exceptions import Invalid
from approvals.json_types import JsonDict, JsonMapping
from approvals.record.audit import Subject
from approvals.states import Door, Kind, Priority
from approvals.text.file_types import MAX_NAME
from approvals.text.translatable import Count

MAX_TIMEOUT = 10 * 365 * 86_400_000

Label = Annotated[str, Field(max_length=MAX_LABEL)]


class Option(Document):
    label: Label
    """The text that the person chooses."""
    id: Label | None = None
    """The value in the answer, instead of the label."""
    description: Annotated[str, Field(max_length=2000)] | None = None
    """A line below the label."""


class Said(Document):
    role: Literal["user", "assistant", "system", "tool"]
    """The sender."""
    text: Annotated[str, Field(max_length=MAX_TEXT_BYTES)]
    """The text of the message, as plain text."""


class NewCallback(Document):
    """A durable engine, such as Temporal or Restate, whose workflow waits for the decision."""

    to: Annotated[str, Field(min_length=1, max_length=60)]
    """The name of the engine under **Administration > Engines**."""
    id: Annotated[str, Field(min_length=1, max_length=200)]
    """The id that waits there (docs: durable engines)."""


class NewAttachment(Document):
    """An image (PNG, JPEG, GIF, WebP), PDF, text (UTF-8) or CSV. The type is detected from the content."""

    name: Annotated[str, Field(min_length=1, max_length=MAX_NAME)]
    """The text that people see. Directories and invisible characters are removed."""
    content: Annotated[
        str, Field(min_length=1, json_schema_extra={"contentEncoding": "base64"})
    ] = Field(repr=False)
    """The bytes in base64."""
    media_type: Annotated[str, Field(max_length=50)] | None = Field(
        None, description="If the content has another type, the file is refused."
    )
    _checked: NewFile = PrivateAttr()

    @model_validator(mode="after")
    def _check(self) -> Self:
        self._checked = checked_file(self.name, self.content, self.media_type)
        return self

    @property
    def checked(self) -> NewFile:
        return self._checked


Attachments = Annotated[
    list[NewAttachment],
    Field(
        max_length=MAX_FILES,
        description=f"Files that people see with the request; {Count(MAX_FILE_BYTES)} bytes in total.",
    ),
]


class NewRequest(Document):
    """A new request. Give `timeout` (milliseconds, 0 for none) or `deadline`, not both."""

    model_config = shown_with(
        {
            "kind": "approval",
            "title": "Refund order 4711?",
            "tool_name": "refund",
            "input": {"orderId": "4711", "amount": 250},
            "message": "The customer says that the parcel never arrived.",
        },
        **when({"kind": {"const": "form"}}, {"response_schema": {"type": "object"}}),
        dependentSchemas={
            "deadline": {
                "anyOf": [
                    {"properties": {"deadline": NULL}},
                    {"properties": {"timeout": {"const": 0}}},
                ]
            }
        },
    )

    kind: Literal["approval", "question", "form"]
    """`approval` of a tool call, a `question` with or without options, or a `form` with `response_schema`."""
    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)]
    """The first line that people read."""
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="Markdown.")] = ""
    tool_name: Short = ""
    """The tool that would run. People filter, group and compare by it."""
    tool_call_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Your id of the call. Within a workflow, the same id is the same request."""
    input: JsonDict = Field(
        default_factory=dict,
        description="The input that would run. It cannot be changed later.",
    )
    response_schema: JsonDict | None = Field(
        default=None,
        description="A JSON Schema (2020-12) for the answer, or for changed input.",
    )
    options: list[Option] = Field(default_factory=list, max_length=MAX_OPTIONS)
    """The answers to choose from, for a question."""
    multiple: StrictBool = False
    """Whether more than one option may be chosen."""
    allow_text: StrictBool = False
    """Whether an answer in one's own words is accepted beside the options."""
    field_name: Short = ""
    """Your program's name for the answer; returned unchanged."""
    suggestions: list[Label] = Field(default_factory=list, max_length=MAX_SUGGESTIONS)
    """Suggested answers, which fill the field with one press."""
    context: Any = Field(
        default=None,
        description="Anything that helps the person decide; shown with the request.",
    )
    messages: list[Said] = Field(
        default_factory=list,
        max_length=MAX_MESSAGES,
        description=f"The conversation before the request, oldest first; {Count(MAX_TEXT_BYTES)} bytes in total.",
    )
    priority: Literal["low", "normal", "high", "critical"] = "normal"
    """The order in the Inbox. To approve a critical request, people type the name of the tool."""
    timeout: Annotated[StrictInt, Field(ge=0, le=MAX_TIMEOUT), WHOLE] = 0
    """Milliseconds until it expires; 0 for never."""
    deadline: Moment | None = None
    """When it expires."""
    default_response: Any = Field(
        default=None,
        description="The answer when the deadline passes. Not for approvals.",
    )
    workflow_id: WorkflowId | None = None
    """Your id of the run; its requests are shown together."""
    workflow_title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)] | None = (
        Field(
            default=None,
            description="The title that people see; the first one sent is kept.",
        )
    )
    step_path: list[Name] = Field(default_factory=list, max_length=50)
    """The step of the run that is waiting, outermost first."""
    thread_id: Name = ""
    """Your id of the conversation, for finding its requests."""
    agent: Short = ""
    """The name of the agent that makes the request."""
    callback_url: WebAddress | None = None
    """Where the decision is sent, signed (docs: webhooks). Only with an API key, and without a username or password."""
    callback: NewCallback | None = None
    """The engine that gets the decision, instead of a `callback_url`."""
    assigned_to: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(
        default=None,
        description="The user who should answer. For an approval, a user who may decide it.",
    )

    attachments: Attachments = Field(default_factory=list)
    resume_state: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        repr=False,
        description="The state from which your run continues, within the size limit of the body. Stored encrypted, never "
        "shown, and returned only by `/resume`.",
    )

    @property
    def has_default(self) -> bool:
        return "default_response" in self.model_fields_set

    @property
    def files(self) -> list[JsonDict]:
        """The files for the digest, with metadata in place of their contents."""
        return [file.checked.known.approved for file in self.attachments]

    def digest(self) -> str:
        """Return the digest of the whole request; it is the same whether a default is written out or omitted."""
        body = self.model_dump(mode="json", exclude={"attachments"})
        body["has_default"] = self.has_default
        if files := self.files:
            body["attachments"] = files
        return digest(body, max_bytes=2 * MAX_BYTES)


def ask_from(sent: NewRequest) -> Ask:
    """Return the request in a document. Raise Invalid for errors that concern several fields."""
    errors: dict[str, str] = {}
    if sent.timeout and sent.deadline:
        errors["deadline"] = _("send a timeout or a deadline, not both")
    if sent.kind == "form" and sent.response_schema is None:
        errors["response_schema"] = _("is required for a form")
    said_before = [message.model_dump() for message in sent.messages]
    if said_before and (problem := transcripts.problem(said_before)):
        errors["messages"] = problem
    if sent.callback is not None:
        errors |= _callback_errors(sent.callback, sent.callback_url)
    if errors:
        raise Invalid(_("The request is invalid."), errors)
    return Ask(
        kind=Kind(sent.kind),
        title=sent.title,
        message=sent.message,
        tool_name=sent.tool_name,
        tool_call_id=sent.tool_call_id,
        input=sent.input,
        response_schema=sent.response_schema,
        options=[option.model_dump(exclude_none=True) for option in sent.options],
        multiple=sent.multiple,
        allow_text=sent.allow_text,
        field_name=sent.field_name,
        suggestions=sent.suggestions,
        context=sent.context,
        said_before=said_before,
        priority=Priority(sent.priority),
        deadline_at=timezone.now() + timedelta(milliseconds=sent.timeout)
        if sent.timeout
        else sent.deadline,
        default_response=sent.default_response if sent.has_default else ABSENT,
        step_path=sent.step_path,
        callback_url=sent.callback_url or "",
        callback=None if sent.callback is None else sent.callback.model_dump(),
        assigned_to=None
        if sent.assigned_to is None
        else queries.user_named(sent.assigned_to),
        attachments=[file.checked for file in sent.attachments],
    )


def _callback_errors(callback: NewCallback, url: str | None) -> dict[str, str]:
    """Return why a decision cannot be taken to this engine."""
    if url is not None:
        return {"callback": _("send a callback or a callback_url, not both")}
    connection = queries.engine_named(callback.to)
    if connection is None:
        words = _("is no engine here; an administrator adds it under Engines")
        return {"callback.to": words}
    if connection.disabled_at is not None:
        return {"callback.to": _("is disabled; an administrator can enable it")}
    engine = ENGINES[connection.kind]
    if not engine.id_pattern.fullmatch(callback.id):
        words = _("is no id of this engine, such as %(example)s")
        return {"callback.id": words % {"example": engine.id_example}}
    return {}


def ask(caller: Caller, wanted: Ask, origin: Origin) -> AskOutcome:
    """Create a program's request once, and count it if it is new. Raise TooMany, or NotAllowed for a client token.

    Also raises the errors of `actions.ask_for_client`.
    """
    frame.refuse_tokens(caller)
    wanted = replace(wanted, trace=wanted.trace or caller.trace)
    if (bearer := caller.bearer) is not None:
        # Calls on behalf of different people are never taken for repeats of each other.
        sent_by = [origin.digest, bearer.agent, bearer.on_behalf_of]
        origin = replace(origin, digest=digest(sent_by))
    return actions.ask_for_client(wanted, origin, by=frame.counted(caller).actor)


def ruling(caller: Caller, tool: str) -> tuple[Ruling, str]:
    """Return the ruling of the caller's key on a tool, and the pattern behind it."""
    return lists_from(caller.key.tool_lists if caller.key else None).ruling(tool)


def deny(
    caller: Caller,
    subject: Subject,
    tool_input: JsonMapping,
    pattern: str,
    *,
    via: Door,
) -> str:
    """Record a call of a denied tool, which counts like a request, and return the message to the model. Raise TooMany."""
    actions.record_denied_call(
        subject, tool_input, pattern, by=frame.counted(caller).actor, via=via
    )
    message = _(
        "The tool %(tool)s is not allowed here, so this call was not run. Do not repeat it."
    )
    return message % {"tool": subject.tool_name}
