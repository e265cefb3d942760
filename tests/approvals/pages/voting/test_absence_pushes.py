"""Open pages say that an absence has begun or ended: which requests the delegate may decide from now on, or no longer."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.standing import standing_of
from approvals.actions.policy import absence as absence_actions
from approvals.actions.policy.absence import Away, changing_absences, end_absence, set_absence
from approvals.db.pool import run
from approvals.live.batching import BatchCache
from approvals.models import Absence
from approvals.pages import consumers
from approvals.pages.lists import inbox_consumer
from approvals.queries.filters import Filters
from approvals.states import Door
from tests.support.desk.away import away
from tests.support.desk.requests import REFUND, make_request
from tests.support.desk.scopes import again, make_scope
from tests.support.desk.votes import both, group, make_team, make_voted
from tests.support.lines import line
from tests.support.markup import buttons, parse
from tests.support.people import alice, bob, make_person

SECOND = timedelta(seconds=1)


def delegate() -> User:
    return make_person("dave", "decide_approvalrequest", "view_approvalrequest")


def payment_of(owner: User, voter: User):
    return make_voted(owner, both(group(make_team("finance", voter))), input=REFUND)


def pushed(person: User, absent: User) -> str:
    return consumers._absence_changed(standing_of(again(person)), BatchCache(), absent.pk)


def in_inbox(person: User, absent: User) -> str:
    return inbox_consumer._absence_changed(standing_of(again(person)), BatchCache(), Filters(), absent.pk)


def rows_in(html: str) -> dict[str, str]:
    """Return the kind of swap of each row."""
    return {
        row.attributes["id"]: row.attributes["hx-swap-oob"] for row in parse(html).find("li") if "id" in row.attributes
    }


@pytest.mark.django_db
def test_the_delegate_gets_the_buttons_and_loses_them_again():
    absent, other = bob(), delegate()
    request = payment_of(alice(), absent)
    before = pushed(other, absent)
    assert ("Approve" in buttons(before), "This request is waiting for finance." in before) == (False, True)
    absence = away(absent, other)
    during = pushed(other, absent)
    assert "You vote for bob, who is away." in parse(during).find("section", id=f"request-{request.pk}")[0].words
    assert "Approve" in buttons(during)
    absence.delete()
    assert "Approve" not in buttons(pushed(other, absent))


@pytest.mark.django_db
def test_nothing_is_announced_as_new():
    absent, other = bob(), delegate()
    payment_of(alice(), absent)
    away(absent, other)
    for html in (pushed(other, absent), in_inbox(other, absent)):
        page = parse(html)
        assert (page.find("div", class_="browser-notification"), "New:" in page.words) == ([], False)


@pytest.mark.django_db
def test_what_scopes_let_only_the_absent_person_see_comes_and_goes():
    root = User.objects.create_superuser("root")
    absent, other = bob(), delegate()
    request = make_request(alice(), tool_name="refund", input=REFUND)
    make_scope(absent, by=root, tools=["refund"])
    make_scope(other, by=root, tools=["mail"])
    row = f"row-{request.pk}"
    absence = away(absent, other)
    assert rows_in(in_inbox(other, absent)) == {row: "outerHTML"}
    assert "Approve" in buttons(pushed(other, absent))
    absence.delete()
    gone = in_inbox(other, absent)
    assert rows_in(gone) == {row: "delete"}
    assert "You can no longer see it." in parse(gone).find("section", id=f"request-{request.pk}")[0].words
    assert "120" not in parse(gone).words


@pytest.mark.django_db
def test_too_many_requests_ask_for_a_reload(monkeypatch):
    absent, other = bob(), delegate()
    payment_of(alice(), absent)
    monkeypatch.setattr(consumers, "CATCH_UP", 0)
    monkeypatch.setattr(inbox_consumer, "CATCH_UP", 0)
    assert pushed(other, absent) == in_inbox(other, absent)
    assert "out of date" in parse(pushed(other, absent)).words


@pytest.mark.django_db
def test_the_sweep_finds_what_has_just_begun_and_what_has_just_ended():
    absent, now = bob(), timezone.now()
    absence = away(absent, since=timedelta(hours=1), for_=timedelta(hours=1))

    def found(at) -> bool:
        return changing_absences(at).exists()

    begins, ends, late = absence.starts_at, absence.until, absence_actions.TOLD_WITHIN
    moments = [begins - SECOND, begins, begins + late - SECOND, begins + late, now, ends - SECOND, ends, ends + late]
    assert [found(moment) for moment in moments] == [False, True, True, False, False, False, True, False]


@pytest.mark.django_db(transaction=True)
async def test_open_pages_are_told_when_it_is_set_and_ended():
    absent, other, owner = await run(bob), await run(delegate), await run(alice)
    request = await run(payment_of, owner, absent)
    until = timezone.now() + timedelta(hours=1)
    async with line("/ws/desk/", other) as page, line("/ws/requests/", other) as inbox:
        absence = await run(
            lambda: set_absence(absent, Away(until=until, delegate=other), by=absent, via=Door.DASHBOARD)
        )
        assert "You vote for bob" in await page.until(f'id="request-{request.pk}"')
        assert "You vote for bob" in await inbox.until(f'id="request-{request.pk}"')
        await run(lambda: end_absence(absence.pk, by=absent, via=Door.DASHBOARD))
        assert "is waiting for finance" in await page.until(f'id="request-{request.pk}"')


@pytest.mark.django_db(transaction=True)
async def test_open_pages_are_told_once_of_one_that_begins_by_itself():
    absent, other, owner = await run(bob), await run(delegate), await run(alice)
    request = await run(payment_of, owner, absent)
    absence = await run(lambda: away(absent, other, since=timedelta(0)))
    async with line("/ws/desk/", other) as page:
        await run(absence_actions.tell_of_changing_absences)
        assert "You vote for bob" in await page.until(f'id="request-{request.pk}"')
        await run(absence_actions.tell_of_changing_absences)
        await run(lambda: Absence.objects.filter(pk=absence.pk).update(until=timezone.now()))
        await run(absence_actions.tell_of_changing_absences)
        assert "is waiting for finance" in await page.until(f'id="request-{request.pk}"')


@pytest.mark.django_db(transaction=True)
async def test_the_page_of_workflows_gets_its_counts():
    absent, other, owner = await run(bob), await run(delegate), await run(alice)
    await run(payment_of, owner, absent)
    async with line("/ws/workflows/", other) as page:
        await run(lambda: away(absent, other, since=timedelta(0)))
        await run(absence_actions.tell_of_changing_absences)
        assert "waiting" in await page.push()
