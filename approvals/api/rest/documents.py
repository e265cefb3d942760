"""The bodies that clients send, and the documents that they receive."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, Field, StrictBool, StrictInt

from approvals.actions.checking import MAX_COMMENT
from approvals.api.rest.fields import (
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
from approvals.asking.asks import MAX_LABEL, MAX_MESSAGE, MAX_OPTIONS, MAX_SUGGESTIONS, MAX_TITLE
from approvals.asking.transcripts import MAX_MESSAGES, MAX_TEXT_BYTES
from approvals.db.canonical_json import MAX_BYTES, digest
from approvals.states import ALIASES, Kind, Priority, Status, Verdict, WorkflowState

MAX_TIMEOUT = 10 * 365 * 86_400_000
MAX_ERROR = 20_000

Label = Annotated[str, Field(max_length=MAX_LABEL)]
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
VERDICT_WORDS = (Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.RESPOND, *ALIASES)


def _known_verdict(word: str) -> str:
    if word not in VERDICT_WORDS:
        raise ValueError(_("must be one of %(words)s") % {"words": ", ".join(VERDICT_WORDS)})
    return word


class Option(Document):
    label: Label
    """What the person reads and chooses."""
    id: Label | None = None
    """What the answer says in place of the label."""
    description: Annotated[str, Field(max_length=2000)] | None = None
    """A line below the label."""


class Said(Document):
    role: Literal["user", "assistant", "system", "tool"]
    """Who said it."""
    text: Annotated[str, Field(max_length=MAX_TEXT_BYTES)]
    """What was said, as plain text."""


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
            "deadline": {"anyOf": [{"properties": {"deadline": NULL}}, {"properties": {"timeout": {"const": 0}}}]}
        },
    )

    kind: Literal["approval", "question", "form"]
    """`approval` of a tool call, a `question` with or without options, or a `form` with `response_schema`."""
    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)]
    """The first line that people see."""
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="Markdown.")] = ""
    tool_name: Short = ""
    """The tool that would run. People filter, group and compare by it."""
    tool_call_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Your id of the call. The same id in the same workflow is the same request."""
    input: dict[str, Any] = Field(
        default_factory=dict, description="The input that would run. It cannot be changed later."
    )
    response_schema: dict[str, Any] | None = Field(
        default=None, description="A JSON Schema (2020-12) for the answer, or for changed input."
    )
    options: list[Option] = Field(default_factory=list, max_length=MAX_OPTIONS)
    """The answers to choose from, for a question."""
    multiple: StrictBool = False
    """Whether more than one option may be chosen."""
    allow_text: StrictBool = False
    """Whether an answer in one's own words is accepted beside the options."""
    field_name: Short = ""
    """What the answer is called in your program; returned as it is."""
    suggestions: list[Label] = Field(default_factory=list, max_length=MAX_SUGGESTIONS)
    """Texts that fill the answer with one press."""
    context: Any = Field(default=None, description="Anything that helps the person decide; shown with the request.")
    messages: list[Said] = Field(
        default_factory=list,
        max_length=MAX_MESSAGES,
        description=f"The conversation before the request, oldest first; {MAX_TEXT_BYTES:,} bytes in total.",
    )
    priority: Literal["low", "normal", "high", "critical"] = "normal"
    """The place in the inbox. A critical approval is confirmed by typing the name of the tool."""
    timeout: Annotated[StrictInt, Field(ge=0, le=MAX_TIMEOUT), WHOLE] = 0
    """Milliseconds until it expires; 0 for never."""
    deadline: Moment | None = None
    """When it expires."""
    default_response: Any = Field(default=None, description="The answer when the deadline passes. Not for approvals.")
    workflow_id: WorkflowId | None = None
    """Your id of the run that waits; its requests are shown together."""
    workflow_title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)] | None = Field(
        default=None, description="The title that people see; the first one that is given stays."
    )
    step_path: list[Name] = Field(default_factory=list, max_length=50)
    """Where in the run it waits, from the outside in."""
    thread_id: Name = ""
    """Your id of the conversation, to find requests by."""
    agent: Short = ""
    """The name of the agent that asks."""
    callback_url: WebAddress | None = None
    """Where the decision is sent, signed (docs: webhooks). Only with an API key, and without a username or password."""
    assigned_to: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(
        default=None, description="The user who should answer. For an approval, a user who may decide it."
    )

    resume_state: Annotated[str, Field(min_length=1)] | None = Field(
        default=None,
        repr=False,
        description="What your run continues from, as far as it fits into the body. Stored encrypted, shown to no one, and "
        "handed out by `/resume` only.",
    )

    @property
    def has_default(self) -> bool:
        return "default_response" in self.model_fields_set

    def digest(self) -> str:
        """Return the digest of the whole request; the same whether a default is written out or left out."""
        # Requests from before there were these fields keep their digest.
        absent = {name for name in ("messages", "workflow_title", "resume_state") if not getattr(self, name)}
        body = self.model_dump(mode="json", exclude=absent) | {"has_default": self.has_default}
        return digest(body, max_bytes=2 * MAX_BYTES)


