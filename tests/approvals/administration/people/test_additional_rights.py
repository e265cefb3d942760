"""Rights that no role has: given on the page of a person by two administrators, taken away by one, all on record."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core import mail

from approvals.administration.changeable import is_protected
from approvals.administration.changes.queries import shown_digest
from approvals.administration.people.actions import change_person
from approvals.exceptions import NotAllowed
from approvals.models import AuditEntry, PendingChange
from approvals.models.people import Right
from approvals.outbound import mailing
from tests.approvals.administration.people.test_people import administrator, may
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.desk.scopes import again, make_scope
from tests.support.desk.waiting_changes import confirm
from tests.support.markup import Element, parse
from tests.support.people import alice, bob, carol, make_person

#: With commits, because the mails leave after them.
pytestmark = pytest.mark.django_db(transaction=True)

BOTH = ["ignore_scopes", "reveal_secrets"]


@pytest.fixture(autouse=True)
def mail_server(settings):
    settings.HITL_MAIL = True


def page_of(person: User, viewer: User) -> Element:
    return parse(browser(viewer).get(f"/settings/people/{person.pk}/").text)


def boxes(page: Element) -> dict[str, bool]:
    return {box.attributes["value"]: "checked" in box.attributes for box in page.find("input", name="rights")}


def mails() -> list[str]:
    mailing._thread.submit(bool).result()
    return [str(sent.body).splitlines()[0] for sent in mail.outbox]


def test_two_administrators_give_them_and_the_person_is_told():
    dora, ewa, auditor = administrator(), administrator("ewa"), carol()
    User.objects.filter(pk=auditor.pk).update(email="carol@example.org")
    address = f"/settings/people/{auditor.pk}/"
    sent = {"email": "carol@example.org", "roles": [], "rights": BOTH}
    assert browser(dora).post(address, sent, follow=True).text.count("Another administrator must confirm this.") == 1
    assert may(auditor) == {"view_approvalrequest"}
    [change] = PendingChange.objects.all()
    assert (change.kind, change.value) == ("rights", BOTH)
    words = "Give carol these additional rights: See and decide without scopes, Show hidden values"
    assert words in browser(ewa).get(address).text
    with pytest.raises(NotAllowed):
        confirm(change, dora)
    browser(ewa).post(f"/settings/changes/{change.pk}/", {"do": "confirm", "shown": shown_digest(change)})
    assert may(auditor) == {"view_approvalrequest", *BOTH}
    assert boxes(page_of(auditor, dora)) == dict.fromkeys(BOTH, True) | {"break_glass": False}
    assert mails() == ["ewa gave you these additional rights: See and decide without scopes, Show hidden values."]
    recorded = AuditEntry.objects.filter(event="person.changed").order_by("pk")
    assert [(entry.actor_name, entry.data["change"], entry.data["value"]) for entry in recorded] == [
        ("dora", "requested", BOTH),
        ("ewa", "confirmed", BOTH),
    ]


def test_one_administrator_takes_them_away():
    dora, erin = administrator(), make_person("erin", "view_approvalrequest", *BOTH)
    browser(dora).post(f"/settings/people/{erin.pk}/", {"rights": ["reveal_secrets"]})
    assert may(erin) == {"view_approvalrequest", "reveal_secrets"}
    entry = AuditEntry.objects.get(event="person.changed")
    assert (entry.data["before"]["rights"], entry.data["after"]["rights"]) == (BOTH, ["reveal_secrets"])


def test_nobody_changes_their_own():
    dora = administrator()
    browser(dora).post(f"/settings/people/{dora.pk}/", {"rights": BOTH})
    with pytest.raises(NotAllowed):
        change_person(dora.pk, email="", roles=["administrator"], rights=BOTH, team_ids=[], by=dora)
    assert (may(dora) & set(BOTH), PendingChange.objects.count()) == (set(), 0)
    fields = page_of(dora, dora).find("input", name="rights")
    assert {"disabled" in field.attributes for field in fields} == {True}


def test_one_administrator_is_enough_where_the_installation_says_so(settings):
    settings.HITL_ONE_ADMINISTRATOR = True
    dora, auditor = administrator(), carol()
    browser(dora).post(f"/settings/people/{auditor.pk}/", {"rights": ["ignore_scopes"]})
    assert may(auditor) == {"view_approvalrequest", "ignore_scopes"}


@pytest.mark.parametrize("right", Right)
def test_whoever_has_one_or_is_about_to_is_protected_as_deciders_are(right):
    dora, erin, eve = administrator(), make_person("erin", right), make_person("eve")
    administrator("ewa")
    assert [is_protected(person) for person in (erin, eve)] == [True, False]
    change_person(eve.pk, email="", roles=[], rights=[right], team_ids=[], by=dora)
    assert is_protected(eve)
    # A link would let the administrator log in as them.
    browser(dora).post(f"/settings/people/{erin.pk}/link/")
    assert list(PendingChange.objects.values_list("person__username", "kind").order_by("pk")) == [
        ("eve", "rights"),
        ("erin", "password_link"),
    ]


def test_an_unknown_right_and_any_other_permission_are_refused():
    dora, eve = administrator(), make_person("eve")
    for wrong in ("decide_approvalrequest", "delete_user", "x"):
        assert browser(dora).post(f"/settings/people/{eve.pk}/", {"rights": [wrong]}).status_code == 422
    assert (may(eve), PendingChange.objects.count()) == (set(), 0)


def test_other_permissions_stay_and_those_of_a_team_are_said():
    dora, erin = administrator(), make_person("erin", "view_auditentry")
    team = Group.objects.create(name="Keepers")
    team.permissions.add(Permission.objects.get(codename="reveal_secrets"))
    erin.groups.add(team)
    browser(dora).post(f"/settings/people/{erin.pk}/", {"rights": [], "teams": [str(team.pk)]})
    assert may(erin) == {"view_auditentry", "reveal_secrets"}
    page = page_of(erin, dora)
    assert boxes(page) == dict.fromkeys(Right.values, False)
    notes = [note.words for note in page.find("p", class_="note")]
    assert "Teams give this person these additional rights: Show hidden values." in notes
    assert [note for note in notes if "come from no role" in note and "hidden" in note] == []


def test_the_right_to_ignore_scopes_opens_what_the_role_allows(settings):
    settings.HITL_ONE_ADMINISTRATOR = True
    dora, decider = administrator(), bob()
    request = make_request(alice(), tool_name="payroll")
    make_scope(dora, by=User.objects.create_superuser("root"), tools=["refund"])
    assert browser(again(decider)).get(request.get_absolute_url()).status_code == 404
    browser(dora).post(f"/settings/people/{decider.pk}/", {"rights": ["ignore_scopes"]})
    assert browser(again(decider)).get(request.get_absolute_url()).status_code == 200
