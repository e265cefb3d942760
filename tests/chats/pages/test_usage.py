"""The pages of usage: of a chat, and of agents."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from chats.models import Chat, ModelPrice, Step, Turn
from tests.support.chats.scenes import completed, ended, text
from tests.support.chats.turns import make_chat, say
from tests.support.markup import parse
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db

USAGE = {
    "input_tokens": 1000,
    "cache_creation_input_tokens": 500,
    "cache_read_input_tokens": 8500,
    "output_tokens": 2000,
    "thinking_tokens": 700,
}
#: 1000 at 2, 500 at 2.50, 8500 at 0.10 and 2000 at 10 dollars per million.
LINE = ["10,000", "85%", "2,000", "700", "0.0241 USD"]


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def asked(chat: Chat, model: str = "claude-sonnet-5-5") -> Turn:
    """Return a turn whose answer used USAGE of a model."""
    turn = completed(chat)
    turn.steps.update(model=model, usage=USAGE)
    return turn


@pytest.fixture
def chat(db) -> Chat:
    return make_chat(alice())


def rows(html: str) -> list[list[str]]:
    (body,) = parse(html).find("tbody")
    return [[cell.words for cell in row.find("td")] for row in body.find("tr")]


def summary(html: str) -> str:
    (line,) = parse(html).find("p", id="usage")
    return " ".join(" ".join(span.words.split()) for span in line.find("span"))


def test_the_chat_page_shows_what_the_chat_has_used(chat):
    asked(chat)
    words = (
        "10,000 tokens read, 2,000 written · 85% read from the cache · 700 written while thinking · about 0.0241 USD"
    )
    assert summary(browser(chat.owner).get(chat.get_absolute_url()).text) == words


def test_the_chat_page_shows_its_web_searches(chat):
    turn = asked(chat)
    turn.steps.update(usage={"input_tokens": 1000, "web_search_requests": 2})
    words = "1,000 tokens read, 0 written · 2 web searches · about 0.0220 USD"
    assert summary(browser(chat.owner).get(chat.get_absolute_url()).text) == words


def test_a_chat_without_answers_shows_no_usage(chat):
    assert summary(browser(chat.owner).get(chat.get_absolute_url()).text) == ""
    page = parse(browser(chat.owner).get(f"/chats/{chat.pk}/usage/").text)
    assert [cell.words for cell in page.find("td", class_="empty")] == ["No model calls in this chat yet."]


def test_the_usage_page_lists_the_turns_of_a_chat_the_latest_first(chat):
    asked(chat)
    asked(chat, "own-model")
    html = browser(bob()).get(f"/chats/{chat.pk}/usage/").text
    assert rows(html) == [[*LINE[:4], "\N{EN DASH}"], LINE]
    (note,) = parse(html).find("p", class_="note")
    assert note.words == (
        "There is no price for own-model, so the cost does not include these tokens. "
        "An administrator can add prices (Model prices)."
    )


def test_work_of_sub_agents_counts_for_the_turn_that_called_them(chat):
    above = asked(chat)
    below = Chat.objects.create(owner=chat.owner, public_id="below", agent="support", root=chat)
    turn = Turn.objects.create(chat=below, message_id="m", agent="support", root=above, state="completed", depth=1)
    Step.objects.create(turn=turn, index=0, provider="", model="claude-sonnet-5-5", stop_reason="end_turn", usage=USAGE)
    client = browser(chat.owner)
    assert rows(client.get(f"/chats/{chat.pk}/usage/").text) == [["20,000", "85%", "4,000", "1,400", "0.0482 USD"]]
    assert rows(client.get(f"/chats/{below.pk}/usage/").text) == [LINE]


def test_only_those_who_may_read_a_chat_see_its_usage(chat):
    asked(chat)
    page = browser(mallory()).get(f"/chats/{chat.pk}/usage/")
    assert page.status_code == 404


def test_insights_show_tokens_cost_and_ends_by_agent(chat):
    asked(chat)
    ended(say(chat, "more"), "max_tokens", text("So far"))
    Turn.objects.filter(pk=ended(say(chat, "harm"), "refusal").pk).update(finish_reason="content-filter")
    Turn.objects.filter(steps__stop_reason="max_tokens").update(finish_reason="length")
    html = browser(bob()).get("/chats/usage/").text
    assert rows(html) == [["3", "1", "1", "1", "0", "0", "0", *LINE]]


def test_insights_count_only_the_period_and_ones_own_chats(chat):
    turn = asked(chat)
    assert rows(browser(mallory()).get("/chats/usage/").text) == [["No turns in this period."]]
    long_ago = timezone.now() - timedelta(days=8)
    Turn.objects.filter(pk=turn.pk).update(ended_at=long_ago)
    turn.steps.update(created_at=long_ago)
    client = browser(chat.owner)
    assert rows(client.get("/chats/usage/?days=7").text) == [["No turns in this period."]]
    assert len(rows(client.get("/chats/usage/?days=30").text)[0]) == 12
    assert [client.get(f"/chats/usage/?days={days}").status_code for days in ("8", "x", "")] == [422, 422, 422]


def test_an_administrator_keeps_the_prices(admin_client):
    fields = {"prefix": "own-", "valid_from": "2026-01-01", "above": "0", "currency": "EUR"}
    fields |= dict.fromkeys(("input", "cache_write", "cache_read", "output"), "1.5")
    assert admin_client.post("/admin/chats/modelprice/add/", fields).status_code == 302
    assert ModelPrice.objects.get(prefix="own-").output == 1.5
    assert "own-" in admin_client.get("/admin/chats/modelprice/?prefix=own-").text
    refused = admin_client.post("/admin/chats/modelprice/add/", fields | {"prefix": "odd-", "input": "-1"})
    assert (refused.status_code, ModelPrice.objects.filter(prefix="odd-").exists()) == (200, False)
    again = admin_client.post("/admin/chats/modelprice/add/", fields)
    assert (again.status_code, ModelPrice.objects.filter(prefix="own-").count()) == (200, 1)
