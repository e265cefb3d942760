"""The outcome of an answer agrees with a small model in words, for every combination of facts. Without a database."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.access.fresh_sign_in import SignInAgain
from approvals.access.rights import BREAK_GLASS, DECIDE
from approvals.access.scopes import ChangedInput, Reach, Term
from approvals.access.standing import Standing
from approvals.actions.checking import AnswerFacts
from approvals.actions.decisions.facts import DecisionFacts, Sent
from approvals.actions.decisions.outcome import Overdue, Replayed, TooLate, outcome_of, refusal_of_right
from approvals.actions.policy.outcomes import DecidedAlone, Refused, Uncounted
from approvals.asking.answers import Answer
from approvals.models import ApprovalRequest, Decision, Grant, Workflow
from approvals.models.policy.scopes import May
from approvals.policy.grants import GrantCase as GrantCase
from approvals.policy.grants import GrantLimits, GrantTerms
from approvals.policy.terms import Stage, Terms, VoterGroup
from approvals.states import Audience, Door, Kind, Priority, Status, Verdict, Width

NOW = datetime(2026, 3, 29, 12, tzinfo=UTC)
TERMS = {
    "no": None,
    "a veto": Terms(veto=True).document(),
    "votes": Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),)).document(),
}
BOB, CARL = 2, 3
SCOPE, SCOPE_SET = 8, 9


@dataclass(frozen=True, kw_only=True)
class Story:
    """An answer of Bob and all that its outcome depends on, in plain values."""

    decides: bool
    #: Whether "no" scope limits Bob, or one that fits the request: also the input that he is about to approve, or "not that".
    scopes: str
    breaks_glass: bool
    wants_to_break_glass: bool
    by_key: bool
    own: bool
    critical: bool
    door: Door
    #: "waits", "overdue", or how it ended: "bob" with an approval, "carl", or "deadline".
    state: str
    #: "no" terms, "a veto" where nothing is voted on, or "votes".
    terms: str
    proposed: bool
    shown_current: bool
    signs_in_again: bool
    verdict: Verdict
    comment: str
    reason_required: bool
    carl_is_away: bool
    #: "no" grant, one that is "possible", or one that the "settings" of the tool forbid.
    grant: str
    #: Whether such a grant was given when the request was approved.
    was_given: bool

    @property
    def votes(self) -> bool:
        return self.terms == "votes"


def story_of(seed: int) -> Story:
    """Return a story at random: one draw for all of it, so that thousands of cases take seconds."""
    choose = Random(seed)  # noqa: S311

    def rarely() -> bool:
        return choose.random() < 0.15

    return Story(
        decides=not rarely(),
        scopes=choose.choice(["no"] * 6 + ["fits"] * 3 + ["not that"]),
        breaks_glass=choose.random() < 0.7,
        wants_to_break_glass=rarely(),
        by_key=choose.random() < 0.3,
        own=choose.random() < 0.3,
        critical=rarely(),
        door=choose.choice([Door.DASHBOARD, Door.REST]),
        state=choose.choice(["waits"] * 6 + ["overdue", "bob", "carl", "deadline"]),
        terms=choose.choice(["no"] * 5 + ["a veto"] * 2 + ["votes"] * 3),
        proposed=choose.random() < 0.3,
        shown_current=not rarely(),
        signs_in_again=rarely(),
        verdict=choose.choice([Verdict.APPROVE] * 3 + [Verdict.REJECT, Verdict.CANCEL]),
        comment=choose.choice(["", "", "Go."]),
        reason_required=choose.random() < 0.5,
        carl_is_away=rarely(),
        grant=choose.choice(["no", "no", "no", "possible", "settings"]),
        was_given=choose.random() < 0.5,
    )


STORIES = st.integers(0, 2**32 - 1).map(story_of)


def expected(story: Story) -> str:
    """The model: the outcome, in words."""
    if not story.decides or story.scopes == "not that":
        return "refused: not_allowed"
    if story.wants_to_break_glass and not (story.votes and story.breaks_glass):
        return "refused: not_allowed"
    if story.by_key and story.own:
        return "refused: asked_by_own_key"
    if story.state not in {"waits", "overdue"}:
        return after_the_end(story)
    if story.state == "overdue":
        return "the deadline ends it"
    return refused(story) or accepted(story)


def after_the_end(story: Story) -> str:
    same = story.state == "bob" and story.verdict == Verdict.APPROVE and story.comment == ""
    if not same:
        return "too late: expired" if story.state == "deadline" else "too late: already_decided"
    return "repeated" if story.grant == "no" or story.was_given else "too late: grant_missed"


def refused(story: Story) -> str:
    """Why an answer does not fit a request that waits; empty if it does."""
    if story.critical and story.door == Door.REST:
        return "refused: decide_on_page"
    if story.signs_in_again:
        return "refused: sign_in_again"
    if not story.shown_current:
        return "refused: changed"
    if story.verdict == Verdict.CANCEL:
        return "refused: invalid"
    silent_rejection = story.verdict == Verdict.REJECT and story.reason_required
    if story.comment == "" and (story.wants_to_break_glass or silent_rejection):
        return "refused: invalid"
    if story.grant != "no" and (story.carl_is_away or story.grant == "settings" or story.verdict == Verdict.REJECT):
        return "refused: invalid"
    return ""


def accepted(story: Story) -> str:
    if story.votes and not story.wants_to_break_glass:
        return "a vote"
    changes = story.verdict == Verdict.APPROVE and story.proposed
    words = ["edit" if changes else str(story.verdict.value)]
    words += ["for carl"] if story.carl_is_away else []
    words += ["in place of votes"] if story.wants_to_break_glass else []
    words += ["with a grant"] if story.grant != "no" else []
    return ", ".join(words)


def facts_of(story: Story) -> DecisionFacts:
    request = request_of(story)
    held = {DECIDE} if story.decides else set()
    held |= {BREAK_GLASS} if story.breaks_glass else set()
    terms = GrantTerms(width=Width.INPUT, audience=Audience.AGENT, until=NOW + timedelta(minutes=5), uses=3, reason="")
    answer = Answer(
        story.verdict,
        comment=story.comment,
        grant=None if story.grant == "no" else terms,
        break_glass=story.wants_to_break_glass,
    )
    shown = request.voted_digest if story.shown_current else "another"
    return DecisionFacts(
        request=request,
        standing=Standing(
            pk=BOB,
            is_active=True,
            rights=frozenset(held),
            reach=None if story.scopes == "no" else reach(May.DECIDE),
            by_key=story.by_key,
        ),
        sent=Sent(answer, User(pk=BOB, username="bob"), story.door, shown),
        overdue=story.state == "overdue",
        change=None
        if story.scopes == "no"
        else ChangedInput(None, frozenset({SCOPE} if story.scopes == "fits" else ())),
        known=AnswerFacts(reason_required=story.reason_required),
        sign_in=SignInAgain(request, here=True) if story.signs_in_again else None,
        absent=User(pk=CARL, username="carl") if story.carl_is_away else None,
        case=None if story.grant == "no" else grant_case(request, never=story.grant == "settings"),
        now=NOW,
        grant=Grant(**asdict(terms)) if story.was_given else None,
    )


def reach(may: May) -> Reach:
    """The reach of someone with one scope, which fits the request."""
    return Reach({SCOPE_SET: [Term(may, None, SCOPE)]}, BOB)


def request_of(story: Story) -> ApprovalRequest:
    ended = {"bob": Status.APPROVED, "carl": Status.REJECTED, "deadline": Status.EXPIRED}
    request = ApprovalRequest(
        id=UUID(int=1),
        workflow=Workflow(key="work"),
        scope="key:1",
        scope_set_id=SCOPE_SET,
        kind=Kind.APPROVAL,
        tool_name="pay",
        agent="billing",
        input={"amount": 1},
        input_digest="asked",
        digest_salt=None,
        priority=Priority.CRITICAL if story.critical else Priority.NORMAL,
        requested_by_id=BOB if story.own else 1,
        deadline_at=NOW,
        terms=TERMS[story.terms],
        proposal={"input": {"amount": 2}, "digest": "proposed", "by": "carl"} if story.proposed else None,
        status=ended.get(story.state, Status.PENDING),
    )
    decided = {
        "bob": (Verdict.APPROVE, BOB, "bob"),
        "carl": (Verdict.REJECT, CARL, "carl"),
        "deadline": (Verdict.EXPIRE, None, ""),
    }
    if story.state in decided:
        verdict, by_id, by_name = decided[story.state]
        Decision(
            request=request, verdict=verdict, by_id=by_id, by_name=by_name, comment="", via=Door.REST, decided_at=NOW
        )
    return request


def grant_case(request: ApprovalRequest, *, never: bool) -> GrantCase:
    return GrantCase(
        kind=request.kind,
        priority=Priority.NORMAL,
        tool=request.tool_name,
        input=request.input,
        key_fields=[],
        has_files=False,
        agent=request.agent,
        by_key=True,
        lasting=True,
        thread="",
        limits=GrantLimits(never=never),
        bar=None,
        rule=None,
    )


def in_words(facts: DecisionFacts) -> str:
    match outcome_of(facts):
        case Refused(refusal=refusal):
            return f"refused: {refusal.code}"
        case TooLate(refusal=refusal):
            return f"too late: {named(refusal)}"
        case Replayed():
            return "repeated"
        case Overdue():
            return "the deadline ends it"
        case Uncounted():
            return "a vote"
        case DecidedAlone() as decided:
            words = [str(decided.answer.verdict.value)]
            words += [f"for {decided.absent.username}"] if decided.absent else []
            words += ["in place of votes"] if decided.in_place_of_votes else []
            words += ["with a grant"] if decided.grant else []
            return ", ".join(words)


def named(refusal: Exception) -> str:
    names = {"AlreadyDecided": "already_decided", "Expired": "expired", "GrantMissed": "grant_missed"}
    return names[type(refusal).__name__]


def agrees_with_the_model(story: Story) -> None:
    assert in_words(facts_of(story)) == expected(story)


@settings(max_examples=400)
@given(STORIES)
def test_what_becomes_of_an_answer_agrees_with_the_model(story):
    agrees_with_the_model(story)


@settings(max_examples=100)
@given(STORIES)
def test_an_answer_that_is_refused_before_the_lock_is_refused_under_it_alike(story):
    facts = facts_of(story)
    seen = replace(facts, absent=None, case=None, now=None)
    early = outcome_of(seen)
    if facts.request.pending and not facts.overdue and isinstance(early, Refused):
        assert in_words(facts) == in_words(seen)


@pytest.mark.parametrize(("was_given", "outcome"), [(True, "repeated"), (False, "too late: grant_missed")])
def test_an_approval_with_a_grant_is_repeated_if_it_gave_that_grant(was_given, outcome):
    own = {"by_key": False, "wants_to_break_glass": False, "verdict": Verdict.APPROVE, "comment": ""}
    story = replace(story_of(0), decides=True, scopes="no", state="bob", grant="possible", was_given=was_given, **own)
    assert (in_words(facts_of(story)), expected(story)) == (outcome, outcome)


def test_whoever_may_only_answer_answers_a_question_though_scopes_let_them_decide_nothing():
    question = ApprovalRequest(scope_set_id=SCOPE_SET, kind=Kind.QUESTION, scope="key:1", requested_by_id=1)
    bob = Standing(pk=BOB, is_active=True, rights=frozenset({DECIDE}), reach=reach(May.ANSWER))
    sent = Sent(Answer(Verdict.RESPOND, answer="Yes."), User(pk=BOB, username="bob"), Door.DASHBOARD)
    assert refusal_of_right(DecisionFacts(request=question, standing=bob, sent=sent)) is None
