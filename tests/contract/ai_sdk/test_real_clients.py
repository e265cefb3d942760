"""`useChat`'s own engine from npm, unchanged, against a running server: it shows the stored state."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from tests.contract.ai_sdk.conftest import Driver
from tests.proofs.team.reciter import FIRST_PIECE, WHOLE
from tests.support.chats.files import file_part
from tests.support.processes.server import Page, Person, Server, until


class Chat:
    """One client of the driver, at one chat."""

    def __init__(
        self, driver: Driver, server: Server, key: str, chat_id: str = "", messages: Any = (), **given: Any
    ) -> None:
        self.driver, self.server, self.key = driver, server, key
        self.id, self.name = chat_id or uuid4().hex, uuid4().hex
        self.shown: dict[str, Any] = {}
        self.do("open", id=self.id, messages=list(messages), **given)

    def do(self, act: str, **given: Any) -> Chat:
        self.shown = self.driver.do(act, self.name, **given)
        return self

    @property
    def last(self) -> dict[str, Any]:
        message: dict[str, Any] = self.shown["messages"][-1]
        return message

    def calls(self, name: str) -> list[dict[str, Any]]:
        return [part for part in self.last["parts"] if part["type"] == f"tool-{name}"]

    def answer(self, output: Any, place: int = -1) -> Chat:
        return self.do("answer", tool="askUser", call=self.calls("askUser")[place]["toolCallId"], output=output)

    def rule(self, approved: bool, reason: str | None = None) -> Chat:
        asked = self.calls("issueRefund")[0]["approval"]["id"]
        return self.do("rule", approval=asked, approved=approved, reason=reason)

    def until_it_is_told(self, text: str) -> Chat:
        """Look until this is the last text that the client shows."""

        def texts() -> list[Any]:
            return [part.get("text") for part in self.do("look", wait=False).last["parts"]]

        until(lambda: texts()[-1:] == [text], f"{text!r} is shown")
        return self

    def stop_turn(self) -> None:
        """Stop the chat's pending call, like `POST /api/chat/<id>/stop`."""
        stopped = Person(self.server, "a machine").send(
            "POST", f"/api/chat/{self.id}/stop", "", {"Authorization": f"Bearer {self.key}"}
        )
        assert json.loads(stopped.text) == {"stopped": True}

    def read(self, **headers: str) -> Page:
        """The server's own copy, as a page reads it."""
        return Person(self.server, "a machine").get(
            f"/api/chat/{self.id}", **{"Authorization": f"Bearer {self.key}", **headers}
        )

    def stored(self) -> list[dict[str, Any]]:
        """The messages of the server's own copy."""
        found: list[dict[str, Any]] = json.loads(self.read().text).get("messages", [])
        return found

    def at_rest(self, *, posts: list[int]) -> Chat:
        """Ready, without an error, valid in the SDK's own eyes, as stored, and after this many posts."""
        assert (self.shown["status"], self.shown["error"], self.shown["valid"]) == ("ready", None, True)
        assert [outline(message) for message in self.shown["messages"]] == [outline(found) for found in self.stored()]
        assert self.shown["posts"] == posts
        return self


def outline(message: dict[str, Any]) -> list[Any]:
    told = [
        (part["type"], part.get("text"), part.get("state"), part.get("output"), part.get("errorText"))
        for part in message["parts"]
    ]
    return [message["id"], message["role"], told]


@pytest.fixture
def chat(driver, server, key):
    return lambda **given: Chat(driver, server, key, **given)


def test_a_picture_is_sent_and_the_next_client_keeps_it_in_an_edit(chat):
    one = chat().do("send", text="hello", files=[file_part()]).at_rest(posts=[200])
    one.do("send", text="weather").at_rest(posts=[200, 200])
    stored = one.stored()
    picture = stored[0]["parts"][0]
    assert (picture["filename"], picture["url"].startswith("/api/chats/files/")) == ("picture.png", True)
    two = chat(chat_id=one.id, messages=stored)
    two.do("send", text="weather", files=[picture], messageId=stored[0]["id"]).at_rest(posts=[200])
    assert two.stored()[0]["parts"][0] == picture


