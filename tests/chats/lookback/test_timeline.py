"""The timeline of a chat: in order, page by page, for people who may read the chat."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals.states import Door, Verdict
from chats import actions, queries
from chats.lookback.timeline import TimelineCursor, page_of
from tests.support.chats import agents
from tests.support.chats.branches import branch
from tests.support.chats.scenes import completed, paused
from tests.support.chats.turns import converse, decide, make_chat, only_request, run, say
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def kinds(chat, **given) -> list[str]:
    return [entry.kind for entry in page_of(chat, **given).entries]


def story(settings):
    """Run a turn with an approved payment."""
    settings.HITL_AGENTS = [agents.PATH]
    turn = converse(alice(), "pay")
    decide(only_request(turn), bob(), Verdict.APPROVE, comment="Go on.")
    return run(turn)


@pytest.mark.django_db(transaction=True)
def test_timeline_is_in_order(settings):
    turn = story(settings)
    assert kinds(turn.chat) == [
        *("message", "turn_started", "step", "requested", "checkpoint", "decided"),
        *("result", "step", "turn_ended", "checkpoint"),
    ]


@pytest.mark.django_db(transaction=True)
def test_timeline_shows_who_decided_and_via(settings):
    turn = story(settings)
    client = Client()
    client.force_login(turn.chat.owner)
    page = parse(client.get(f"/chats/{turn.chat_id}/timeline/").text)
    (decided,) = page.find("li", class_="entry-decided")
    assert decided.find("p")[1].words == "Approved by bob via web: Run pay?"
    assert decided.find("blockquote")[0].words == "Go on."


@pytest.mark.django_db(transaction=True)
def test_branch_and_origin_appear_in_both_timelines(settings):
    turn = story(settings)
    made = branch(turn, 0)
    assert kinds(turn.chat)[-1] == "branched"
    assert kinds(made) == ["message", "turn_started", "step", "origin", "requested", "checkpoint"]
    ended = branch(turn, 1)
    assert kinds(ended) == [
        *("message", "turn_started", "step", "requested", "decided", "result", "step", "turn_ended"),
        *("origin", "checkpoint"),
    ]


def test_stop_shows_who_pressed_it():
    chat = make_chat(alice())
    paused(chat)
    actions.stop_turn(chat, by=chat.owner, via=Door.CHAT)
    client = Client()
    client.force_login(chat.owner)
    page = parse(client.get(f"/chats/{chat.pk}/timeline/").text)
    (ended,) = page.find("li", class_="entry-turn_ended")
    assert ended.find("p")[1].words == "Turn stopped by alice"


def test_pages_have_no_gaps_or_overlaps_in_both_directions():
    chat = make_chat(alice())
    for _ in range(7):
        completed(chat)
    whole = [entry.key for entry in page_of(chat, size=1000).entries]
    assert len(whole) == 7 * 5

    page = page_of(chat, size=4)
    back = [entry.key for entry in page.entries]
    while page.earlier:
        page = page_of(chat, before=page.entries[0].cursor, size=4)
        back = [entry.key for entry in page.entries] + back
    forth, after = [whole[0]], page_of(chat, size=1000).entries[0].cursor
    while True:
        page = page_of(chat, after=after, size=4)
        forth += [entry.key for entry in page.entries]
        if not page.later:
            break
        after = page.entries[-1].cursor
    assert (back, forth) == (whole, whole)


def test_entries_of_the_same_moment_are_paginated():
    chat = make_chat(alice())
    for _ in range(3):
        completed(chat)
    turns = chat.turns.all()
    now = turns[0].created_at
    chat.turns.update(created_at=now, ended_at=now)
    chat.messages.update(created_at=now)
    whole = [entry.key for entry in page_of(chat, size=1000).entries]
    found, before = [], None
    while True:
        page = page_of(chat, before=before, size=2)
        found = [entry.key for entry in page.entries] + found
        if not page.earlier:
            break
        before = page.entries[0].cursor
    assert found == whole


def test_a_cursor_is_parsed_back_from_its_text():
    chat = make_chat(alice())
    completed(chat)
    for entry in page_of(chat).entries:
        assert TimelineCursor.parse(str(entry.cursor)) == entry.cursor


@pytest.mark.parametrize(
    "text",
    ["", "x", ",,", "2026-11-21,1,1", "2026-11-21T12:00:00,1,1", "2026-11-21T12:00:00Z,1", "0001-01-01T00:00:00+23:00,1,1",
     "2026-11-21T12:00:00Z,-1,1", "2026-11-21T12:00:00Z,1,\u0663", f"2026-11-21T12:00:00Z,1,{10**30}"],
)  # fmt: skip
def test_an_invalid_cursor_shows_the_latest_entries(text):
    assert TimelineCursor.parse(text) is None
    chat = make_chat(alice())
    completed(chat)
    client = Client()
    client.force_login(chat.owner)
    page = parse(client.get(f"/chats/{chat.pk}/timeline/", {"before": text}).text)
    assert len(page.find("li", class_="entry")) == 5


def test_text_of_people_is_escaped():
    chat = make_chat(alice())
    say(chat, "<script>alert(1)</script>")
    client = Client()
    client.force_login(chat.owner)
    assert "<script>alert" not in client.get(f"/chats/{chat.pk}/timeline/").text
    assert TimelineCursor(queries.last_turn(chat).created_at, 1, 1) < TimelineCursor(
        queries.last_turn(chat).created_at, 2, 0
    )
