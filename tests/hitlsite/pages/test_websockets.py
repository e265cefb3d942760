"""WebSockets of live pages: the right to open one, each person's pushes, and no others."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_out
from django.contrib.sessions.models import Session
from django.test import Client

from approvals import actions as desk
from approvals.asking.answers import Answer
from approvals.db.pool import run
from approvals.live import doorbell
from approvals.models import ApprovalRequest
from approvals.pages import consumers
from approvals.states import Door, Kind, Verdict
from chats import actions
from chats.engine import runner as running
from chats.engine import streams
from tests.support.chats import agents
from tests.support.chats.scenes import completed
from tests.support.chats.turns import make_chat, say
from tests.support.desk.requests import end_workflow, make_request
from tests.support.lines import SOON, cookie_of, dial, line
from tests.support.markup import aside, parse
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db(transaction=True)

#: Pages of other programs on the same host, which the browser sends our cookie along for.
OTHER_PORTS = ("http://localhost:9000", "https://localhost")
#: A push is rung and rendered at once; a push missing after this time won't come.
QUIET = 0.3


def cards(html: str) -> dict[str, list[str]]:
    """Return the buttons of each request in a push."""
    return {
        card.attributes["id"]: [one.words for one in card.find("button") if one not in aside(card)]
        for card in parse(html).find("section", class_="request")
    }


async def turn_of(chat) -> None:
    """Run the chat's turn as the server would."""
    turn = await run(lambda: chat.turns.get())
    await running.advance(turn.pk, asyncio.Event())


async def until_followed(chat) -> None:
    """Wait until a page receives the text of its chat's turn."""
    turn = await run(lambda: chat.turns.get().pk)
    async with asyncio.timeout(SOON):
        while turn not in streams._feeds or not streams._feeds[turn].followers:
            await asyncio.sleep(0.01)


def only() -> ApprovalRequest:
    return ApprovalRequest.objects.get()


async def test_a_page_of_another_site_gets_no_websocket():
    cookie = await run(lambda: cookie_of(bob()))
    for origin in ("http://evil.example", "null", "https://localhost.evil.example", *OTHER_PORTS, ""):
        assert (origin, await dial("/ws/desk/", origin, cookie).connect(SOON)) == (origin, (False, 1000))


async def test_an_anonymous_websocket_is_closed():
    for path in ("/ws/desk/", "/ws/chats/1/"):
        for cookie in ("", "sessionid=made-up", "sessionid="):
            page = dial(path, cookie=cookie)
            assert await page.connect(SOON) == (True, None)
            assert await page.closed_with() == consumers.LOGGED_OUT == 4401
            await page.disconnect()


@pytest.mark.parametrize("number", [None, 999, 10**30], ids=["somebody-elses", "absent", "huge"])
async def test_forbidden_and_absent_chats_are_closed_alike(number):
    chat = await run(lambda: make_chat(alice()))
    cookie = await run(lambda: cookie_of(mallory()))
    page = dial(f"/ws/chats/{number or chat.pk}/", cookie=cookie)
    assert await page.connect(SOON) == (True, None)
    assert await page.closed_with() == consumers.NOT_FOUND == 4404
    await page.disconnect()


async def test_a_request_is_pushed_when_it_is_asked_and_when_it_is_decided():
    by, owner = await run(bob), await run(alice)
    async with line("/ws/desk/?since=0", by) as page:
        assert await page.receive_nothing(QUIET)
        chat = await run(make_chat, owner)
        await run(say, chat, "approve refund")
        await turn_of(chat)
        request = await run(only)
        seen = await page.until(f'id="request-{request.pk}"')
        shown = ["Review changes", "Edit as JSON", "Cancel request", "Approve", "Reject"]
        assert cards(seen) == {f"request-{request.pk}": shown}
        assert [one.words for one in parse(seen).find("span", id="tab-workflows")] == ["1"]

        await run(desk.decide, request.pk, Answer(Verdict.REJECT, "No."), by=by, via=Door.DASHBOARD)
        seen = await page.until("Rejected</b>")
        assert cards(seen) == {f"request-{request.pk}": []}
        assert [one.words for one in parse(seen).find("span", id="tab-workflows")] == ["0"]

        await turn_of(chat)
        await page.until("state-completed")


