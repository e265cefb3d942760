"""Messages that are too large to be pushed to open pages: the pages fetch those parts, once, and nothing asks for a reload."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.test import Client

from approvals.access.standing import standing_of
from approvals.db.pool import run
from approvals.pages.consumers import MAX_PUSH
from chats.agent.agent import Agent
from chats.agent.tools import tool
from chats.models import Chat, Message
from chats.pages.consumers import CATCH_UP
from chats.pages.context import MAX_PARTS, render_push
from chats.pages.messages import PartView, SourceLink
from tests.support.chats.scenes import answer, completed, paused, text, use
from tests.support.chats.turns import make_chat, say
from tests.support.lines import line
from tests.support.markup import Element, parse
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db(transaction=True)

LARGE = "word " * 70_000
SMALL = "A short answer."


@tool(needs_approval=True)
def publish(page: str) -> str:
    """Publish a page."""
    return page


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def parts_of(html: str) -> list[Element]:
    return [each for each in parse(html).find("div") if each.attributes.get("id", "").startswith("part-")]


def versions(html: str) -> dict[str, str]:
    return {part.attributes["id"]: part.attributes["data-version"] for part in parts_of(html)}


def fetched(html: str) -> dict[str, str]:
    """Return the addresses of parts that a page fetches."""
    return {part.attributes["id"]: part.attributes["hx-get"] for part in parts_of(html) if "hx-get" in part.attributes}


def test_a_large_part_of_an_answer_is_fetched_by_the_pages_and_the_others_are_pushed():
    chat = make_chat(alice())
    # As HTML, each is four times as long.
    completed(chat, "hello", text("<" * 49_000 + "first"), text("<" * 49_000 + "second"), text(SMALL))
    question, reply = Message.objects.order_by("position")
    pushed = render_push(standing_of(chat.owner), chat)
    # The first part of an answer says that a step begins.
    begin, large, fits, small = (f"part-{reply.pk}-{number}" for number in range(4))
    address = f"/chats/{chat.pk}/messages/{reply.pk}/parts/1/"
    assert (len(pushed.encode()) < MAX_PARTS, fetched(pushed)) == (True, {large: address})
    assert list(versions(pushed)) == [f"part-{question.pk}-0", begin, large, fits, small]
    assert [pushed.count(words) for words in ("first", "second", SMALL)] == [0, 1, 1]
    (part,) = parts_of(browser(chat.owner).get(address).text)
    assert (part.attributes["id"], part.words.count("first"), "hx-get" in part.attributes) == (large, 1, False)


def test_an_open_page_that_shows_a_large_part_already_does_not_fetch_it_again():
    chat = make_chat(alice())
    completed(chat, "hello", *(text(f"{number} {'<' * 49_000}") for number in range(6)))
    paused(chat)
    shown = versions(browser(chat.owner).get(f"/chats/{chat.pk}/").text)
    # A page keeps a part with the same version.
    assert versions(render_push(standing_of(chat.owner), chat, limit=CATCH_UP)) == shown


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (PartView(kind="text", text="a"), PartView(kind="text", text="b")),
        (PartView(kind="text", text="a"), PartView(kind="reasoning", text="a")),
        (PartView(kind="tool", state="input-available"), PartView(kind="tool", state="output-available")),
        (PartView(kind="tool", input_json="1"), PartView(kind="tool", output_json="1")),
        (
            PartView(kind="source", links=[SourceLink("", "a")]),
            PartView(kind="source", links=[SourceLink("https://a.example", "a")]),
        ),
    ],
)
def test_a_part_that_shows_something_else_has_another_version(before, after):
    assert (before.version == replace(before).version, before.version == after.version) == (True, False)


def test_what_a_person_wrote_is_fetched_too_if_it_is_large():
    chat = make_chat(alice())
    completed(chat, "hello")
    Message.objects.filter(role="user").update(parts=[{"type": "text", "text": LARGE}])
    message = Message.objects.get(role="user")
    pushed = render_push(standing_of(chat.owner), chat)
    assert fetched(pushed) == {f"part-{message.pk}-0": f"/chats/{chat.pk}/messages/{message.pk}/parts/0/"}
    assert "Hello back." in pushed


def test_many_parts_that_are_too_large_together_are_fetched_the_earlier_ones_first():
    chat = make_chat(alice())
    completed(chat, "hello", *(text(f"{number} {LARGE[:49_000]}") for number in range(8)))
    reply = Message.objects.get(role="assistant")
    pushed = render_push(standing_of(chat.owner), chat)
    assert len(pushed.encode()) < MAX_PUSH
    assert list(fetched(pushed)) == [f"part-{reply.pk}-{number}" for number in range(1, 4)]


async def test_a_chat_with_large_messages_is_pushed_on_every_change_and_asks_for_no_reload():
    chat = await run(lambda: make_chat(alice()))
    await run(completed, chat, "hello", *(text(f"{number} {'<' * 49_000}") for number in range(6)))
    async with line(f"/ws/chats/{chat.pk}/", chat.owner) as page:
        assert "out of date" not in await page.push()
        await run(completed, chat, "again", text("It came."))
        seen = await page.until("It came.")
    assert "out of date" not in seen


def test_the_card_of_a_large_call_is_fetched_with_its_part():
    chat = make_chat(alice())
    agent = Agent(name="support", tools=[publish])
    answer(say(chat, "please"), use("publish", {"page": "<" * 180_000}), agent=agent)
    reply = Message.objects.get(role="assistant")
    addresses = fetched(render_push(standing_of(chat.owner), chat))
    assert addresses == {f"part-{reply.pk}-1": f"/chats/{chat.pk}/messages/{reply.pk}/parts/1/"}
    for person, decides in ((chat.owner, False), (bob(), True)):
        page = browser(person).get(*addresses.values()).text
        assert (len(parse(page).find("section", class_="request")), "Approve" in page) == (1, decides)


def test_a_part_is_for_those_who_may_read_the_chat_and_only_where_it_is():
    owner, reader, other = alice(), carol(), bob()
    chat, elsewhere = make_chat(owner), make_chat(other)
    completed(chat)
    reply = Message.objects.get(role="assistant")
    reader.user_permissions.clear()
    address = f"/chats/{chat.pk}/messages/{reply.pk}/parts/"
    statuses = [browser(person).get(f"{address}0/").status_code for person in (owner, reader)]
    assert statuses == [200, 404]
    wrong = (f"{address}99/", f"{address}{10**30}/", f"/chats/{elsewhere.pk}/messages/{reply.pk}/parts/0/")
    assert [browser(other).get(each).status_code for each in wrong] == [404] * 3
    Message.objects.update(cut_at=reply.created_at)
    assert browser(owner).get(f"{address}0/").status_code == 404
    assert Client().get(f"{address}0/").status_code == 302
    assert Chat.objects.count() == 2
