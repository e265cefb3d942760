"""The files of results, sent to the stand-in of every provider, which refuses the same requests as the real API."""

from __future__ import annotations

import pytest

from approvals.states import Door
from chats import actions, providers
from chats.agent import registry
from chats.states import TurnState
from tests.chats.providers.stands import STANDS
from tests.support import people
from tests.support.chats import draughtsman
from tests.support.chats.files import PNG, data_url
from tests.support.chats.turns import make_chat, run

BASE64 = data_url(PNG).partition(",")[2]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=STANDS, ids=[stand.name for stand in STANDS])
def stand(request, settings, monkeypatch):
    made = request.param()
    settings.HITL_AGENTS = [draughtsman.PATH]
    with made.server:
        made.configure(settings, monkeypatch)
        restart()
        yield made
        restart()


def restart():
    """Drop the caches of the process."""
    providers._make.cache_clear()
    registry.load.cache_clear()


def say(chat, words):
    posted = actions.post_message(chat, words, by=chat.owner, agent=draughtsman.draughtsman, via=Door.CHAT)
    return run(posted.turn)


def messages(stand):
    """Return the model's messages in each request, without the cache marks, which move."""
    return [_unmarked(request.body[stand.history]) for request in stand.server.requests]


def _unmarked(value):
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items() if name != "cache_control"}
    return [_unmarked(each) for each in value] if isinstance(value, list) else value


def test_the_model_sees_the_file_of_a_call_and_the_history_only_grows(stand):
    chat = make_chat(people.alice())
    stand.server.will(stand.says("", ("call_1", "draw", {})), stand.says("A dot."), stand.says("Yes."))
    turns = [say(chat, "Draw a plan"), say(chat, "Sure?")]
    assert [turn.state for turn in turns] == [TurnState.COMPLETED] * 2
    first, second, third = messages(stand)
    assert [str(sent).count(BASE64) for sent in (first, second, third)] == [0, 1, 1]
    # The second request was made from the runner's memory, and the third from the database.
    assert (second[: len(first)], third[: len(second)]) == (first, second)


@pytest.mark.parametrize("problem", ["Could not process image", "Unexpected role 'user' after role 'tool'"])
def test_a_file_of_a_call_that_the_model_refuses_is_left_out(stand, problem):
    stand.server.will(
        stand.says("", ("call_1", "draw", {})), stand.refuses(400, problem), stand.says("I cannot see it.")
    )
    turn = say(make_chat(people.alice()), "Draw a plan")
    assert [str(sent).count(BASE64) for sent in messages(stand)] == [0, 1, 0]
    assert turn.steps.last().stop_details == {"files_left_out": {"files": 1, "all": True}}
    assert "Left out, because this model does not take it: a picture" in str(messages(stand)[-1])
