"""The permission matrix: deciders by kind, priority and protocol."""

from __future__ import annotations

from itertools import product

import pytest
from django.contrib.auth.models import User

from approvals import actions
from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import create_key
from approvals.asking.answers import Answer
from approvals.exceptions import AlreadyDecided, CriticalElsewhere, Expired, Refusal
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor, KeyActor
from approvals.states import Door, Kind, Priority, Verdict
from tests.support.desk.requests import PAST, decisions, make_request, make_workflow, stored
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db

YES, NO, UNSEEN = "decided", "not_allowed", "not_found"
OWN, PAGE = "asked_by_own_key", "decide_on_page"

OUR_PAGES, ELSEWHERE = (Door.DASHBOARD, Door.CHAT), (Door.REST, Door.AI_SDK, Door.CEDAR, Door.ADMIN)
#: The columns: a question or a form, an approval, and requests that only the web pages may decide.
ASKS = [(kind, priority) for kind in (Kind.QUESTION, Kind.FORM) for priority in (Priority.NORMAL, Priority.CRITICAL)]
APPROVALS = [(Kind.APPROVAL, priority) for priority in (Priority.LOW, Priority.NORMAL, Priority.HIGH)]
GUARDED = [(Kind.APPROVAL, Priority.CRITICAL), (Kind.RECOVERY, Priority.LOW), (Kind.RECOVERY, Priority.CRITICAL)]

#: Role; the three columns on the web pages; the same three elsewhere.
PEOPLE = {
    "asker": (YES, NO, NO, YES, NO, NO),
    "asker who may decide": (YES, YES, YES, YES, YES, PAGE),
    "assignee": (YES, NO, NO, YES, NO, NO),
    "assignee who may decide": (YES, YES, YES, YES, YES, PAGE),
    "asker and assignee": (YES, NO, NO, YES, NO, NO),
    "somebody who may decide": (YES, YES, YES, YES, YES, PAGE),
    "auditor": (NO, NO, NO, NO, NO, NO),
    "stranger": (UNSEEN,) * 6,
}
#: The same for their keys, elsewhere only: for requests of a key over the API, and for those of a chat's agent.
KEYS_OUTSIDE = {
    "asker": (OWN, NO, NO),
    "asker who may decide": (OWN, OWN, OWN),
    "assignee": (YES, NO, NO),
    "assignee who may decide": (YES, YES, PAGE),
    "asker and assignee": (OWN, NO, NO),
    "somebody who may decide": (YES, YES, PAGE),
    "auditor": (NO, NO, NO),
    "stranger": (UNSEEN,) * 3,
}
KEYS_IN_CHATS = KEYS_OUTSIDE | {
    "asker": (YES, NO, NO),
    "asker who may decide": (YES, YES, PAGE),
    "asker and assignee": (YES, NO, NO),
}
OUTSIDE, IN_CHATS = "key:1", "chat:1"


def cast(who: str) -> tuple[User, User]:
    """The requester, and the person with that role."""
    rights = {"may decide": ["decide_approvalrequest"], "auditor": ["view_approvalrequest"]}
    person = make_person(who, *next((found for word, found in rights.items() if word in who), []))
    return (person if who.startswith("asker") else alice()), person


def asked(scope: str, who: str, people: tuple[User, User], kind: Kind, priority: Priority) -> ApprovalRequest:
    """A new request for the person with that role."""
    owner, person = people
    request = make_request(owner, kind, workflow=make_workflow(owner, scope=scope), priority=priority)
    if "assignee" in who:
        # An old row may have an assignee without the right to decide.
        ApprovalRequest.objects.filter(pk=request.pk).update(assigned_to=person)
    return request


def key_of(person: User) -> KeyActor:
    return KeyActor(person, create_key(person, name="ci", scopes=SCOPES)[0])


def outcome(request: ApprovalRequest, by: Actor, via: Door) -> str:
    """The outcome of a rejection, the one verdict that every kind takes."""
    try:
        actions.decide(request.pk, Answer(Verdict.REJECT), by=by, via=via)
    except Refusal as refusal:
        assert (stored(request).status, decisions(request)) == ("pending", [])
        return refusal.code
    (made,) = decisions(request)
    assert (made.by_id, made.by_name, made.via) == (by.pk, by.get_username(), via)
    return YES


