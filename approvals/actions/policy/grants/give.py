"""Give a grant with an approval, in its transaction."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils.translation import gettext as _

from approvals.actions.locking import LockedRequest
from approvals.actions.policy.grants.events import publish_grant
from approvals.asking.answers import Answer
from approvals.asking.digests import fingerprints_of, grant_target
from approvals.exceptions import Invalid
from approvals.models import Grant
from approvals.models.actors import Actor
from approvals.policy import grants
from approvals.policy.grants import GrantCase, GrantTerms
from approvals.states import Door, Verdict, Width
from approvals.text.names import fold
from approvals.text.translatable import Sentence, gettext_noop
from approvals.text.translation import translated

_MOMENT = timedelta(minutes=1)
_ONLY_APPROVED = Sentence(
    gettext_noop("needs an approval of the unchanged input: approve without changes")
)


def problem_of_grant(answer: Answer, case: GrantCase, now: datetime) -> Invalid | None:
    """Return why the grant of an answer is not possible, naming each wrong term; None if it is possible."""
    assert answer.grant is not None
    problems = grants.problems(answer.grant, case, now)
    if not problems and answer.verdict != Verdict.APPROVE:
        problems = {"": _ONLY_APPROVED}
    if not problems:
        return None
    errors = {
        f"grant.{name}".rstrip("."): translated(problem)
        for name, problem in problems.items()
    }
    return Invalid(_("The grant is invalid."), errors)


def was_given(grant: Grant | None, terms: GrantTerms) -> bool:
    """Return whether the grant given with a request's approval, by whichever approver, has these terms.

    The page counts hours from the submission of its form, so a form submitted twice may end a moment later.
    """
    if grant is None:
        return False
    if grant.until is None or terms.until is None:
        same_end = grant.until == terms.until
    else:
        same_end = abs(grant.until - terms.until) < _MOMENT
    stored = (grant.width, grant.audience, grant.uses, grant.reason)
    return same_end and stored == (
        terms.width,
        terms.audience,
        terms.uses,
        terms.reason,
    )


def give_grant(
    locked: LockedRequest, terms: GrantTerms, case: GrantCase, *, by: Actor, via: Door
) -> Grant:
    """Store a validated grant, on record; the caller has approved the request in the same transaction."""
    request = locked.request
    workflow = locked.workflow
    fields = (
        grants.fields_of(case.input, case.key_fields)
        if terms.width == Width.FIELDS
        else None
    )
    grant = Grant(
        request=request,
        given_by_id=by.pk,
        given_by_name=by.get_username(),
        given_at=locked.now,
        via=via,
        reason=terms.reason,
        tool_name=request.tool_name,
        canonical_tool=fold(request.tool_name),
        width=terms.width,
        target=grant_target(terms.width, fingerprints_of(request)[0], fields),
        fields=[field["pointer"] for field in fields] if fields else None,
        audience=terms.audience,
        requested_by_id=request.requested_by_id,
        agent=request.agent,
        scope=request.scope,
        workflow_key=workflow.key,
        thread_id=workflow.thread_id,
        until=terms.until,
        seconds=int((terms.until - locked.now).total_seconds())
        if terms.until
        else None,
        uses=terms.uses,
        default_width=grants.default_width(request.tool_name),
    )
    grant.save(force_insert=True)
    publish_grant(
        "grant.given", grant, actor=by, via=via, more={"reason": grant.reason}
    )
    return grant
