"""Bulk decisions: preview and carry out one verdict on many requests, each in its own transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals import actions, queries
from approvals.access import permissions
from approvals.actions.checking import MAX_COMMENT
from approvals.asking.answers import Answer
from approvals.asking.attachments import MAX_FILES
from approvals.db.canonical_json import clean_text
from approvals.exceptions import AlreadyDecided, Invalid, NotFound, Refusal
from approvals.forms.safeguards import amount_of
from approvals.forms.shown_calls import shown_input
from approvals.forms.shown_files import unseen_files
from approvals.models import ApprovalRequest, ToolSettings
from approvals.models.actors import Actor, person_behind
from approvals.pages.comparison import Comparison, compare_inputs, folded_rows
from approvals.policy.rules import Rule
from approvals.queries.policy.ballots import Ballot, ballots_of
from approvals.queries.policy.proposals import as_proposed
from approvals.queries.policy.ruling import rules_of_requests, settings_under
from approvals.queries.policy.why_not import why_not
from approvals.queries.preferences import ReasonRules, reason_rules, settings_of_tools
from approvals.queries.request_list import HEAVY, listed
from approvals.states import VERDICTS, Door, Kind, Priority, Verdict, verdict_label
from approvals.text.confusables import marked_name
from approvals.text.tables import RAW_CONTEXT, unseen_rows
from approvals.text.text import visible

MAX_PICKS = 50
BULK_VERDICTS = {Verdict.APPROVE, Verdict.REJECT}
#: Codes of steps that are never attempted.
SKIPPED = {"needs_name", "one_by_one", "reason", NotFound.code}


@dataclass(frozen=True, slots=True)
class Order:
    """A bulk decision as it was sent: the selected requests with the digests that were shown, the verdict and the message.

    `opened` are the files that the person has opened, each as `request:place`; `signed_in_at` is when they signed in.
    """

    picks: dict[UUID, str]
    verdict: Verdict
    comment: str
    opened: frozenset[str] = frozenset()
    signed_in_at: datetime | None = None


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
    picks: dict[UUID, str] = {}
    for sent in (*data.getlist("pick"), *data.get("picks", "").split()):
        name, _colon, digest = sent.partition(":")
        try:
            picks[UUID(name)] = digest
        except ValueError as error:
            raise Invalid(_("The list has no such request."), {"pick": _("is not understood")}) from error
    if not picks:
        raise Invalid(_("Select at least one request first."), {"pick": _("is missing")})
    if len(picks) > MAX_PICKS:
        message = _("Select at most %(limit)d requests. You selected %(found)d.")
        raise Invalid(message % {"limit": MAX_PICKS, "found": len(picks)}, {"pick": _("are too many")})
    verdict = data.get("verdict", "")
    if verdict not in BULK_VERDICTS:
        raise Invalid(_("Press one of the buttons."), {"verdict": _("is unknown")})
    comment = clean_text(data.get("comment", "").replace("\r\n", "\n").strip())
    if len(comment) > MAX_COMMENT:
        message = _("The comment is longer than %(limit)d characters.") % {"limit": MAX_COMMENT}
        raise Invalid(message, {"comment": _("is too long")})
    return Order(picks, Verdict(verdict), comment, frozenset(data.getlist("opened")[: MAX_PICKS * MAX_FILES]))


def plan(user: User, order: Order, *, inputs: bool = False) -> list[Step]:
    """Return what the order would do, in its order; a step with a `code` would be skipped.

    With `inputs`, read those too, and the contexts.
    """
    wanted = listed(queries.requests_for(user).filter(pk__in=list(order.picks)))
    if inputs:
        not_shown = [name for name in HEAVY if name not in {"input", "context"}]
        wanted = wanted.defer(None).defer(*not_shown, queries.UNREAD)
    requests = {request.pk: as_proposed(request) for request in wanted}
    ballots = ballots_of(requests.values(), user)
    strict = ReasonRules()
    if order.verdict == Verdict.REJECT and not order.comment:
        strict = reason_rules({request.tool_name for request in requests.values()})
    return [
        _plan_step(user, order, requests.get(pk), f"{pk}:{digest}", strict, ballots.get(pk))
        for pk, digest in order.picks.items()
    ]


def decide_all(actor: Actor, order: Order) -> list[Step]:
    """Decide each request in its own transaction. Repeating the same order changes nothing."""
    approves = order.verdict == Verdict.APPROVE
    steps = plan(person_behind(actor), order, inputs=approves)
    unseen = _unseen([step for step in steps if not step.code], order.opened) if approves else {}
    return [step if step.code in SKIPPED else _decide(actor, order, step, unseen) for step in steps]


def _unseen(steps: Sequence[Step], opened: frozenset[str]) -> dict[UUID, dict[str, int]]:
    """Return how much of each request no one has seen: folded parts, values left out, context, and files not `opened`."""
    lines = ((line, [*tool.same, *line.shown]) for tool in compare_by_tool(steps) for line in tool.lines)
    unseen = {}
    for line, shown in lines:
        card = shown_input(line.request)
        viewed = [file.place for file in card.files if f"{line.request.pk}:{file.place}" in opened]
        left = [*folded_rows(shown), *unseen_rows(card.context, (), RAW_CONTEXT), *unseen_files(card.files, viewed)]
        unseen[line.request.pk] = amount_of(left)
    return unseen


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
        compare_inputs(tool, requests, _key_fields(requests, rules, settings.get(tool)), votes)
        for tool, requests in most_first
    ]


def _key_fields(
    requests: Sequence[ApprovalRequest], rules: Mapping[UUID, Sequence[Rule]], settings: ToolSettings | None
) -> list[str]:
    """Return the key fields of requests for one tool, each as it was asked: its rule may have other ones than the tool."""
    shown_first = [settings_under(rules.get(request.pk, ()), settings) for request in requests]
    pointers = (str(pointer) for each in shown_first if each is not None for pointer in each.key_fields)
    return list(dict.fromkeys(pointers))


def _plan_step(
    user: User, order: Order, request: ApprovalRequest | None, pick: str, strict: ReasonRules, ballot: Ballot | None
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
    if not permissions.may_close(user, request):
        return Step(request, pick, "not_allowed", why_not(user, request))
    if ballot is not None and not ballot.admits(user):
        who = ballot.current.who if ballot.current is not None else ""
        words = _("Your vote is not needed now: %(progress)s.") % {"progress": ballot.words}
        return Step(request, pick, "not_allowed", words if who else _("Your vote is not needed now."))
    if order.verdict not in VERDICTS[Kind(request.kind)]:
        return Step(request, pick, Invalid.code, _("This needs an answer. Open it to answer."))
    if order.picks[request.pk] != request.voted_digest:
        return Step(request, pick, "changed", _("This request changed after you loaded the page. Review it again."))
    if strict.apply_to(request):
        return Step(request, pick, "reason", _("A rejection of this request needs a message. Go back and write one."))
    return Step(request, pick, votes="" if ballot is None else _votes_on(ballot, user))


def _votes_on(ballot: Ballot, user: User) -> str:
    """Return how far the votes are, and who is away for whom the person votes."""
    absent, progress = ballot.votes_for(user), _("Votes: %(progress)s.") % {"progress": ballot.words}
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


def _decide(actor: Actor, order: Order, step: Step, unseen: Mapping[UUID, dict[str, int]]) -> Step:
    assert step.request is not None, "steps without a request are skipped"
    pk = step.request.pk
    try:
        answer = Answer(order.verdict, order.comment, unseen=unseen.get(pk) or None, signed_in_at=order.signed_in_at)
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
