"""Messages from people: limits, ownership, and when they are refused."""

from __future__ import annotations

import pytest

from approvals.states import Door, Verdict
from chats import actions
from chats.agent.demo import support
from chats.exceptions import ApprovalPending, BadMessage, ChatNotFound, MessageKnown, QuestionChanged, TurnRunning
from chats.models import Chat, Message, Turn
from tests.support import people
from tests.support.chats.claims import claim_turn
from tests.support.chats.scenes import SHIPPING, asked
from tests.support.chats.turns import converse, decide, make_chat, run, say
from tests.support.desk.pressing import HTMX, browser
from tests.support.markup import parse

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("text", ["", "   ", "\n", "x" * 20_001])
def test_a_message_has_a_minimum_and_a_maximum_length(text):
    chat = make_chat(people.alice())
    with pytest.raises(BadMessage):
        say(chat, text)
    assert (Message.objects.count(), Turn.objects.count()) == (0, 0)


def test_characters_that_no_database_can_store_are_replaced_in_a_message():
    chat = make_chat(people.alice())
    say(chat, "a\x00b\ud800c")
    assert Message.objects.get().parts == [{"type": "text", "text": "a\ufffdb\ufffdc"}]


def test_only_the_owner_writes_in_a_chat():
    chat = make_chat(people.alice())
    for person in (people.bob(), people.mallory()):
        with pytest.raises(ChatNotFound):
            actions.post_message(chat, "hello", by=person, agent=support, via=Door.CHAT)
    assert Message.objects.count() == 0


def test_a_message_during_a_running_turn_is_refused():
    turn = say(make_chat(people.alice()), "hello")
    with pytest.raises(TurnRunning):
        say(turn.chat, "hello?")
    claim_turn(turn.pk, owner="one")
    with pytest.raises(TurnRunning):
        say(turn.chat, "hello?")
    assert Message.objects.count() == 1


@pytest.mark.parametrize(
    ("text", "titles"),
    [
        ("approve refund", ["Run issueRefund?"]),
        ("ask parallel", ["Which delivery do you prefer?", "What should we add?"]),
    ],
)
def test_a_message_is_refused_while_requests_are_pending(text, titles):
    turn = converse(people.alice(), text)
    with pytest.raises(ApprovalPending) as refused:
        say(turn.chat, "hello?")
    assert [request.title for request in refused.value.requests] == titles
    assert all(title in str(refused.value) for title in titles)
    assert turn.chat.messages.count() == 2


def test_a_message_answers_the_only_pending_question_without_options():
    chat, request = asked(people.alice(), "askHuman", {"question": "How shall it come?"})
    arrival = actions.post_message(chat, "By drone", by=chat.owner, agent=support, via=Door.CHAT)
    assert arrival.answered.pk == request.pk
    request.refresh_from_db()
    assert request.decision.answer == "By drone"


@pytest.mark.parametrize("multiple", [False, True])
def test_a_message_chooses_no_option(multiple):
    chat, request = asked(people.alice(), value=SHIPPING | {"multiSelect": multiple})
    with pytest.raises(ApprovalPending) as refused:
        say(chat, "Thanks, and what else do you sell?")
    assert str(refused.value) == (
        f"The agent is waiting for: “{request.title}”. Choose an option on its card first, or stop the turn."
    )
    request.refresh_from_db()
    assert (request.status, chat.messages.count()) == ("pending", 2)


@pytest.mark.parametrize("multiple", [False, True])
def test_the_page_keeps_a_refused_message_and_names_the_request(multiple):
    owner = people.alice()
    chat, request = asked(owner, value=SHIPPING | {"multiSelect": multiple})
    client = browser(owner)
    page = parse(client.get(chat.get_absolute_url()).text)
    (link,) = page.find("div", id="turn")[0].find("a")
    assert (link.attributes["href"], link.words) == (f"#request-{request.pk}", request.title)
    answer = client.post(f"{chat.get_absolute_url()}messages/", {"text": "And what else?"}, headers=HTMX)
    composer = parse(answer.text).find("form", id="composer")[0]
    assert (answer.status_code, composer.find("textarea")[0].words) == (409, "And what else?")
    assert request.title in composer.find("p", class_="refusal")[0].words


def test_a_message_written_before_a_question_does_not_answer_it():
    owner = people.alice()
    chat, request = asked(owner, "askHuman", {"question": "Which account?"})
    client, address = browser(owner), f"{chat.get_absolute_url()}messages/"
    refused = client.post(address, {"text": "Thank you!", "answers": ""}, headers=HTMX)
    request.refresh_from_db()
    assert (refused.status_code, request.status) == (409, "pending")
    composer = parse(refused.text).find("form", id="composer")[0]
    assert "has changed since you wrote this" in composer.find("p", class_="refusal")[0].words
    # The returned message names the question and keeps the text; sent again, it is the answer.
    fields = {field.attributes["name"]: field.attributes["value"] for field in composer.find("input", name="answers")}
    sent = client.post(address, {"text": composer.find("textarea")[0].text} | fields, headers=HTMX)
    request.refresh_from_db()
    assert (sent.status_code, request.decision.answer) == (204, "Thank you!")


def test_an_answer_to_a_question_that_a_colleague_answered_is_neither_a_message_nor_another_answer():
    chat, request = asked(owner := people.alice(), "askHuman", {"question": "Which account?"})
    other, _second = asked(owner, "askHuman", {"question": "Which branch?"})
    decide(request, owner, Verdict.RESPOND, answer="The first")
    run(chat.turns.get())
    for place in (chat, other):
        with pytest.raises(QuestionChanged):
            actions.post_message(place, "The second", by=owner, agent=support, via=Door.CHAT, answers=str(request.pk))
    assert (chat.turns.count(), other.turns.get().state) == (1, "suspended")


def test_a_public_id_names_one_chat_per_owner():
    alice, bob = people.alice(), people.bob()
    assert make_chat(alice, "trip").pk == make_chat(alice, "trip").pk
    assert make_chat(bob, "trip").pk != make_chat(alice, "trip").pk
    assert Chat.objects.count() == 2


@pytest.mark.parametrize("public_id", ["x" * 201, "a\x00b", "\ud800"])
def test_an_invalid_chat_id_is_refused(public_id):
    with pytest.raises(BadMessage):
        make_chat(people.alice(), public_id)


def test_a_known_message_id_is_refused():
    chat = make_chat(people.alice())
    actions.add_user_message(chat, "m1", ["hello"], by=chat.owner, agent=support, via=Door.AI_SDK)
    Turn.objects.update(state="completed")
    with pytest.raises(MessageKnown):
        actions.add_user_message(chat, "m1", ["hello"], by=chat.owner, agent=support, via=Door.AI_SDK)


def test_the_first_line_of_the_first_message_is_the_title():
    chat = make_chat(people.alice())
    say(chat, "Trip to Rome\nsecond line")
    chat.refresh_from_db()
    assert chat.title == "Trip to Rome"
