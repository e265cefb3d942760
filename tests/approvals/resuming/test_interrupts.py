"""Each shape of a LangGraph interrupt: the request for it, and its result for each outcome. Without LangGraph."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pausepoint import Outcome
from pausepoint.interrupts import CannotTell, pause_of

ARGS = {"order": "4711", "amount": 250}
CHANGED = {"order": "4711", "amount": 99}


def outcome(status: str, verdict: str = "", **more: Any) -> Outcome:
    fields = {"by": "bob", "comment": "", "answer": None, "input": None, "digest": None}
    return Outcome(
        request_id="r1", status=status, document={"decision": {"verdict": verdict or status}}, **fields | more
    )


APPROVED = outcome("approved", "approve", input=ARGS)
EDITED = outcome("approved", "edit", input=CHANGED)
REJECTED = outcome("rejected", "reject", comment="Not today")
EXPIRED = outcome("expired", "expire")
ANSWERED = outcome("answered", "respond", answer="red")


def pause(value: Any, schema: Any = None):
    return pause_of(SimpleNamespace(id="i1", value=value, response_schema=schema), "thread-1")


def batched(*allowed: str):
    config = {"action_name": "refund", "allowed_decisions": list(allowed)}
    return pause({"action_requests": [{"name": "refund", "args": ARGS}], "review_configs": [config]})


def inbox(**config: bool):
    return pause([{"action_request": {"action": "refund", "args": ARGS}, "config": config}])


def test_the_name_of_a_request_is_the_thread_the_interrupt_and_the_place_of_the_action():
    actions = [{"name": name, "args": {"x": 1}} for name in ("one", "two")]
    found = pause({"action_requests": actions, "review_configs": []})
    keys = [(one.fields["tool_name"], one.fields["tool_call_id"], one.fields["thread_id"]) for one in found.questions]
    assert keys == [("one", "thread-1:i1:0", "thread-1"), ("two", "thread-1:i1:1", "thread-1")]


@pytest.mark.parametrize(("allowed", "made", "decision"), [
    (["approve", "edit", "reject"], APPROVED, {"type": "approve"}),
    (["approve", "edit"], EDITED, {"type": "edit", "edited_action": {"name": "refund", "args": CHANGED}}),
    (["approve", "reject"], REJECTED,
     {"type": "reject", "message": "A person declined this call: Not today. Do not repeat it."}),
    (["approve", "respond"], EXPIRED,
     {"type": "respond", "message": "No one decided in time, so this call was not run."}),
    (["approve", "reject"], EDITED, {"type": "reject", "message": "A person changed the input of this call to "
     '{"order": "4711", "amount": 99}. It was not run. Make the call again with that input.'}),
    (["respond"], ANSWERED, {"type": "respond", "message": "red"}),
    (["respond", "reject"], REJECTED, {"type": "reject", "message": "A person declined to answer: Not today."}),
])  # fmt: skip
def test_a_decision_of_langchain_says_what_people_decided(allowed, made, decision):
    assert batched(*allowed).value([made]) == {"decisions": [decision]}


def test_a_call_that_takes_only_an_approval_cannot_be_rejected():
    with pytest.raises(CannotTell, match="accepts only approve"):
        batched("approve").value([REJECTED])


@pytest.mark.parametrize(("schema", "question"), [
    ({"discriminator": {"mapping": {"approve": "#", "reject": "#"}}, "oneOf": []}, False),
    ({"properties": {"type": {"const": "respond"}}}, True),
    (None, False),
])  # fmt: skip
def test_a_tool_approval_takes_what_its_schema_allows(schema, question):
    value = {"type": "tool_approval", "tool_call_id": "c1", "name": "refund", "args": ARGS, "description": "d"}
    (asked,) = pause(value, schema).questions
    assert (asked.fields.get("kind") == "question", asked.call_id) == (question, "c1")
    assert pause(value, schema).value([ANSWERED if question else APPROVED])["type"] == (
        "respond" if question else "approve"
    )


def test_changed_arguments_of_a_tool_approval_have_to_match_the_schema_of_the_tool():
    line = {"type": "object", "properties": {"sku": {"type": "string"}}}
    refund = {"type": "object", "properties": {"lines": {"items": {"$ref": "#/$defs/Line"}}}}
    edited = {"properties": {"name": {"const": "refund"}, "args": {"$ref": "#/$defs/refund"}}}
    schema = {
        "$defs": {"EditDecision": {}, "EditedAction": edited, "Line": line, "refund": refund},
        "discriminator": {"mapping": {"approve": "#", "edit": "#"}},
    }
    value = {"type": "tool_approval", "tool_call_id": "c1", "name": "refund", "args": ARGS, "description": "d"}
    (asked,) = pause(value, schema).questions
    assert asked.fields["response_schema"] == refund | {"$defs": {"Line": line, "refund": refund}}


@pytest.mark.parametrize(("config", "made", "answer"), [
    ({"allow_accept": True}, APPROVED, {"type": "accept", "args": None}),
    ({"allow_edit": True}, EDITED, {"type": "edit", "args": {"action": "refund", "args": CHANGED}}),
    ({"allow_accept": True, "allow_ignore": True, "allow_respond": True}, EXPIRED, {"type": "ignore", "args": None}),
    ({"allow_accept": True, "allow_respond": True}, REJECTED,
     {"type": "response", "args": "A person declined this call: Not today. Do not repeat it."}),
    ({"allow_respond": True}, ANSWERED, {"type": "response", "args": "red"}),
])  # fmt: skip
def test_an_agent_inbox_gets_its_own_words(config, made, answer):
    assert inbox(**config).value([made]) == [answer]


def test_a_long_question_of_an_inbox_is_shown_whole_before_its_description():
    action = {"action": "ask", "args": {"question": "x" * 300}}
    request = {"action_request": action, "config": {"allow_respond": True}}
    (bare,), (described,) = pause(request).questions, pause(request | {"description": "Why"}).questions
    assert (bare.title, bare.fields["message"]) == ("x" * 199 + "…", "x" * 300)
    assert described.fields["message"] == "x" * 300 + "\n\nWhy"


@pytest.mark.parametrize(("value", "title", "fields"), [
    ("Which colour?", "Which colour?", {"kind": "question"}),
    ("x" * 300, "x" * 199 + "…", {"kind": "question", "message": "x" * 300}),
    ("Send?\nTo ada.", "Send?", {"kind": "question", "message": "Send?\nTo ada."}),
    ({"draft": {"a": 1}, "question": "Good?"}, "Good?",
     {"kind": "question", "context": {"draft": {"a": 1}, "question": "Good?"}}),
    (None, "None", {"kind": "question"}),
    ("", "The run needs an answer.", {"kind": "question"}),
    ({"title": "Send?", "tool_name": "send", "input": {"a": 1}}, "Send?", {"tool_name": "send", "input": {"a": 1}}),
])  # fmt: skip
def test_any_other_value_is_a_question_or_has_the_fields_of_a_request(value, title, fields):
    (asked,) = pause(value).questions
    named = {"tool_call_id": "thread-1:i1:0", "thread_id": "thread-1"}
    assert (asked.title, asked.fields) == (title, named | fields)


def test_a_question_of_the_graph_gets_the_answer_or_none():
    assert [pause("Which?").value([made]) for made in (ANSWERED, EXPIRED, REJECTED)] == ["red", None, None]
    told = pause({"title": "Send?"}).value([EDITED])
    assert told == {
        "status": "approved", "answer": None, "input": CHANGED, "comment": "", "by": "bob", "request_id": "r1",
            "halted": False,
    }  # fmt: skip
