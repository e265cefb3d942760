"""The errors of the product, one class each. `code` is part of the API, `status` is the HTTP status."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.db.canonical_json import utc
from approvals.json_types import JsonDict
from approvals.states import Kind, Priority
from approvals.text.translation import ago, decided_words

if TYPE_CHECKING:
    from approvals.models import ApprovalRequest, Decision


class Refusal(Exception):
    """Base of all errors for a person or a client. `str()` is a sentence for them."""

    code = "refused"
    status = 400
    #: The text, unless another one is given.
    sentence: str | Promise = ""

    def __init__(self, words: str = "") -> None:
        super().__init__(words or str(self.sentence))

    def members(self) -> JsonDict:
        """Further members of the problem document (RFC 9457), plain JSON."""
        return {}

    def headers(self) -> dict[str, str]:
        """Further headers of the response."""
        return {}


class NotFound(Refusal):
    """It does not exist, or the person may not see it; the two are indistinguishable."""

    code = "not_found"
    status = 404
    sentence = gettext_lazy(
        "Request not found. It may not exist, or you may not have access."
    )


class NotAllowed(Refusal):
    code = "not_allowed"
    status = 403


class AddressNotAllowed(NotAllowed):
    """The key is limited to address ranges, and the call comes from elsewhere."""

    code = "address_not_allowed"
    sentence = gettext_lazy(
        "This key does not work from your network address. Send it from an address that it allows, or ask an "
        "administrator for another key."
    )


class FactorMissing(NotAllowed):
    """The person's role needs a second factor, and they have none."""

    code = "second_factor_missing"
    sentence = gettext_lazy(
        "The role of this user needs a second factor. Log in to Pausepoint and set one up under Settings > Sign-in and security."
    )


class DecideOnPage(NotAllowed):
    """A person must decide it on the request's page, whose address is in `url`."""

    def __init__(self, words: str, request: ApprovalRequest) -> None:
        self.url = request.public_url
        super().__init__(f"{words} {self.url}")

    def members(self) -> JsonDict:
        return {"url": self.url}


class CriticalElsewhere(DecideOnPage):
    """A critical approval or a recovery was decided elsewhere than on its page."""

    code = "decide_on_page"

    def __init__(self, request: ApprovalRequest) -> None:
        words = _(
            "To approve this request, type its name. Decide it on its own page in Pausepoint:"
        )
        if request.kind == Kind.RECOVERY:
            words = _(
                "This request is about the unknown outcome of a call. Decide it on its own page in Pausepoint:"
            )
        elif request.priority == Priority.CRITICAL:
            words = _(
                "This request is critical. Decide it on its own page in Pausepoint:"
            )
        super().__init__(words, request)


class AskedByOwnKey(DecideOnPage):
    """A key may not decide requests made with a key of the same user."""

    code = "asked_by_own_key"

    def __init__(self, request: ApprovalRequest) -> None:
        words = _(
            "This request was made with an API key of the same user, so that user's keys cannot decide it. "
            "Decide it in a browser:"
        )
        super().__init__(words, request)


class NotAuthenticated(Refusal):
    """No one is logged in, or the token is not valid."""

    code = "not_authenticated"
    status = 401
    sentence = gettext_lazy(
        "Authentication is required. Send a valid key as `Authorization: Bearer …`, or log in."
    )


class IssuerUnavailable(Refusal):
    """The keys of a token's issuer cannot be read, so the token may be valid."""

    code = "issuer_unavailable"
    status = 503
    sentence = gettext_lazy(
        "The issuer of this token cannot be reached, and its key is not known yet. Try again in a minute."
    )

    def headers(self) -> dict[str, str]:
        return {"Retry-After": "60"}


class PersonNeeded(NotAllowed):
    """An issuer's token was sent for an act of a person."""

    code = "person_needed"
    sentence = gettext_lazy(
        "A token of an issuer cannot decide, give grants or set absences. Log in, or use an API key that a person created for "
        "themselves."
    )


class ScopeMissing(Refusal):
    """The key lacks a scope, though its user may have the right."""

    code = "scope_missing"
    status = 403

    def __init__(self, scope: str) -> None:
        words = _(
            "This key or token does not have the scope “%(scope)s”. Use one that has it."
        )
        super().__init__(words % {"scope": scope})


class BadBody(Refusal):
    """The body is malformed."""

    code = "bad_body"


class TooLarge(Refusal):
    code = "too_large"
    status = 413


class WrongMethod(Refusal):
    code = "method_not_allowed"
    status = 405

    def __init__(self, allowed: str) -> None:
        self.allowed = allowed
        super().__init__(_("This URL only accepts %(allowed)s.") % {"allowed": allowed})

    def headers(self) -> dict[str, str]:
        return {"Allow": self.allowed}


class NotJson(Refusal):
    code = "not_json"
    status = 415
    sentence = gettext_lazy(
        "The body must be JSON. Send it with `Content-Type: application/json`."
    )


