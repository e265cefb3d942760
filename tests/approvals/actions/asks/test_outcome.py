"""The outcome of an ask agrees with a small model in words, for every combination of facts. Without a database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.actions.asks.facts import AskFacts, RequestDraft
from approvals.actions.asks.outcome import AskRefused, outcome_of
from approvals.actions.policy.asks import AskedUnderRules, AskingRules, AskPolicyFacts, Granted, Ruled, answer_of
from approvals.actions.policy.scope_index import NOWHERE
from approvals.asking.answers import ABSENT, Answer
from approvals.asking.asks import URGENCY, Ask
from approvals.asking.attachments import NewFile
from approvals.asking.origins import Identity
from approvals.models import Grant, Workflow
from approvals.models.attachments import AttachedFile
from approvals.policy.asks import Asking, AtDeadline, Deadline
from approvals.policy.match import Match
from approvals.policy.rules import AskedBecause, Policy, PolicyVerdict, Rule, Then
from approvals.policy.terms import Stage, Terms, VoterGroup
from approvals.queries.policy.rules.repeats import Rejection
from approvals.states import Control, Kind, Priority
from approvals.states import Verdict as Decided

NOW = datetime(2026, 3, 29, 12, tzinfo=UTC)
SOON = timedelta(seconds=60)
EARLIER = Rejection(UUID(int=7), "bob", NOW - timedelta(days=1), "Too much.")
FILE = NewFile(
    known=AttachedFile(id=str(uuid4()), name="a.txt", media_type="text/plain", size=1, sha256="0"), content=b"a"
)
VOTES = Terms(stages=(Stage(groups=(VoterGroup(votes=2),)),))


@dataclass(frozen=True, kw_only=True)
class Case:
    """An ask and all that its outcome depends on, in plain values."""

    ended: bool
    assignable: bool
    kind: Kind
    tool: str
    priority: Priority
    files: bool
    #: Seconds from now until the deadline that the client set; None without one.
    deadline: int | None
    #: The effect of the first rule that matches, "" if none does; and its terms.
    then: str
    why: AskedBecause | None
    votes: bool
    raises: str
    rule_deadline: int | None
    at_deadline: AtDeadline
    default: bool
    #: The deciders by the settings of the tool; and whether the rules exclude the person who runs the agent.
    control: str
    four_eyes: bool
    repeats_rejections: bool
    rejected_before: bool
    asks_always: bool
    has_grants: bool
    #: The givers of the grants that cover the call, in order; and those of them who may decide it, None if nothing limits that.
    givers: list[int]
    deciders: set[int] | None


def case_of(seed: int) -> Case:
    """Return a case at random: one draw for all of it, so that thousands of cases take seconds."""
    choose = Random(seed)  # noqa: S311

    def rarely() -> bool:
        return choose.random() < 0.1

    people = [1, 2, 3]
    givers = choose.sample(people, k=choose.choice([0, 1, 2, 2, 3]))
    return Case(
        ended=rarely(),
        assignable=not rarely(),
        kind=choose.choice([Kind.APPROVAL] * 6 + [Kind.QUESTION, Kind.FORM]),
        tool="" if rarely() else "refund",
        priority=choose.choice([Priority.NORMAL, Priority.NORMAL, Priority.LOW, Priority.CRITICAL]),
        files=choose.random() < 0.25,
        deadline=choose.choice([None, None, None, -1, 0, 30, 90]),
        then=choose.choice(["", "", "ask", "ask", "ask", "allow", "deny"]),
        why=choose.choice([None, None, None, None, *AskedBecause]),
        votes=rarely(),
        raises=choose.choice(["", "", "", "high", "critical"]),
        rule_deadline=choose.choice([None, None, 60]),
        at_deadline=choose.choice(list(AtDeadline)),
        default=choose.random() < 0.5,
        control=choose.choice(["", "", "confirm", "four_eyes"]),
        four_eyes=rarely(),
        repeats_rejections=choose.random() < 0.7,
        rejected_before=choose.random() < 0.5,
        asks_always=rarely(),
        has_grants=choose.random() < 0.6,
        givers=givers,
        deciders=choose.choice([None, set(choose.sample(people, k=choose.choice([1, 2])))]),
    )


CASES = st.integers(0, 2**32 - 1).map(case_of)


def expected(case: Case) -> str:
    """The model: the outcome, in words."""
    if case.ended:
        return "refused: workflow_ended"
    if not case.assignable:
        return "refused: cannot_be_assigned"
    if case.then == "deny":
        return "denied by the rule"
    if case.then == "allow":
        return "allowed by the rule"
    if answers_as_before(case):
        return "rejected as before"
    usable = [number for number, giver in enumerate(case.givers) if case.deciders is None or giver in case.deciders]
    if usable and grants_count(case):
        return f"granted by grant {usable[0]}"
    return "asked" if case.why is None or case.then == "" else f"asked because of {case.why}"


def answers_as_before(case: Case) -> bool:
    if case.kind != "approval" or case.tool == "" or case.files:
        return False
    if case.then in {"allow", "deny"} or case.asks_always or case.has_grants:
        return False
    return case.repeats_rejections and case.rejected_before


def grants_count(case: Case) -> bool:
    if case.kind != "approval" or case.tool == "" or not case.has_grants:
        return False
    if "critical" in {case.priority, case.raises if case.then == "ask" else ""}:
        return False
    if case.then == "ask" and (case.votes or case.why is not None):
        return False
    # A rule's deadline is always ahead.
    return case.deadline is None or case.deadline > 0


def facts_of(case: Case) -> AskFacts:
    ask = Ask(
        kind=case.kind,
        title="Refund?",
        tool_name=case.tool,
        priority=case.priority,
        deadline_at=None if case.deadline is None else NOW + timedelta(seconds=case.deadline),
        default_response="yes" if case.default else ABSENT,
        attachments=[FILE] if case.files else [],
    )
    policy = AskPolicyFacts(
        ask=ask,
        at=NOW,
        settings=AskingRules(
            policy_version=1, granted=case.has_grants, asks_always=case.asks_always, control=case.control
        ),
        policy=Policy(repeat_rejections=case.repeats_rejections),
        verdict=verdict_of(case),
        earlier=EARLIER if case.rejected_before else None,
        grants=[Grant(pk=UUID(int=number), given_by_id=giver) for number, giver in enumerate(case.givers)],
        deciders=case.deciders,
    )
    asker = User(pk=1, username="alice")
    draft = RequestDraft(
        identity=Identity(),
        ask=ask,
        assignee=None,
        workflow=Workflow(key="run-1", owner=asker),
        requester=asker,
        key_made_by_id=None,
        on_behalf_of="",
        terms=policy.terms,
        secrets=[],
        text=b"{}",
        fingerprints=["0"],
        created_at=NOW,
        place=NOWHERE,
    )
    return AskFacts(
        draft=draft,
        policy=policy,
        workflow_ended=case.ended,
        assignable=case.assignable,
        asked_by=asker,
        alone=True,
    )


def verdict_of(case: Case) -> PolicyVerdict:
    control = Control.FOUR_EYES if case.four_eyes else None
    if case.then == "":
        return PolicyVerdict(control=control)
    deadline = None if case.rule_deadline is None else Deadline(after=case.rule_deadline, then=case.at_deadline)
    asking = Asking(terms=VOTES if case.votes else Terms(), priority=case.raises, deadline=deadline)
    rule = Rule(name="Refunds", match=Match(), then=Then(case.then), ask=asking if case.then == "ask" else None)
    return PolicyVerdict(then=Then(case.then), rule=rule, why=case.why if case.then == "ask" else None, control=control)


def in_words(facts: AskFacts) -> str:
    match outcome_of(facts):
        case AskRefused(why=why):
            return f"refused: {why}"
        case Ruled(repeats=UUID()):
            return "rejected as before"
        case Ruled(answer=answer):
            return "allowed by the rule" if answer.verdict == Decided.APPROVE else "denied by the rule"
        case Granted(grant=grant):
            return f"granted by grant {grant.pk.int}"
        case asked:
            return "asked" if asked.why is None else f"asked because of {asked.why}"


def agrees_with_the_model(case: Case) -> None:
    assert in_words(facts_of(case)) == expected(case)


@settings(max_examples=600)
@given(CASES)
def test_what_becomes_of_an_ask_agrees_with_the_model(case):
    agrees_with_the_model(case)


@settings(max_examples=100)
@given(CASES)
def test_grants_that_are_lost_one_after_another_end_with_people_being_asked(case):
    facts = facts_of(case)
    left = list(enumerate(case.givers))
    while isinstance(outcome := outcome_of(facts), Granted):
        usable = [number for number, giver in left if case.deciders is None or giver in case.deciders]
        assert outcome.grant.pk.int == usable[0]
        facts = replace(facts, policy=facts.policy.without(outcome.grant))
        left = [pair for pair in left if pair[0] != usable[0]]
    assert in_words(facts) == expected(replace(case, givers=[giver for _number, giver in left]))
    assert not in_words(facts).startswith("granted")


@settings(max_examples=100)
@given(CASES)
def test_a_rule_makes_an_ask_more_urgent_and_its_deadline_earlier_but_never_the_other_way(case):
    facts = facts_of(case).policy
    terms = facts.terms
    ruled = case.then == "ask" and facts.repeated is None
    raised = case.raises if ruled and case.raises else case.priority
    assert terms.priority == min([case.priority, Priority(raised)], key=lambda priority: URGENCY[priority])
    assert terms.asked_priority == (None if terms.priority == case.priority else case.priority)
    limit = case.rule_deadline if ruled else None
    ends = [seconds for seconds in (case.deadline, limit) if seconds is not None]
    assert terms.deadline_at == (NOW + timedelta(seconds=min(ends)) if ends else None)
    keeps = limit is None or case.at_deadline == AtDeadline.DEFAULT
    assert (terms.has_default, terms.default_response) == ((True, "yes") if case.default and keeps else (False, None))


@settings(max_examples=100)
@given(CASES)
def test_the_rules_can_ask_for_four_eyes_on_approvals_and_say_nothing_of_who_answers_a_question(case):
    facts = facts_of(case).policy
    strict = case.kind == "approval" and case.four_eyes and facts.repeated is None
    assert facts.terms.control == ("four_eyes" if strict else case.control or None)


@settings(max_examples=100)
@given(CASES)
def test_what_is_rejected_as_before_is_on_the_terms_of_no_rule(case):
    facts = facts_of(replace(case, then="ask", votes=True, ended=False, assignable=True))
    terms = facts.policy.terms
    as_before = in_words(facts) == "rejected as before"
    assert (terms.rule, terms.document) == ((None, None) if as_before else ("Refunds", VOTES.document()))
    assert terms.policy_version == 1


def test_whose_call_a_rule_denies_is_told_its_message_or_else_its_name():
    named = Rule(name="Refunds", match=Match(), then=Then.DENY)
    rules = [named, replace(named, message="Ask finance.")]
    answers = [answer_of(PolicyVerdict(then=Then.DENY, rule=rule)) for rule in rules]
    comments = ["The policy rule “Refunds” denies this.", "Ask finance."]
    assert answers == [Answer(Decided.REJECT, comment=comment) for comment in comments]


@pytest.mark.parametrize(("comment", "told"), [("Too much.", ": Too much."), ("", ".")])
def test_whose_call_is_rejected_as_before_is_told_who_rejected_it_when_and_why(comment, told):
    case = replace(case_of(0), kind=Kind.APPROVAL, tool="refund", files=False, then="", asks_always=False)
    case = replace(case, has_grants=False, repeats_rejections=True, rejected_before=True)
    facts = facts_of(replace(case, ended=False, assignable=True))
    facts = replace(facts, policy=replace(facts.policy, earlier=replace(EARLIER, comment=comment)))
    said = f"bob rejected the same call on 2026-03-28T12:00:00.000000Z{told}"
    assert outcome_of(facts) == Ruled(Answer(Decided.REJECT, comment=said), repeats=EARLIER.request_id)


def test_the_record_keeps_why_people_are_asked_though_a_rule_says_something_else():
    assert [AskedUnderRules(None).record, AskedUnderRules("files").record] == [{}, {"why_asked": "files"}]


def test_the_names_of_the_rules_that_could_match_too_are_kept_with_it():
    facts = facts_of(replace(case_of(0), kind=Kind.QUESTION, then="ask")).policy
    rule = facts.verdict.rule
    verdicts = [replace(facts.verdict, others=others) for others in ((), (rule, rule))]
    assert [replace(facts, verdict=verdict).terms.other_rules for verdict in verdicts] == [None, ["Refunds"] * 2]
