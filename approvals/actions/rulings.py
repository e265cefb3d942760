"""What ends a request, before it is written: does it fit the request, and is it a repeat of what was decided?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from approvals.asking.answers import shaped
from approvals.asking.asks import ABSENT
from approvals.exceptions import AlreadyDecided, Expired, Invalid
from approvals.models import ApprovalRequest, Decision
from approvals.models.actors import Actor
from approvals.runtime.canonical import MAX_VALUES, NotCanonical, canonical, clean_text, digest
from approvals.runtime.translation import translated
from approvals.schema.check import schema_errors
from approvals.states import VERDICTS, Door, Kind, Verdict

MAX_COMMENT = 5_000
MAX_VALUE_BYTES = 250_000
#: Clients that answer their own chat's questions in a shape of their own, which the tool that asked knows.
OWN_SHAPES = frozenset({Door.AI_SDK, Door.CEDAR})


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A verdict with all that goes with it; `by` is None for the deadline and the system."""

    verdict: Verdict
    by: Actor | None
    via: Door
    comment: str = ""
    edited_input: Any = ABSENT
    answer: Any = ABSENT


def expiry_of(request: ApprovalRequest) -> Ruling:
    """The end by deadline: the default response, where there is one, is the answer."""
    answer = request.default_response if request.has_default else ABSENT
    return Ruling(verdict=Verdict.EXPIRE, by=None, via=Door.DEADLINE, answer=answer)


def checked(request: ApprovalRequest, ruling: Ruling) -> Ruling:
    """The ruling as it may be stored; raises Invalid, naming each field that does not fit."""
    if ruling.verdict not in VERDICTS[Kind(request.kind)]:
        raise Invalid(
            _("“%(verdict)s” is not possible for this kind of request.") % {"verdict": ruling.verdict.value},
            {"verdict": _("is not possible for this kind of request")},
        )
    ruling = normalised(request, ruling)
    errors = _comment_errors(ruling)
    for name, value, wanted in (
        ("edited_input", ruling.edited_input, ruling.verdict == Verdict.EDIT),
        ("answer", ruling.answer, ruling.verdict == Verdict.RESPOND),
    ):
        if wanted != (value is not ABSENT):
            errors[name] = _("is missing") if wanted else _("is not allowed with this verdict")
        elif wanted:
            errors |= _value_errors(request, name, value)
    if not errors and _is_choice(request, ruling):
        shaped(request, ruling.answer)
    if errors:
        raise Invalid(_("The decision is invalid."), errors)
    return ruling


def withdrawal(*, by: Actor, via: Door, comment: str) -> Ruling:
    """The end by a person who takes the question back; raises Invalid if the comment is too long."""
    ruling = Ruling(verdict=Verdict.CANCEL, by=by, via=via, comment=clean_text(comment.strip()))
    if errors := _comment_errors(ruling):
        raise Invalid(_("The decision is invalid."), errors)
    return ruling


def normalised(request: ApprovalRequest, ruling: Ruling) -> Ruling:
    """An edit that changes nothing is an approval; a label alone is the answer that chooses it."""
    if _is_choice(request, ruling):
        try:
            return replace(ruling, answer=shaped(request, ruling.answer))
        except Invalid:
            return ruling
    if ruling.verdict == Verdict.EDIT and _same(ruling.edited_input, request.input):
        return replace(ruling, verdict=Verdict.APPROVE, edited_input=ABSENT)
    return ruling


def _is_choice(request: ApprovalRequest, ruling: Ruling) -> bool:
    return (
        ruling.verdict == Verdict.RESPOND
        and ruling.answer is not ABSENT
        and request.chooses
        and ruling.via not in OWN_SHAPES
    )


def approved_digest(request: ApprovalRequest, ruling: Ruling) -> str:
    """The digest of the input that may now run; empty unless this approves something."""
    if ruling.verdict == Verdict.EDIT:
        return digest(ruling.edited_input)
    return request.input_digest if ruling.verdict == Verdict.APPROVE else ""


def replayed(decision: Decision, ruling: Ruling) -> Decision:
    """The decision itself, if the same person or key says the same again; AlreadyDecided or Expired if not."""
    if decision.verdict == Verdict.EXPIRE:
        raise Expired(decision)
    by = ruling.by
    same_person = by is not None and (decision.by_id, decision.by_name) == (by.pk, by.get_username())
    stored = (decision.verdict, decision.comment, decision.edited_input, decision.answer)
    if same_person and _same(_said(ruling), stored):
        return decision
    raise AlreadyDecided(decision)


def _said(ruling: Ruling) -> tuple[str, str, Any, Any]:
    edited, answer = (None if value is ABSENT else value for value in (ruling.edited_input, ruling.answer))
    return ruling.verdict.value, ruling.comment, edited, answer


def _comment_errors(ruling: Ruling) -> dict[str, str]:
    too_long = len(ruling.comment) > MAX_COMMENT
    return {"comment": _("is longer than %(most)s characters") % {"most": f"{MAX_COMMENT:,}"}} if too_long else {}


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON: to Python, `True == 1`."""
    try:
        return canonical(one) == canonical(other)
    except NotCanonical:
        return False


def _value_errors(request: ApprovalRequest, name: str, value: Any) -> dict[str, str]:
    try:
        canonical(value, max_bytes=MAX_VALUE_BYTES, max_values=MAX_VALUES)
    except NotCanonical as error:
        return {name: translated(error)}
    if name == "edited_input" and not isinstance(value, dict):
        return {name: _("must be a JSON object")}
    found = schema_errors(request.response_schema, value)
    return {f"{name}.{path}" if path else name: message for path, message in found.items()}
