"""What programs read of secrets: the true values of their own requests, which they sent and have to run; masks of all others."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from approvals import queries
from approvals.access.callers import Caller
from approvals.access.keys import KEY_SCOPE
from approvals.asking.secrets import masked_input, masked_request, with_secrets
from approvals.models import ApprovalRequest
from approvals.queries.policy.proposals import as_proposed
from approvals.text.secrets import MARK


def may_read_secrets(caller: Caller, request: ApprovalRequest) -> bool:
    """Return whether the caller is the program that asked, or one of the person for whom it asked.

    That is the key that asked, its successors, the person's own session, and the keys that they made themselves. A key that
    someone else made for them reads what it asked itself. No permission counts here: whoever else may see a secret shows it on
    the page of the request, on record.
    """
    if request.scope == caller.scope:
        return True
    if request.requested_by_id != caller.user.pk:
        return False
    key = caller.key
    if key is None or key.made_by_id == caller.user.pk:
        return True
    return request.scope in {f"{KEY_SCOPE}{pk}" for pk in key.replaces or ()}


def for_caller(caller: Caller, request: ApprovalRequest) -> ApprovalRequest:
    """Return the request as the caller may read it."""
    return request if may_read_secrets(caller, request) else masked_request(request)


def edited_by_caller(caller: Caller, request_id: UUID, edited_input: Any) -> Any:
    """Return a changed input with the secrets that the caller got as masks and sent back unchanged."""
    if MARK not in json.dumps(edited_input, ensure_ascii=False):
        return edited_input
    request = queries.get_request_for(caller.standing, request_id)
    if may_read_secrets(caller, request):
        return edited_input
    return with_secrets(edited_input, masked_input(request, as_proposed(request).input))
