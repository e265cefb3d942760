"""The rights to see, answer and decide, compared with a small model over many people and requests, without a database."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.contrib.auth.models import AnonymousUser
from hypothesis import given, settings
from hypothesis import strategies as st

from approvals.access import permissions, rights
from approvals.access.scopes import ChangedInput, Reach, Term
from approvals.access.standing import NOBODY, Standing, standing_of
from approvals.models import ApprovalRequest, Workflow
from approvals.models.policy.scopes import May
from approvals.states import Control, Kind, Priority

#: Few, so that the ones who ask, own, make keys, are away and act are often the same.
PEOPLE = st.integers(1, 4)
SCOPE_SETS = st.sampled_from([1, 7])
ORDER = ("see", "answer", "decide")

terms = st.builds(
    Term,
    may=st.sampled_from(ORDER),
    limit=st.sampled_from([None, 10.0]),
    scope=st.sampled_from([70, 71]),
    seat=st.sampled_from([None, 2, 3]),
)


@st.composite
def standings(draw) -> Standing:
    pk, active = draw(PEOPLE), draw(st.booleans())
    held = draw(st.frozensets(st.sampled_from(sorted(rights.ALL)))) if active else frozenset()
    reach = draw(st.none() | st.builds(Reach, st.dictionaries(SCOPE_SETS, st.lists(terms, max_size=3)), st.just(pk)))
    return Standing(pk=pk, is_active=active, rights=held, reach=reach, by_key=draw(st.booleans()))


@st.composite
def requests(draw) -> ApprovalRequest:
    return ApprovalRequest(
        workflow=Workflow(owner_id=draw(PEOPLE)),
        requested_by_id=draw(PEOPLE),
        assigned_to_id=draw(st.none() | PEOPLE),
        key_made_by_id=draw(st.none() | PEOPLE),
        kind=draw(st.sampled_from([Kind.APPROVAL, Kind.QUESTION, Kind.RECOVERY])),
        control=draw(st.none() | st.sampled_from(list(Control))),
        scope_set_id=draw(st.none() | SCOPE_SETS),
        amount=draw(st.sampled_from([None, 5.0, -5.0, 10.0, -11.0, 50.0])),
        scope=draw(st.sampled_from(["key:1", "user:1", "chat:1"])),
    )


changes = st.none() | st.builds(
    ChangedInput, st.sampled_from([None, 5.0, 50.0]), st.frozensets(st.sampled_from([70, 71]))
)


def through(who: Standing, request: ApprovalRequest, may: str, change: ChangedInput | None = None) -> set[int | None]:
    """The model: the people (None for themselves) through whom a scope permits this."""
    if who.reach is None or request.scope_set_id is None:
        return set()
    working = {request.requested_by_id, request.workflow.owner_id, request.key_made_by_id}
    amounts = [request.amount] if change is None else [request.amount, change.amount]
    found = set()
    for term in who.reach.terms.get(request.scope_set_id, ()):
        enough = ORDER.index(term.may) >= ORDER.index(may)
        within = may != "decide" or term.limit is None or all(a is not None and abs(a) <= term.limit for a in amounts)
        fits = change is None or term.scope in change.scopes
        delegated = term.seat is None or may == "see" or not working & {who.pk, term.seat}
        if enough and within and fits and delegated:
            found.add(term.seat)
    return found


def model(who: Standing, request: ApprovalRequest) -> dict[str, bool]:
    decider, auditor = (name in who.rights for name in (rights.DECIDE, rights.VIEW))
    everywhere = who.reach is None
    own = who.is_active and who.pk in {request.requested_by_id, request.assigned_to_id}
    runs = who.is_active and who.pk in {request.requested_by_id, request.workflow.owner_id}
    interested = runs or (who.is_active and who.pk == request.key_made_by_id)
    sees = own or ((decider or auditor) and everywhere) or bool(through(who, request, "see"))
    answers = own or (decider and (everywhere or bool(through(who, request, "answer"))))
    decides = decider and (everywhere or bool(through(who, request, "decide")))
    if request.control == Control.CONFIRM and request.kind == Kind.APPROVAL and runs:
        decides = True
    if request.control == Control.FOUR_EYES and interested:
        decides = False
    closes = answers if request.kind == Kind.QUESTION else decides
    return {"see": sees, "answer": answers, "decide": decides, "close": closes, "comment": closes or own}


def agree_with_the_model(who: Standing, request: ApprovalRequest) -> None:
    asked = {
        "see": permissions.may_see(who, request),
        "answer": permissions.may_answer(who, request),
        "decide": permissions.may_decide(who, request),
        "close": permissions.may_close(who, request),
        "comment": permissions.may_comment(who, request),
    }
    assert asked == model(who, request)
    glass = rights.BREAK_GLASS in who.rights and asked["decide"]
    assert permissions.may_break_glass(who, request) is glass


def agree_on_changes_with_the_model(who: Standing, request: ApprovalRequest, change: ChangedInput | None) -> None:
    confirms = request.control == Control.CONFIRM and who.is_active
    confirms = confirms and who.pk in {request.requested_by_id, request.workflow.owner_id}
    seats = through(who, request, "decide", change)
    if change is not None:
        assert permissions.may_change_input(who, request, change) is (who.reach is None or confirms or bool(seats))
    if request.kind == Kind.QUESTION:
        own = who.is_active and who.pk in {request.requested_by_id, request.assigned_to_id}
        seats, confirms = set() if own else through(who, request, "answer", change), False
    in_own_right = None in seats or (confirms and request.kind == Kind.APPROVAL)
    expected = None if in_own_right else min((seat for seat in seats if seat), default=None)
    assert permissions.decides_for(who, request, change) == expected


@settings(max_examples=100)
@given(standings(), requests())
def test_everyone_may_what_the_model_says(who, request):
    agree_with_the_model(who, request)


@settings(max_examples=100)
@given(standings(), requests(), changes)
def test_a_changed_input_is_decided_by_those_whose_scopes_fit_both(who, request, change):
    agree_on_changes_with_the_model(who, request, change)


def rights_alone(who: Standing) -> dict[str, bool]:
    """The model: a person's rights before any request is read. No scope limits those with `ignore_scopes`."""
    has = {name: name in who.rights for name in rights.ALL}
    more, limited = has[rights.DECIDE] or has[rights.VIEW], who.reach is not None
    return {
        "sees_everything": more and not limited,
        "sees_by_scopes": more and limited,
        "sees_more_than_own": more,
        "decides_everything": has[rights.DECIDE] and not limited,
        "may_administer": has[rights.ADMINISTER],
        "reads_record": has[rights.VIEW_RECORD] and not limited,
        "reads_scopes": has[rights.ADMINISTER] or (has[rights.VIEW_RECORD] and not limited),
        "may_reveal": has[rights.REVEAL],
    }


