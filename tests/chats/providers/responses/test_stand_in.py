"""The stand-in for the Responses API: it conforms to the API's own types, and refuses the same requests."""

from __future__ import annotations

import pytest
from openai.types.responses import ResponseStreamEvent
from openai.types.responses.response_input_item_param import ResponseInputItemParam
from pydantic import TypeAdapter

from tests.support.anthropic_server import Request
from tests.support.responses.rules import objections
from tests.support.responses.server import KEY, ResponsesServer, answer, call, error, fails, message, says, thought

USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Hello"}]}
THOUGHT = thought("rs_1", "Hm.")
CALL = {name: value for name, value in call("call_1", "f", item_id="fc_1").items() if name != "status"}
OUTPUT = {"type": "function_call_output", "call_id": "call_1", "output": "done"}
SAID = {"type": "message", "role": "assistant", "content": "Hi"}
PARTS = [{"type": "output_text", "text": "Hi", "annotations": []}]
OWN = SAID | {"id": "msg_1", "status": "completed", "content": PARTS}
FUNCTION = {"name": "f", "description": "", "parameters": {"type": "object", "properties": {}}}
TOOL = {"type": "function", "strict": False, **FUNCTION}


def first(**given):
    """The first objection to a request."""
    body = {"model": "gpt-5.5", "input": [USER], "stream": True, "store": False} | given
    return next(objections(body), ("", "", ""))[0]


def test_what_the_api_takes_is_taken():
    items = [
        USER,
        THOUGHT,
        OWN | {"phase": "commentary"},
        CALL,
        OUTPUT,
        SAID,
        USER,
    ]
    assert first(input=items, tools=[TOOL], include=["reasoning.encrypted_content"]) == ""
    for item in items:
        TypeAdapter(ResponseInputItemParam).validate_python(item, strict=True)


REFUSED = {
    "an argument of Chat Completions": ({"messages": []}, "Unknown parameter: 'messages'."),
    "another of these": ({"max_tokens": 5}, "Unknown parameter: 'max_tokens'."),
    "a tool of Chat Completions": (
        {"tools": [{"type": "function", "function": FUNCTION}]},
        "Missing required parameter: 'tools[0].name'.",
    ),
    "a function that is strict by default": (
        {"tools": [{"type": "function", **FUNCTION}]},
        "Invalid schema for function 'f': 'additionalProperties' is required to be supplied and to be false.",
    ),
    "a choice of Chat Completions": (
        {"tools": [TOOL], "tool_choice": {"type": "function", "function": {"name": "f"}}},
        "Tool choice '{'type': 'function', 'function': {'name': 'f'}}' not found in 'tools' parameter.",
    ),
    "a low limit": (
        {"max_output_tokens": 5},
        "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
    ),
    "a result without its call": (
        {"input": [USER, OUTPUT]},
        "No tool call found for function call output with call_id call_1.",
    ),
    "a result before its call": (
        {"input": [USER, OUTPUT, CALL]},
        "No tool call found for function call output with call_id call_1.",
    ),
    "a call without its result": ({"input": [USER, CALL]}, "No tool output found for function call call_1."),
    "a thought without what follows it": (
        {"input": [USER, THOUGHT, USER | {"role": "user"}, THOUGHT | {"id": "rs_2"}]},
        "Item 'rs_2' of type 'reasoning' was provided without its required following item.",
    ),
    "an item that comes twice": (
        {"input": [USER, THOUGHT, THOUGHT, SAID]},
        "Duplicate item found with id rs_1. Remove duplicate items from your input and try again.",
    ),
    "an id of another kind": (
        {"input": [USER, THOUGHT | {"id": "msg_1"}, SAID]},
        "Invalid 'input[1].id': 'msg_1'. Expected an ID that begins with 'rs'.",
    ),
    "a field of ours": ({"input": [USER | {"item": {}}]}, "Unknown parameter: 'input[0].item'."),
    "a thought without a summary": (
        {"input": [USER, {"type": "reasoning", "id": "rs_1"}]},
        "Missing required parameter: 'input[1].summary'.",
    ),
    "a part of Chat Completions": (
        {"input": [USER | {"content": [{"type": "text", "text": "Hello"}]}]},
        "Invalid value: 'text'. Supported values are: input_file, input_image, input_text.",
    ),
    "words of a person from the model": (
        {"input": [OWN | {"content": USER["content"]}]},
        "Invalid value: 'input_text'. Supported values are: output_text, refusal.",
    ),
    "parts without an id": (
        {"input": [SAID | {"content": PARTS}]},
        "Invalid type for 'input[0].content': expected a string, or an array of content parts with an id.",
    ),
    "a long id of a call": (
        {"input": [USER, CALL | {"call_id": "x" * 65}]},
        "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64.",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_api_refuses_is_refused(case):
    given, words = REFUSED[case]
    assert first(**given) == words


@pytest.fixture
def of_the_api() -> TypeAdapter[ResponseStreamEvent]:
    """The types of all events, whose schema takes more than a second to build."""
    return TypeAdapter(ResponseStreamEvent)


def test_its_streams_are_of_the_types_of_the_api(of_the_api):
    events = answer(THOUGHT, message("Hi", refusal="No.", phase="commentary"), call("call_1", "f", city="Paris"))
    numbered = [event | {"sequence_number": 0} for event in (*events, error("server_error"), fails("server_error"))]
    for event in numbered:
        given = event | ({"logprobs": []} if "output_text" in event["type"] else {})
        of_the_api.validate_python(given)


def asked(*items, model="gpt-5.5"):
    body = {"model": model, "input": [USER, *items], "stream": True, "store": False}
    return Request({"authorization": f"Bearer {KEY}"}, body, "/v1/responses")


def test_a_thought_is_taken_only_as_it_was_sent_and_with_what_belongs_to_it():
    server, said = ResponsesServer(), message("Hi", item_id="msg_1")
    said["content"] = PARTS
    server.will(says(THOUGHT, said))
    assert server.take(asked()).status == 200
    statuses = []
    for items in (
        [THOUGHT, said],
        [THOUGHT | {"encrypted_content": "gAAAA"}, said],
        [{name: value for name, value in THOUGHT.items() if name != "encrypted_content"}, said],
        [said],
        [SAID],
    ):
        server.will(says(message("Hi")))
        statuses.append(server.take(asked(*items)).status)
        server.replies.clear()
    server.will(says(message("Hi")))
    statuses.append(server.take(asked(THOUGHT, said, model="local-model")).status)
    server.replies.clear()
    assert statuses == [200, 400, 400, 400, 200, 400]
    assert ResponsesServer().take(asked(THOUGHT, said)).status == 400
