"""Rules and grants suggested by people's own decisions: calls that were approved unchanged every time.

A suggestion is never applied by itself. A rule goes into an administrator's draft, a grant into the form for approving a matching
waiting request. Both show their effect on past requests in advance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals.access.permissions import may_close
from approvals.access.standing import Standing
from approvals.asking.digests import fingerprints_of
from approvals.json_types import JsonMapping
from approvals.models import ApprovalRequest
from approvals.policy import grants
from approvals.policy.policies import Directory, policy_of, stored_form
from approvals.policy.rules import Policy, Then, evaluate
from approvals.policy.suggestions import DecidedCall, grant_for, rule_for
from approvals.queries.attention.people import by_keys, by_people
from approvals.queries.policy.grants.grant_case import case_of
from approvals.queries.policy.rules.facts import requester_of, rule_facts
from approvals.queries.policy.rules.policy_versions import HAS_FILES, live_rules
from approvals.queries.requests import requests_for
from approvals.states import Audience, Kind, Priority, Status, Verdict, Width
from approvals.text.names import fold

#: Days covered, and maximum decisions read.
DAYS = 60
MOST = 20_000
#: Maximum suggestions, decisions shown for each, and waiting requests compared with one.
MAX_SUGGESTIONS = 10
SHOWN = 10
MAX_WAITING = 20
#: Maximum decisions on a page of their own.
LISTED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestionEvidence:
    """The decisions of the last days in favor of a suggestion: all were approvals without changes."""

    approved: int
    people: int
    #: The latest of them.
    shown: Sequence[ApprovalRequest]
    days: int = DAYS

    @property
    def more(self) -> int:
        return self.approved - len(self.shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """A rule in its written form, its evidence, and a request with which a similar grant can be given."""

    tool: str
    rule: JsonMapping
    evidence: SuggestionEvidence
    #: The number of all decisions on the tool.
    total: int
    grant_with: ApprovalRequest | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuggestedGrant:
    """The terms of a grant that could be given with a request, and their evidence."""

    width: Width
    audience: Audience
    evidence: SuggestionEvidence


def suggestions_for(viewer: Standing, taken: Iterable[str] = ()) -> list[Suggestion]:
    """Return suggestions from the decisions of the last days that this person may see, most useful first.

    `taken` are the names of existing rules.
    """
    by_tool: dict[str, list[DecidedCall]] = defaultdict(list)
    # A rule matches tool names that differ only in case, so decisions on all of them count. It gets the latest spelling.
    tools: dict[str, str] = {}
    for tool, each in _decided(_decisions(viewer)):
        by_tool[tools.setdefault(fold(tool), tool)].append(each)
    names = set(taken)
    rules = [
        (tool, best)
        for tool, decided in by_tool.items()
        if (best := rule_for(tool, decided)) is not None
    ]
    free = sorted(
        (
            (tool, rule, cases)
            for tool, (rule, cases) in rules
            if rule["name"] not in names
        ),
        key=lambda each: -len(each[2]),
    )
    live = live_rules()
    return [
        Suggestion(
            tool=tool,
            rule=rule,
            evidence=_evidence(viewer, cases),
            total=len(by_tool[tool]),
            grant_with=_grant_with(viewer, tool, rule, by_tool[tool], live),
        )
        for tool, rule, cases in free[:MAX_SUGGESTIONS]
    ]


def decisions_behind(
    viewer: Standing, tool: str, *, only_for: bool
) -> tuple[list[ApprovalRequest], int]:
    """Return the decisions behind a suggestion for a tool, latest first, and their number.

    With `only_for`, only those in its favor: the approvals that its rule would have allowed.
    """
    decided = [
        each for name, each in _decided(_decisions(viewer)) if fold(name) == fold(tool)
    ]
    if only_for:
        best = rule_for(tool, decided)
        decided = [] if best is None else list(best[1])
    return _shown(viewer, decided[:LISTED]), len(decided)


def _shown(viewer: Standing, calls: Sequence[DecidedCall]) -> list[ApprovalRequest]:
    """Return the requests of these calls that a person may see, latest first."""
    requests = requests_for(viewer).filter(pk__in=[each.pk for each in calls])
    return list(requests.select_related("decision").order_by("-created_at", "-id"))


def suggested_grant(
    viewer: Standing, request: ApprovalRequest, case: grants.GrantCase
) -> SuggestedGrant | None:
    """Return the grant that earlier decisions suggest for a request; None if there is none, or none can be given."""
    if grants.impossible(case) is not None:
        return None
    same = _decisions(viewer).filter(
        canonical_tool=request.tool_name, requested_by=request.requested_by_id
    )
    terms = _terms_of(request, case, [each for _tool, each in _decided(same)])
    if terms is None:
        return None
    width, audience, cases = terms
    return SuggestedGrant(
        width=width, audience=audience, evidence=_evidence(viewer, cases)
    )


def _decisions(viewer: Standing) -> QuerySet[ApprovalRequest]:
    """Return the decisions on approvals for or against a suggestion that this person may see.

    Only people's approvals speak for one. Rejections and changes by a program with an API key also count against it.
    """
    return (
        requests_for(viewer)
        .filter(
            by_people("decision__")
            | (by_keys("decision__") & ~Q(decision__verdict=Verdict.APPROVE)),
            created_at__gte=timezone.now() - timedelta(days=DAYS),
            kind=Kind.APPROVAL,
            decision__verdict__in=[Verdict.APPROVE, Verdict.EDIT, Verdict.REJECT],
        )
        .exclude(priority=Priority.CRITICAL)
        .exclude(tool_name="")
        .order_by("-created_at", "-id")
    )


def _decided(decisions: QuerySet[ApprovalRequest]) -> Iterator[tuple[str, DecidedCall]]:
    """Yield the tool of each decision, with its data."""
    rows = decisions.annotate(has_files=HAS_FILES).values_list(
        "tool_name",
        "pk",
        "input",
        "secrets",
        "decision__verdict",
        "decision__by_id",
        "agent",
        "scope",
        "requested_by_id",
        "input_fingerprint",
        "has_files",
    )
    for (
        tool,
        pk,
        value,
        secrets,
        verdict,
        by_id,
        agent,
        scope,
        requester,
        fingerprint,
        files,
    ) in rows[:MOST].iterator(chunk_size=2_000):
        # The query guarantees it, but the type of the nullable column does not.
        assert by_id is not None
        yield (
            tool,
            DecidedCall(
                pk=pk,
                value=value,
                secrets=secrets or (),
                good=verdict == Verdict.APPROVE,
                by_id=by_id,
                agent=agent,
                scope=scope,
                requester=requester,
                fingerprint=fingerprint or "",
                has_files=files,
            ),
        )


def _evidence(viewer: Standing, cases: Sequence[DecidedCall]) -> SuggestionEvidence:
    return SuggestionEvidence(
        approved=len(cases),
        people=len({each.by_id for each in cases}),
        shown=_shown(viewer, cases[:SHOWN]),
    )


def _grant_with(
    viewer: Standing,
    tool: str,
    rule: JsonMapping,
    decided: Sequence[DecidedCall],
    live: Policy,
) -> ApprovalRequest | None:
    """Return the longest-waiting request that a rule matches and with which this person can give a grant."""
    policy = policy_of(stored_form({"rules": [rule]}, Directory()))
    waiting = requests_for(viewer).filter(
        status=Status.PENDING, kind=Kind.APPROVAL, canonical_tool=tool
    )
    for request in waiting.select_related("workflow", "requested_by").order_by(
        "created_at", "id"
    )[:MAX_WAITING]:
        facts = rule_facts(
            agent=request.agent,
            tool=tool,
            kind=request.kind,
            source=request.workflow.source,
            requester=request.requested_by_id,
            on_behalf_of=request.on_behalf_of,
            priority=request.priority,
            value=request.input,
            context=request.context,
            at=request.created_at,
            who=partial(requester_of, request.requested_by),
            has_files=bool(request.attachments),
        )
        if evaluate(policy, facts).then != Then.ALLOW or not may_close(viewer, request):
            continue
        case = case_of(request, request.workflow, viewer, live)
        if (
            grants.impossible(case) is None
            and _terms_of(request, case, decided) is not None
        ):
            return request
    return None


def _terms_of(
    request: ApprovalRequest, case: grants.GrantCase, decided: Sequence[DecidedCall]
) -> tuple[Width, Audience, Sequence[DecidedCall]] | None:
    return grant_for(
        case,
        requester=request.requested_by_id,
        scope=request.scope,
        fingerprints=fingerprints_of(request),
        decided=decided,
    )
