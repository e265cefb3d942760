"""After the loss of a right, key, session or account, a call that has already begun does nothing more.

The call reads its user at its beginning; the action reads again under the lock. So each actor here was read before the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.contrib.contenttypes.models import ContentType
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from approvals import actions
from approvals.access.callers import SCOPES
from approvals.access.rights import ALL, DECIDE, holds
from approvals.access.standing import read_again, standing_of, standings_of
from approvals.actions.closing import ReportedResult, close_workflow, report_result
from approvals.actions.policy import ask_about_everything, revoke_grant
from approvals.actions.policy.absence import Away, set_absence
from approvals.administration.keys.actions import create_key
from approvals.asking.answers import Answer
from approvals.exceptions import NotAuthenticated, Refusal
from approvals.models import ApprovalRequest, Workflow
from approvals.models.actors import Actor, KeyActor, SessionActor, person_behind
from approvals.states import Door, Verdict, WorkflowState
from tests.approvals.actions.policy.granting import approve, ask, give, terms
from tests.support.desk.requests import make_request
from tests.support.desk.votes import both, group, make_voted, vote
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

DONE, OUT, NO, SCOPE = "done", "not_authenticated", "not_allowed", "scope_missing"


def deactivate(actor: Actor) -> None:
    User.objects.filter(pk=actor.pk).update(is_active=False)


def take_right(actor: Actor) -> None:
    User.objects.get(pk=actor.pk).user_permissions.remove(Permission.objects.get(codename="decide_approvalrequest"))


def end_session(actor: Actor) -> None:
    """End the actor's session; another one of the same person goes on."""
    if isinstance(actor, SessionActor):
        Session.objects.filter(pk=actor.session_key).delete()


def let_session_expire(_actor: Actor) -> None:
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))


def change_password(actor: Actor) -> None:
    user = User.objects.get(pk=actor.pk)
    user.set_password("another correct horse")
    user.save()


def change_key(**columns: object) -> Callable[[Actor], None]:
    def change(actor: Actor) -> None:
        assert isinstance(actor, KeyActor)
        type(actor.key).objects.filter(pk=actor.key.pk).update(**columns)

    return change


def nothing(_actor: Actor) -> None:
    """Change nothing."""


def in_a_browser() -> SessionActor:
    """Bob, logged in, as a page has read him."""
    client, person = Client(), bob()
    for each in (Client(), client):
        each.force_login(person)
    return SessionActor(User.objects.get(pk=person.pk), client.session.session_key or "")


def with_a_key() -> KeyActor:
    person = bob()
    key, _text = create_key(person, name="ci", scopes=SCOPES)
    return KeyActor(User.objects.get(pk=person.pk), key)


def pending() -> ApprovalRequest:
    return make_request(User.objects.get(username="alice"), tool_name="pay")


def voted() -> ApprovalRequest:
    return make_voted(User.objects.get(username="alice"), both(group(votes=2)))


def deciding(via: Door) -> dict[str, Callable[[Actor], object]]:
    """The acts of a decider."""
    other = make_person("dora", "decide_approvalrequest", "view_approvalrequest")
    given = give(other, User.objects.get(username="alice"), terms())
    asked, votes, cancelled, claimed, assigned, noted = pending(), voted(), pending(), pending(), pending(), pending()
    granted = ask(User.objects.get(username="alice"), {"order": "another"})
    return {
        "decide": lambda by: actions.decide(asked.pk, Answer(Verdict.REJECT), by=by, via=via),
        "vote": lambda by: vote(votes, by, via=via),
        "give a grant": lambda by: approve(granted, by, terms()),
        "cancel": lambda by: actions.cancel(cancelled.pk, by=by, via=via),
        "claim": lambda by: actions.claim(claimed.pk, by=by, via=via),
        "assign": lambda by: actions.assign(assigned.pk, by=by, via=via, to=other),
        "comment": lambda by: actions.comment(noted.pk, by=by, via=via, text="Wait."),
        "end a grant": lambda by: revoke_grant(given.pk, by=by, via=via),
        "stop grants": lambda by: ask_about_everything(on=True, by=by, via=via),
        "be away": lambda by: set_absence(
            person_behind(by), Away(until=timezone.now() + timedelta(days=1)), by=by, via=via
        ),
    }


def outcome(act: Callable[[Actor], object], actor: Actor) -> str:
    try:
        act(actor)
    except Refusal as refusal:
        return refusal.code
    return DONE


#: By loss: the outcomes of the decider's acts, of setting their own absence (which needs no right), and the error.
IN_A_BROWSER = [
    (nothing, DONE, DONE),
    (deactivate, OUT, OUT),
    (take_right, NO, DONE),
    (end_session, OUT, OUT),
    (let_session_expire, OUT, OUT),
    (change_password, OUT, OUT),
]
WITH_A_KEY = [
    (nothing, DONE, DONE),
    (deactivate, OUT, OUT),
    (take_right, NO, DONE),
    (change_key(revoked_at=datetime(2026, 1, 1, tzinfo=UTC)), OUT, OUT),
    (change_key(expires_at=datetime(2026, 1, 1, tzinfo=UTC)), OUT, OUT),
    (change_key(scopes=["ask", "read"]), SCOPE, SCOPE),
    (end_session, DONE, DONE),
    (change_password, DONE, DONE),
]


