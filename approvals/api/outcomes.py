"""What programs read of how a request ended: its decision, and the result that was reported."""

from __future__ import annotations

import json
from typing import Any, Literal

from django.utils.translation import gettext as _
from pydantic import BaseModel, Field

from approvals.api.fields import Moment
from approvals.asking.secrets import masked_data
from approvals.models import ApprovalRequest, Decision
from approvals.queries.policy.grants import use_words
from approvals.states import Door, Verdict

#: Characters of the error that a program reports as the result of a call.
MAX_ERROR = 20_000


class GrantUseDocument(BaseModel):
    """The use of the grant by which a request was approved without asking."""

    id: str = Field(description="The id of the grant.")
    use: int = Field(description="Which use of it this was, from 1.")
    uses: int | None = Field(description="How many it has; null if as many as its time allows.")
    until: Moment | None = Field(description="When it ends; null if it ends by uses alone.")


class RuleDocument(BaseModel):
    """A rule of the policy."""

    name: str
    policy_version: int = Field(description="The version of the policy that it is in.")


class DecisionDocument(BaseModel):
    verdict: Verdict
    by: str | None = Field(
        description="A user, or `API key NAME of USER`; null if the deadline passed or Pausepoint decided."
    )
    decided_for: str | None = Field(
        description="The user who was away, and in whose right alone `by` could decide; null if in their own."
    )
    via: str
    decided_at: Moment
    comment: str
    edited_input: dict[str, Any] | None
    answer: Any
    approved_input: dict[str, Any] | None = Field(description="The input that may run now; null unless approved.")
    approved_digest: str | None = Field(
        description="The digest of `approved_input` with the files; null unless approved."
    )
    digest_salt: str | None = Field(
        description="The `salt` in the text of `approved_digest`, for programs that read hidden values; null without one."
    )
    grant: GrantUseDocument | None = Field(
        description="The grant that approved it, which `by` has given; null if it was decided."
    )
    break_glass: bool = Field(description="Whether `by` decided alone what several people had to.")
    rule: RuleDocument | None = Field(description="The rule of the policy that decided it; null if a person did.")
    repeats: str | None = Field(
        description="The earlier request for the same call, whose rejection was repeated; null if this was decided anew."
    )
    halted: bool = Field(
        description="Whether the run has to stop: no one decided in time, and the policy says that it stops then."
    )


class ReportDocument(BaseModel):
    """What became of the call of a request, as reported. A call with a result has run, so it must not run again."""

    state: Literal["succeeded", "failed", "denied", "cancelled"]
    output: Any = Field(description="What the tool returned; null unless it succeeded.")
    error: str | None = Field(description="Why it failed; null if it succeeded.")
    executed_digest: str | None = Field(description="The digest of the input that ran; null if nothing did.")
    reported_at: Moment


def report(request: ApprovalRequest) -> ReportDocument | None:
    """Return what the call of a request has done, where the request was read with it."""
    if request.report is None:
        return None
    entry = json.loads(request.report)
    data = masked_data(entry["data"]) if request.is_masked else entry["data"]
    return ReportDocument(
        state=data["state"],
        output=data["output"],
        error=data["error_text"] or None,
        executed_digest=data["executed_digest"] or None,
        reported_at=entry["at"],
    )


def decision(request: ApprovalRequest, made: Decision) -> DecisionDocument:
    edited = made.verdict == Verdict.EDIT
    approved = bool(made.approved_digest)
    return DecisionDocument(
        verdict=Verdict(made.verdict),
        by=made.by_name or None,
        decided_for=made.for_name,
        via=made.via,
        decided_at=made.decided_at,
        comment=made.comment,
        edited_input=made.edited_input,
        answer=made.answer,
        approved_input=(made.edited_input if edited else request.input) if approved else None,
        approved_digest=made.approved_digest or None,
        digest_salt=None if request.is_masked else made.digest_salt or None,
        grant=_grant_use(made),
        break_glass=bool(made.break_glass),
        rule=rule_of(request) if made.via == Door.RULE else None,
        repeats=str(request.repeats) if request.repeats else None,
        halted=request.halted,
    )


def rule_of(request: ApprovalRequest) -> RuleDocument | None:
    """Return the rule that a request was asked or decided under, the first of several; None without one."""
    if request.rule is None or request.policy_version is None:
        return None
    return RuleDocument(name=request.rule, policy_version=request.policy_version)


def _grant_use(made: Decision) -> GrantUseDocument | None:
    grant = made.grant
    if grant is None or made.grant_use is None:
        return None
    return GrantUseDocument(id=str(grant.pk), use=made.grant_use, uses=grant.uses, until=grant.until)


def approved_words(made: Decision) -> str:
    """Return who has approved, and by which use of a grant if no one was asked, in words."""
    name = made.by_name or "Pausepoint"
    if made.grant is None or made.grant_use is None:
        return _("Approved by %(name)s.") % {"name": name}
    return _("Approved by grant of %(name)s (%(use)s).") % {"name": name, "use": use_words(made.grant, made.grant_use)}
