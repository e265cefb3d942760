"""The bodies that clients send, and the documents that they receive."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import AfterValidator, BaseModel, Field, StrictBool, StrictInt

from approvals.actions.checking import MAX_COMMENT
from approvals.actions.policy.publishing import WIDTH_OF
from approvals.api.fields import NULL, WHOLE, Document, Moment, shown_with, when
from approvals.api.outcomes import MAX_ERROR, DecisionDocument, ReportDocument, RuleDocument
from approvals.api.votes import VotesDocument
from approvals.db.canonical_json import clean_text
from approvals.policy.grants import MAX_REASON, MOST_USES, GrantTerms
from approvals.states import ALIASES, Audience, Hint, Kind, Priority, Status, Verdict, WorkflowState

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
VERDICT_WORDS = (Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.RESPOND, *ALIASES)


def _known_verdict(word: str) -> str:
    if word not in VERDICT_WORDS:
        raise ValueError(_("must be one of %(words)s") % {"words": ", ".join(VERDICT_WORDS)})
    return word


class NewGrant(Document):
    """Terms on which equal calls run without asking from now on: `until`, `uses`, or both."""

    model_config = shown_with({"covers": "input", "audience": "agent", "uses": 10})

    covers: Literal["input", "fields", "tool"]
    """This exact input, the same key fields of the tool, or any input of the tool."""
    audience: Literal["agent", "key", "workflow", "thread"]
    """For whose calls, always only of the user who asked."""
    until: Moment | None = None
    """When it ends."""
    uses: Annotated[StrictInt, Field(ge=1, le=MOST_USES), WHOLE] | None = Field(
        None, description="How many calls it approves."
    )
    reason: Annotated[str, Field(max_length=MAX_REASON)] = ""
    """Why, for the record."""

    @property
    def terms(self) -> GrantTerms:
        width, reason = WIDTH_OF[self.covers], clean_text(self.reason.strip())
        return GrantTerms(
            width=width, audience=Audience(self.audience), until=self.until, uses=self.uses, reason=reason
        )


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
    """The answer to a question or form; a file in it as `{"name", "content"}`, in base64."""
    input_digest: Digest | None = Field(
        None, description="Refused with 409 `changed` if the request has a different one."
    )
    grant: NewGrant | None = None
    """With `approve`: let equal calls run without asking. A key needs the scope `grant`."""
    break_glass: StrictBool = False
    """Decide alone what several people have to, in an emergency, with a `comment`. Everyone concerned is told."""


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
    progress: str | None = Field(
        description="How far its votes are, in words, such as `1 of 2, finance missing`; null if one person decides it, or "
        "once it is decided."
    )
    rule: RuleDocument | None = Field(
        description="The rule of the policy that it was asked or decided under; null without one."
    )


class AttachmentDocument(BaseModel):
    name: str
    media_type: str
    size: int = Field(description="Bytes.")
    sha256: str = Field(description="Of the content, in hexadecimal digits.")
    url: str = Field(description="Where its content is read.")


class AdviceDocument(BaseModel):
    """What a program thinks of a request. It is no decision."""

    id: int
    by: str = Field(description="`API key NAME of USER`.")
    hint: Hint
    text: str
    raised_from: Priority | None = Field(description="The priority before it was raised; null if it was not.")
    raised_to: Priority | None
    more_votes: int | None = Field(description="How many more people have to approve because of it; null if none.")
    at: Moment


class RequestDocument(Brief):
    message: str
    input: dict[str, Any]
    input_digest: str
    digest_salt: str | None = Field(
        description="The `salt` in the text of `input_digest`. Null if nothing in the input is hidden, and for programs that "
        "read masks in its place."
    )
    response_schema: dict[str, Any] | None
    options: list[dict[str, Any]]
    multiple: bool
    allow_text: bool
    field_name: str
    suggestions: list[str]
    context: Any
    attachments: list[AttachmentDocument] = Field(description="Its files, which `input_digest` covers too.")
    messages: list[dict[str, str]] = Field(description="The conversation before the request, oldest first.")
    has_default: bool
    default_response: Any
    callback_url: str | None
    decision: DecisionDocument | None
    votes: VotesDocument | None = Field(description="Null if one person decides it.")
    result: ReportDocument | None = Field(description="What its call returned; null while nothing is reported.")
    warnings: list[str] = Field(description="That no one, or only superusers, may decide it; empty otherwise.")
    advice: list[AdviceDocument] = Field(description="What programs think of it, oldest first.")


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
