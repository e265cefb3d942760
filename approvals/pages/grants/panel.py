"""The panel of *Approve for…*: its form, a sentence on the calls that will run, a preview over past requests, and the waiting
requests that are covered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.access.standing import Standing
from approvals.access.usernames import shown_person
from approvals.asking.secrets import masked_input
from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest
from approvals.pages.grants import wording
from approvals.pages.grants.forms import GrantForm
from approvals.policy import grants
from approvals.policy.grants import GrantTerms
from approvals.queries.policy.grants.covered import (
    NONE_WAITING,
    CoveredRequests,
    coverage_of,
    waiting_under,
)
from approvals.queries.policy.grants.grant_case import case_of, database_time
from approvals.queries.policy.grants.ledger import GrantPreview, asking_always, preview
from approvals.queries.policy.rules.suggestions import (
    SuggestionEvidence,
    suggested_grant,
)
from approvals.text.text import visible
from approvals.text.translation import translated

#: Prefix of the fields of a grant submitted with a decision.
SENT = "grant"


@dataclass(frozen=True, slots=True, kw_only=True)
class Granting:
    """The variable `granting` of a card. Without a form, `why_not` says why no grant is possible."""

    why_not: str = ""
    form: GrantForm | None = None
    #: The meaning of the terms, and a preview over past requests; empty while the form has errors.
    sentence: str = ""
    preview: GrantPreview | None = None
    #: Waiting requests that the grant covers; they are offered after the approval.
    waiting: CoveredRequests = NONE_WAITING
    #: Whether *Ask about everything* is on, so that the grant would not be used for now.
    stopped: bool = False
    #: The evidence for the terms, if earlier decisions suggest them.
    evidence: SuggestionEvidence | None = None

    @property
    def errors(self) -> dict[str, tuple[str, str]]:
        """The label and the id of each field, by the name of its error in a refusal."""
        fields = (
            [] if self.form is None else [self.form[name] for name in self.form.fields]
        )
        return {
            f"{SENT}.{field.name}": (
                str(field.label),
                field.id_for_label or field.auto_id,
            )
            for field in fields
        }


def granting_of(
    viewer: Standing,
    request: ApprovalRequest,
    data: QueryDict | None = None,
    *,
    suggested: bool = False,
) -> Granting:
    """Return the panel for a request with the submitted terms; without any and with `suggested`, those that decisions suggest."""
    case = case_of(request, request.workflow, viewer)
    why_not = grants.impossible(case)
    if why_not is not None:
        return Granting(
            why_not=_("A grant %(problem)s.") % {"problem": translated(why_not)}
        )
    suggestion = (
        suggested_grant(viewer, request, case) if suggested and data is None else None
    )
    # A template could reach what a form holds.
    shown = replace(case, input=masked_input(request, case.input))
    form = GrantForm(request, shown, database_time(request), data, suggestion)
    granting = Granting(
        form=form,
        stopped=asking_always() is not None,
        evidence=suggestion.evidence if suggestion else None,
    )
    if not form.is_valid():
        return granting
    sentence = _sentence(request, form.terms, case.key_fields)
    waiting = waiting_under(viewer, coverage_of(request, form.terms, case.key_fields))
    return replace(
        granting,
        sentence=sentence,
        preview=preview(viewer, request, form.terms),
        waiting=waiting,
    )


def sent_terms(
    viewer: Standing, request: ApprovalRequest, data: QueryDict
) -> GrantTerms | None:
    """Return the terms submitted with an approval; None if there are none. Raise Invalid, naming each field."""
    if SENT not in data or not request.pending:
        return None
    granting = granting_of(viewer, request, data)
    if granting.form is None:
        raise Invalid(granting.why_not)
    if granting.form.errors:
        errors = {
            f"{SENT}.{name}": " ".join(map(str, texts))
            for name, texts in granting.form.errors.items()
        }
        raise Invalid(_("The grant is invalid."), errors)
    return granting.form.terms


def _sentence(
    request: ApprovalRequest, terms: GrantTerms, key_fields: Sequence[str]
) -> str:
    return _(
        "For %(whom)s, calls of %(tool)s with %(what)s run without asking, %(limits)s."
    ) % {
        "tool": visible(request.tool_name),
        "what": wording.what_of(request, terms.width, key_fields),
        "whom": wording.for_whom(
            terms.audience, request.agent, shown_person(request.requested_by)
        ),
        "limits": wording.how_long(terms.until, terms.uses),
    }
