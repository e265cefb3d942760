"""Bulk decisions: preview and carry out one verdict on many requests, each in its own transaction.

Approvers are told which parts they have not seen, as on the page of a single request, and the audit log records how much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals import actions, queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided, Invalid, NotFound, Refusal, UnreadParts
from approvals.forms.unseen_parts import amount_of, how_much
from approvals.models import ApprovalRequest, ToolSettings
from approvals.models.actors import Actor
from approvals.pages.bulk_orders import BulkDecision
from approvals.pages.comparison import (
    ComparedRequest,
    RequestComparison,
    compare_inputs,
    name_of_line,
    name_of_same,
    unseen_parts,
)
from approvals.policy.rules import Rule
from approvals.queries.described import read_schema
from approvals.queries.policy.rules.policy_versions import (
    key_fields_under,
    rules_of_requests,
)
from approvals.queries.policy.votes.ballots import Ballot, ballots_of
from approvals.queries.policy.votes.stages import not_needed
from approvals.queries.policy.why_not import why_not
from approvals.queries.preferences import ReasonRules, reason_rules, settings_of_tools
from approvals.queries.request_list import HEAVY, listed
from approvals.states import VERDICTS, Door, Kind, Priority, Verdict, verdict_label
from approvals.text.names import marked_name
from approvals.text.numbers import grouped
from approvals.text.tables import HeldPart
from approvals.text.text import visible

#: Codes of steps that are never attempted.
SKIPPED = {"needs_name", "one_by_one", "reason", NotFound.code}


@dataclass(frozen=True, slots=True)
class BulkOutcome:
    """One request of a bulk decision: `message` is the outcome in words, `code` that of the refusal, or empty.

    `request` is None if it does not exist or the person may not see it. `votes` describes the progress of its votes, and any
    absent person that this one votes for; `voted`: it waits for others after their vote.
    """

    request: ApprovalRequest | None
    pick: str
    code: str = ""
    message: str = ""
    votes: str = ""
    voted: bool = False


def plan(
    viewer: Standing, order: BulkDecision, *, inputs: bool = False
) -> list[BulkOutcome]:
    """Return the steps of the order, in sequence; a step with a `code` would be skipped.

    With `inputs`, read those too, and the contexts and messages.
    """
    wanted = listed(queries.requests_for(viewer).filter(pk__in=list(order.picks)))
    if inputs:
        not_shown = [
            name for name in HEAVY if name not in {"input", "context", "message"}
        ]
        wanted = wanted.defer(None).defer(*not_shown, queries.UNREAD)
    requests = {request.pk: request for request in wanted}
    ballots = ballots_of(requests.values(), [viewer])
    strict = ReasonRules()
    if order.verdict == Verdict.REJECT and not order.comment:
        strict = reason_rules({request.tool_name for request in requests.values()})
    return [
        _plan_step(
            viewer, order, requests.get(pk), f"{pk}:{digest}", strict, ballots.get(pk)
        )
        for pk, digest in order.picks.items()
    ]


def decide_all(
    actor: Actor, standing: Standing, order: BulkDecision
) -> list[BulkOutcome]:
    """Decide each request in its own transaction. Repeating the same order changes nothing.

    Raise UnreadParts, before any is decided, if parts were reported as not in view and the person was not told.
    """
    steps = plan(standing, order, inputs=order.approves)
    unseen: dict[UUID, list[HeldPart]] = {}
    if order.approves:
        unseen = _unseen([step for step in steps if not step.code], order)
    if order.viewed is not None and not order.accepts_unread:
        _check_read(unseen)
    return [
        step if step.code in SKIPPED else _decide(actor, order, step, unseen)
        for step in steps
    ]


def _unseen(
    steps: Sequence[BulkOutcome], order: BulkDecision
) -> dict[UUID, list[HeldPart]]:
    """Return the parts of each request that were not in view; all parts if the page did not report any."""
    unseen = {}
    for step in steps:
        assert step.request is not None, "steps without a request are skipped"
        viewed = order.viewed_at(
            name_of_line(step.request.pk), name_of_same(step.request.tool_name)
        )
        unseen[step.request.pk] = list(unseen_parts(step.request, viewed))
    return unseen


def _check_read(unseen: Mapping[UUID, Sequence[HeldPart]]) -> None:
    left = [parts for parts in unseen.values() if parts]
    if not left:
        return
    message = ngettext(
        "You haven't seen %(what)s in %(count)s request yet. Look at the rest, or press again to approve unseen.",
        "You haven't seen %(what)s in %(count)s requests yet. Look at the rest, or press again to approve unseen.",
        len(left),
    )
    what = how_much([part for parts in left for part in parts])
    words = message % {"what": what, "count": grouped(len(left))}
    raise UnreadParts(words, len(left))


def review(
    steps: Sequence[BulkOutcome], order: BulkDecision
) -> list[RequestComparison]:
    """Return the comparison to review before the order is carried out; outliers are left out until the person includes them."""
    return [
        replace(
            tool,
            seen=" ".join(sorted(order.viewed_at(tool.name))),
            lines=[_reviewed(line, order) for line in tool.lines],
        )
        for tool in compare_by_tool(steps)
    ]


def _reviewed(line: ComparedRequest, order: BulkDecision) -> ComparedRequest:
    left_out = order.approves and bool(line.outliers)
    if order.offered:
        left_out = line.request.pk not in order.picks
    return replace(
        line, included=not left_out, seen=" ".join(sorted(order.viewed_at(line.name)))
    )


def compare_by_tool(steps: Sequence[BulkOutcome]) -> list[RequestComparison]:
    """Return the requests of these steps side by side, by tool, most used first; "" stands for no tool."""
    tools: dict[str, list[ApprovalRequest]] = {}
    for step in steps:
        if step.request is not None:
            tools.setdefault(step.request.tool_name, []).append(step.request)
    most_first = sorted(tools.items(), key=lambda item: -len(item[1]))
    votes = {step.request.pk: step.votes for step in steps if step.request is not None}
    settings = settings_of_tools(tools)
    rules = rules_of_requests(
        request for requests in tools.values() for request in requests
    )
    return [
        compare_inputs(
            tool,
            requests,
            _key_fields(requests, rules, settings.get(tool)),
            votes,
            _schemas(requests),
        )
        for tool, requests in most_first
    ]


def _schemas(requests: Sequence[ApprovalRequest]) -> dict[UUID, Mapping[str, Any]]:
    """Return the input schemas by request, where they describe inputs."""
    schemas = {request.pk: read_schema(request.described) for request in requests}
    return {pk: schema for pk, schema in schemas.items() if schema is not None}


def _key_fields(
    requests: Sequence[ApprovalRequest],
    rules: Mapping[UUID, Sequence[Rule]],
    settings: ToolSettings | None,
) -> list[str]:
    """Return the key fields of requests for one tool, under their own terms: a rule may override those of the tool."""
    shown_first = [
        key_fields_under(rules.get(request.pk, ()), settings) for request in requests
    ]
    pointers = (str(pointer) for key_fields in shown_first for pointer in key_fields)
    return list(dict.fromkeys(pointers))


def _plan_step(
    viewer: Standing,
    order: BulkDecision,
    request: ApprovalRequest | None,
    pick: str,
    strict: ReasonRules,
    ballot: Ballot | None,
) -> BulkOutcome:
    """Plan one request; `strict` are the rules for messages on rejection, for an order without one."""
    if request is None:
        return BulkOutcome(None, pick, NotFound.code, str(NotFound()))
    skipped = _why_skipped(viewer, order, request, strict, ballot)
    if skipped is not None:
        return BulkOutcome(request, pick, *skipped)
    votes = "" if ballot is None else _votes_on(ballot, viewer)
    return BulkOutcome(request, pick, votes=votes)


def _why_skipped(
    viewer: Standing,
    order: BulkDecision,
    request: ApprovalRequest,
    strict: ReasonRules,
    ballot: Ballot | None,
) -> tuple[str, str] | None:
    """Return why the order leaves a request as it is, as a code and in words; None if it does not."""
    alone = _individual_only(request)
    if alone is not None:
        # Checked first, so that such a request is never decided in bulk, even if its state changes meanwhile.
        return alone if request.pending else (alone[0], _already_decided(request))
    if not request.pending:
        return AlreadyDecided.code, _already_decided(request)
    if not permissions.may_close(viewer, request):
        return "not_allowed", why_not(viewer, request)
    if ballot is not None and not ballot.admits(viewer):
        return "not_allowed", not_needed(ballot.current)
    if order.verdict not in VERDICTS[Kind(request.kind)]:
        return Invalid.code, _("This needs an answer. Open it to answer.")
    if order.picks[request.pk] != request.voted_digest:
        words = _("This request changed after you loaded the page. Review it again.")
        return "changed", words
    if strict.apply_to(request):
        words = _("A rejection of this request needs a message. Go back and write one.")
        return "reason", words
    return None


def _votes_on(ballot: Ballot, viewer: Standing) -> str:
    """Describe the progress of the votes, and the absent person that the viewer votes for, if any."""
    absent = ballot.votes_for(viewer)
    progress = _("Votes: %(progress)s.") % {"progress": ballot.words}
    if not absent:
        return progress
    return f"{progress} {_('You vote for %(name)s, who is away.') % {'name': absent}}"


def _individual_only(request: ApprovalRequest) -> tuple[str, str] | None:
    """Return why this request must be decided individually, as a code and in words; None if it need not be."""
    if request.kind == Kind.RECOVERY:
        # Approving it runs the call again, although it may have succeeded already.
        words = _(
            "The outcome of its call is unknown. Check it and decide it individually."
        )
        return "one_by_one", words
    if not permissions.only_on_own_pages(request):
        return None
    if request.priority == Priority.CRITICAL:
        return "needs_name", _("Critical requests must be decided individually.")
    return "needs_name", _(
        "You have to type its name to approve it. Decide it individually."
    )


def _decide(
    actor: Actor,
    order: BulkDecision,
    step: BulkOutcome,
    unseen: Mapping[UUID, Sequence[HeldPart]],
) -> BulkOutcome:
    assert step.request is not None, "steps without a request are skipped"
    pk = step.request.pk
    try:
        left = unseen.get(pk, ())
        answer = Answer(
            order.verdict,
            order.comment,
            unseen=amount_of(left) if left else None,
            signed_in_at=order.signed_in_at,
        )
        shown = order.picks[pk] or "-"
        outcome = actions.decide(
            pk, answer, by=actor, via=Door.DASHBOARD, shown_digest=shown
        )
    except Refusal as refusal:
        known = refusal.code == step.code and refusal.code != AlreadyDecided.code
        message = step.message if known else str(refusal)
        return BulkOutcome(step.request, step.pick, refusal.code, message)
    if outcome.decision is None:
        return replace(step, code="", message=_counted(outcome), voted=True)
    rejected = outcome.decision.verdict == Verdict.REJECT
    done = _("Rejected") if rejected else _("Approved")
    earlier = _("%(done)s earlier by you.") % {"done": done}
    message = earlier if outcome.replayed else f"{done}."
    return BulkOutcome(step.request, step.pick, "", message)


def _counted(outcome: actions.Outcome) -> str:
    ballot = ballots_of([outcome.request]).get(outcome.request.pk)
    absent = outcome.vote and outcome.vote.for_name
    values = {
        "progress": "" if ballot is None else ballot.words,
        "name": visible(absent or ""),
    }
    if absent:
        return _("Your vote for %(name)s is counted: %(progress)s.") % values
    return _("Your vote is counted: %(progress)s.") % values


def _already_decided(request: ApprovalRequest) -> str:
    decision = request.decision
    who = marked_name(decision.by_name) or _("Pausepoint")
    what = verdict_label(
        decision.verdict, request.kind, break_glass=decision.break_glass
    )
    return _("Already %(what)s by %(who)s.") % {"what": what.lower(), "who": who}
