"""The pages of chats: writing, refusals that keep the draft, stopping, and permissions."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals.access.standing import standing_of
from approvals.models import Decision
from approvals.states import Verdict
from chats import actions
from chats.actions.posting import MAX_TEXT
from chats.models import Chat, Message, Turn
from chats.pages.context import render_push
from tests.support.chats.scenes import SHIPPING, asked, begin, completed, paused, text, use
from tests.support.chats.turns import decide, make_chat, only_request, say
from tests.support.markup import buttons, forms, parse
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def chat(db):
    return make_chat(alice())


def bubbles(html: str) -> list[str]:
    """Return the text of each message."""
    return [" ".join(part.words for part in one.find("div", class_="part-text")) for one in parse(html).find("article")]


def state_line(html: str) -> str:
    (line,) = parse(html).find("div", id="turn")
    return " ".join(words.words for words in line.find("p"))


def test_an_empty_list_says_how_to_start():
    page = parse(browser(alice()).get("/chats/").text)
    (words,) = [empty.words for empty in page.find("li", class_="empty")]
    assert words == "No chats yet. Write a message above to start one."


def test_a_chat_is_started_with_its_first_message():
    client = browser(alice())
    (form,) = forms(client.get("/chats/").text, "/chats/new/")
    sent = client.post(form.action, form.fields | {"text": "  Where is my parcel?\r\nOrder 4711  "})
    chat = Chat.objects.get()
    assert (sent.status_code, sent.headers["Location"]) == (302, f"/chats/{chat.pk}/")
    assert (chat.title, chat.agent, chat.owner.username) == ("Where is my parcel?", "support", "alice")
    assert Message.objects.get().parts == [{"type": "text", "text": "Where is my parcel?\nOrder 4711"}]
    assert Turn.objects.get().state == "queued"
    assert "Where is my parcel?" in bubbles(client.get(sent.headers["Location"]).text)[0]


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (
            {"agent": "support", "text": "x" * (MAX_TEXT + 1)},
            "A message must have 1 to 20,000 characters. This one has 20,001.",
        ),
        (
            {"agent": "nobody", "text": "Hello"},
            "No agent is named 'nobody'. Start a new chat with another agent.",
        ),
        ({"text": "Hello"}, "No agent is named ''. Start a new chat with another agent."),
    ],
    ids=["too-long", "unknown-agent", "no-agent"],
)
def test_refused_chat_leaves_nothing_behind(form, words):
    refused = browser(alice()).post("/chats/new/", form)
    assert refused.status_code == 422
    assert parse(refused.text).find("h1")[0].words == words
    assert Chat.objects.count() == 0


def test_plain_form_posts_a_message(chat):
    completed(chat)
    client = browser(chat.owner)
    (form,) = forms(client.get(chat.get_absolute_url()).text, "/messages/")
    sent = client.post(form.action, form.fields | {"text": "And now?"})
    assert (sent.status_code, sent.headers["Location"]) == (302, chat.get_absolute_url())
    page = client.get(chat.get_absolute_url()).text
    assert bubbles(page) == ["hello", "Hello back.", "And now?"]
    assert state_line(page) == "The agent is working…"


def test_a_live_page_gets_a_sent_message_by_the_push_alone(chat):
    client = browser(chat.owner)
    sent = client.post(f"{chat.get_absolute_url()}messages/", {"text": "hello"}, headers=HTMX)
    assert (sent.status_code, sent.content) == (204, b"")
    message, part, turn, _state, _refusal = parse(render_push(standing_of(chat.owner), chat)).inside
    pk = Message.objects.get().pk
    assert (message.attributes["id"], message.words) == (f"message-{pk}", "")
    assert (part.attributes["id"], part.attributes["data-into"], part.words) == (
        f"part-{pk}-0",
        f"#parts-{pk}",
        "hello",
    )
    assert (turn.attributes["id"], turn.attributes["data-state"]) == ("turn", "queued")


def refusal(chat, data) -> tuple[int, str, str]:
    """Return status, text and draft of the same refusal as a page and as a fragment."""
    client, found = browser(chat.owner), set()
    for headers in ({}, HTMX):
        sent = client.post(f"{chat.get_absolute_url()}messages/", data, headers=headers)
        (composer,) = parse(sent.text).find("form", id="composer")
        (words,) = composer.find("p", class_="refusal")
        found.add((sent.status_code, words.words, composer.find("textarea")[0].text))
    (only,) = found
    return only


def test_a_message_while_the_assistant_answers_is_refused_and_its_draft_kept(chat):
    turn = say(chat, "hello")
    busy = "The agent is still answering. Wait for it to finish, or stop it."
    assert refusal(chat, {"text": "Wait <b>"}) == (409, busy, "Wait <b>")
    begin(turn)
    assert refusal(chat, {"text": "Wait <b>"}) == (409, busy, "Wait <b>")
    assert Message.objects.count() == 1


def test_a_message_while_an_approval_is_open_is_refused_and_names_it(chat):
    paused(chat)
    words = "The agent is waiting for: “Run issueRefund?”. Answer that first, or stop the turn."
    assert refusal(chat, {"text": "Hurry up"}) == (409, words, "Hurry up")


def test_the_refusal_goes_when_the_chat_goes_on(chat):
    turn = paused(chat)
    assert parse(render_push(standing_of(chat.owner), chat)).find(id="composer-refusal") == []
    decide(only_request(turn), bob(), Verdict.APPROVE)
    (emptied,) = parse(render_push(standing_of(chat.owner), chat)).find(id="composer-refusal")
    assert (emptied.attributes["hx-swap-oob"], emptied.words) == ("outerHTML", "")


@pytest.mark.parametrize(
    ("written", "length"), [("  ", 0), ("", 0), ("y" * 20_001, 20_001)], ids=["blank", "empty", "long"]
)
def test_a_message_that_is_empty_or_too_long_is_refused_and_its_draft_kept(chat, written, length):
    words = f"A message must have 1 to 20,000 characters. This one has {length:,}."
    assert refusal(chat, {"text": written}) == (422, words, written)


def test_line_breaks_of_a_message_count_once(chat):
    written = "\r\n".join(["x" * 99] * 200)
    sent = browser(chat.owner).post(f"{chat.get_absolute_url()}messages/", {"text": written})
    assert sent.status_code == 302
    assert Message.objects.get().parts[0]["text"] == written.replace("\r\n", "\n")


def test_characters_that_databases_refuse_are_replaced(chat):
    sent = browser(chat.owner).post(f"{chat.get_absolute_url()}messages/", {"text": "a\x00b"})
    assert sent.status_code == 302
    assert Message.objects.get().parts[0]["text"] == "a\ufffdb"


def test_typing_answers_the_one_open_free_text_question():
    chat, request = asked(alice(), "askHuman", {"question": "What shall I tell them?"})
    sent = browser(chat.owner).post(f"{chat.get_absolute_url()}messages/", {"text": "Tell them yes."})
    assert sent.status_code == 302
    decision = Decision.objects.get(request=request)
    assert (decision.answer, decision.via, decision.by_name) == ("Tell them yes.", "chat", "alice")
    assert chat.messages.filter(role="user").count() == 1


def test_a_chat_whose_agent_is_gone_stays_readable_and_refuses_messages(chat, settings):
    completed(chat)
    settings.HITL_AGENTS = ["tests.support.processes.patient_agent.patient"]
    page = browser(chat.owner).get(chat.get_absolute_url()).text
    assert bubbles(page) == ["hello", "Hello back."]
    assert forms(page, "/messages/") == []
    (note,) = parse(page).find("p", class_="note")
    assert note.words.startswith("The agent “support” is not in HITL_AGENTS")
    sent = browser(chat.owner).post(f"{chat.get_absolute_url()}messages/", {"text": "Anybody?"})
    assert sent.status_code == 422


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["plain", "htmx"])
@pytest.mark.parametrize("begun", ["queued", "running", "suspended"])
def test_turn_can_be_stopped_in_every_state(chat, begun, headers):
    turn = paused(chat) if begun == "suspended" else say(chat, "slow")
    if begun == "running":
        begin(turn)
    client = browser(chat.owner)
    (form,) = forms(client.get(chat.get_absolute_url()).text, "/stop/")
    sent = client.post(form.action, form.fields, headers=headers)
    turn.refresh_from_db()
    assert (turn.stopped, turn.stopped_by) == (True, "alice")
    assert turn.state == ("running" if begun == "running" else "stopped")
    if headers:
        assert (sent.status_code, sent.content) == (204, b"")
    else:
        assert (sent.status_code, sent.headers["Location"]) == (302, chat.get_absolute_url())
    page = client.get(chat.get_absolute_url()).text
    assert state_line(page) == ("Stopping…" if begun == "running" else "Stopped by alice")
    assert forms(page, "/stop/") == []


def test_stopping_a_suspended_turn_cancels_its_requests(chat):
    turn = paused(chat)
    request = only_request(turn)
    browser(bob()).post(f"{chat.get_absolute_url()}stop/")
    decision = Decision.objects.get(request=request)
    assert (decision.verdict, decision.by_name, decision.via) == ("cancel", "bob", "stop")


def test_stopping_an_ended_turn_changes_nothing(chat):
    completed(chat)
    assert browser(chat.owner).post(f"{chat.get_absolute_url()}stop/").status_code == 302
    assert [*chat.turns.values_list("state", "stopped")] == [("completed", False)]


def test_auditors_read_chats_but_cannot_write_or_stop(chat):
    paused(chat)
    client = browser(carol())
    page = client.get(chat.get_absolute_url()).text
    assert bubbles(page) == ["please", "I will."]
    assert buttons(page) == []
    assert client.post(f"{chat.get_absolute_url()}messages/", {"text": "Hello"}).status_code == 404
    assert client.post(f"{chat.get_absolute_url()}stop/").status_code == 403
    assert [*chat.turns.values_list("state", flat=True)] == ["suspended"]


def test_approvers_decide_and_stop_but_cannot_write_in_chats_of_others(chat):
    paused(chat)
    page = browser(bob()).get(chat.get_absolute_url()).text
    assert buttons(page) == ["Review changes", "Edit as JSON", "Cancel request", "Approve", "Reject", "Stop"]


def test_state_of_a_turn_is_shown(chat):
    page = chat.get_absolute_url()
    client = browser(chat.owner)
    assert state_line(client.get(page).text) == ""
    turn = paused(
        chat, use("issueRefund", {"amount": 120, "orderId": "1"}), use("issueRefund", {"amount": 130, "orderId": "2"})
    )
    assert state_line(client.get(page).text) == (
        "Suspended Waiting for 2 decisions. Nothing runs until then. Run issueRefund?, Run issueRefund?"
    )
    assert actions.stop_turn(chat, by=chat.owner, via="chat")
    claim = begin(say(chat, "hello"))
    actions.fail_turn(claim, "The model is down.", 0, [], 1)
    assert state_line(client.get(page).text) == "The model is down."
    assert turn.chat.turns.count() == 2


def test_the_answer_is_shown_with_its_tools(chat):
    completed(chat, "weather", text("One *moment*."), use("getWeather", {"city": "Rome"}))
    page = parse(browser(chat.owner).get(chat.get_absolute_url()).text)
    (tool,) = page.find("details", class_="tool")
    assert tool.find("summary")[0].words == "getWeather done"
    assert [shown.words for shown in tool.find("pre")] == ['{ "city": "Rome" }', '"done"']
    assert [emphasis.words for emphasis in page.find("em")] == ["moment"]


def test_the_composer_says_what_a_message_does(chat):
    client, found = browser(chat.owner), {}
    for tool, value in (("", {"question": ""}), ("askHuman", {"question": "Which colour?"}), ("askUser", SHIPPING)):
        if tool:
            chat, _request = asked(chat.owner, tool, value)
        (composer,) = parse(client.get(f"/chats/{chat.pk}/").text).find("form", id="composer")
        (state,) = composer.find("div", id="composer-state")
        words = [line.words for line in state.find("p")]
        found[value["question"]] = (words, [button.words for button in state.find("button")])
    waits = f"{SHIPPING['question']} is waiting for a decision. You can write after that."
    assert found == {
        "": ([], ["Send"]),
        "Which colour?": (["Your message answers “Which colour?”."], ["Answer", "Stop and send"]),
        SHIPPING["question"]: ([waits], ["Stop and send"]),
    }


def test_a_message_may_be_sent_in_place_of_what_waits():
    chat, request = asked(asker := alice())
    sent = browser(asker).post(f"/chats/{chat.pk}/messages/", {"text": "Never mind. Hello?", "instead": "stop"})
    request.refresh_from_db()
    states = list(chat.turns.order_by("id").values_list("state", flat=True))
    assert (sent.status_code, request.status, states) == (302, "cancelled", ["stopped", "queued"])


def test_a_message_does_not_stop_a_turn_that_runs(chat):
    begin(say(chat, "hello"))
    sent = browser(chat.owner).post(f"/chats/{chat.pk}/messages/", {"text": "Stop!", "instead": "stop"})
    assert (sent.status_code, [turn.state for turn in chat.turns.all()], Turn.objects.get().stopped) == (
        409,
        ["running"],
        False,
    )


def test_nobody_else_stops_a_turn_with_a_message():
    chat, request = asked(alice())
    sent = browser(bob()).post(f"/chats/{chat.pk}/messages/", {"text": "Mine!", "instead": "stop"})
    request.refresh_from_db()
    assert (sent.status_code, request.status) == (404, "pending")