@settings(max_examples=100)
@given(standings())
def test_what_needs_no_request_follows_from_rights_and_limits(who):
    expected = rights_alone(who)
    assert {name: getattr(permissions, name)(who) for name in expected} == expected


@settings(max_examples=100)
@given(standings(), requests(), PEOPLE)
def test_work_is_seen_stopped_cancelled_and_resumed_by_whose_it_is_or_who_decides_all_of_it(who, request, owner):
    alone = rights_alone(who)
    own, asked = (who.is_active and who.pk == pk for pk in (owner, request.requested_by_id))
    assert permissions.may_stop(who, owner) is (own or alone["decides_everything"])
    assert permissions.may_see_workflow(who, Workflow(owner_id=owner)) is (own or alone["sees_everything"])
    assert permissions.may_resume(who, request) is (asked and request.scope != "chat:1")
    decides = model(who, request)["decide"]
    assert permissions.may_be_assigned(who, request) is (who.is_active and (request.kind == Kind.QUESTION or decides))
    assert permissions.may_cancel(who, request) is (asked or decides)
    request.terms = {"veto": True}
    assert permissions.may_cancel(who, request) is (asked or decides)
    request.terms = {"stages": [{}]}
    assert permissions.may_cancel(who, request) is asked


@settings(max_examples=50)
@given(standings(), requests())
def test_a_program_never_decides_what_it_asked(who, request):
    asked = request.scope == "key:1" and who.pk in {request.requested_by_id, request.key_made_by_id}
    assert permissions.asked_through_own_key(who, request) is (who.by_key and asked)


@settings(max_examples=50)
@given(standings(), requests(), st.lists(PEOPLE, unique=True))
def test_no_one_votes_for_someone_whose_agent_asks_or_while_their_own_does(who, request, away):
    working = {request.requested_by_id, request.workflow.owner_id, request.key_made_by_id}
    others = [] if who.pk in working else sorted(set(away) - working - {who.pk})
    assert permissions.seats(replace(who, away_for=tuple(away)), request) == (who.pk, *others)


@settings(max_examples=20)
@given(requests())
def test_no_one_may_do_anything(request):
    ways = (permissions.may_see, permissions.may_answer, permissions.may_decide, permissions.may_comment)
    assert [way(NOBODY, request) for way in ways] == [False] * len(ways)


