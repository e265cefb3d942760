"""The chat page's remarks on an answer, and its offers to continue."""

from __future__ import annotations

import pytest
from django.test import Client

from chats import actions
from chats.models import Chat
from tests.support.chats.scenes import begin, completed, ended, text
from tests.support.chats.turns import make_chat, say
from tests.support.markup import forms, parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

LENGTH = "The answer was cut off because it reached its maximum length. Send “Continue” to get the rest."
WINDOW = (
    "The answer was cut off because this chat is too long for the model. "
    "Start a new chat, or branch this one from an earlier checkpoint."
)
AGAIN = "The message and its answer are not sent to the model again. Rephrase it."
BROKEN_OFF = "The answer was interrupted by an error. Send “Continue” to get the rest."
UNKNOWN = "The model ended its answer for an unknown reason"
#: stop reason, the provider's details, the page's remark, and whether it offers to continue
ENDINGS = [
    ("end_turn", {}, [], False),
    ("max_tokens", {}, [LENGTH], True),
    ("model_context_window_exceeded", {}, [WINDOW], False),
    ("unknown", {"reason": "<b>tired</b>"}, [f"{UNKNOWN}: <b>tired</b>."], True),
    ("unknown", {"reason": 7}, [f"{UNKNOWN}."], True),
    (
        "end_turn",
        {"thoughts_left_out": {"answers": 2, "why": "changed"}},
        [
            "From here on, the model does not see its earlier thoughts, because its instructions, its tools or the "
            "messages before them have changed."
        ],
        False,
    ),
    (
        "end_turn",
        {"thoughts_left_out": {"answers": 2, "why": "refused"}},
        ["From here on, the model does not see its earlier thoughts, because its provider no longer accepts them."],
        False,
    ),
    (
        "end_turn",
        {"messages_left_out": {"messages": 4}},
        ["From here on, the model does not see the beginning of this chat, because the chat is too long."],
        False,
    ),
    (
        "end_turn",
        {"model_changed": {"before": "a", "now": "b"}},
        ["From here on, b answers; before, it was a."],
        False,
    ),
    ("end_turn", {"model_changed": "no", "thoughts_left_out": None}, [], False),
    ("refusal", {}, [f"The model refused to answer. {AGAIN}"], False),
    (
        "refusal",
        {"category": "cyber", "explanation": "It could do <i>harm</i>."},
        [f"The model refused to answer (computer security). It says: “It could do <i>harm</i>.” {AGAIN}"],
        False,
    ),
    (
        "refusal",
        {"category": "new_one", "explanation": None},
        [f"The model refused to answer (new_one). {AGAIN}"],
        False,
    ),
    ("refusal", {"category": ["x"], "explanation": {}}, [f"The model refused to answer. {AGAIN}"], False),
]


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def chat(db) -> Chat:
    return make_chat(alice())


def remarks(html: str) -> list[str]:
    return [one.words for one in parse(html).find("p", class_="remark")]


def offers(html: str, chat: Chat) -> list[dict[str, str]]:
    """Return the fields of each form that sends a prewritten message."""
    found = [form.fields for form in forms(html, f"/chats/{chat.pk}/messages/")]
    return [fields for fields in found if fields.get("text")]


@pytest.mark.parametrize(("stop_reason", "details", "expected", "may_go_on"), ENDINGS)
def test_each_ending_is_told_and_offered_to_continue_if_it_can(chat, stop_reason, details, expected, may_go_on):
    ended(say(chat, "hello"), stop_reason, text("So far"), **details)
    html = browser(chat.owner).get(chat.get_absolute_url()).text
    assert (remarks(html), len(offers(html, chat))) == (expected, int(may_go_on))


def test_a_refusal_without_a_word_is_told_once(chat):
    ended(say(chat, "hello"), "refusal")
    page = parse(browser(chat.owner).get(chat.get_absolute_url()).text)
    said = [part.words for part in page.find("article")[1].find("div", class_="part") if part.words]
    assert said == [f"The model refused to answer. {AGAIN}"]


def test_a_text_that_was_broken_off_is_marked_and_can_go_on(chat):
    turn = say(chat, "hello")
    actions.fail_turn(begin(turn), "The network is down.", 0, [], 1, left=actions.UnfinishedAnswer(["Half an"]))
    client = browser(chat.owner)
    html = client.get(chat.get_absolute_url()).text
    assert remarks(html) == [BROKEN_OFF]
    (line,) = parse(html).find("p", class_="refusal")
    assert line.words == "The network is down."
    (fields,) = offers(html, chat)
    assert client.post(f"/chats/{chat.pk}/messages/", fields).status_code == 302
    assert chat.messages.get(position=2).parts == [{"type": "text", "text": "Continue"}]


def test_only_the_latest_answer_can_go_on_and_only_for_its_owner(chat):
    ended(say(chat, "hello"), "max_tokens", text("So far"))
    seen = browser(bob()).get(chat.get_absolute_url()).text
    assert (remarks(seen), offers(seen, chat)) == ([LENGTH], [])
    completed(chat, "and more")
    html = browser(chat.owner).get(chat.get_absolute_url()).text
    assert (remarks(html), offers(html, chat)) == ([LENGTH], [])


def test_a_checkpoint_shows_the_remark_too(chat):
    turn = ended(say(chat, "hello"), "max_tokens", text("So far"))
    client = browser(chat.owner)
    listed = parse(client.get(f"/chats/{chat.pk}/checkpoints/").text)
    (address,) = {
        link.attributes["href"] for link in listed.find("a") if "/chats/checkpoints/" in link.attributes.get("href", "")
    }
    assert (turn.state, remarks(client.get(address).text)) == ("completed", [LENGTH])


def test_sources_are_plain_links_that_show_their_host(chat):
    citation = {"type": "web_search_result_location", "url": "https://pandas.example/<x>", "title": "<b>Your bank</b>"}
    found = {"type": "web_search_result", "url": "https://found.example/", "title": "Found"}
    blocks = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "pandas"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
        text("They ") | {"citations": [citation]},
        text("eat."),
    ]
    ended(say(chat, "hello"), "end_turn", *blocks)
    article = parse(browser(chat.owner).get(chat.get_absolute_url()).text).find("article")[1]
    links = [(one.attributes["href"], one.words, one.attributes["rel"]) for one in article.find("a")]
    safe = "noopener noreferrer nofollow"
    assert links == [
        ("https://found.example/", "Found", safe),
        ("https://pandas.example/<x>", "<b>Your bank</b>", safe),
    ]
    assert [one.words for one in article.find("div", class_="part-text")] == ["They eat."]
    (source,) = article.find("p", class_="source")
    assert source.find("span", class_="sub")[0].words == "pandas.example"
    assert article.find("img") == []
