"""The outcome of a vote agrees with a small model in words: one stage that needs any two. Without a database."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.access.rights import DECIDE
from approvals.access.standing import Standing
from approvals.actions.decisions.facts import DecisionFacts, Sent
from approvals.actions.decisions.outcome import outcome_of
from approvals.actions.policy.outcomes import (
    DecidedAlone,
    EndedBefore,
    Ending,
    Refused,
    Uncounted,
    Voted,
    VotedBefore,
)
from approvals.actions.policy.votes.outcome import BallotFacts, VoteFacts, ending_of
from approvals.asking.answers import ABSENT, Answer
from approvals.models import ApprovalRequest, Vote, Workflow
from approvals.policy.terms import Stage, Terms, VoterGroup
from approvals.policy.votes import Electorate
from approvals.states import Door, Kind, Priority, Status, Verdict

BOB, CARL, DORA = 2, 3, 4
NAMES = {BOB: "bob", CARL: "carl", DORA: "dora"}
#: The inputs that are voted on, by the words that stand for their digests.
INPUTS = {"asked": {"amount": 1}, "proposed": {"amount": 2}, "changed": {"amount": 3}}
ONE_STAGE = (Stage(groups=(VoterGroup(votes=2),)),)


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """An existing vote on one of the inputs; `seat` is the person it counts for."""

    person: int
    seat: int
    approves: bool
    on: str
    comment: str
    proposes: bool = False


@dataclass(frozen=True, kw_only=True)
class Story:
    """A vote of Bob, with all the facts of its outcome. Carl may be away, with Bob as his delegate."""

    may_vote: frozenset[int]
    #: The people who may vote after Bob's vote, if that changes the input or counts for Carl.
    may_vote_then: frozenset[int]
    delegates: frozenset[int]
    carl_is_away: bool
    earlier: tuple[Earlier, ...]
    veto: bool
    #: The current input, and the one that Bob votes on.
    so_far: str
    on: str
    approves: bool
    comment: str

    @property
    def changes(self) -> bool:
        return self.on != self.so_far

    @property
    def mine(self) -> Earlier | None:
        return next((vote for vote in self.earlier if vote.person == BOB), None)


def story_of(seed: int) -> Story:
    choose = Random(seed)  # noqa: S311

    def some_people() -> frozenset[int]:
        return frozenset(person for person in NAMES if choose.random() < 0.8)

    so_far = choose.choice(["asked", "proposed"])
    voters = [person for person in (CARL, DORA, BOB) if choose.random() < 0.4]
    choose.shuffle(voters)
    earlier = [
        Earlier(
            person=person,
            seat=choose.choice([BOB, CARL]) if person == BOB else person,
            approves=choose.random() < 0.7,
            on=choose.choice(["asked", so_far]),
            comment="",
            proposes=choose.random() < 0.3,
        )
        for person in voters
    ]
    on = choose.choice([so_far, so_far, "asked", "changed"])
    return Story(
        may_vote=some_people(),
        may_vote_then=some_people(),
        delegates=frozenset({BOB} if choose.random() < 0.8 else ()),
        carl_is_away=choose.random() < 0.6,
        earlier=tuple(earlier),
        veto=choose.random() < 0.2,
        so_far=so_far,
        on=on,
        approves=on != so_far or choose.random() < 0.6,
        comment=choose.choice(["", "", "Go."]),
    )


STORIES = st.integers(0, 2**32 - 1).map(story_of)


def counting(story: Story, votes: tuple[Earlier, ...], on: str, may_vote: frozenset[int]) -> dict[int, Earlier]:
    """The vote that counts for each seat: the last one, but one's own before that of a delegate."""
    seats: dict[int, Earlier] = {}
    for vote in votes:
        own = vote.person == vote.seat
        counts = vote.on == on and vote.seat in may_vote and (own or vote.person in story.delegates)
        if counts and (own or vote.seat not in seats or seats[vote.seat].person != vote.seat):
            seats[vote.seat] = vote
    return seats


