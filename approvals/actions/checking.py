"""Validate answers, and recognize repeats of the one that was decided on. Pure."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

from django.utils.translation import gettext as _

from approvals.asking import answered_files
from approvals.asking.answers import ABSENT, Answer, to_choice
from approvals.asking.digests import Digest, digest_for
from approvals.db.canonical_json import (
    MAX_VALUES,
    NotCanonical,
    canonical,
    clean_text,
    same_json,
)
from approvals.exceptions import AlreadyDecided, Expired, Invalid
from approvals.models import ApprovalRequest, Decision, Vote
from approvals.models.actors import Actor
from approvals.policy.terms import MessageRule, terms_of
from approvals.schema.check import names_people, schema_errors
from approvals.states import ASKS, OWN_PAGES, VERDICTS, Door, Kind, Verdict
from approvals.text.numbers import grouped
from approvals.text.text import INVISIBLE
from approvals.text.translation import translated

MAX_COMMENT = 5_000
MAX_VALUE_BYTES = 250_000
#: Clients that answer their own chat's questions in a format of their own, which the asking tool knows.
OWN_SHAPES = frozenset({Door.AI_SDK, Door.CEDAR})


def cancellation(comment: str) -> Answer:
    """Return the answer that cancels a request. Raise Invalid if the comment is too long."""
    answer = Answer(Verdict.CANCEL, comment=clean_text(comment.strip()))
    if errors := _comment_errors(answer):
        raise Invalid(_("The decision is invalid."), errors)
    return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerFacts:
    """Further facts for the check of an answer, read only where they matter.

    `reason_required`: settings require a message with this rejection. `problem_of_change`: why the rules leave the changed input
    to others. `people`: existing usernames among those in the value; None if its schema has no field for people.
    """

    reason_required: bool = False
    problem_of_change: str = ""
    people: Set[str] | None = None


NOTHING_KNOWN = AnswerFacts()


def check(
    request: ApprovalRequest, answer: Answer, via: Door, known: AnswerFacts
) -> Answer:
    """Return the answer in the form to be stored. Raise Invalid, naming each wrong field."""
    if not is_possible(request, answer):
        raise Invalid(
            _("“%(verdict)s” is not possible for this kind of request.")
            % {"verdict": answer.verdict.value},
            {"verdict": _("is not possible for this kind of request")},
        )
    answer = normalize(request, answer, via)
    errors = errors_of(request, answer, via, known)
    if needs_reason(request, answer, known):
        missing = {"comment": _("is missing")}
        raise Invalid(_reason_missing(request, answer), errors | missing)
    if not errors and answer.verdict == Verdict.EDIT and known.problem_of_change:
        message = _("needs other approvers than the original input")
        raise Invalid(known.problem_of_change, {"edited_input": message})
    if not errors and _is_choice(request, answer, via):
        to_choice(request, answer.answer)
    if errors:
        raise Invalid(_("The decision is invalid."), errors)
    return answer


def is_possible(request: ApprovalRequest, answer: Answer) -> bool:
    """Return whether the verdict is valid for this kind of request."""
    return answer.verdict in VERDICTS[Kind(request.kind)]


def errors_of(
    request: ApprovalRequest, answer: Answer, via: Door, known: AnswerFacts
) -> dict[str, str]:
    """Return the problems with the comment and the value of a normalized answer, by field."""
    errors = _comment_errors(answer)
    for name, value, wanted in (
        ("edited_input", answer.edited_input, answer.verdict == Verdict.EDIT),
        ("answer", answer.answer, answer.verdict == Verdict.RESPOND),
    ):
        if wanted != (value is not ABSENT):
            errors[name] = (
                _("is missing") if wanted else _("is not allowed with this verdict")
            )
        elif wanted:
            errors |= _value_errors(request, name, value, via, known) | _file_errors(
                request, answer
            )
    return errors


def value_with_people(request: ApprovalRequest, answer: Answer) -> Any:
    """Return the value of a normalized answer whose schema may name people, if it can be examined; else ABSENT."""
    value = {Verdict.EDIT: answer.edited_input, Verdict.RESPOND: answer.answer}.get(
        answer.verdict, ABSENT
    )
    if value is ABSENT or not names_people(request.response_schema):
        return ABSENT
    plain = (
        is_plain_input(value)
        if answer.verdict == Verdict.EDIT
        else _size_problem(value) is None
    )
    if not plain:
        return ABSENT
    return _as_described(request, answer.verdict, value)


def is_plain_input(value: Any) -> bool:
    """Return whether a changed input is an object that could be stored."""
    return isinstance(value, dict) and _size_problem(value) is None


def may_lack_reason(request: ApprovalRequest, answer: Answer) -> bool:
    """Return whether settings could require a message with this answer, which has none."""
    rejects = answer.verdict == Verdict.REJECT and request.kind == Kind.APPROVAL
    return (
        rejects and not _has_reason(answer) and not _terms_want_reason(request, answer)
    )


def needs_reason(request: ApprovalRequest, answer: Answer, known: AnswerFacts) -> bool:
    """Return whether the answer lacks a message that its terms, tool or priority require."""
    if request.kind in ASKS:
        return False
    if known.reason_required and may_lack_reason(request, answer):
        return True
    return _terms_want_reason(request, answer) and not _has_reason(answer)


def _has_reason(answer: Answer) -> bool:
    return bool(INVISIBLE.sub("", answer.comment).strip())


def _terms_want_reason(request: ApprovalRequest, answer: Answer) -> bool:
    if answer.break_glass:
        return True
    if not request.terms:
        return False
    reason = terms_of(request.terms).reason
    return reason == MessageRule.ALWAYS or (
        reason == MessageRule.REJECTION and answer.verdict == Verdict.REJECT
    )


def _reason_missing(request: ApprovalRequest, answer: Answer) -> str:
    if answer.break_glass:
        return _("To decide this alone, write a message that explains why.")
    if answer.verdict != Verdict.REJECT:
        return _(
            "A decision on this request needs a message to the agent. Explain your decision."
        )
    if request.tool_name:
        message = _(
            "A rejection of “%(tool)s” needs a message to the agent. Explain why you reject it."
        )
        return message % {"tool": request.tool_name}
    return _(
        "A rejection of this request needs a message to the agent. Explain why you reject it."
    )


def normalize(request: ApprovalRequest, answer: Answer, via: Door) -> Answer:
    """Turn an edit without changes into an approval, and a choice into the common form of choices."""
    if _is_choice(request, answer, via):
        try:
            return replace(answer, answer=to_choice(request, answer.answer))
        except Invalid:
            return answer
    if answer.verdict == Verdict.EDIT and same_json(
        answer.edited_input, request.voted_input
    ):
        return replace(answer, verdict=Verdict.APPROVE, edited_input=ABSENT)
    return answer


def _is_choice(request: ApprovalRequest, answer: Answer, via: Door) -> bool:
    answered = answer.verdict == Verdict.RESPOND and answer.answer is not ABSENT
    return answered and request.chooses and via not in OWN_SHAPES


def approved_digest(request: ApprovalRequest, answer: Answer) -> Digest:
    """Return the digest of the input that may now run; empty unless this approves something."""
    if answer.verdict == Verdict.EDIT:
        return digest_for(request, answer.edited_input)
    return Digest(
        request.input_digest if answer.verdict == Verdict.APPROVE else "",
        request.digest_salt,
    )


def is_replay(request: ApprovalRequest, answer: Answer, by: Actor) -> bool:
    """Return whether the same person or key has made the same decision before; `answer` is normalized."""
    decision = request.decision
    if decision.verdict == Verdict.EXPIRE or (decision.by_id, decision.by_name) != (
        by.pk,
        by.get_username(),
    ):
        return False
    edited, response = (
        None if value is ABSENT else value
        for value in (answer.edited_input, answer.answer)
    )
    new, old = (
        answered_files.without_addresses(request.response_schema, each)
        for each in (response, decision.answer)
    )
    stored = [decision.verdict, decision.comment, decision.edited_input, old]
    return same_json([answer.verdict.value, answer.comment, edited, new], stored)


def is_same_vote(request: ApprovalRequest, answer: Answer, vote: Vote | None) -> bool:
    """Return whether this repeats the same person's vote on a request that has ended since; `answer` is normalized."""
    if vote is None:
        return False
    verdict = Verdict.REJECT if answer.verdict == Verdict.REJECT else Verdict.APPROVE
    digest = (
        approved_digest(request, answer).text
        if answer.verdict == Verdict.EDIT
        else request.voted_digest
    )
    return (vote.verdict, vote.comment, vote.digest) == (
        verdict,
        answer.comment,
        digest,
    )


