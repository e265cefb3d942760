"""The changed input that people vote on, in place of the one that was asked."""

from __future__ import annotations

import copy
from typing import Any

from approvals.asking.digests import Digest
from approvals.models import ApprovalRequest
from approvals.record.amounts import amount_at


def proposal(value: Any, digest: Digest, by: str) -> dict[str, Any]:
    """Return the stored form of a proposed input."""
    return {"input": value, "digest": digest.text, "salt": digest.salt, "by": by}


def as_proposed(request: ApprovalRequest) -> ApprovalRequest:
    """Return the request as people vote on it: a copy with the proposed input, which must never be stored.

    Without a proposal, or once it has ended, it is the request itself.
    """
    if not request.proposal or not request.pending:
        return request
    shown = copy.copy(request)
    shown.input, shown.input_digest = request.proposal["input"], request.proposal["digest"]
    shown.digest_salt = request.proposal.get("salt")
    shown.amount = amount_at(shown.input, request.amount_pointer)
    return shown
