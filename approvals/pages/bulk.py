"""One verdict on many requests: what it would do, and what came of each. Every request is decided on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals import actions, queries
from approvals.access import permissions
from approvals.actions.rulings import MAX_COMMENT
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided, Invalid, NotFound, Refusal
from approvals.models import ApprovalRequest
from approvals.pages.comparison import Comparison, compared
from approvals.queries.request_list import HEAVY, listed
from approvals.runtime.canonical import clean_text
from approvals.states import VERDICTS, Door, Kind, Verdict

MAX_PICKS = 50
TAKEN = {Verdict.APPROVE, Verdict.REJECT}
#: Codes of steps that are not even tried.
NEVER = {"needs_name", "one_by_one", NotFound.code}


@dataclass(frozen=True, slots=True)
class Order:
    """What was sent: the picked requests with the digests that were shown of them, and what is said to all."""

    picks: dict[UUID, str]
    verdict: Verdict
    comment: str


@dataclass(frozen=True, slots=True)
class Step:
    """One request of many: `words` say why it is left as it is, or what came of it; `code` is of the refusal, or empty.

    `request` is None where it is absent or not theirs to see.
    """

    request: ApprovalRequest | None
    pick: str
    code: str = ""
    words: str = ""


def order_from(data: QueryDict) -> Order:
    """What a form of the list sent; Invalid in words for the person."""
    picks: dict[UUID, str] = {}
    for sent in data.getlist("pick"):
        name, _colon, digest = sent.partition(":")
        try:
            picks[UUID(name)] = digest
        except ValueError as error:
            raise Invalid(_("That is no request of the list."), {"pick": _("is not understood")}) from error
    if not picks:
        raise Invalid(_("Select at least one request first."), {"pick": _("is missing")})
    if len(picks) > MAX_PICKS:
        words = _("Select at most %(limit)d requests; these are %(found)d.") % {"limit": MAX_PICKS, "found": len(picks)}
        raise Invalid(words, {"pick": _("are too many")})
    verdict = data.get("verdict", "")
    if verdict not in TAKEN:
        raise Invalid(_("Press one of the buttons."), {"verdict": _("is unknown")})
    comment = clean_text(data.get("comment", "").replace("\r\n", "\n").strip())
    if len(comment) > MAX_COMMENT:
        words = _("The comment is longer than %(limit)d characters.") % {"limit": MAX_COMMENT}
        raise Invalid(words, {"comment": _("is too long")})
    return Order(picks, Verdict(verdict), comment)


def plan(user: User, order: Order, *, inputs: bool = False) -> list[Step]:
    """What the order would do, in its own sequence: a step with a `code` would be left as it is. `inputs`: read them too."""
    wanted = listed(queries.requests_for(user).filter(pk__in=list(order.picks)))
    if inputs:
        unshown = [name for name in HEAVY if name != "input"]
        wanted = wanted.defer(None).defer(*unshown, queries.UNREAD)
    found = {request.pk: request for request in wanted}
    return [_planned(user, order, found.get(pk), f"{pk}:{digest}") for pk, digest in order.picks.items()]


def carry_out(user: User, order: Order) -> list[Step]:
    """Decide each request in its own transaction, and say what came of it. The same order again changes nothing."""
    return [step if step.code in NEVER else _decided(user, order, step)
            for step in plan(user, order)]  # fmt: skip


def by_tool(steps: Sequence[Step]) -> list[Comparison]:
    """The requests of these steps side by side, tool by tool, the most first; those without a tool under an empty name."""
    tools: dict[str, list[ApprovalRequest]] = {}
    for step in steps:
        if step.request is not None:
            tools.setdefault(step.request.tool_name, []).append(step.request)
    most_first = sorted(tools.items(), key=lambda item: -len(item[1]))
    return [compared(tool, requests) for tool, requests in most_first]


def _planned(user: User, order: Order, request: ApprovalRequest | None, pick: str) -> Step:
    if request is None:
        return Step(None, pick, NotFound.code, str(NotFound()))
    if (why := _alone(order, request)) is not None:
        # Before all else: whatever has become of it.
        code, words = why
        return Step(request, pick, code, words if request.pending else _over(request))
    if not request.pending:
        return Step(request, pick, AlreadyDecided.code, _over(request))
    if not permissions.may_close(user, request):
        return Step(request, pick, "not_allowed", _("You can view this request but not decide it."))
    if order.verdict not in VERDICTS[Kind(request.kind)]:
        return Step(request, pick, Invalid.code, _("This needs an answer. Open it to answer."))
    if order.picks[request.pk] != request.input_digest:
        return Step(request, pick, "changed", _("This request changed after you loaded the page. Review it again."))
    return Step(request, pick)


def _alone(order: Order, request: ApprovalRequest) -> tuple[str, str] | None:
    """Why, as a code and in words, this is never decided along with others."""
    if request.kind == Kind.RECOVERY:
        # To approve it is to run its call again, which may have been done already.
        return ("one_by_one", _("The outcome of its call is unknown. Check it and decide it individually."))
    if permissions.only_on_own_pages(request):
        return ("needs_name", _("Critical requests must be decided individually."))
    return None


def _decided(user: User, order: Order, step: Step) -> Step:
    assert step.request is not None, "what is absent is not decided"
    pk = step.request.pk
    try:
        answer = Answer(order.verdict, order.comment)
        shown = order.picks[pk] or "-"
        outcome = actions.decide(pk, answer, by=user, via=Door.DASHBOARD, shown_digest=shown, seen=step.request)
    except Refusal as refusal:
        known = refusal.code == step.code and refusal.code != AlreadyDecided.code
        return Step(step.request, step.pick, refusal.code, step.words if known else str(refusal))
    done = _("Approved") if order.verdict == Verdict.APPROVE else _("Rejected")
    return Step(
        step.request,
        step.pick,
        "",
        _("%(done)s earlier by you.") % {"done": done} if outcome.replayed else f"{done}.",
    )


def _over(request: ApprovalRequest) -> str:
    decision = request.decision
    who = decision.by_name or _("Pausepoint")
    return _("Already %(what)s by %(who)s.") % {"what": decision.get_verdict_display().lower(), "who": who}
