"""Refusals of the chats; their codes go over the wire."""

from __future__ import annotations

from collections.abc import Sequence

from approvals.exceptions import Refusal
from approvals.models import ApprovalRequest


class ChatNotFound(Refusal):
    """Absent, or not yours: both look alike."""

    code = "not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("There is no such chat, or it is not yours.")


class TurnRunning(Refusal):
    code = "turn_running"
    status = 409

    def __init__(self) -> None:
        super().__init__("The assistant is still answering. Wait for it, or stop it first.")


class ApprovalPending(Refusal):
    """The chat waits for people; `requests` says what for."""

    code = "approval_pending"
    status = 409

    def __init__(self, requests: Sequence[ApprovalRequest]) -> None:
        self.requests = list(requests)
        names = "; ".join(f"“{request.title}”" for request in self.requests)
        super().__init__(f"The assistant waits for: {names}. Answer that first, or stop the turn.")


class BadMessage(Refusal):
    code = "bad_message"
    status = 422


class LeaseLost(Exception):
    """Another runner has taken the turn over, or it has ended: this runner may write nothing more."""


class StopRequested(Exception):
    """Somebody pressed stop while this runner was at work."""
