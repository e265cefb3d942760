"""Bulk decisions: preview and carry out one verdict on many requests, each in its own transaction.

Whoever approves is told what they have not seen, as on the page of a single request, and the audit log says how much that was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals import actions, queries
from approvals.access import permissions
from approvals.access.standing import Standing
from approvals.actions.checking import MAX_COMMENT
from approvals.asking.answers import Answer
from approvals.db.canonical_json import clean_text
from approvals.exceptions import AlreadyDecided, Invalid, NotFound, Refusal, UnreadParts
from approvals.forms.safeguards import ACCEPTED, amount_of, how_much
from approvals.models import ApprovalRequest, ToolSettings
from approvals.models.actors import Actor
from approvals.pages.comparison import Comparison, Line, compare_inputs, name_of_line, name_of_same, unseen_parts
from approvals.policy.rules import Rule
from approvals.queries.described import read_schema
from approvals.queries.policy.ballots import Ballot, ballots_of
from approvals.queries.policy.proposals import as_proposed
from approvals.queries.policy.ruling import rules_of_requests, settings_under
from approvals.queries.policy.why_not import why_not
from approvals.queries.preferences import ReasonRules, reason_rules, settings_of_tools
from approvals.queries.request_list import HEAVY, listed
from approvals.states import VERDICTS, Door, Kind, Priority, Verdict, verdict_label
from approvals.text.confusables import marked_name
from approvals.text.numbers import grouped
from approvals.text.tables import Part
from approvals.text.text import visible

MAX_PICKS = 50
BULK_VERDICTS = {Verdict.APPROVE, Verdict.REJECT}
#: Codes of steps that are never attempted.
SKIPPED = {"needs_name", "one_by_one", "reason", NotFound.code}


@dataclass(frozen=True, slots=True)
class Order:
    """A bulk decision as it was sent: the selected requests with the digests that were shown, the verdict and the message.

    `offered` are all requests of the page with those that were left out, and `viewed` are the places that were in view, by the
    ids of what holds them; None where the page did not report any. `accepts_unread` after the person was told what they have not
    seen; `signed_in_at` is when they signed in.
    """

    picks: dict[UUID, str]
    verdict: Verdict
    comment: str
    offered: dict[UUID, str] = field(default_factory=dict)
    viewed: Mapping[str, frozenset[str]] | None = None
    accepts_unread: bool = False
    signed_in_at: datetime | None = None

    @property
    def approves(self) -> bool:
        return self.verdict == Verdict.APPROVE

    def viewed_at(self, *names: str) -> frozenset[str]:
        """Return the places that were in view in any of these parts of the page."""
        return frozenset().union(*((self.viewed or {}).get(name, frozenset()) for name in names))


@dataclass(frozen=True, slots=True)
class Step:
    """One request of a bulk decision: `message` says the outcome, `code` is that of the refusal, or empty.

    `request` is None if it does not exist or if the person may not see it. `votes` says how far the votes on it are, and
    for whom the person votes; `voted` if it waits for others after their vote.
    """

    request: ApprovalRequest | None
    pick: str
    code: str = ""
    message: str = ""
    votes: str = ""
    voted: bool = False


def parse_order(data: QueryDict) -> Order:
    """Parse the form of the inbox; rows that are alike are all in one field, `picks`. Raise Invalid if that is wrong."""
    picks = _picks([*data.getlist("pick"), *data.get("picks", "").split()])
    if not picks:
        raise Invalid(_("Select at least one request first."), {"pick": _("is missing")})
    verdict = data.get("verdict", "")
    if verdict not in BULK_VERDICTS:
        raise Invalid(_("Press one of the buttons."), {"verdict": _("is unknown")})
    comment = clean_text(data.get("comment", "").replace("\r\n", "\n").strip())
    if len(comment) > MAX_COMMENT:
        message = _("The comment is longer than %(limit)d characters.") % {"limit": MAX_COMMENT}
        raise Invalid(message, {"comment": _("is too long")})
    return Order(
        picks,
        Verdict(verdict),
        comment,
        offered=_picks(data.getlist("offered")),
        viewed=_viewed(data.getlist("viewed")) if "viewed" in data else None,
        accepts_unread=data.get("unread") == ACCEPTED,
    )


def _picks(sent: Sequence[str]) -> dict[UUID, str]:
    picks: dict[UUID, str] = {}
    for pick in sent:
        name, _colon, digest = pick.partition(":")
        try:
            picks[UUID(name)] = digest
        except ValueError as error:
            raise Invalid(_("The list has no such request."), {"pick": _("is not understood")}) from error
    if len(picks) > MAX_PICKS:
        message = _("Select at most %(limit)d requests. You selected %(found)d.")
        raise Invalid(message % {"limit": MAX_PICKS, "found": len(picks)}, {"pick": _("are too many")})
    return picks


def _viewed(sent: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return what a page reports as seen: of each part its id, then the places in it that were in view."""
    reports = [report.split() for report in sent]
    return {name: frozenset(places) for name, *places in filter(None, reports)}


