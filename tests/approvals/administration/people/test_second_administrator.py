"""No administrator can become a decider alone, or act as one: roles, links and addresses of deciders need a second one."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.core import mail
from django.utils import timezone

from approvals.administration.changes.actions import withdraw_change
from approvals.administration.changes.queries import shown_digest
from approvals.administration.keys.actions import create_key
from approvals.administration.people.actions import (
    add_person,
    allow_password_link,
    change_person,
)
from approvals.exceptions import Conflict, NotAllowed
from approvals.models import AuditEntry, PendingChange
from approvals.models.keys import ApiKey
from approvals.outbound import mailing
from tests.approvals.administration.people.test_people import administrator, may
from tests.support.desk.days import day_in
from tests.support.desk.pressing import browser
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.markup import parse
from tests.support.people import bob, carol, make_person, mallory

#: With commits, because the mails leave after them.
pytestmark = pytest.mark.django_db(transaction=True)


def waiting() -> list[tuple[str, str, object, str]]:
    changes = PendingChange.objects.order_by("pk")
    return [(one.person.username, one.kind, one.value, one.requested_by.username) for one in changes]


def steps() -> list[tuple[str, object, object]]:
    entries = AuditEntry.objects.filter(event="person.changed").order_by("pk")
    return [(entry.actor_name, entry.data.get("change"), entry.data.get("of")) for entry in entries]


def press(person: User, do: str) -> tuple[int, str]:
    change = waiting_change()
    sent = {"do": do, "shown": shown_digest(change)}
    answer = browser(person).post(f"/settings/changes/{change.pk}/", sent)
    return answer.status_code, answer.text


def mails() -> list[tuple[str, str]]:
    """The recipients and the first line of each mail."""
    mailing._thread.submit(bool).result()
    return [(one.to[0], str(one.body).splitlines()[0]) for one in mail.outbox]


@pytest.fixture(autouse=True)
def mail_server(settings):
    settings.HITL_MAIL = True


def with_mail(person: User) -> User:
    User.objects.filter(pk=person.pk).update(email=f"{person.username}@example.org")
    return User.objects.get(pk=person.pk)


def test_nobody_changes_their_own_roles():
    dora = administrator()
    own = f"/settings/people/{dora.pk}/"
    for roles in (["administrator", "approver"], [], ["approver"]):
        browser(dora).post(own, {"roles": roles})
        with pytest.raises(NotAllowed):
            change_person(dora.pk, email="", roles=roles, team_ids=[], by=dora)
    assert may(dora) == {"administer", "view_approvalrequest", "view_auditentry"}
    assert (waiting(), steps()) == ([], [])
    boxes = parse(browser(dora).get(own).text).find("input", name="roles")
    assert {"disabled" in box.attributes for box in boxes} == {True}


def test_a_deciding_role_is_given_by_two_administrators_and_the_person_is_told():
    dora, ewa, eve = administrator(), administrator("ewa"), with_mail(make_person("eve"))
    sent = {"email": eve.email, "roles": ["approver", "auditor"]}
    page = browser(dora).post(f"/settings/people/{eve.pk}/", sent, follow=True)
    assert "Another administrator must confirm this. Until then, nothing changes." in parse(page.text).words
    assert may(eve) == {"view_approvalrequest", "view_auditentry"}
    assert waiting() == [("eve", "roles", ["approver"], "dora")]
    assert [press(person, "confirm")[0] for person in (dora, mallory(), eve)] == [403, 404, 404]
    assert "decide_approvalrequest" not in may(eve)
    assert press(ewa, "confirm")[0] == 302
    assert "decide_approvalrequest" in may(eve)
    assert (waiting(), steps()) == (
        [],
        [("dora", None, None), ("dora", "requested", "roles"), ("ewa", "confirmed", "roles")],
    )
    assert mails() == [
        ("eve@example.org", "dora gave you these roles: Auditor."),
        ("eve@example.org", "ewa gave you these roles: Approver."),
    ]


def test_administrators_are_made_by_two_and_a_new_one_waits_too():
    dora, ewa = administrator(), administrator("ewa")
    eve = add_person(username="eve", email="", roles=["administrator", "requester"], by=dora)
    assert (may(eve), waiting()) == (set(), [("eve", "roles", ["administrator"], "dora")])
    shown = parse(browser(ewa).get("/settings/people/").text).find("ul", class_="pending-changes")[0].words
    assert "Give eve these roles: Administrator" in shown
    own = parse(browser(dora).get(f"/settings/people/{eve.pk}/").text).find("ul", class_="pending-changes")[0]
    assert [button.words for button in own.find("button")] == ["Cancel change"]
    assert press(dora, "withdraw")[0] == 302
    assert (may(eve), waiting(), steps()[-1]) == (set(), [], ("dora", "withdrawn", "roles"))


def test_a_link_for_somebody_who_decides_is_shown_to_the_second_administrator_only():
    dora, ewa, target = administrator(), administrator("ewa"), with_mail(bob())
    refused = browser(dora).post(f"/settings/people/{target.pk}/link/", follow=True)
    assert "/password/reset/" not in refused.text
    assert waiting() == [("bob", "password_link", None, "dora")]
    status, page = press(dora, "confirm")
    assert (status, "/password/reset/" in page) == (403, False)
    status, page = press(ewa, "confirm")
    assert (status, "/password/reset/" in parse(page).find("pre")[0].words) == (200, True)
    assert mails() == [
        ("bob@example.org", "dora requested a link that sets the password of your account."),
        ("bob@example.org", "ewa created a link that sets the password of your account."),
    ]


def test_the_address_of_somebody_who_decides_is_changed_by_two_and_both_addresses_are_told():
    dora, ewa, target = administrator(), administrator("ewa"), with_mail(bob())
    browser(dora).post(f"/settings/people/{target.pk}/", {"email": "dora@evil.example", "roles": []})
    assert User.objects.get(pk=target.pk).email == "bob@example.org"
    assert press(ewa, "confirm")[0] == 302
    assert User.objects.get(pk=target.pk).email == "dora@evil.example"
    requested = "dora requested to change the email address of your account to dora@evil.example."
    changed = "ewa changed the email address of your account to dora@evil.example."
    assert mails() == [
        ("bob@example.org", requested),
        ("bob@example.org", changed),
        ("dora@evil.example", changed),
    ]


def test_neither_deactivating_somebody_nor_waiting_for_the_role_opens_a_way_around():
    dora, target, eve = administrator(), with_mail(bob()), with_mail(make_person("eve"))
    administrator("ewa")
    client = browser(dora)
    client.post(f"/settings/people/{target.pk}/active/")
    client.post(f"/settings/people/{target.pk}/", {"email": "dora@evil.example", "roles": []})
    client.post(f"/settings/people/{eve.pk}/", {"email": eve.email, "roles": ["approver"]})
    client.post(f"/settings/people/{eve.pk}/", {"email": "dora@evil.example", "roles": []})
    assert "/password/reset/" not in client.post(f"/settings/people/{eve.pk}/link/", follow=True).text
    assert set(User.objects.values_list("email", flat=True)) == {"", "bob@example.org", "eve@example.org"}


def test_the_invitation_of_a_decider_is_mailed_or_waits(settings):
    dora, ewa = administrator(), administrator("ewa")
    sent = {"username": "eve", "email": "eve@example.org", "roles": ["approver"]}
    settings.DEFAULT_FROM_EMAIL = "pausepoint@localhost\nBcc: mallory@example.org"
    page = browser(dora).post("/settings/people/", sent, follow=True)
    assert "/password/reset/" not in page.text
    assert "The mail server did not accept the invitation." in parse(page.text).words
    settings.HITL_MAIL = False
    eve = User.objects.get(username="eve")
    PendingChange.objects.all().delete()
    eve.groups.add(Group.objects.get(name="Approver"))
    page = browser(dora).post(f"/settings/people/{eve.pk}/invite/", {"do": "invite"}, follow=True)
    assert "/password/reset/" not in page.text
    link = re.findall(r"/password/reset/[^<\s]+", press(ewa, "confirm")[1])[0]
    assert parse(browser(mallory()).get(link, follow=True).text).find("h1")[0].words == "Welcome to Pausepoint"


def test_a_request_ends_with_the_role_of_who_made_it():
    dora, ewa, eve = administrator(), administrator("ewa"), make_person("eve")
    change_person(eve.pk, email="", roles=["approver"], team_ids=[], by=dora)
    dora.groups.clear()
    with pytest.raises(Conflict):
        confirm(waiting_change(), ewa)
    assert may(eve) == set()


def test_with_the_switch_for_desks_of_one_an_administrator_needs_no_second_one_but_changes_no_own_roles(settings):
    settings.HITL_ONE_ADMINISTRATOR = True
    dora, eve = administrator(), with_mail(make_person("eve"))
    client = browser(dora)
    client.post(f"/settings/people/{eve.pk}/", {"email": eve.email, "roles": ["approver"]})
    client.post(f"/settings/people/{dora.pk}/", {"roles": ["approver", "administrator"]})
    assert "/password/reset/" in client.post(f"/settings/people/{eve.pk}/link/").text
    assert ("decide_approvalrequest" in may(eve), "decide_approvalrequest" in may(dora)) == (True, False)
    assert [text.partition(" ")[0] for _to, text in mails()] == ["dora", "dora"]


def test_a_key_for_somebody_else_never_decides_and_the_person_is_told_of_keys():
    dora, target = administrator(), with_mail(bob())
    sent = {"name": "agent", "user": "bob", "scopes": ["ask", "decide"], "last_day": day_in(30)}
    for maker in (dora, User.objects.create_superuser("root")):
        refused = browser(maker).post("/settings/keys/", sent)
        assert (refused.status_code, ApiKey.objects.count()) == (422, 0)
    assert "A key that acts for someone else cannot decide, give grants, or set absences." in refused.text
    assert browser(dora).post("/settings/keys/", sent | {"scopes": ["ask"]}).status_code == 200
    confirm(waiting_change("key"), User.objects.get(username="root"))
    key = ApiKey.objects.get()
    assert browser(dora).post(f"/settings/keys/{key.pk}/revoke/").status_code == 302
    own = sent | {"user": "root", "scopes": ["decide"]}
    assert browser(User.objects.get(username="root")).post("/settings/keys/", own).status_code == 200
    assert mails() == [
        ("bob@example.org", "dora created an API key that acts for you: agent (ask)."),
        ("bob@example.org", "dora revoked your API key agent."),
    ]
    assert target.pk == key.user_id


@pytest.mark.parametrize("right", ["is_superuser", "is_staff", "change_user", "change_group"])
def test_whoever_has_rights_in_the_admin_is_beyond_administrators(right):
    dora, other = administrator(), with_mail(carol())
    if right.startswith("is_"):
        User.objects.filter(pk=other.pk).update(**{right: True})
    else:
        other.user_permissions.add(Permission.objects.get(codename=right))
    create_key(other, name="theirs")
    client, own = browser(dora), f"/settings/people/{other.pk}/"
    key = {"name": "agent", "user": "carol", "scopes": ["ask"], "last_day": day_in(30)}
    lists = {"allowed": "*", "gated": "", "denied": ""}
    answers = {
        "link": client.post(f"{own}link/"),
        "active": client.post(f"{own}active/"),
        "change": client.post(own, {"email": "dora@evil.example", "roles": []}),
        "key": client.post("/settings/keys/", key),
        "gate": client.post(f"/settings/keys/{ApiKey.objects.get().pk}/", lists),
    }
    statuses = {name: answer.status_code for name, answer in answers.items()}
    assert statuses == {"link": 403, "active": 403, "change": 422, "key": 422, "gate": 422}
    assert (waiting(), steps(), ApiKey.objects.count()) == ([], [], 1)


def test_a_team_that_gives_permissions_is_for_superusers():
    dora, eve = administrator(), make_person("eve")
    team = Group.objects.create(name="Payments")
    team.permissions.add(Permission.objects.get(codename="decide_approvalrequest"))
    client = browser(dora)
    sent = {"email": "", "roles": [], "teams": [str(team.pk)]}
    assert client.post(f"/settings/people/{eve.pk}/", sent).status_code == 422
    assert client.post(f"/settings/people/{dora.pk}/", sent).status_code == 422
    assert client.post(f"/settings/teams/{team.pk}/", {"do": "remove"}).status_code == 403
    assert browser(User.objects.create_superuser("root")).post(f"/settings/people/{eve.pk}/", sent).status_code == 302
    assert may(eve) == {"decide_approvalrequest"}


def test_a_change_expires_after_a_week_and_who_asked_takes_it_back():
    dora, dan, target = administrator(), administrator("dan"), with_mail(bob())
    change_person(target.pk, email="new@example.org", roles=[], team_ids=[], by=dora)
    PendingChange.objects.update(requested_at=timezone.now() - timedelta(days=7, minutes=1))
    page = browser(dan).get("/settings/people/").text
    assert ("Expired: cancel it, and request it again." in page, 'value="confirm"' in page) == (True, False)
    with pytest.raises(Conflict, match="more than 7 days ago"):
        confirm(waiting_change(), dan)
    # People whom only a superuser may change by now.
    User.objects.filter(pk=target.pk).update(is_staff=True)
    with pytest.raises(NotAllowed):
        withdraw_change(PendingChange.objects.get().pk, by=dan)
    withdraw_change(PendingChange.objects.get().pk, by=dora)
    assert (waiting(), User.objects.get(pk=target.pk).email) == ([], "bob@example.org")


def test_who_confirms_reads_what_was_changed_in_the_account_before():
    dora, dan, target = administrator(), administrator("dan"), with_mail(carol())
    change_person(target.pk, email="other@example.org", roles=[], team_ids=[], by=dora)
    allow_password_link(target.pk, by=dora)
    change_person(target.pk, email="other@example.org", roles=["approver"], team_ids=[], by=dora)
    (row,) = [
        one
        for one in parse(browser(dan).get("/settings/people/").text).find("li", class_="row")
        if "Give carol" in one.words
    ]
    lines = [line.words.partition(" by dora")[0] for line in row.find("p")[1:]]
    assert lines == ["Password link created", "Email address changed to other@example.org"]
