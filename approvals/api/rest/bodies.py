"""Bodies from clients."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field, StrictBool, StrictInt

from approvals.actions.checking import MAX_COMMENT
from approvals.actions.policy.grants.events import WIDTH_OF
from approvals.api.bodies import NULL, WHOLE, Document, Moment, shown_with, when
from approvals.api.outcomes import MAX_ERROR
from approvals.db.canonical_json import clean_text
from approvals.policy.grants import MAX_REASON, MOST_USES, GrantTerms
from approvals.states import ALIASES, Audience, Verdict

Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
VERDICT_WORDS = (
    Verdict.APPROVE,
    Verdict.REJECT,
    Verdict.EDIT,
    Verdict.RESPOND,
    *ALIASES,
)


def _known_verdict(word: str) -> str:
    if word not in VERDICT_WORDS:
        raise ValueError(
            _("must be one of %(words)s") % {"words": ", ".join(VERDICT_WORDS)}
        )
    return word


class NewGrant(Document):
    """The terms on which matching calls run without asking from now on: `until`, `uses`, or both."""

    model_config = shown_with({"covers": "input", "audience": "agent", "uses": 10})

    covers: Literal["input", "fields", "tool"]
    """This exact input, the same key fields, or any input of the tool."""
    audience: Literal["agent", "key", "workflow", "thread"]
    """Whose calls it covers; always only calls of the requester."""
    until: Moment | None = None
    """The time when it ends."""
    uses: Annotated[StrictInt, Field(ge=1, le=MOST_USES), WHOLE] | None = Field(
        None, description="The maximum number of calls."
    )
    reason: Annotated[str, Field(max_length=MAX_REASON)] = ""
    """The reason, for the record."""

    @property
    def terms(self) -> GrantTerms:
        width = WIDTH_OF[self.covers]
        reason = clean_text(self.reason.strip())
        return GrantTerms(
            width=width,
            audience=Audience(self.audience),
            until=self.until,
            uses=self.uses,
            reason=reason,
        )


class NewDecision(Document):
    """A person's verdict. `edited_input` goes with `edit`, `answer` with `respond`; `input_digest` is that of the input shown."""

    model_config = shown_with(
        {"verdict": "approve", "comment": "Refund it, and say sorry."}
    )

    verdict: Annotated[
        str,
        AfterValidator(_known_verdict),
        Field(json_schema_extra={"enum": list(VERDICT_WORDS)}),
    ]
    """The verdict."""
    comment: Annotated[str, Field(max_length=MAX_COMMENT)] = ""
    """A message to the agent."""
    edited_input: dict[str, Any] | None = None
    """The complete input that may run instead of the proposed one."""
    answer: Any = None
    """The answer to a question or form; a file in it as `{"name", "content"}`, in base64."""
    input_digest: Digest | None = Field(
        None,
        description="Refused with 409 `changed` if the request has a different one.",
    )
    grant: NewGrant | None = None
    """With `approve`: let matching calls run without asking. A key needs the scope `grant`."""
    break_glass: StrictBool = False
    """Break-glass access: in an emergency, decide alone what needs several people, with a `comment`. Everyone concerned is
    notified.
    """


class NewCancel(Document):
    model_config = shown_with({"comment": "The customer took the request back."})

    comment: Annotated[str, Field(max_length=MAX_COMMENT)] = ""
    """The reason, for the record and the agent."""


class NewResult(Document):
    """The result of an approved call: `output` if it succeeded, `error` (not empty) if it failed."""

    model_config = shown_with(
        {"input_digest": f"sha256:{'0' * 64}", "output": {"refunded": 250}},
        **when({"error": {"type": "string"}}, {"output": NULL}, required=()),
        # Without an error there is an output. Linters reject `required` in a part that does not define the field.
        **{"else": {"dependentSchemas": {"error": {"minProperties": 3}}}},
        minProperties=2,
    )

    input_digest: Annotated[
        Digest, Field(description="`decision.approved_digest` of the input that ran.")
    ]
    output: Any = None
    """What the tool returned."""
    error: Annotated[str, Field(min_length=1, max_length=MAX_ERROR)] | None = None
    """Why it failed."""


class NewEnd(Document):
    model_config = shown_with({"outcome": "completed"})

    outcome: Literal["completed", "failed", "cancelled"]
    """How the run ended."""