@pytest.mark.parametrize(
    ("limit", "change", "allowed"),
    [
        (10.0, None, True),
        (10.0, ChangedInput(-10.0, frozenset({70})), True),
        (10.0, ChangedInput(10.5, frozenset({70})), False),
        (10.0, ChangedInput(None, frozenset({70})), False),
        (10.0, ChangedInput(5.0, frozenset({71})), False),
        (10.0, ChangedInput(5.0, frozenset()), False),
        (None, ChangedInput(None, frozenset({70, 71})), True),
        (None, ChangedInput(None, frozenset({71})), False),
    ],
)
def test_a_scope_has_to_fit_what_was_asked_and_what_it_is_changed_to(limit, change, allowed):
    request = ApprovalRequest(kind=Kind.APPROVAL, scope_set_id=7, amount=5.0, workflow=Workflow(owner_id=1))
    assert Reach({7: [Term("decide", limit, 70)]}, 2).allows(May.DECIDE, request, change) is allowed


@pytest.mark.parametrize(
    ("term", "rights_held", "asked_by", "allowed", "absent"),
    [
        (Term("answer", None, 70), {rights.DECIDE}, 1, True, None),
        (Term("answer", None, 70, seat=3), {rights.DECIDE}, 1, True, 3),
        (Term("answer", None, 70, seat=3), {rights.DECIDE}, 2, True, None),
        (Term("see", None, 70), {rights.DECIDE}, 1, False, None),
        (Term("answer", None, 70), {rights.VIEW}, 1, False, None),
    ],
)
def test_a_scope_lets_deciders_answer_questions_of_others_in_their_own_right_or_for_someone(
    term, rights_held, asked_by, allowed, absent
):
    question = ApprovalRequest(
        kind=Kind.QUESTION, scope_set_id=7, requested_by_id=asked_by, workflow=Workflow(owner_id=asked_by)
    )
    who = Standing(pk=2, is_active=True, rights=frozenset(rights_held), reach=Reach({7: [term]}, 2))
    assert permissions.may_answer(who, question) is allowed
    assert permissions.decides_for(who, question) == absent


@pytest.mark.parametrize(("kind", "absent"), [(Kind.QUESTION, None), (Kind.APPROVAL, 3)])
def test_an_assignee_answers_in_their_own_right_and_decides_only_as_far_as_their_scopes_go(kind, absent):
    request = ApprovalRequest(
        kind=kind, scope_set_id=7, requested_by_id=1, assigned_to_id=2, workflow=Workflow(owner_id=1)
    )
    reach = Reach({7: [Term("decide", None, 70, seat=3)]}, 2)
    who = Standing(pk=2, is_active=True, rights=frozenset({rights.DECIDE}), reach=reach)
    assert permissions.may_close(who, request)
    assert permissions.decides_for(who, request) == absent


@pytest.mark.parametrize(
    ("kind", "priority", "terms", "named", "on_pages"),
    [
        (Kind.APPROVAL, Priority.HIGH, None, False, False),
        (Kind.APPROVAL, Priority.HIGH, {"veto": True}, False, False),
        (Kind.APPROVAL, Priority.LOW, {"typed_name": True}, True, True),
        (Kind.APPROVAL, Priority.CRITICAL, None, True, True),
        (Kind.RECOVERY, Priority.LOW, None, False, True),
        (Kind.QUESTION, Priority.CRITICAL, None, True, False),
    ],
)
def test_critical_requests_and_those_whose_terms_say_so_need_a_typed_name(kind, priority, terms, named, on_pages):
    request = ApprovalRequest(kind=kind, priority=priority, terms=terms)
    assert permissions.wants_typed_name(request) is named
    assert permissions.only_on_own_pages(request) is on_pages


def test_whoever_is_not_logged_in_may_do_nothing_and_nothing_is_read_about_them():
    assert standing_of(AnonymousUser()) == NOBODY


def test_a_standing_of_which_nothing_is_said_is_that_of_no_one():
    no_one = Standing(0, is_active=False, is_superuser=False, rights=frozenset(), reach=None, away_for=(), by_key=False)
    assert (Standing(), Reach()) == (no_one, Reach({}, 0, ()))


def test_whoever_decides_everything_stops_the_work_of_others_but_no_one_with_limits_does():
    decider = Standing(2, is_active=True, rights=frozenset({rights.DECIDE}))
    stops = [permissions.may_stop(who, owner_id=1) for who in (decider, replace(decider, reach=Reach()))]
    assert stops == [True, False]