def plan(viewer: Standing, order: Order, *, inputs: bool = False) -> list[Step]:
    """Return what the order would do, in its order; a step with a `code` would be skipped.

    With `inputs`, read those too, and the contexts and messages.
    """
    wanted = listed(queries.requests_for(viewer).filter(pk__in=list(order.picks)))
    if inputs:
        not_shown = [name for name in HEAVY if name not in {"input", "context", "message"}]
        wanted = wanted.defer(None).defer(*not_shown, queries.UNREAD)
    requests = {request.pk: as_proposed(request) for request in wanted}
    ballots = ballots_of(requests.values(), viewer)
    strict = ReasonRules()
    if order.verdict == Verdict.REJECT and not order.comment:
        strict = reason_rules({request.tool_name for request in requests.values()})
    return [
        _plan_step(viewer, order, requests.get(pk), f"{pk}:{digest}", strict, ballots.get(pk))
        for pk, digest in order.picks.items()
    ]


def decide_all(actor: Actor, standing: Standing, order: Order) -> list[Step]:
    """Decide each request in its own transaction. Repeating the same order changes nothing.

    Raise UnreadParts, before any is decided, if a page reports that parts were not in view and the person was not told so.
    """
    steps = plan(standing, order, inputs=order.approves)
    unseen = _unseen([step for step in steps if not step.code], order) if order.approves else {}
    if order.viewed is not None and not order.accepts_unread:
        _check_read(unseen)
    return [step if step.code in SKIPPED else _decide(actor, order, step, unseen) for step in steps]


def _unseen(steps: Sequence[Step], order: Order) -> dict[UUID, list[Part]]:
    """Return the parts of each request that were not in view; all of them where the page did not report any."""
    unseen = {}
    for step in steps:
        assert step.request is not None, "steps without a request are skipped"
        viewed = order.viewed_at(name_of_line(step.request.pk), name_of_same(step.request.tool_name))
        unseen[step.request.pk] = list(unseen_parts(step.request, viewed))
    return unseen


def _check_read(unseen: Mapping[UUID, Sequence[Part]]) -> None:
    left = [parts for parts in unseen.values() if parts]
    if not left:
        return
    message = ngettext(
        "You have not seen all of it: %(what)s in %(count)s request. Look at the rest, or press again to approve it unseen.",
        "You have not seen all of it: %(what)s in %(count)s requests. Look at the rest, or press again to approve it unseen.",
        len(left),
    )
    what = how_much([part for parts in left for part in parts])
    raise UnreadParts(message % {"what": what, "count": grouped(len(left))})


def review(steps: Sequence[Step], order: Order) -> list[Comparison]:
    """Return what a person looks at before the order is carried out: an outlier is left out until they include it."""
    return [
        replace(
            tool,
            seen=" ".join(sorted(order.viewed_at(tool.name))),
            lines=[_reviewed(line, order) for line in tool.lines],
        )
        for tool in compare_by_tool(steps)
    ]


def _reviewed(line: Line, order: Order) -> Line:
    left_out = order.approves and bool(line.outliers)
    if order.offered:
        left_out = line.request.pk not in order.picks
    return replace(line, included=not left_out, seen=" ".join(sorted(order.viewed_at(line.name))))


def compare_by_tool(steps: Sequence[Step]) -> list[Comparison]:
    """Return the requests of these steps side by side, per tool, the most used first; "" stands for no tool."""
    tools: dict[str, list[ApprovalRequest]] = {}
    for step in steps:
        if step.request is not None:
            tools.setdefault(step.request.tool_name, []).append(step.request)
    most_first = sorted(tools.items(), key=lambda item: -len(item[1]))
    votes = {step.request.pk: step.votes for step in steps if step.request is not None}
    settings = settings_of_tools(tools)
    rules = rules_of_requests(request for requests in tools.values() for request in requests)
    return [
        compare_inputs(tool, requests, _key_fields(requests, rules, settings.get(tool)), votes, _schemas(requests))
        for tool, requests in most_first
    ]


def _schemas(requests: Sequence[ApprovalRequest]) -> dict[UUID, Mapping[str, Any]]:
    """Return the schemas that say something about inputs, by request."""
    schemas = {request.pk: read_schema(request.described) for request in requests}
    return {pk: schema for pk, schema in schemas.items() if schema is not None}