def stands(story: Story, seats: dict[int, Earlier], may_vote: frozenset[int]) -> str:
    rejecting = {seat for seat, vote in seats.items() if not vote.approves}
    if len(seats) - len(rejecting) >= 2:
        return "approve"
    if rejecting and (story.veto or len(may_vote - rejecting) < 2):
        return "reject"
    return "waits"


def end_of(outcome: str, votes: tuple[Earlier, ...], seats: dict[int, Earlier], on: str) -> str:
    """Return the person in whose name it ends: the last one with a vote that counts."""
    voters = {vote.person for vote in seats.values()}
    last = [vote for vote in votes if vote.person in voters and vote.approves == (outcome == "approve")][-1]
    verdict = f"edit to {INPUTS[on]}" if outcome == "approve" and on != "asked" else outcome
    words = [verdict, f"by {NAMES[last.person]}", f"“{last.comment}”"]
    words += [f"for {NAMES[last.seat]}"] if last.seat != last.person else []
    return " ".join(words) + f", with the votes of {sorted(voters)}"


def seat_of_bob(story: Story) -> int | None:
    """Return the person for whom Bob votes while the request waits; None if his vote is not wanted."""
    seats = counting(story, story.earlier, story.so_far, story.may_vote)
    may_fill = [BOB, CARL] if story.carl_is_away else [BOB]
    given = [seat for seat, vote in seats.items() if vote.person == BOB]
    if given:
        return given[0] if given[0] in may_fill else None
    free = [seat for seat in may_fill if seat in story.may_vote and seat not in seats]
    return free[0] if free else None


def expected(story: Story) -> str:
    """The model: the outcome, in words."""
    before = counting(story, story.earlier, story.so_far, story.may_vote)
    outcome = stands(story, before, story.may_vote)
    if outcome != "waits":
        return "ended before: " + end_of(outcome, story.earlier, before, story.so_far)
    seat = seat_of_bob(story)
    if seat is None:
        return "refused: Your vote is not needed now. This request is waiting for others who may decide it."
    vote = Earlier(person=BOB, seat=seat, approves=story.approves, on=story.on, comment=story.comment)
    proposes = story.mine is not None and story.mine.proposes
    if not story.changes and story.mine == replace(vote, proposes=proposes):
        return "voted before"
    anew = story.changes or seat == CARL
    may_vote = story.may_vote_then if anew else story.may_vote
    if seat == CARL and CARL not in may_vote:
        return "refused: You vote for carl, who cannot approve this amount."
    votes = (*(each for each in story.earlier if each.person != BOB), vote)
    after = counting(story, votes, story.on, may_vote)
    outcome = stands(story, after, may_vote)
    words = f"voted on {story.on} for {NAMES[seat]}"
    words += ", anew" if story.mine else ""
    words += ", as proposed by bob" if story.changes or (proposes and story.mine.on == story.on) else ""
    if outcome == "waits":
        return f"{words}, others are told" if story.changes else words
    return f"{words}, ended: {end_of(outcome, votes, after, story.on)}"


def proposal_of(on: str) -> dict[str, object] | None:
    return None if on == "asked" else {"input": INPUTS[on], "digest": on, "by": "dora"}


def request_of(story: Story, kind: Kind = Kind.APPROVAL) -> ApprovalRequest:
    return ApprovalRequest(
        id=UUID(int=1),
        workflow=Workflow(key="work"),
        scope="key:1",
        kind=kind,
        tool_name="pay",
        agent="billing",
        input=INPUTS["asked"],
        input_digest="asked",
        digest_salt=None,
        priority=Priority.NORMAL,
        requested_by_id=1,
        terms=Terms(stages=ONE_STAGE, veto=story.veto).document(),
        proposal=proposal_of(story.so_far),
        status=Status.PENDING,
    )


def row_of(request: ApprovalRequest, vote: Earlier) -> Vote:
    other = vote.seat != vote.person
    return Vote(
        pk=vote.person,
        request=request,
        person_id=vote.person,
        person_name=NAMES[vote.person],
        verdict=Verdict.APPROVE if vote.approves else Verdict.REJECT,
        comment=vote.comment,
        digest=vote.on,
        proposes=vote.proposes,
        via=Door.REST,
        for_id=vote.seat if other else None,
        for_name=NAMES[vote.seat] if other else None,
    )