def test_a_plain_turn_and_the_next(chat):
    one = chat().do("send", text="hello").at_rest(posts=[200])
    one.do("send", text="weather").at_rest(posts=[200, 200])
    assert [message["role"] for message in one.shown["messages"]] == ["user", "assistant"] * 2
    assert one.calls("getWeather")[0]["state"] == "output-available"


@pytest.mark.shows("ai-sdk", "answer")
def test_an_answer_continues_the_same_message(chat):
    one = chat().do("send", text="ask").at_rest(posts=[200])
    asked = one.last["id"]
    one.answer({"value": "Express"}).at_rest(posts=[200, 200])
    assert (one.last["id"], len(one.shown["messages"])) == (asked, 2)
    assert [part["type"] for part in one.last["parts"]] == ["step-start", "text", "tool-askUser", "step-start", "text"]


def test_two_questions_one_after_the_other_and_two_at_once(chat):
    one = (
        chat()
        .do("send", text="ask twice")
        .answer("first")
        .at_rest(posts=[200] * 2)
        .answer("second")
        .at_rest(posts=[200] * 3)
    )
    assert [part["output"] for part in one.calls("askUser")] == ["first", "second"]
    two = chat().do("send", text="ask parallel").answer("B")
    assert two.shown["posts"] == [200]
    two.answer("A", 0).at_rest(posts=[200, 200])


@pytest.mark.parametrize(("approved", "state"), [(True, "output-available"), (False, "output-denied")])
@pytest.mark.shows("ai-sdk", "approve", "reject")
def test_an_approval_and_a_denial(chat, approved, state):
    one = chat().do("send", text="approve refund").at_rest(posts=[200])
    one.rule(approved, "because").at_rest(posts=[200, 200])
    (call,) = one.calls("issueRefund")
    assert (call["state"], call["approval"]["approved"], call["approval"]["reason"]) == (state, approved, "because")
    assert one.last["parts"][-1]["type"] == "text"


def test_a_declined_question(chat):
    one = chat().do("send", text="ask")
    one.do("decline", tool="askUser", call=one.calls("askUser")[0]["toolCallId"], words="closed").at_rest(
        posts=[200, 200]
    )


def test_regenerate_and_edit_cut_both_copies_alike(chat):
    one = chat().do("send", text="hello").do("send", text="hello")
    one.do("regenerate").at_rest(posts=[200] * 3)
    first = one.shown["messages"][0]["id"]
    one.do("send", text="weather", messageId=first).at_rest(posts=[200] * 4)
    assert len(one.shown["messages"]) == 2


@pytest.mark.shows("ai-sdk", "crash")
def test_a_reloaded_page_answers_what_an_earlier_one_was_asked(chat):
    one = chat().do("send", text="approve refund")
    again = chat(chat_id=one.id, messages=one.stored())
    again.do("resume").rule(True).at_rest(posts=[200])


def test_a_reloaded_page_follows_a_response_from_its_beginning(chat, release):
    one = chat(agent="reciter").do("send", text="recite", wait=False)
    until(one.stored, "the message is stored")
    again = chat(chat_id=one.id, messages=one.stored()[:1]).do("resume", wait=False).until_it_is_told(FIRST_PIECE)
    release()
    assert outline(again.do("look").last) == outline(one.do("look").last)
    again.at_rest(posts=[])


@pytest.mark.shows("ai-sdk", "once", "person")
def test_who_is_second_is_told_who_was_first(chat, server):
    one = chat().do("send", text="ask")
    other = chat(chat_id=one.id, messages=one.stored())
    one.answer("mine").at_rest(posts=[200, 200])
    other.answer("yours")
    assert (other.shown["posts"], other.shown["status"]) == ([409], "error")
    told = json.loads(other.shown["error"])
    assert (told["code"], told["decision"]["via"]) == ("already_decided", "ai-sdk")
    assert told["decision"]["by"] == "API key tests of approver"