def too_late(decision: Decision) -> AlreadyDecided | Expired:
    """Return the refusal of an answer that comes after this decision."""
    return (
        Expired(decision)
        if decision.verdict == Verdict.EXPIRE
        else AlreadyDecided(decision)
    )


def _comment_errors(answer: Answer) -> dict[str, str]:
    too_long = len(answer.comment) > MAX_COMMENT
    return (
        {
            "comment": _("is longer than %(most)s characters")
            % {"most": grouped(MAX_COMMENT)}
        }
        if too_long
        else {}
    )


def _value_errors(
    request: ApprovalRequest, name: str, value: Any, via: Door, known: AnswerFacts
) -> dict[str, str]:
    problem = _size_problem(value)
    if problem is not None:
        return {name: problem}
    if name == "edited_input" and not isinstance(value, dict):
        return {name: _("must be a JSON object")}
    verdict = Verdict.RESPOND if name == "answer" else Verdict.EDIT
    described = _as_described(request, verdict, value)
    errors = schema_errors(
        request.response_schema, described, plain=via in OWN_PAGES, people=known.people
    )
    return {
        f"{name}.{path}" if path else name: message for path, message in errors.items()
    }


def _size_problem(value: Any) -> str | None:
    """Return why a value cannot be stored as JSON; None if it can."""
    try:
        canonical(value, max_bytes=MAX_VALUE_BYTES, max_values=MAX_VALUES)
    except NotCanonical as error:
        return translated(error)
    return None


def _as_described(request: ApprovalRequest, verdict: Verdict, value: Any) -> Any:
    """Return a value as described by the schema: files by their names."""
    if verdict == Verdict.RESPOND and request.kind in ASKS:
        return answered_files.with_names(request.response_schema, value)
    return value


def _file_errors(request: ApprovalRequest, answer: Answer) -> dict[str, str]:
    missing = answered_files.not_sent(
        request.response_schema, answer.answer, answer.files
    )
    message = _(
        "is not a file: choose one on the request page, or send its `name` and its `content` in base64"
    )
    return (
        {f"answer.{name}": message for name in missing} if request.kind in ASKS else {}
    )