def facts_of(story: Story, kind: Kind = Kind.APPROVAL, verdict: Verdict | None = None) -> DecisionFacts:
    request, bob = request_of(story, kind), User(pk=BOB, username="bob")
    anew = story.changes or seat_of_bob(story) == CARL
    vote = VoteFacts(
        ballot=BallotFacts(
            terms=Terms(stages=ONE_STAGE, veto=story.veto),
            votes=[row_of(request, each) for each in story.earlier],
            electorate=Electorate([[story.may_vote]], story.delegates),
        ),
        by=bob,
        via=Door.DASHBOARD,
        seats=(BOB, CARL) if story.carl_is_away else (BOB,),
        absent=User(pk=CARL, username="carl") if seat_of_bob(story) == CARL else None,
        proposal=proposal_of(story.on),
        digest=story.on,
        electorate=Electorate([[story.may_vote_then]], story.delegates) if anew else None,
    )
    own_verdict = Verdict.APPROVE if story.approves else Verdict.REJECT
    answer = Answer(
        verdict or (Verdict.EDIT if story.changes else own_verdict),
        comment=story.comment,
        edited_input=INPUTS[story.on] if story.changes else ABSENT,
        answer="receipt 7" if verdict == Verdict.RESPOND else ABSENT,
        unseen={"parts": 1},
    )
    return DecisionFacts(
        request=request,
        standing=Standing(pk=BOB, is_active=True, rights=frozenset({DECIDE})),
        sent=Sent(answer, bob, Door.DASHBOARD, story.so_far),
        vote=vote,
    )


def in_words(facts: DecisionFacts) -> str:
    outcome = outcome_of(facts)
    match outcome:
        case Refused(refusal=refusal):
            return f"refused: {refusal}"
        case VotedBefore():
            return "voted before"
        case EndedBefore(ending=ending):
            assert (ending.recounted, ending.via, ending.answer.unseen) == (True, Door.REST, None)
            return f"ended before: {end_in_words(ending)}"
        case Voted(vote=vote, ending=ending):
            words = f"voted on {vote.row.digest} for {vote.row.for_name or vote.row.person_name}"
            words += ", anew" if vote.row.pk == BOB else ""
            words += ", as proposed by bob" if vote.row.proposes else ""
            assert (vote.row.request, vote.proposal) == (facts.request, proposal_of(vote.row.digest))
            if ending is None:
                return f"{words}, others are told" if outcome.calls else words
            assert not outcome.calls
            by_bob = ending.by.get_username() == "bob"
            assert (ending.by is facts.sent.by) is by_bob
            told = (ending.recounted, ending.via, ending.answer.unseen)
            assert told == (False, Door.DASHBOARD, {"parts": 1} if by_bob else None)
            return f"{words}, ended: {end_in_words(ending)}"
        case _:
            return type(outcome).__name__


def end_in_words(ending: Ending) -> str:
    answer = ending.answer
    verdict = str(answer.verdict.value)
    verdict += "" if answer.edited_input is ABSENT else f" to {answer.edited_input}"
    words = [verdict, f"by {ending.by.get_username()}", f"“{answer.comment}”"]
    words += [f"for {ending.absent.get_username()}"] if ending.absent else []
    return " ".join(words) + f", with the votes of {sorted(ending.voters)}"


def vote_agrees_with_the_model(story: Story) -> None:
    assert in_words(facts_of(story)) == expected(story)


@settings(max_examples=250)
@given(STORIES)
def test_what_becomes_of_a_vote_agrees_with_the_model(story):
    vote_agrees_with_the_model(story)