class NewDecision(Document):
    """A person's verdict. `edited_input` goes with `edit`, `answer` with `respond`; `input_digest` is that of the input shown."""

    model_config = shown_with({"verdict": "approve", "comment": "Refund it, and say sorry."})

    verdict: Annotated[str, AfterValidator(_known_verdict), Field(json_schema_extra={"enum": list(VERDICT_WORDS)})]
    """What was decided."""
    comment: Annotated[str, Field(max_length=MAX_COMMENT)] = ""
    """A message to the agent."""
    edited_input: dict[str, Any] | None = None
    """The whole input that may run in place of the proposed one."""
    answer: Any = None
    """The answer to a question or form."""
    input_digest: Digest | None = Field(
        None, description="Refused with 409 `changed` if the request has a different one."
    )


class NewCancel(Document):
    model_config = shown_with({"comment": "The customer took the request back."})

    comment: Annotated[str, Field(max_length=MAX_COMMENT)] = ""
    """Why, for the record and the agent."""


class NewResult(Document):
    """The result of an approved call: `output` if it succeeded, `error` (not empty) if it failed."""

    model_config = shown_with(
        {"input_digest": f"sha256:{'0' * 64}", "output": {"refunded": 250}},
        **when({"error": {"type": "string"}}, {"output": NULL}, required=()),
        # Without an error there is an output. Linters refuse `required` in a part that does not define the field.
        **{"else": {"dependentSchemas": {"error": {"minProperties": 3}}}},
        minProperties=2,
    )

    input_digest: Annotated[Digest, Field(description="`decision.approved_digest` of the input that ran.")]
    output: Any = None
    """What the tool returned."""
    error: Annotated[str, Field(min_length=1, max_length=MAX_ERROR)] | None = None
    """Why it failed."""


class NewEnd(Document):
    model_config = shown_with({"outcome": "completed"})

    outcome: Literal["completed", "failed", "cancelled"]
    """How the run ended."""


class DecisionDocument(BaseModel):
    verdict: Verdict
    by: str | None = Field(
        description="A user, or `API key NAME of USER`; null if the deadline passed or Pausepoint decided."
    )
    via: str
    decided_at: Moment
    comment: str
    edited_input: dict[str, Any] | None
    answer: Any
    approved_input: dict[str, Any] | None = Field(description="The input that may run now; null unless approved.")
    approved_digest: str | None


class ReportDocument(BaseModel):
    """What became of the call of a request, as reported. A call with a result has run, so it must not run again."""

    state: Literal["succeeded", "failed", "denied", "cancelled"]
    output: Any = Field(description="What the tool returned; null unless it succeeded.")
    error: str | None = Field(description="Why it failed; null if it succeeded.")
    executed_digest: str | None = Field(description="The digest of the input that ran; null if nothing did.")
    reported_at: Moment


class Brief(BaseModel):
    """A request in a list."""

    id: str
    url: str = Field(description="The page where people answer.")
    workflow_id: str
    scope: str
    step_path: list[str]
    thread_id: str
    agent: str
    kind: Kind
    title: str
    tool_name: str
    tool_call_id: str | None
    priority: Priority
    status: Status
    requested_by: str
    assigned_to: str | None
    claimed_by: str | None = Field(description="The user who works on it; null after the claim has lapsed.")
    claimed_until: Moment | None
    created_at: Moment
    changed_at: Moment
    deadline_at: Moment | None


class RequestDocument(Brief):
    message: str
    input: dict[str, Any]
    input_digest: str
    response_schema: dict[str, Any] | None
    options: list[dict[str, Any]]
    multiple: bool
    allow_text: bool
    field_name: str
    suggestions: list[str]
    context: Any
    messages: list[dict[str, str]] = Field(description="The conversation before the request, oldest first.")
    has_default: bool
    default_response: Any
    callback_url: str | None
    decision: DecisionDocument | None
    result: ReportDocument | None = Field(description="What its call returned; null while nothing is reported.")


class Page(BaseModel):
    """Requests, newest first; `next` is the cursor of the next page."""

    items: list[Brief]
    next: str | None


class WorkflowDocument(BaseModel):
    """A workflow and its requests, oldest first; `more` says that it has more requests than are listed."""

    workflow_id: str
    url: str
    scope: str
    source: str
    title: str
    agent: str
    thread_id: str
    state: WorkflowState
    open_requests: int
    started_at: Moment
    suspended_at: Moment | None
    ended_at: Moment | None
    suspensions: list[Brief]
    more: bool


class ResultDocument(BaseModel):
    request_id: str
    tool_call_id: str
    state: Literal["succeeded", "failed"]