class AlreadyDecided(Refusal):
    """Someone else has already decided; `decision` says who."""

    code = "already_decided"
    status = 409

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        super().__init__(
            decided_words(decision.verdict, decision.by_name, decision.decided_at)
        )

    def members(self) -> JsonDict:
        return {"decision": outcome_of(self.decision)}


class GrantMissed(AlreadyDecided):
    """The same person has already approved it, without the grant that they send now."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        words = _(
            "You have already approved this request without this grant. A grant can only be given with the "
            "first approval. Give it with the next request of this kind."
        )
        Refusal.__init__(self, words)


class Expired(Refusal):
    """The deadline passed before the answer."""

    code = "expired"
    status = 410

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        passed = f"{decision.request.deadline_at:%Y-%m-%d %H:%M:%S}"
        super().__init__(
            _("This request expired at %(at)s UTC and can no longer be decided.")
            % {"at": passed}
        )

    def members(self) -> JsonDict:
        return {"decision": outcome_of(self.decision)} | (
            {"halted": True} if self.decision.request.halted else {}
        )


class UnreadParts(Refusal):
    """So many parts of the input were never in view, some of them files; approving again accepts that."""

    code = "unread"
    status = 422

    def __init__(self, words: str, parts: int, files: int = 0) -> None:
        super().__init__(words)
        self.parts = parts
        self.files = files


class Changed(Refusal):
    """The digest of the displayed input differs from that of the stored one."""

    code = "changed"
    status = 409

    def __init__(self, input_digest: str) -> None:
        self.input_digest = input_digest
        words = _(
            "This request has changed since you loaded the page, so nothing was decided. Read it again, then "
            "decide."
        )
        super().__init__(words)

    def members(self) -> JsonDict:
        return {"input_digest": self.input_digest}


class RequestCancelled(Refusal):
    """The request was cancelled, so there will be no answer."""

    code = "cancelled"
    status = 410

    def __init__(self, decision: Decision, comment: str) -> None:
        self.decision = decision
        words = _("This request was cancelled %(when)s by %(who)s.")
        if comment:
            words = _(
                "This request was cancelled %(when)s by %(who)s. Their comment: %(comment)s"
            )
        values = {
            "who": decision.by_name or "Pausepoint",
            "when": ago(decision.decided_at),
        }
        super().__init__(words % {**values, "comment": comment})

    def members(self) -> JsonDict:
        return {"decision": outcome_of(self.decision)}


class Invalid(Refusal):
    """The input is invalid; `errors` names the fields."""

    code = "invalid"
    status = 422

    def __init__(self, message: str, errors: Mapping[str, str] | None = None) -> None:
        self.errors: dict[str, str] = dict(errors or {})
        super().__init__(message)

    def members(self) -> JsonDict:
        return {"errors": self.errors} if self.errors else {}


class Undecidable(Refusal):
    code = "undecidable"
    status = 422


class CannotBeAssigned(Invalid):
    """The user is unknown, inactive, or may not decide it; indistinguishable, so that accounts stay private."""

    def __init__(self, field: str) -> None:
        words = _("This request cannot be assigned to that user.")
        super().__init__(
            words, {field: _("no one with that name can answer this request")}
        )


class Conflict(Refusal):
    """The same key was used before with other content; `detail` is the id of the request that has it."""

    code = "conflict"
    status = 409

    def __init__(self, message: str, detail: Any = None) -> None:
        self.detail = detail
        super().__init__(message)

    def members(self) -> JsonDict:
        return {} if self.detail is None else {"request_id": self.detail}


class AssignedMeanwhile(Refusal):
    """Someone else has claimed or assigned it meanwhile; the members name the current holder."""

    code = "taken"
    status = 409

    def __init__(self, message: str, *, claimed_by: str, assigned_to: str) -> None:
        self.claimed_by = claimed_by or None
        self.assigned_to = assigned_to or None
        super().__init__(message)

    def members(self) -> JsonDict:
        return {"claimed_by": self.claimed_by, "assigned_to": self.assigned_to}


class NotApproved(Refusal):
    """A result was reported for a request that is not approved."""

    code = "not_approved"
    status = 409

    def __init__(self, request: ApprovalRequest) -> None:
        super().__init__(
            _("Only an approved call can have a result. This %(kind)s is %(status)s.")
            % {
                "kind": request.get_kind_display().lower(),
                "status": request.get_status_display().lower(),
            }
        )


class OtherInput(Refusal):
    """The executed input is not the approved one."""

    code = "other_input"
    status = 409

    def __init__(self, approved_digest: str) -> None:
        self.approved_digest = approved_digest
        super().__init__(
            _(
                "The input that ran differs from the approved input. This was recorded, but not as the result"
                " of the call."
            )
        )

    def members(self) -> JsonDict:
        return {"approved_digest": self.approved_digest}


def outcome_of(decision: Decision) -> JsonDict:
    """Return the outcome of a request: `{request_id, verdict, by, via, decided_at}`; `by` is null for the deadline."""
    return {
        "request_id": str(decision.request_id),
        "verdict": decision.verdict,
        "by": decision.by_name or None,
        "via": decision.via,
        "decided_at": utc(decision.decided_at),
    }
