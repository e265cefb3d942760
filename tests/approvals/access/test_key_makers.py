"""A key acts for its user, not for its maker: its rights, its view, and that its maker counts as a requester."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.access.callers import SCOPES
from approvals.access.permissions import seats
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import NewKey, create_key, make_key, rotate_key
from approvals.administration.tools.actions import store_tool_settings
from approvals.asking.answers import Answer
from approvals.exceptions import NotAllowed, NotFound, Refusal
from approvals.models import ApprovalRequest, AuditEntry, PendingChange
from approvals.models.actors import KeyActor
from approvals.models.keys import ApiKey
from approvals.queries.policy.why_not import why_not
from approvals.states import Door, Verdict
from tests.support.desk.away import away
from tests.support.desk.ruling import administrator
from tests.support.desk.scopes import again
from tests.support.machine import Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db

CARD = {"tool_name": "refund", "input": {"amount": 5, "iban": "DE02"}}
TRUE, MASKED, UNSEEN = "true", "masked", "unseen"


@pytest.fixture
def ann() -> User:
    """The one administrator, who decides too."""
    return make_person("ann", "administer", "decide_approvalrequest", "view_approvalrequest")


def machine_of(made: tuple[Any, str]) -> Machine:
    return Machine(authorization=f"Bearer {made[1]}")


def key_by(maker: User | None, user: User, *scopes: str) -> tuple[ApiKey, str]:
    return create_key(user, name="agent", scopes=scopes or ("ask", "read"), by=maker)


@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_for_someone_else_cannot_decide_grant_or_set_absences(ann, scope):
    new = NewKey(user=bob(), name="agent", scopes=("read", scope))
    if scope in {"decide", "grant", "absence"}:
        with pytest.raises(NotAllowed, match=f"Leave out: {scope}"):
            make_key(new, by=ann, via=Door.DASHBOARD)
        assert not ApiKey.objects.exists()
    else:
        assert make_key(new, by=ann, via=Door.DASHBOARD)[0].made_by == ann


def test_such_a_key_from_before_that_rule_has_lost_these_scopes(ann):
    key, text = key_by(None, bob(), *SCOPES)
    ApiKey.objects.filter(pk=key.pk).update(made_by=ann)
    machine = Machine(authorization=f"Bearer {text}")
    later = (timezone.now() + timedelta(days=1)).isoformat()
    taken = machine.post("/absences", {"until": later, "delegate": "ann"})
    assert taken.refusal == (403, "scope_missing")
    assert machine.get("/requests").status == 200


#: The keys of the requester, or of someone else, that read a hidden value of a request by a key of the requester.
READERS = {
    "the key that asked": TRUE,
    "its successor": TRUE,
    "the successor of its successor": TRUE,
    "a key that the requester made": TRUE,
    "a key that an administrator made for the requester": MASKED,
    "a key that was made on the command line": MASKED,
    "a successor of another key": MASKED,
    "a key of someone who decides": MASKED,
    "a key of a stranger": UNSEEN,
}


def reader(who: str, requester: User, asked_with: ApiKey, ann: User) -> tuple[Any, str]:
    if who == "its successor":
        return rotate_key(asked_with.pk, by=ann, via=Door.DASHBOARD)
    if who == "the successor of its successor":
        first, _text = rotate_key(asked_with.pk, by=ann, via=Door.DASHBOARD)
        return rotate_key(first.pk, by=ann, via=Door.DASHBOARD)
    if who == "a key that the requester made":
        return key_by(requester, requester)
    if who == "a key that an administrator made for the requester":
        return make_key(NewKey(user=requester, name="agent"), by=ann, via=Door.DASHBOARD)
    if who == "a successor of another key":
        return rotate_key(key_by(None, requester)[0].pk, by=ann, via=Door.DASHBOARD)
    if who == "a key that was made on the command line":
        return key_by(None, requester)
    person = bob() if who == "a key of someone who decides" else make_person("mallory")
    return key_by(person, person)


@pytest.mark.parametrize("who", READERS)
def test_hidden_values_are_read_by_the_keys_that_the_table_says(who, ann):
    requester = alice()
    store_tool_settings("refund", {"secret_fields": ["iban"]}, by=ann)
    asking = key_by(None, requester)
    asked = machine_of(asking).ask(**CARD)
    made = asking if who == "the key that asked" else reader(who, requester, asking[0], ann)
    reply = machine_of(made).get(f"/requests/{asked['id']}")
    shown = UNSEEN if reply.status == 404 else TRUE if reply.body["input"]["iban"] == "DE02" else MASKED
    assert shown == READERS[who]


def request_of(maker: User | None, requester: User) -> ApprovalRequest:
    asked = machine_of(key_by(maker, requester)).ask(**CARD)
    return ApprovalRequest.objects.get(pk=asked["id"])


def outcome(request: ApprovalRequest, by: Any) -> str:
    try:
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=by, via=Door.REST)
    except Refusal as refusal:
        return refusal.code
    return "decided"


#: The deciders, by person or by their keys, of a call of a tool with this control, if ann made the key that asked for alice.
DECIDERS = {
    ("four_eyes", "ann"): ("not_allowed", "not_allowed"),
    ("four_eyes", "bob"): ("decided", "decided"),
    ("four_eyes", "alice"): ("not_allowed", "not_allowed"),
    ("", "ann"): ("decided", "asked_by_own_key"),
    ("", "bob"): ("decided", "decided"),
    ("confirm", "ann"): ("decided", "asked_by_own_key"),
}


@pytest.mark.parametrize(("control", "name"), DECIDERS)
def test_who_made_the_key_that_asked_is_a_requester_for_four_eyes(control, name, ann):
    requester = make_person("alice", "decide_approvalrequest") if control else alice()
    bob()
    store_tool_settings("refund", {"control": control}, by=ann)
    person = again(User.objects.get(username=name))
    by_person = outcome(request_of(ann, requester), person)
    decider = KeyActor(person, key_by(person, person, "decide")[0])
    assert (by_person, outcome(request_of(ann, requester), decider)) == DECIDERS[control, name]


def test_to_confirm_ones_own_calls_is_not_for_who_made_the_key():
    maker, requester = make_person("maker", "administer", "view_approvalrequest"), alice()
    store_tool_settings("refund", {"control": "confirm"}, by=maker)
    request = request_of(maker, requester)
    assert [outcome(request, again(person)) for person in (maker, requester)] == ["not_allowed", "decided"]


def test_the_reason_is_said_and_nobody_stands_in_for_who_made_the_key(ann):
    store_tool_settings("refund", {"control": "four_eyes"}, by=ann)
    request = request_of(ann, alice())
    assert why_not(standing_of(again(ann)), request).startswith("The two-person rule applies to this tool")
    delegate = bob()
    away(ann, delegate)
    assert seats(standing_of(again(delegate)), request) == (delegate.pk,)


def test_a_rotated_key_keeps_its_scopes_and_lists_and_ends_the_old_one_in_a_day(ann):
    old, old_text = key_by(None, ann, "ask", "decide")
    ApiKey.objects.filter(pk=old.pk).update(tool_lists={"gated": ["*"], "allowed": [], "denied": ["rm"]})
    new, text = rotate_key(old.pk, by=ann, via=Door.DASHBOARD)
    assert (new.scopes, new.tool_lists["denied"], new.replaces) == (["ask", "decide"], ["rm"], [old.pk])
    old.refresh_from_db()
    assert timedelta(hours=23) < old.expires_at - timezone.now() < timedelta(hours=25)
    assert [Machine(authorization=f"Bearer {each}").get("/openapi.json").status for each in (old_text, text)] == [
        200,
        200,
    ]
    assert AuditEntry.objects.filter(event="key.created").order_by("-pk")[0].data["replaces"] == old.prefix
    with pytest.raises(NotFound):
        rotate_key(0, by=ann, via=Door.DASHBOARD)


def test_the_successor_of_someone_elses_key_is_a_key_for_others(ann):
    theirs, _text = key_by(None, bob(), "ask", "decide")
    with pytest.raises(NotAllowed, match="Leave out: decide"):
        rotate_key(theirs.pk, by=ann, via=Door.DASHBOARD)
    administrator("dora")
    asks, _text = key_by(None, User.objects.get(username="bob"), "ask")
    assert isinstance(rotate_key(asks.pk, by=again(ann), via=Door.DASHBOARD)[0], PendingChange)