def test_after_a_refused_message_the_page_has_to_take_over_the_chat_before_an_approval_is_sent(chat):
    one = chat().do("send", text="approve refund").at_rest(posts=[200])
    (call,) = one.calls("issueRefund")
    etag = one.read().headers["etag"]
    one.do("send", text="hello")
    assert (one.shown["posts"], json.loads(one.shown["error"])["code"]) == ([200, 409], "approval_pending")
    # The refused message changed nothing, so a page that sends its ETag gets nothing new.
    assert one.read(**{"If-None-Match": etag}).status == 304
    one.do("rule", approval=call["approval"]["id"], approved=True)
    assert one.shown["posts"] == [200, 409]
    one.do("set", messages=one.stored()).rule(True).at_rest(posts=[200, 409, 200])


def test_beside_a_denied_call_an_answer_is_sent_by_the_predicate_of_the_documentation_alone(chat, server):
    for own, posts in ((False, [200]), (True, [200, 200])):
        one = chat(own=own).do("send", text="ask mixed").at_rest(posts=[200])
        denied = one.calls("issueRefund")[0]["approval"]["id"]
        server.person("approver").decide(denied, verdict="reject", comment="No.")
        one.do("set", messages=one.stored())
        assert one.calls("issueRefund")[0]["state"] == "output-denied"
        one.answer("Express")
        assert one.shown["posts"] == posts


def test_a_queued_message_waits_until_the_page_sends_it_after_stopping_what_waits(chat, driver, server):
    if driver.sdk == "6":
        pytest.skip("6 has no queue")
    found = "SELECT id FROM approvals_approvalrequest WHERE tool_call_id = ?"
    answered = chat(queue=True).do("send", text="ask").do("send", text="hello")
    request = UUID(server.value(found, answered.calls("askUser")[0]["toolCallId"]))
    server.person("approver").decide(str(request), verdict="respond", choice="0")
    until(lambda: answered.stored()[-1]["parts"][-1]["type"] == "text", "the turn goes on by itself")
    answered.do("set", messages=answered.stored())
    assert (answered.shown["posts"], answered.shown["queued"]) == ([200], 1)
    answered.do("now").at_rest(posts=[200, 200])
    waiting = chat(queue=True).do("send", text="ask").do("send", text="hello").do("now")
    assert (waiting.shown["posts"], json.loads(waiting.shown["error"])["code"]) == ([200, 409], "approval_pending")
    stopped = chat(queue=True).do("send", text="ask").do("send", text="hello")
    stopped.stop_turn()
    stopped.do("set", messages=stopped.stored()).do("now").at_rest(posts=[200, 200])


@pytest.mark.parametrize(("verdict", "state"), [("approve", "output-available"), ("reject", "output-denied")])
def test_a_decision_at_the_desk_reaches_an_open_page(chat, server, release, verdict, state):
    one = chat(agent="reciter").do("send", text="refund").at_rest(posts=[200])
    (call,) = one.calls("issueRefund")
    assert call["state"] == "approval-requested"
    server.person("approver").decide(call["approval"]["id"], verdict=verdict, comment="Because.")
    found = "SELECT state FROM chats_turn ORDER BY id DESC LIMIT 1"
    until(lambda: server.value(found) == "running", "the turn goes on")
    one.do("resume", wait=False).until_it_is_told(FIRST_PIECE)
    release()
    one.do("look")
    assert (one.shown["status"], one.shown["error"], one.shown["posts"]) == ("ready", None, [200])
    assert [outline(message) for message in one.shown["messages"]] == [outline(found) for found in one.stored()]
    assert (one.calls("issueRefund")[0]["state"], one.last["parts"][-1]["text"]) == (state, WHOLE)
    one.do("send", text="hello")
    assert one.shown["posts"] == [200, 200]


def test_an_answer_on_the_dashboard_is_the_clients_next_read(chat, server):
    one = chat().do("send", text="ask")
    found = "SELECT id FROM approvals_approvalrequest WHERE tool_call_id = ?"
    request = UUID(server.value(found, one.calls("askUser")[0]["toolCallId"]))
    server.person("approver").decide(str(request), verdict="respond", choice="0")
    until(lambda: one.stored()[-1]["parts"][-1]["type"] == "text", "the turn goes on by itself")
    again = chat(chat_id=one.id, messages=one.stored()).do("send", text="hello").at_rest(posts=[200])
    assert [part["state"] for part in again.shown["messages"][1]["parts"] if part["type"] == "tool-askUser"] == [
        "output-available"
    ]