@pytest.mark.parametrize("scope", [OUTSIDE, IN_CHATS])
@pytest.mark.parametrize("who", PEOPLE)
def test_a_person_decides_what_the_table_says_and_nothing_else(who, scope):
    people = cast(who)
    for doors, columns in ((OUR_PAGES, PEOPLE[who][:3]), (ELSEWHERE, PEOPLE[who][3:])):
        for cells, expected in zip((ASKS, APPROVALS, GUARDED), columns, strict=True):
            found = {
                (kind, priority, door): outcome(asked(scope, who, people, kind, priority), people[1], door)
                for (kind, priority), door in product(cells, doors)
            }
            assert found == dict.fromkeys(found, expected)


@pytest.mark.parametrize(("scope", "table"), [(OUTSIDE, KEYS_OUTSIDE), (IN_CHATS, KEYS_IN_CHATS)])
@pytest.mark.parametrize("who", KEYS_OUTSIDE)
def test_a_key_decides_what_the_table_says_and_nothing_else(who, scope, table):
    people = cast(who)
    key = key_of(people[1])
    for cells, expected in zip((ASKS, APPROVALS, GUARDED), table[who], strict=True):
        found = {
            (kind, priority, door): outcome(asked(scope, who, people, kind, priority), key, door)
            for (kind, priority), door in product(cells, ELSEWHERE)
        }
        assert found == dict.fromkeys(found, expected)


@pytest.mark.parametrize(("kind", "priority"), GUARDED)
def test_refusals_that_refer_to_a_page_have_its_address(kind, priority):
    for who in ("somebody who may decide", "asker who may decide"):
        people = cast(who)
        request = asked(OUTSIDE, who, people, kind, priority)
        with pytest.raises(Refusal) as refused:
            actions.decide(request.pk, Answer(Verdict.REJECT), by=key_of(people[1]), via=Door.REST)
        assert (refused.value.status, refused.value.members()) == (403, {"url": request.public_url})
        assert str(refused.value).endswith(request.public_url)


def test_a_late_decision_is_refused_as_too_late_whichever_way_it_comes_in():
    people = cast("somebody who may decide")
    request = asked(OUTSIDE, "", people, Kind.APPROVAL, Priority.CRITICAL)
    assert outcome(request, people[1], Door.DASHBOARD) == YES
    late = make_person("late", "decide_approvalrequest")
    with pytest.raises(Refusal, match="This request was rejected just now by somebody who may decide") as refused:
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=late, via=Door.REST)
    assert refused.value.code == "already_decided"


@pytest.mark.parametrize(("kind", "priority"), GUARDED)
def test_the_admin_cancels_nothing_that_must_be_decided_on_its_page(kind, priority):
    people = cast("somebody who may decide")
    request = asked(OUTSIDE, "", people, kind, priority)
    with pytest.raises(CriticalElsewhere) as refused:
        actions.cancel(request.pk, by=people[1], via=Door.ADMIN)
    assert (refused.value.code, stored(request).status, decisions(request)) == (PAGE, "pending", [])
    actions.cancel(request.pk, by=people[1], via=Door.DASHBOARD)
    assert stored(request).status == "cancelled"


@pytest.mark.parametrize(("kind", "priority"), [*ASKS, *APPROVALS])
def test_the_admin_cancels_everything_else(kind, priority):
    people = cast("somebody who may decide")
    request = asked(OUTSIDE, "", people, kind, priority)
    actions.cancel(request.pk, by=people[1], via=Door.ADMIN)
    assert stored(request).status == "cancelled"


def test_the_admin_says_of_a_critical_request_that_has_ended_how_it_did():
    owner, person = cast("somebody who may decide")
    ended, overdue = (make_request(owner, priority=Priority.CRITICAL, deadline_at=at) for at in (None, PAST))
    actions.cancel(ended.pk, by=person, via=Door.DASHBOARD)
    for request, refusal in ((ended, AlreadyDecided), (overdue, Expired)):
        with pytest.raises(refusal):
            actions.cancel(request.pk, by=person, via=Door.ADMIN)
    assert [stored(request).status for request in (ended, overdue)] == ["cancelled", "expired"]