async def test_each_person_is_pushed_only_what_they_may_see_and_do():
    owner = await run(alice)
    people = {"Alice": owner, "Bob": await run(bob), "Carol": await run(carol), "Mallory": await run(mallory)}
    async with contextlib.AsyncExitStack() as stack:
        pages = {name: await stack.enter_async_context(line("/ws/desk/", user)) for name, user in people.items()}
        await run(make_request, owner)
        request = await run(only)
        seen = {name: await pages[name].until("request-") for name in ("Alice", "Bob", "Carol")}
        assert {name: cards(html)[f"request-{request.pk}"] for name, html in seen.items()} == {
            "Alice": ["Cancel request"],
            "Bob": ["Review changes", "Edit as JSON", "Cancel request", "Approve", "Reject"],
            "Carol": [],
        }
        assert await pages["Mallory"].receive_nothing(QUIET)


async def test_an_assignee_is_pushed_the_request():
    owner, dora = await run(alice), await run(mallory)
    async with line("/ws/desk/", dora) as page:
        request = await run(make_request, owner, Kind.FORM, assigned_to=dora, response_schema={"type": "object"})
        shown = ["Answer", "Decline"]
        assert cards(await page.until("request-")) == {f"request-{request.pk}": shown}


async def test_connecting_sets_the_loop_that_sends_notifications(monkeypatch):
    monkeypatch.setattr(doorbell, "_loop", None)
    async with line("/ws/desk/", await run(bob)):
        assert doorbell._loop is asyncio.get_running_loop()


async def test_logging_out_closes_only_the_pages_of_that_session():
    user = await run(bob)
    clients = [Client(), Client()]
    for client in clients:
        await run(client.force_login, user)
    here, there = [f"sessionid={await run(lambda c=client: c.session.session_key)}" for client in clients]
    async with line("/ws/desk/", user, cookie=here) as mine, line("/ws/desk/", user, cookie=there) as other:
        await run(clients[0].post, "/logout/")
        assert await mine.closed_with() == consumers.LOGGED_OUT
        assert await other.receive_nothing(QUIET)
        await run(make_request, await run(alice))
        assert await other.until("request-")


async def test_the_session_is_deleted_before_its_pages_are_notified():
    client = Client()
    await run(lambda: client.force_login(bob()))
    key, found = await run(lambda: client.session.session_key), []

    def look(**_: object) -> None:
        found.append(Session.objects.filter(pk=key).exists())

    user_logged_out.connect(look)  # heard after our own receiver, before Django does anything more
    try:
        await run(client.post, "/logout/")
    finally:
        user_logged_out.disconnect(look)
    assert found == [False]


async def end_session(user: User) -> None:
    await run(lambda: Session.objects.all().delete())


async def change_password(user: User) -> None:
    user.set_password("another one")
    await run(user.save)


async def deactivate(user: User) -> None:
    user.is_active = False
    await run(user.save)


@pytest.mark.parametrize("end", [end_session, change_password, deactivate], ids=lambda end: end.__name__)
async def test_a_page_of_an_ended_session_is_pushed_nothing(end):
    user = await run(bob)
    async with line("/ws/desk/", user) as page:
        await end(user)
        await run(make_request, await run(alice))
        assert await page.closed_with() == consumers.LOGGED_OUT


async def test_losing_the_permission_ends_pushes_of_other_peoples_requests():
    user, owner = await run(bob), await run(alice)
    async with line("/ws/desk/", user) as page:
        await run(user.user_permissions.clear)
        await run(make_request, owner)
        assert await page.receive_nothing(QUIET)


