"""The matrix of administration: changes made at once, and changes that wait for a second administrator."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.administration.changes.actions import withdraw_change
from approvals.administration.people.actions import change_person, set_active
from approvals.exceptions import NotAllowed
from approvals.models import AuditEntry, PendingChange, Role
from tests.approvals.administration.changes.nouns import LOOSER, STRICTER, person, prepare, state
from tests.support.desk.ruling import administrator
from tests.support.desk.scopes import again
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.people import make_person

pytestmark = pytest.mark.django_db

DONE, ALONE, WAITS = "done", "done, on record as done alone", "waits"
#: The outcomes of a change that loosens and of one that doesn't, by the people besides the administrator who makes it.
DESKS = {
    "one administrator": (ALONE, DONE),
    "two administrators": (WAITS, DONE),
    "two, of whom one is deactivated": (WAITS, DONE),
    "an administrator and a superuser": (WAITS, DONE),
    "two, with the switch for one": (ALONE, DONE),
    "a superuser and an administrator": (ALONE, DONE),
}


@pytest.fixture(autouse=True)
def prepared() -> None:
    prepare()


def maker_on(desk: str, settings) -> User:
    settings.HITL_ONE_ADMINISTRATOR = "switch" in desk
    if desk == "a superuser and an administrator":
        administrator("dora")
        return User.objects.create_superuser("ann")
    ann = administrator("ann")
    if desk == "an administrator and a superuser":
        User.objects.create_superuser("root")
    elif desk.startswith("two"):
        administrator("dora")
    if "deactivated" in desk:
        set_active(person("dora").pk, active=False, by=ann)
    return again(ann)


def outcome(make, by: User) -> str:
    before = state()
    make(by)
    alone = AuditEntry.objects.filter(event="change.alone").count()
    if PendingChange.objects.exists():
        assert (state(), alone) == (before, 0)
        return WAITS
    assert state() != before
    return ALONE if alone else DONE


@pytest.mark.parametrize("desk", DESKS)
@pytest.mark.parametrize("kind", LOOSER)
def test_what_loosens_waits_as_the_table_says(desk, kind, settings):
    assert outcome(LOOSER[kind], maker_on(desk, settings)) == DESKS[desk][0]


@pytest.mark.parametrize("desk", DESKS)
@pytest.mark.parametrize("kind", STRICTER)
def test_what_does_not_loosen_is_done_at_once(desk, kind, settings):
    assert outcome(STRICTER[kind], maker_on(desk, settings)) == DESKS[desk][1]


#: The people who confirm a change requested by ann on a desk with these people.
CONFIRMING = {"ann": False, "dora": True, "root": True}


@pytest.mark.parametrize("name", CONFIRMING)
@pytest.mark.parametrize("kind", LOOSER)
def test_another_administrator_confirms_what_waits(kind, name):
    ann = administrator("ann")
    administrator("dora")
    User.objects.create_superuser("root")
    LOOSER[kind](ann)
    before, change = state(), waiting_change()
    if CONFIRMING[name]:
        confirm(change, again(person(name)))
        assert (state() == before, PendingChange.objects.exists()) == (False, False)
    else:
        with pytest.raises(NotAllowed, match="You requested this change"):
            confirm(change, again(person(name)))
        assert (state(), PendingChange.objects.exists()) == (before, True)


@pytest.mark.parametrize("kind", LOOSER)
def test_who_requested_a_change_takes_it_back(kind):
    ann = administrator("ann")
    administrator("dora")
    before = state()
    LOOSER[kind](ann)
    withdraw_change(waiting_change().pk, by=ann)
    assert (state(), PendingChange.objects.exists()) == (before, False)


def test_one_administrator_does_not_rid_themselves_of_the_second():
    ann, dora = administrator("ann"), make_person("dora")
    with_role = {"email": "", "rights": None, "team_ids": []}
    dora.groups.add(Role.objects.get(name="administrator").group)
    change_person(dora.pk, roles=[], by=ann, **with_role)
    assert (waiting_change().kind, again(dora).has_perm("approvals.administer")) == ("role_taken", True)
    with pytest.raises(NotAllowed):
        confirm(waiting_change(), ann)
    # People who give a role up may confirm that themselves.
    confirm(waiting_change(), again(dora))
    assert again(dora).has_perm("approvals.administer") is False