def _key_fields(
    requests: Sequence[ApprovalRequest], rules: Mapping[UUID, Sequence[Rule]], settings: ToolSettings | None
) -> list[str]:
    """Return the key fields of requests for one tool, each as it was asked: its rule may have other ones than the tool."""
    shown_first = [settings_under(rules.get(request.pk, ()), settings) for request in requests]
    pointers = (str(pointer) for each in shown_first if each is not None for pointer in each.key_fields)
    return list(dict.fromkeys(pointers))


def _plan_step(
    viewer: Standing,
    order: Order,
    request: ApprovalRequest | None,
    pick: str,
    strict: ReasonRules,
    ballot: Ballot | None,
) -> Step:
    """Plan one request; `strict` says what cannot be rejected without a message, if this order has none."""
    if request is None:
        return Step(None, pick, NotFound.code, str(NotFound()))
    if (reason := _individual_only(request)) is not None:
        # Checked first, so that such a request is never decided in bulk, even if its state changes meanwhile.
        code, message = reason
        return Step(request, pick, code, message if request.pending else _already_decided(request))
    if not request.pending:
        return Step(request, pick, AlreadyDecided.code, _already_decided(request))
    if not permissions.may_close(viewer, request):
        return Step(request, pick, "not_allowed", why_not(viewer, request))
    if ballot is not None and not ballot.admits(viewer):
        who = ballot.current.who if ballot.current is not None else ""
        words = _("Your vote is not needed now: %(progress)s.") % {"progress": ballot.words}
        return Step(request, pick, "not_allowed", words if who else _("Your vote is not needed now."))
    if order.verdict not in VERDICTS[Kind(request.kind)]:
        return Step(request, pick, Invalid.code, _("This needs an answer. Open it to answer."))
    if order.picks[request.pk] != request.voted_digest:
        return Step(request, pick, "changed", _("This request changed after you loaded the page. Review it again."))
    if strict.apply_to(request):
        return Step(request, pick, "reason", _("A rejection of this request needs a message. Go back and write one."))
    return Step(request, pick, votes="" if ballot is None else _votes_on(ballot, viewer))


def _votes_on(ballot: Ballot, viewer: Standing) -> str:
    """Return how far the votes are, and who is away for whom the person votes."""
    absent, progress = ballot.votes_for(viewer), _("Votes: %(progress)s.") % {"progress": ballot.words}
    return f"{progress} {_('You vote for %(name)s, who is away.') % {'name': absent}}" if absent else progress


def _individual_only(request: ApprovalRequest) -> tuple[str, str] | None:
    """Return why this request must be decided individually, as a code and in words; None if it need not be."""
    if request.kind == Kind.RECOVERY:
        # Approving it runs the call again, although it may have succeeded already.
        return ("one_by_one", _("The outcome of its call is unknown. Check it and decide it individually."))
    if permissions.only_on_own_pages(request):
        critical = request.priority == Priority.CRITICAL
        words = _("Critical requests must be decided individually.")
        return ("needs_name", words if critical else _("Its name has to be typed. Decide it individually."))
    return None


def _decide(actor: Actor, order: Order, step: Step, unseen: Mapping[UUID, Sequence[Part]]) -> Step:
    assert step.request is not None, "steps without a request are skipped"
    pk = step.request.pk
    try:
        left = amount_of(unseen.get(pk, ()))
        answer = Answer(order.verdict, order.comment, unseen=left or None, signed_in_at=order.signed_in_at)
        shown = order.picks[pk] or "-"
        outcome = actions.decide(pk, answer, by=actor, via=Door.DASHBOARD, shown_digest=shown)
    except Refusal as refusal:
        known = refusal.code == step.code and refusal.code != AlreadyDecided.code
        return Step(step.request, step.pick, refusal.code, step.message if known else str(refusal))
    if outcome.decision is None:
        return replace(step, code="", message=_counted(outcome), voted=True)
    done = _("Approved") if outcome.decision.verdict != Verdict.REJECT else _("Rejected")
    return Step(
        step.request,
        step.pick,
        "",
        _("%(done)s earlier by you.") % {"done": done} if outcome.replayed else f"{done}.",
    )


def _counted(outcome: actions.Outcome) -> str:
    ballot, absent = ballots_of([outcome.request]).get(outcome.request.pk), outcome.vote and outcome.vote.for_name
    values = {"progress": "" if ballot is None else ballot.words, "name": visible(absent or "")}
    if absent:
        return _("Your vote for %(name)s is counted: %(progress)s.") % values
    return _("Your vote is counted: %(progress)s.") % values


def _already_decided(request: ApprovalRequest) -> str:
    decision = request.decision
    who = marked_name(decision.by_name) or _("Pausepoint")
    what = verdict_label(request.kind, decision.verdict)
    return _("Already %(what)s by %(who)s.") % {"what": what.lower(), "who": who}
