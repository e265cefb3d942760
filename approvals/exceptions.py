"""Every refusal of the desk, one class each; `code` is stable and goes over the wire, `status` is the HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from approvals.models import Decision


class Refusal(Exception):
    """Base of all refusals. `str()` is a sentence for the person who gets it."""

    code = "refused"
    status = 400


class NotFound(Refusal):
    """Absent, or not for your eyes: both look alike."""

    code = "not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("There is no such request, or you may not see it.")


class NotAllowed(Refusal):
    code = "not_allowed"
    status = 403


class AlreadyDecided(Refusal):
    """Somebody was quicker; `decision` says who."""

    code = "already_decided"
    status = 409

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        who = decision.by_name or "nobody (the system)"
        what = decision.get_verdict_display().lower()
        super().__init__(f"Too late: {what} by {who} at {decision.decided_at:%Y-%m-%d %H:%M:%S} UTC.")


class Expired(Refusal):
    """The deadline passed before the answer came."""

    code = "expired"
    status = 410

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        passed = f"{decision.request.deadline_at:%Y-%m-%d %H:%M:%S} UTC"
        super().__init__(f"The deadline passed at {passed}, so this can no longer be answered.")


class Invalid(Refusal):
    """What was sent does not fit; `errors` names the fields."""

    code = "invalid"
    status = 422

    def __init__(self, message: str, errors: Mapping[str, str] | None = None) -> None:
        self.errors: dict[str, str] = dict(errors or {})
        super().__init__(message)


class Conflict(Refusal):
    """The same natural key was used before with other content."""

    code = "conflict"
    status = 409

    def __init__(self, message: str, detail: Any = None) -> None:
        self.detail = detail
        super().__init__(message)
