"""What people send: bounds, whose chat it is, and what a message may not talk its way past."""

from __future__ import annotations

import pytest

from approvals.states import Door
from chats import actions
from chats.agent.demo import support
from chats.exceptions import ApprovalPending, BadMessage, ChatNotFound, MessageKnown, TurnRunning
from chats.models import Chat, Message, Turn
from tests.support import people
from tests.support.chats.scenes import SHIPPING, asked
from tests.support.chats.turns import converse, make_chat, say
from tests.support.desk.pressing import HTMX, browser
from tests.support.markup import parse

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("text", ["", "   ", "\n", "x" * 20_001])
def test_a_message_has_bounds(text):
    chat = make_chat(people.alice())
    with pytest.raises(BadMessage):
        say(chat, text)
    assert (Message.objects.count(), Turn.objects.count()) == (0, 0)


def test_what_no_database_can_hold_is_replaced():
    chat = make_chat(people.alice())
    say(chat, "a\x00b\ud800c")
    assert Message.objects.get().parts == [{"type": "text", "text": "a\ufffdb?c"}]


def test_only_its_owner_writes_in_a_chat():
    chat = make_chat(people.alice())
    for person in (people.bob(), people.mallory()):
        with pytest.raises(ChatNotFound):
            actions.post_message(chat, "hello", by=person, agent=support, via=Door.CHAT)
    assert Message.objects.count() == 0


def test_a_message_while_the_assistant_answers_is_refused():
    turn = say(make_chat(people.alice()), "hello")
    with pytest.raises(TurnRunning):
        say(turn.chat, "hello?")
    actions.claim_turn(turn.pk, owner="one")
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
def test_a_message_while_something_is_open_is_refused_and_names_it(text, titles):
    turn = converse(people.alice(), text)
    with pytest.raises(ApprovalPending) as refused:
        say(turn.chat, "hello?")
    assert [request.title for request in refused.value.requests] == titles
    assert all(title in str(refused.value) for title in titles)
    assert turn.chat.messages.count() == 2


def test_typing_answers_the_one_open_question_without_options():
    chat, request = asked(people.alice(), "askHuman", {"question": "How shall it come?"})
    arrival = actions.post_message(chat, "By drone", by=chat.owner, agent=support, via=Door.CHAT)
    assert arrival.answered.pk == request.pk
    request.refresh_from_db()
    assert request.decision.answer == "By drone"


@pytest.mark.parametrize("multiple", [False, True])
def test_typing_chooses_none_of_the_options_that_are_offered(multiple):
    chat, request = asked(people.alice(), value=SHIPPING | {"multiSelect": multiple})
    with pytest.raises(ApprovalPending) as refused:
        say(chat, "Thanks, and what else do you sell?")
    assert str(refused.value) == (
        f"The assistant is waiting for: “{request.title}”. Choose an option on its card first, or stop the turn."
    )
    request.refresh_from_db()
    assert (request.status, chat.messages.count()) == ("pending", 2)


@pytest.mark.parametrize("multiple", [False, True])
def test_the_composer_says_what_waits_and_keeps_what_was_typed(multiple):
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


def test_one_public_id_is_one_chat_per_owner():
    alice, bob = people.alice(), people.bob()
    assert make_chat(alice, "trip").pk == make_chat(alice, "trip").pk
    assert make_chat(bob, "trip").pk != make_chat(alice, "trip").pk
    assert Chat.objects.count() == 2


@pytest.mark.parametrize("public_id", ["x" * 201, "a\x00b", "\ud800"])
def test_a_hostile_chat_id_is_refused(public_id):
    with pytest.raises(BadMessage):
        make_chat(people.alice(), public_id)


def test_a_message_id_that_is_taken_is_refused():
    chat = make_chat(people.alice())
    actions.add_user_message(chat, "m1", ["hello"], by=chat.owner, agent=support, via=Door.AI_SDK)
    Turn.objects.update(state="completed")
    with pytest.raises(MessageKnown):
        actions.add_user_message(chat, "m1", ["hello"], by=chat.owner, agent=support, via=Door.AI_SDK)


def test_the_first_line_names_the_chat():
    chat = make_chat(people.alice())
    say(chat, "Trip to Rome\nsecond line")
    chat.refresh_from_db()
    assert chat.title == "Trip to Rome"
