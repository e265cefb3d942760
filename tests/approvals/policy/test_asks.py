"""The joint terms of several rules are never weaker than those of any one of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.policy.asks import PLAIN, Asking, AtDeadline, Deadline, join
from approvals.policy.terms import FollowUpStep, MessageRule, OnExpire, Stage, Terms, VoterGroup
from tests.approvals.policy.writing import is_at_least

FINANCE, SECURITY, ALICE = VoterGroup(teams=(5,)), VoterGroup(teams=(6,)), VoterGroup(people=(1,))
TWO_OF_FINANCE = VoterGroup(teams=(5,), votes=2)
NAMED_TWICE = VoterGroup(people=(1, 1), teams=(5, 5))


def stage(*groups: VoterGroup, either: bool = False) -> Stage:
    return Stage(groups=groups, any=either)


def with_stages(*stages: Stage) -> Asking:
    return Asking(terms=Terms(stages=stages))


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ([], [], []),
        ([], [stage(FINANCE)], [stage(FINANCE)]),
        # The same people are one stage, with the most votes that one of both wants.
        ([stage(FINANCE)], [stage(FINANCE)], [stage(FINANCE)]),
        ([stage(FINANCE)], [stage(TWO_OF_FINANCE)], [stage(TWO_OF_FINANCE)]),
        ([stage(FINANCE, SECURITY)], [stage(SECURITY, FINANCE)], [stage(FINANCE, SECURITY)]),
        ([stage(TWO_OF_FINANCE, SECURITY)], [stage(SECURITY, FINANCE)], [stage(TWO_OF_FINANCE, SECURITY)]),
        ([stage(NAMED_TWICE)], [stage(VoterGroup(people=(1,), teams=(5,)))], [stage(NAMED_TWICE)]),
        # Other people, or the same joined by another word, are another stage.
        ([stage(FINANCE)], [stage(SECURITY)], [stage(SECURITY), stage(FINANCE)]),
        ([stage(FINANCE)], [stage(FINANCE, ALICE)], [stage(FINANCE, ALICE), stage(FINANCE)]),
        (
            [stage(FINANCE, ALICE)],
            [stage(FINANCE, ALICE, either=True)],
            [stage(FINANCE, ALICE, either=True), stage(FINANCE, ALICE)],
        ),
        # Each keeps its order, because later stages see the input that earlier ones approved.
        (
            [stage(FINANCE), stage(SECURITY)],
            [stage(FINANCE), stage(ALICE), stage(SECURITY)],
            [stage(FINANCE), stage(ALICE), stage(SECURITY)],
        ),
        (
            [stage(FINANCE), stage(SECURITY)],
            [stage(SECURITY), stage(FINANCE)],
            [stage(FINANCE), stage(SECURITY), stage(FINANCE)],
        ),
        ([stage(FINANCE)], [stage(FINANCE), stage(FINANCE)], [stage(FINANCE), stage(FINANCE)]),
    ],
)
def test_every_stage_of_both_is_kept_in_its_order(one, other, together):
    assert list(join([with_stages(*one), with_stages(*other)]).terms.stages) == together


@pytest.mark.parametrize(
    ("stages", "votes"),
    [
        ([], 1),
        ([stage(FINANCE)], 1),
        ([stage(TWO_OF_FINANCE, SECURITY)], 3),
        # Of groups joined by *or*, that with the fewest votes is enough.
        ([stage(TWO_OF_FINANCE, SECURITY, either=True)], 1),
        ([stage(TWO_OF_FINANCE, VoterGroup(teams=(6,), votes=3), either=True), stage(FINANCE, SECURITY)], 4),
    ],
)
def test_at_least_as_many_people_approve_as_the_fewest_votes_that_meet_all_stages(stages, votes):
    assert with_stages(*stages).votes == votes


@pytest.mark.parametrize(
    ("deadlines", "together"),
    [
        ([None, None], None),
        ([None, (60, "default")], (60, "default")),
        ([(60, "default"), (600, "halt")], (60, "halt")),
        ([(600, "reject"), (60, "default")], (60, "reject")),
        ([(60, "halt"), (600, "reject"), (30, "default")], (30, "halt")),
    ],
)
def test_the_earliest_deadline_has_the_strictest_end(deadlines, together):
    def asking(deadline) -> Asking:
        if deadline is None:
            return PLAIN
        after, then = deadline
        halts = OnExpire.HALT if then == "halt" else None
        return Asking(terms=Terms(on_expire=halts), deadline=Deadline(after=after, then=AtDeadline(then)))

    found = join([asking(each) for each in deadlines])
    assert found == asking(together)


def test_every_switch_of_each_counts():
    one = Asking(terms=Terms(veto=True, reason=MessageRule.REJECTION), with_requester=True, priority="low")
    other = Asking(terms=Terms(typed_name=True, fresh_sign_in=True, reason=MessageRule.ALWAYS), priority="critical")
    terms = Terms(veto=True, reason=MessageRule.ALWAYS, typed_name=True, fresh_sign_in=True)
    assert join([one, other]) == Asking(terms=terms, with_requester=False, priority="critical")
    assert join([one, one]) == one


def test_people_are_notified_of_all_that_one_of_them_says():
    one = Terms(
        reminders=(60, 600), escalation=(FollowUpStep(after=900, people=(1,)),), working_hours=True, channels=("mail",)
    )
    other = Terms(
        reminders=(60, 120),
        escalation=(FollowUpStep(after=900, people=(1, 2)), FollowUpStep(after=300, teams=(5,))),
        channels=("push",),
    )
    assert join([Asking(terms=one, key_fields=("/a", "/b")), Asking(terms=other, key_fields=("/b", "/c"))]) == Asking(
        terms=Terms(
            reminders=(60, 120, 600),
            escalation=(FollowUpStep(after=300, teams=(5,)), FollowUpStep(after=900, people=(1, 2))),
            channels=("mail", "push"),
        ),
        key_fields=("/a", "/b", "/c"),
    )


@pytest.mark.parametrize("other", [PLAIN, Asking(terms=Terms(reminders=(60,), working_hours=True, channels=("push",)))])
def test_without_channels_all_are_used_and_working_hours_count_for_those_who_remind(other):
    one = Asking(terms=Terms(reminders=(60,), working_hours=True))
    assert [join([one, other]).terms, join([other, one]).terms] == [one.terms, one.terms]


@pytest.mark.parametrize("all_hours", [False, True])
def test_working_hours_count_for_those_who_escalate_unless_one_of_them_does_at_all_hours(all_hours):
    one = Terms(escalation=(FollowUpStep(after=900, people=(1,)),), working_hours=True)
    other = Terms(escalation=(FollowUpStep(after=300, teams=(5,)),), working_hours=not all_hours)
    found = [join([Asking(terms=one), asking]).terms.working_hours for asking in (PLAIN, Asking(terms=other))]
    assert found == [True, not all_hours]


PEOPLE = st.lists(st.integers(1, 4), max_size=2, unique=True).map(tuple)
GROUPS = st.builds(VoterGroup, people=PEOPLE, teams=PEOPLE, votes=st.integers(1, 3))
STAGES = st.builds(Stage, groups=st.lists(GROUPS, min_size=1, max_size=3).map(tuple), any=st.booleans())


@st.composite
def askings(draw) -> Asking:
    then = draw(st.sampled_from([None, *AtDeadline]))
    terms = Terms(
        stages=tuple(draw(st.lists(STAGES, max_size=3))),
        veto=draw(st.booleans()),
        reason=draw(st.sampled_from([None, *MessageRule])),
        typed_name=draw(st.booleans()),
        fresh_sign_in=draw(st.booleans()),
        on_expire=OnExpire.HALT if then == AtDeadline.HALT else None,
    )
    return Asking(
        terms=terms,
        with_requester=draw(st.booleans()),
        deadline=None if then is None else Deadline(after=draw(st.integers(60, 600)), then=then),
        priority=draw(st.sampled_from(["", "low", "normal", "high", "critical"])),
    )


@given(st.lists(askings(), min_size=1, max_size=3))
def test_together_they_are_at_least_as_strict_as_each(several):
    together = join(several)
    assert all(is_at_least(together, each) for each in several)