async def test_a_reconnecting_page_is_pushed_what_it_missed():
    owner, by = await run(alice), await run(bob)
    waiting, decided = await run(make_request, owner), await run(make_request, owner)
    await run(desk.decide, decided.pk, Answer(Verdict.APPROVE), by=by, via=Door.DASHBOARD)
    await run(end_workflow, decided.workflow)
    async with line(f"/ws/desk/?since={int(time.time()) - 60}", by) as page:
        html = await page.push()
        assert {name: len(found) for name, found in cards(html).items()} == {
            f"request-{waiting.pk}": 5,
            f"request-{decided.pk}": 0,
        }
        badges = parse(html).find("span", class_="badge")
        states = {one.attributes.get("id"): one.words for one in badges}
        assert states[f"state-of-{decided.workflow_id}"] == "Completed"
        counts = [one.words for name in ("tab-inbox", "tab-workflows") for one in parse(html).find("span", id=name)]
        assert counts == ["1", "1"]
    async with line(f"/ws/desk/?since={int(time.time()) + 60}", by) as page:
        assert await page.receive_nothing(QUIET)


async def test_a_page_that_missed_too_much_is_asked_to_reload():
    owner = await run(alice)
    await run(lambda: [make_request(owner) for _ in range(consumers.CATCH_UP)])
    async with line("/ws/desk/?since=0", await run(bob)) as page:
        assert len(cards(await page.push())) == consumers.CATCH_UP
    await run(make_request, owner)
    async with line("/ws/desk/?since=0", owner) as page:
        (mark,) = parse(await page.push()).inside
        assert (mark.attributes["id"], mark.attributes["data-state"]) == ("live", "stale")
        assert mark.words == "This page is out of date: reload"


async def test_an_invalid_since_is_ignored():
    owner = await run(alice)
    for since in ("", "x", "-1", "1e9", "9" * 11, "9" * 12, "9" * 5000, "%00", "%D9%A3", "1.5", "1&since=x"):
        async with line(f"/ws/desk/?since={since}", owner) as page:
            request = await run(make_request, owner)
            assert f"request-{request.pk}" in await page.until(f"request-{request.pk}")


async def test_a_websocket_ignores_incoming_messages():
    owner = await run(alice)
    request = await run(make_request, owner)
    async with line("/ws/desk/", await run(bob)) as page:
        await page.send_json_to({"verdict": "approve", "request": str(request.pk), "type": "workflow.changed"})
        await page.send_to(bytes_data=b"\x00\xff")
        assert await page.receive_nothing(QUIET)
        assert (await run(only)).status == "pending"


async def test_a_chat_page_is_streamed_deltas_and_then_the_stored_message():
    chat = await run(lambda: make_chat(alice()))
    async with line(f"/ws/chats/{chat.pk}/", chat.owner) as page:
        assert parse(await page.push()).find("div", id="turn")[0].attributes["data-state"] == ""
        await run(say, chat, "hello")
        await until_followed(chat)
        working = asyncio.create_task(turn_of(chat))
        seen, words = "", []
        while 'data-state="completed"' not in seen:
            seen = await page.push()
            words += [
                one.text for one in parse(seen).find("div") if "live-text" in one.attributes.get("hx-swap-oob", "")
            ]
        await working
        said = "Hello! I can look up the weather, refund an order, and ask people when I need them."
        assert "".join(words) == said
        assert len(words) > 5
        assert [one.words for one in parse(seen).find("div", class_="part-text")] == ["hello", said]


async def test_a_page_opened_mid_turn_gets_the_text_from_the_beginning(settings):
    settings.HITL_AGENTS = [agents.PATH]
    chat = await run(lambda: make_chat(alice()))
    await run(say, chat, "recite")
    working = asyncio.create_task(turn_of(chat))
    events = chat.turns.get
    async with asyncio.timeout(SOON):
        while await run(lambda: events().events.count()) < 5:
            await asyncio.sleep(0.05)
    async with line(f"/ws/chats/{chat.pk}/", chat.owner) as page:
        seen = await page.until("This ")
        assert 'data-state="running"' in seen
        assert await run(actions.stop_turn, chat, by=chat.owner, via=Door.CHAT)
    working.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await working


async def test_a_reconnecting_chat_page_gets_all_missed_messages():
    chat = await run(lambda: make_chat(alice()))
    for _ in range(3):
        await run(completed, chat)
    async with line(f"/ws/chats/{chat.pk}/", await run(carol)) as page:
        html = await page.push()
        assert [one.words for one in parse(html).find("div", class_="part-text")] == ["hello", "Hello back."] * 3
