"""What goes over the wire: the bodies that clients send, and the documents that they get."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, Field, StrictBool, StrictInt

from approvals.actions.rulings import MAX_COMMENT
from approvals.api.rest.fields import Document, Moment, Name, Short, WebAddress, WorkflowId
from approvals.asking.asks import MAX_LABEL, MAX_MESSAGE, MAX_OPTIONS, MAX_SUGGESTIONS, MAX_TITLE
from approvals.asking.transcripts import MAX_MESSAGES, MAX_TEXT_BYTES
from approvals.runtime.canonical import MAX_BYTES, digest
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
    id: Label | None = None
    description: Annotated[str, Field(max_length=2000)] | None = None


class Said(Document):
    role: Literal["user", "assistant", "system", "tool"]
    text: Annotated[str, Field(max_length=MAX_TEXT_BYTES)]


class NewRequest(Document):
    """What is asked. Of `timeout` (milliseconds, 0 for none) and `deadline` give one."""

    kind: Literal["approval", "question", "form"]
    title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)]
    message: Annotated[str, Field(max_length=MAX_MESSAGE, description="Markdown.")] = ""
    tool_name: Short = ""
    tool_call_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    input: dict[str, Any] = Field(default_factory=dict, description="What would be run; frozen from now on.")
    response_schema: dict[str, Any] | None = Field(
        default=None, description="JSON Schema 2020-12 for the answer, or for an edited input."
    )
    options: list[Option] = Field(default_factory=list, max_length=MAX_OPTIONS)
    multiple: StrictBool = False
    allow_text: StrictBool = False
    field_name: Short = ""
    suggestions: list[Label] = Field(default_factory=list, max_length=MAX_SUGGESTIONS)
    context: Any = Field(default=None, description="Anything that helps the person; shown beside the request.")
    messages: list[Said] = Field(
        default_factory=list,
        max_length=MAX_MESSAGES,
        description=f"What was said before, the oldest first; shown to the person. {MAX_TEXT_BYTES:,} bytes in all.",
    )
    priority: Literal["low", "normal", "high", "critical"] = "normal"
    timeout: Annotated[StrictInt, Field(ge=0, le=MAX_TIMEOUT)] = 0
    deadline: Moment | None = None
    default_response: Any = Field(default=None, description="The answer when the deadline passes. Not for approvals.")
    workflow_id: WorkflowId | None = None
    workflow_title: Annotated[str, Field(min_length=1, max_length=MAX_TITLE)] | None = Field(
        default=None, description="What people read for the workflow; the first one that is given stays."
    )
    step_path: list[Name] = Field(default_factory=list, max_length=50)
    thread_id: Name = ""
    agent: Short = ""
    callback_url: WebAddress | None = None
    assigned_to: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(
        default=None, description="The user who is to answer; for an approval one who may decide it."
    )

    @property
    def has_default(self) -> bool:
        return "default_response" in self.model_fields_set

    def digest(self) -> str:
        """Of all that is asked; the same whether a default is written out or left out."""
        # What was asked before there were messages and titles of workflows keeps its digest.
        unsaid = {name for name in ("messages", "workflow_title") if not getattr(self, name)}
        said = self.model_dump(mode="json", exclude=unsaid) | {"has_default": self.has_default}
        return digest(said, max_bytes=2 * MAX_BYTES)


class NewDecision(Document):
    """A person's verdict. `edited_input` goes with `edit`, `answer` with `respond`; `input_digest` is of what was shown."""

    verdict: Annotated[str, AfterValidator(_known_verdict), Field(json_schema_extra={"enum": list(VERDICT_WORDS)})]
    comment: Annotated[str, Field(max_length=MAX_COMMENT)] = ""
    edited_input: dict[str, Any] | None = None
    answer: Any = None
    input_digest: Digest | None = Field(None, description="Refused with 409 `changed` if the request has another.")


class NewCancel(Document):
    comment: Annotated[str, Field(max_length=MAX_COMMENT)] = ""


class NewResult(Document):
    """What an approved call did: `output` if it worked, `error` (not empty) if it failed."""

    input_digest: Annotated[Digest, Field(description="`decision.approved_digest` of the input that was run.")]
    output: Any = None
    error: Annotated[str, Field(min_length=1, max_length=MAX_ERROR)] | None = None


class NewEnd(Document):
    outcome: Literal["completed", "failed", "cancelled"]


class DecisionDocument(BaseModel):
    verdict: Verdict
    by: str | None = Field(
        description="A user, or `API key NAME of USER`; null for the deadline and for Pausepoint itself."
    )
    via: str
    decided_at: Moment
    comment: str
    edited_input: dict[str, Any] | None
    answer: Any
    approved_input: dict[str, Any] | None = Field(description="What may run now; null unless approved.")
    approved_digest: str | None


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
    claimed_by: str | None = Field(description="Who is on it; null once that has lapsed.")
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
    messages: list[dict[str, str]] = Field(description="What was said before, the oldest first.")
    has_default: bool
    default_response: Any
    callback_url: str | None
    decision: DecisionDocument | None


class Page(BaseModel):
    """Requests, the newest first; `next` is the cursor of the page after this one."""

    items: list[Brief]
    next: str | None


class WorkflowDocument(BaseModel):
    """A workflow and what it asked, the oldest first; `more` where it asked more than is listed here."""

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
