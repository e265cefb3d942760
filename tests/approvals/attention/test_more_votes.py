"""Advice may ask for more people: the request then needs more votes, and nothing else of its terms changes."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest, AuditEntry
from approvals.policy.terms import NO_TERMS, MessageRule, Stage, Terms, with_more_votes
from approvals.policy.votes import Cast, Electorate, has_enough_people
from approvals.states import Verdict
from tests.approvals.attention.test_advice_rest import CLOSER, advise
from tests.support.desk.pressing import browser
from tests.support.desk.requests import events, stored
from tests.support.desk.votes import both, group, progress_of, vote, with_terms
from tests.support.machine import APPROVAL, QUESTION, Machine
from tests.support.markup import parse
from tests.support.people import alice, carol, make_person

pytestmark = pytest.mark.django_db


def decider(name: str):
    return make_person(name, "decide_approvalrequest", "view_approvalrequest")


@pytest.fixture
def people():
    return [decider(name) for name in ("bob", "dave", "erin")]


def needed(more: int) -> dict[str, object]:
    return CLOSER | {"more_votes": more}


def reviewer(name: str = "carol") -> Machine:
    return Machine(carol() if name == "carol" else make_person(name, "view_approvalrequest"), ("advise",))


def test_one_approval_becomes_two_of_anyone_who_may_decide(people):
    bob, dave, _erin = people
    document = Machine(alice()).ask()
    request = ApprovalRequest.objects.get()
    reply = advise(reviewer(), document, needed(1))
    assert (reply.status, reply.body["more_votes"], progress_of(request)) == (201, 1, "0 of 2")
    assert AuditEntry.objects.get(event="request.advised").data["more_votes"] == 1
    assert (vote(request, bob).decision, progress_of(request)) == (None, "1 of 2")
    assert vote(request, dave).decision.by_name == "dave"
    assert events(request) == [
        "request.created", "request.advised", "request.voted", "request.voted", "request.decided",
    ]  # fmt: skip


def test_votes_that_were_given_go_on_counting(people):
    bob, dave, erin = people
    document = Machine(alice()).ask()
    request = with_terms(ApprovalRequest.objects.get(), both(group(votes=2)))
    vote(request, bob)
    advise(reviewer(), document, needed(1))
    assert progress_of(request) == "1 of 3"
    assert vote(request, dave).decision is None
    assert vote(request, erin).decision.by_name == "erin"


def test_the_card_shows_how_many_are_needed_and_the_fold_what_was_asked_for(people):
    document = Machine(alice()).ask()
    before = stored(ApprovalRequest.objects.get()).changed_at
    advise(reviewer(), document, needed(2))
    request = stored(ApprovalRequest.objects.get())
    assert request.changed_at > before
    page = parse(browser(people[0]).get(request.get_absolute_url()).text)
    assert "asked for 2 more votes" in page.find("details", data_fold="advice")[0].words
    assert "0 of 3" in page.words


def test_each_user_asks_once_and_all_together_for_five(people):
    for number in range(5):
        decider(f"d{number}")
    document = Machine(alice()).ask()
    first = reviewer()
    assert [advise(first, document, needed(2)).status for _ in range(2)] == [201, 200]
    other_key = Machine(first.key.user, ("advise",))
    for machine in (first, other_key):
        refused = advise(machine, document, needed(1) | {"text": "Once more."})
        assert (refused.refusal, "already" in refused.body["detail"]) == ((409, "conflict"), True)
    assert advise(reviewer("rita"), document, needed(3)).status == 201
    assert advise(reviewer("ron"), document, needed(1)).refusal == (409, "conflict")
    request = ApprovalRequest.objects.get()
    assert (progress_of(request), request.advised) == ("0 of 6", 2)


def test_what_could_then_not_be_approved_is_refused_and_goes_on_waiting(people):
    bob, dave, erin = people
    document = Machine(alice()).ask()
    request = with_terms(ApprovalRequest.objects.get(), both(group(votes=2)))
    vote(request, bob, Verdict.REJECT, comment="No.")
    refused = advise(reviewer(), document, needed(1))
    assert (refused.refusal, progress_of(request)) == ((409, "conflict"), "0 of 2")
    assert "Not enough people" in refused.body["detail"]
    assert (stored(request).advised, stored(request).status) == (None, "pending")
    vote(request, dave)
    assert vote(request, erin).decision.verdict == Verdict.APPROVE


def test_one_person_answers_a_question_and_no_more(people):
    document = Machine(alice()).ask(QUESTION)
    machine = reviewer()
    assert advise(machine, document, needed(1)).refusal == (409, "conflict")
    assert advise(machine, document).status == 201


def test_the_priority_is_raised_along_with_it(people):
    document = Machine(alice()).ask(APPROVAL)
    reply = advise(reviewer(), document, needed(1) | {"raise_priority": "high"})
    request = ApprovalRequest.objects.get()
    assert (reply.body["raised_to"], request.priority, progress_of(request)) == ("high", "high", "0 of 2")


def test_only_the_votes_of_the_last_stage_change():
    before = Terms(
        stages=(Stage(groups=(group(),)), Stage(groups=(group(votes=2), group()))), veto=True, reason=MessageRule.ALWAYS
    )
    after = with_more_votes(before, 3)
    assert [[each.votes for each in stage.groups] for stage in after.stages] == [[1], [5, 1]]
    assert Terms(**{name: getattr(after, name) for name in after.__slots__} | {"stages": before.stages}) == before
    either = Terms(stages=(Stage(groups=(group(votes=2), group()), any=True),))
    assert [each.votes for each in with_more_votes(either, 1).stages[0].groups] == [3, 2]
    assert with_more_votes(NO_TERMS, 1) == both(group(votes=2))


def test_enough_people_are_those_who_have_not_rejected_and_count_nowhere_else():
    terms = Terms(stages=(Stage(groups=(group(),)), Stage(groups=(group(votes=2),))))
    everyone = Electorate([[{1, 2, 3}], [{1, 2, 3}]])
    first = Cast(1, True, 0, "d")
    assert has_enough_people(terms, [first], everyone, "d")
    assert not has_enough_people(terms, [first, Cast(2, False, 1, "d")], everyone, "d")
    assert not has_enough_people(terms, [], Electorate([[{1, 2, 3}], [{1}]]), "d")
