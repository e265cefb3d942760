"""Pushes about assignees and notes: each person's share of them, and their queries."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.access.standing import standing_of
from approvals.db.pool import run
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest
from approvals.pages.consumers import DeskConsumer
from approvals.pages.pushes import assignee
from approvals.states import Door, Kind, Verdict
from tests.hitlsite.pages.test_query_counts import queries
from tests.support.chats.scenes import paused
from tests.support.chats.turns import make_chat
from tests.support.desk.requests import decide, make_request, make_workflow
from tests.support.lines import line
from tests.support.markup import inline_code, parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db(transaction=True)

QUIET = 0.3


def act(what, request: ApprovalRequest, by: User, **more: object):
    return what(request.pk, by=by, via=Door.DASHBOARD, **more)


def holders(html: str) -> dict[str, list[str]]:
    """Return the buttons of each assignee line in a push."""
    return {
        one.attributes["id"]: [b.words for b in one.find("button")]
        for one in parse(html).find("div", class_="assignee")
    }


async def test_claim_is_pushed_to_each_person_with_their_own_button():
    owner, by, dora = await run(alice), await run(bob), await run(make_person, "dora", "decide_approvalrequest")
    request, stranger = await run(make_request, owner), await run(mallory)
    id_ = f"assignee-{request.pk}"
    async with (
        line("/ws/desk/", owner) as hers,
        line("/ws/desk/", by) as his,
        line("/ws/desk/", dora) as doras,
        line("/ws/desk/", stranger) as none,
    ):
        await run(lambda: act(actions.claim, request, by))
        seen = [holders(await page.until("Assigned to <b>bob</b>")) for page in (hers, doras)]
        assert seen == [{id_: []}, {id_: ["Reassign to me"]}]
        assert holders(await his.until("Assigned to you")) == {id_: ["Unassign"]}
        assert await none.receive_nothing(QUIET)


async def test_assignment_pushes_the_card_to_the_new_assignee_and_removes_it_from_the_old():
    owner, by, first, second = await run(alice), await run(bob), await run(mallory), await run(make_person, "nina")
    request = await run(lambda: make_request(owner, Kind.QUESTION, allow_text=True, assigned_to=first))
    async with line("/ws/desk/", first) as theirs, line("/ws/desk/", second) as new:
        await run(lambda: act(actions.assign, request, by, to=second, instead_of="mallory"))
        gone, card = await theirs.until("assigned to someone else"), await new.until("Answer")
    assert f'id="request-{request.pk}"' in gone
    assert "May I?" not in gone
    assert f'id="request-{request.pk}"' in card
    (news,) = parse(card).find("div", class_="browser-notification")
    assert (news.attributes["data-title"], news.attributes["data-url"]) == ("May I?", request.get_absolute_url())


async def test_request_that_was_assigned_away_leaves_the_inbox_and_takes_only_its_own_notes_along():
    owner, by, first, second = await run(alice), await run(bob), await run(mallory), await run(make_person, "nina")
    request = await run(lambda: make_request(owner, Kind.QUESTION, allow_text=True, assigned_to=first))
    async with line("/ws/requests/", first) as theirs:
        await run(lambda: act(actions.assign, request, by, to=second, instead_of="mallory"))
        seen = [await theirs.until("assigned to someone else"), await theirs.until("0 waiting")]
    swaps = {
        one.attributes.get("id", ""): one.attributes["hx-swap-oob"]
        for one in parse("".join(seen)).inside
        if "hx-swap-oob" in one.attributes
    }
    assert (swaps[f"row-{request.pk}"], swaps[""]) == ("delete", f"delete:#notes[data-version='{request.pk}']")


async def test_note_is_pushed_to_people_who_may_read_it():
    owner, by, auditor, stranger = await run(alice), await run(bob), await run(carol), await run(mallory)
    request = await run(make_request, owner)
    async with line("/ws/desk/", auditor) as page, line("/ws/desk/", stranger) as none:
        await run(lambda: act(actions.comment, request, by, text="**Sure?** <img src=x onerror=alert(1)>"))
        seen = await page.until('class="internal-note"')
        assert [one.words for one in parse(seen).find("strong")] == ["Sure?"]
        assert (inline_code(seen), parse(seen).find("img")) == ([], [])
        assert await none.receive_nothing(QUIET)


async def test_chat_page_receives_changes_of_assignees():
    owner, by, auditor = await run(alice), await run(bob), await run(carol)
    chat = await run(make_chat, owner)
    await run(paused, chat)
    request = await run(ApprovalRequest.objects.get)
    async with line(f"/ws/chats/{chat.pk}/", auditor) as page:
        await run(lambda: act(actions.claim, request, by))
        assert holders(await page.until("Assigned to <b>bob</b>")) == {f"assignee-{request.pk}": []}


def test_page_catches_up_with_missed_assignments_and_notes():
    owner, by = alice(), bob()
    request, before = make_request(owner), timezone.now() - timedelta(seconds=1)
    act(actions.claim, request, by)
    act(actions.comment, request, by, text="I am at it.")
    html = assignee.render_missed(standing_of(owner), before, limit=50)
    assert list(holders(html)) == [f"assignee-{request.pk}"]
    assert [one.words.split(" ")[0] for one in parse(html).find("li", class_="internal-note")] == ["bob"]
    assert assignee.render_missed(standing_of(mallory()), before, limit=50) == ""
    assert assignee.render_missed(standing_of(by), timezone.now() + timedelta(seconds=1), limit=50) == ""


def test_page_that_missed_too_much_is_asked_to_reload():
    owner, by = alice(), bob()
    for _ in range(3):
        act(actions.claim, make_request(owner), by)
    assert assignee.render_missed(standing_of(by), timezone.now() - timedelta(minutes=1), limit=2) is None


def test_notifications_are_only_for_people_who_may_decide():
    owner, by, auditor = alice(), bob(), carol()
    request, question = make_request(owner), make_request(owner, Kind.QUESTION, allow_text=True, input={})
    told = {
        person.username: [
            "data-title" in assignee.render_notification(standing_of(person), BatchCache(), str(one.pk))
            for one in (request, question)
        ]
        for person in (owner, by, auditor, mallory())
    }
    assert told == {"alice": [False, True], "bob": [True, True], "carol": [False, False], "mallory": [False, False]}
    decide(request, by, Verdict.APPROVE)
    assert [
        assignee.render_notification(standing_of(by), BatchCache(), str(request.pk)),
        assignee.render_notification(standing_of(by), BatchCache(), ""),
    ] == ["", ""]


@pytest.mark.parametrize("rows", [2, 40])
def test_push_and_catch_up_take_constant_queries(rows):
    owner, by = alice(), bob()
    workflow = make_workflow(owner)
    for _ in range(rows):
        request = make_request(owner, workflow=workflow)
        act(actions.claim, request, by)
        act(actions.comment, request, by, text="Hm.")
    said = request.comments.get()

    def cost(work) -> int:
        viewer = standing_of(by)
        return len(queries(lambda: work(viewer)))

    def push(event: str, comment: int | None = None):
        return lambda viewer: assignee.render_change(
            viewer, BatchCache(), event, str(request.pk), comment, DeskConsumer.door
        )

    assert cost(push("request.claimed")) == 1
    assert cost(push("request.commented", said.pk)) == 2
    assert cost(push("request.assigned")) == 1
    assert cost(lambda viewer: assignee.render_missed(viewer, timezone.now() - timedelta(hours=1), limit=50)) == 2