@pytest.mark.parametrize(("loss", "deciding_is", "own_is"), IN_A_BROWSER)
def test_what_a_person_does_in_a_browser_ends_with_their_session_and_their_rights(loss, deciding_is, own_is):
    alice()
    check(in_a_browser, Door.DASHBOARD, loss, deciding_is, own_is)


@pytest.mark.parametrize(("loss", "deciding_is", "own_is"), WITH_A_KEY)
def test_what_a_program_does_ends_with_its_key_and_the_rights_of_its_user(loss, deciding_is, own_is):
    alice()
    check(with_a_key, Door.REST, loss, deciding_is, own_is)


def check(make: Callable[[], Actor], via: Door, loss: Callable[[Actor], None], deciding_is: str, own_is: str) -> None:
    works, actor = deciding(via), make()
    # The call has begun and has read its facts.
    assert DECIDE in standing_of(actor).rights
    loss(actor)
    expected = dict.fromkeys(works, deciding_is) | {"be away": own_is}
    assert {name: outcome(act, actor) for name, act in works.items()} == expected


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        (nothing, DONE),
        (deactivate, OUT),
        (change_key(revoked_at=datetime(2026, 1, 1, tzinfo=UTC)), OUT),
        (change_key(scopes=["read"]), SCOPE),
    ],
)
def test_what_the_program_that_asked_does_ends_with_its_key(loss, told):
    owner, decider = alice(), bob()
    key, _text = create_key(owner, name="agent", scopes=SCOPES)
    actor, scope = KeyActor(User.objects.get(pk=owner.pk), key), f"key:{key.pk}"
    approved, cancelled, run = (
        ask(actor, scope=scope),
        ask(actor, {"n": 1}, scope=scope),
        ask(actor, {"n": 2}, scope=scope, workflow="run"),
    )
    approve(approved, decider)
    loss(actor)
    result = ReportedResult(input_digest=approved.input_digest, output="paid")
    workflow = Workflow.objects.get(key="run")
    works: dict[str, Callable[[Actor], object]] = {
        "report": lambda by: report_result(approved.pk, result, scope=scope, by=by, via=Door.REST),
        "cancel": lambda by: actions.cancel(cancelled.pk, by=by, via=Door.REST),
        "end the run": lambda by: close_workflow(workflow.pk, state=WorkflowState.CANCELLED, by=by, via=Door.REST),
    }
    assert {name: outcome(act, actor) for name, act in works.items()} == dict.fromkeys(works, told)
    assert ApprovalRequest.objects.get(pk=run.pk).status == ("cancelled" if told == DONE else "pending")


@pytest.mark.parametrize(("seconds", "told"), [(60, DONE), (-1, OUT)])
def test_a_client_token_that_ends_meanwhile_decides_nothing(seconds, told):
    alice()
    actor = with_a_key()
    actor = KeyActor(actor.user, actor.key, until=timezone.now() + timedelta(seconds=seconds))
    assert outcome(deciding(Door.REST)["decide"], actor) == told


def test_a_right_that_came_while_the_call_waited_counts():
    alice()
    request, person = pending(), make_person("hal", "view_approvalrequest")
    assert DECIDE not in standing_of(person).rights
    person.user_permissions.add(Permission.objects.get(codename="decide_approvalrequest"))
    assert (
        outcome(lambda by: actions.decide(request.pk, Answer(Verdict.APPROVE), by=by, via=Door.DASHBOARD), person)
        == DONE
    )


def test_whoever_was_removed_meanwhile_is_not_logged_in():
    alice()
    actor = with_a_key()
    User.objects.get(pk=actor.pk).user_permissions.clear()
    User.objects.filter(pk=actor.pk).delete()
    for removed in (actor, actor.user):
        with pytest.raises(NotAuthenticated):
            read_again(removed)


def test_the_standing_of_several_people_is_that_of_each():
    people = [alice(), bob()]
    assert standings_of([*(person.pk for person in people), 0]) == {person.pk: standing_of(person) for person in people}


def test_a_permission_of_the_same_name_in_another_app_gives_no_right():
    person, team = make_person("hal"), Group.objects.create(name="Finance")
    person.groups.add(team)
    elsewhere = ContentType.objects.get(app_label="auth", model="user")
    for right in ALL:
        permission = Permission.objects.create(codename=right.partition(".")[2], content_type=elsewhere, name=right)
        person.user_permissions.add(permission)
        team.permissions.add(permission)
    assert standing_of(User.objects.get(pk=person.pk)).rights == frozenset()
    assert [right for right in sorted(ALL) if User.objects.filter(holds(right, "pk")).exists()] == []


@pytest.mark.parametrize("right", sorted(ALL))
def test_a_right_is_held_directly_or_through_a_team_and_by_no_one_else(right):
    permission = Permission.objects.get(codename=right.partition(".")[2], content_type__app_label="approvals")
    direct, member = make_person("direct"), make_person("member")
    make_person("no one")
    team = Group.objects.create(name="Finance")
    direct.user_permissions.add(permission)
    team.permissions.add(permission)
    member.groups.add(team)
    assert {person.username for person in User.objects.filter(holds(right, "pk"))} == {"direct", "member"}
    standings = standings_of(User.objects.values_list("pk", flat=True))
    assert {pk for pk, standing in standings.items() if standing.rights == {right}} == {direct.pk, member.pk}
