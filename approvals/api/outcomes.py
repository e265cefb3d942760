"""A request's end as seen by programs: its decision, and the reported result.

Programs get the true values of secrets in their own requests, which they sent and have to run, and masks in all others.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

from django.utils.translation import gettext as _
from pydantic import BaseModel, Field

from approvals import queries
from approvals.access.callers import KEY_SCOPE, Caller
from approvals.api.bodies import Moment
from approvals.asking.secrets import (
    VALUES,
    masked_column,
    masked_input,
    masked_report,
    with_secrets,
)
from approvals.json_types import JsonDict
from approvals.models import ApprovalRequest, Decision
from approvals.queries.policy.grants.ledger import use_words
from approvals.states import Door, Verdict
from approvals.text.secrets import MARK

#: Maximum length of an error reported as the result of a call.
MAX_ERROR = 20_000


class GrantUseDocument(BaseModel):
    """The use of the grant by which a request was approved without asking."""

    id: str = Field(description="The id of the grant.")
    use: int = Field(description="Which use of it this was, from 1.")
    uses: int | None = Field(
        description="The maximum number of uses; null if unlimited until it ends."
    )
    until: Moment | None = Field(
        description="When it ends; null if it ends by uses alone."
    )


class RuleDocument(BaseModel):
    """A rule of the policy."""

    name: str
    policy_version: int = Field(
        description="The version of the policy that contains it."
    )


class DecisionDocument(BaseModel):
    verdict: Verdict
    by: str | None = Field(
        description="A user, or `API key NAME of USER`; null if the deadline passed or Pausepoint decided."
    )
    decided_for: str | None = Field(
        description="The absent user whose right `by` needed to decide; null if `by` had the right."
    )
    via: str
    decided_at: Moment
    comment: str
    edited_input: JsonDict | None
    answer: Any
    approved_input: JsonDict | None = Field(
        description="The input that may run now; null unless approved."
    )
    approved_digest: str | None = Field(
        description="The digest of `approved_input` and the files; null unless approved."
    )
    digest_salt: str | None = Field(
        description="The `salt` in the text of `approved_digest`, for programs that read hidden values; null without one."
    )
    grant: GrantUseDocument | None = Field(
        description="The grant, given by `by`, that approved it; null without one."
    )
    break_glass: bool = Field(
        description="Whether `by` used break-glass access: decided alone what needs several people."
    )
    rule: RuleDocument | None = Field(
        description="The policy rule that decided it; null if a person did."
    )
    repeats: str | None = Field(
        description="The earlier request for the same call, if its rejection was repeated; otherwise null."
    )
    halted: bool = Field(
        description="Whether the run must stop, because no one decided in time and the policy says so."
    )


class ReportDocument(BaseModel):
    """The reported result of the call of a request. A call with a result has run, so it must not run again."""

    state: Literal["succeeded", "failed", "denied", "cancelled"]
    output: Any = Field(description="What the tool returned; null unless it succeeded.")
    error: str | None = Field(description="Why it failed; null if it succeeded.")
    executed_digest: str | None = Field(
        description="The digest of the input that ran; null if nothing did."
    )
    reported_at: Moment


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """A request as a program reads it; `masks` if it may not read the secrets."""

    row: ApprovalRequest
    masks: bool = False

    def columns(self, names: Sequence[str]) -> JsonDict:
        """Return columns of the request as the program reads them."""
        row = self.row
        if not self.masks:
            return {name: getattr(row, name) for name in names}
        return {
            name: masked_column(row, name) if name in VALUES else getattr(row, name)
            for name in names
        }

    def decided(self, made: Decision) -> JsonDict:
        """Return what its decision says as the program reads it."""
        names = ("comment", "edited_input", "answer")
        if not self.masks:
            return {name: getattr(made, name) for name in names}
        return {name: masked_column(self.row, name, made) for name in names}


def report(request: ReadRequest) -> ReportDocument | None:
    """Return the reported outcome of a request's call, if the request was loaded with it."""
    text = request.row.report
    if text is None:
        return None
    entry = json.loads(masked_report(text) if request.masks else text)
    data = entry["data"]
    return ReportDocument(
        state=data["state"],
        output=data["output"],
        error=data["error_text"] or None,
        executed_digest=data["executed_digest"] or None,
        reported_at=entry["at"],
    )


def decision(request: ReadRequest, made: Decision) -> DecisionDocument:
    row = request.row
    decided = request.decided(made)
    approved_input = None
    if made.approved_digest:
        approved_input = (
            decided["edited_input"]
            if made.verdict == Verdict.EDIT
            else request.columns(["input"])["input"]
        )
    return DecisionDocument(
        verdict=Verdict(made.verdict),
        by=made.by_name or None,
        decided_for=made.for_name,
        via=made.via,
        decided_at=made.decided_at,
        **decided,
        approved_input=approved_input,
        approved_digest=made.approved_digest or None,
        digest_salt=None if request.masks else made.digest_salt or None,
        grant=_grant_use(made),
        break_glass=bool(made.break_glass),
        rule=rule_of(row) if made.via == Door.RULE else None,
        repeats=str(row.repeats) if row.repeats else None,
        halted=row.halted,
    )


def rule_of(request: ApprovalRequest) -> RuleDocument | None:
    """Return the rule under which a request was made or decided (the first of several); None without one."""
    if request.rule is None or request.policy_version is None:
        return None
    return RuleDocument(name=request.rule, policy_version=request.policy_version)


def _grant_use(made: Decision) -> GrantUseDocument | None:
    grant = made.grant
    if grant is None or made.grant_use is None:
        return None
    return GrantUseDocument(
        id=str(grant.pk), use=made.grant_use, uses=grant.uses, until=grant.until
    )


def approved_words(made: Decision) -> str:
    """Describe who approved, and the use of a grant if no one was asked."""
    name = made.by_name or "Pausepoint"
    if made.grant is None or made.grant_use is None:
        return _("Approved by %(name)s.") % {"name": name}
    return _("Approved by grant of %(name)s (%(use)s).") % {
        "name": name,
        "use": use_words(made.grant, made.grant_use),
    }


def may_read_secrets(caller: Caller, request: ApprovalRequest) -> bool:
    """Return whether the caller is the program that made the request, or belongs to the person it was made for.

    That is the key of the request, its successors, the person's own session, and keys that they created themselves. A key that
    someone else created for them only reads its own requests. Permissions do not count: other people who may see a secret reveal
    it on the page of the request, on record.
    """
    if request.scope == caller.scope:
        return True
    if request.requested_by_id != caller.user.pk:
        return False
    key = caller.key
    if key is None or key.made_by_id == caller.user.pk:
        return True
    return request.scope in {f"{KEY_SCOPE}{pk}" for pk in key.replaces or ()}


def for_caller(caller: Caller, request: ApprovalRequest) -> ReadRequest:
    """Return the request with masks for this caller."""
    return ReadRequest(request, masks=not may_read_secrets(caller, request))


def edited_by_caller(caller: Caller, request_id: UUID, edited_input: Any) -> Any:
    """Return a changed input, with the hidden values restored where the caller sent masks back unchanged."""
    if MARK not in json.dumps(edited_input, ensure_ascii=False):
        return edited_input
    request = queries.get_request_for(caller.standing, request_id)
    if may_read_secrets(caller, request):
        return edited_input
    value = request.voted_input
    return with_secrets(edited_input, value, masked_input(request, value))