@settings(max_examples=100)
@given(STORIES)
def test_votes_that_are_in_end_it_without_another_one_as_in_the_model(story):
    facts = facts_of(story)
    assert facts.vote is not None
    ending = ending_of(facts.request, facts.vote.ballot)
    seats = counting(story, story.earlier, story.so_far, story.may_vote)
    outcome = stands(story, seats, story.may_vote)
    ended = "waits" if ending is None else end_in_words(ending)
    assert ended == ("waits" if outcome == "waits" else end_of(outcome, story.earlier, seats, story.so_far))


def quiet_story(**said: object) -> Story:
    """Bob approves as himself, and no one has voted before."""
    return Story(
        **{
            "may_vote": frozenset(NAMES),
            "may_vote_then": frozenset(NAMES),
            "delegates": frozenset(),
            "carl_is_away": False,
            "earlier": (),
            "veto": False,
            "so_far": "asked",
            "on": "asked",
            "approves": True,
            "comment": "",
            **said,
        }
    )


def test_before_the_lock_nothing_is_said_of_a_vote():
    facts = facts_of(quiet_story())
    seen = DecisionFacts(request=facts.request, standing=facts.standing, sent=facts.sent)
    assert outcome_of(seen) == Uncounted()


@pytest.mark.parametrize(("may_vote", "for_whom"), [({BOB, DORA}, None), ({CARL, DORA}, "carl")])
def test_that_a_call_has_succeeded_is_one_persons_decision_in_the_seat_that_is_wanted(may_vote, for_whom):
    story = quiet_story(may_vote=frozenset(may_vote), delegates=frozenset({BOB}), carl_is_away=True)
    decided = outcome_of(facts_of(story, Kind.RECOVERY, Verdict.RESPOND))
    assert isinstance(decided, DecidedAlone)
    assert (decided.answer.answer, decided.absent and decided.absent.username) == ("receipt 7", for_whom)


def test_a_vote_after_which_too_few_are_left_ends_it_in_the_name_of_who_has_rejected():
    erin = 5
    rejection = Earlier(person=DORA, seat=DORA, approves=False, on="asked", comment="")
    story = quiet_story(
        may_vote=frozenset({CARL, DORA, erin}),
        may_vote_then=frozenset({CARL, DORA}),
        delegates=frozenset({BOB}),
        carl_is_away=True,
        earlier=(rejection,),
    )
    ended = "voted on asked for carl, ended: reject by dora “”, with the votes of [2, 4]"
    assert (in_words(facts_of(story)), expected(story)) == (ended, ended)


def in_two_stages(first: set[int], second: set[int], *earlier: Earlier) -> DecisionFacts:
    """Bob approves a request that needs one vote of a team and then one of the board."""
    facts = facts_of(quiet_story())
    assert facts.vote is not None
    terms = Terms(stages=(Stage(groups=(VoterGroup(teams=(1,)),)), Stage(groups=(VoterGroup(teams=(2,)),))))
    votes = [row_of(facts.request, vote) for vote in earlier]
    ballot = BallotFacts(terms=terms, votes=votes, electorate=Electorate([[first], [second]]))
    names = {("team", 1): "the team", ("team", 2): "the board"}
    return replace(facts, vote=replace(facts.vote, ballot=ballot, names=names))


def approval_of(person: int) -> Earlier:
    return Earlier(person=person, seat=person, approves=True, on="asked", comment="")


def test_the_vote_that_meets_a_stage_calls_those_of_the_next_one():
    outcome = outcome_of(in_two_stages({BOB}, {CARL}))
    assert isinstance(outcome, Voted)
    assert (outcome.calls, outcome.ending, outcome.vote.row.stage) == (True, None, 0)


def test_whose_stage_has_not_begun_hears_whose_vote_is_needed():
    refused = "refused: Your vote is not needed now. This request is waiting for the team."
    assert in_words(in_two_stages({CARL}, {BOB})) == refused


def test_a_vote_in_another_stage_than_before_is_another_vote():
    outcome = outcome_of(in_two_stages({CARL}, {BOB}, approval_of(BOB), approval_of(CARL)))
    assert isinstance(outcome, Voted)
    assert (outcome.vote.row.stage, outcome.ending is None) == (1, False)
