"""Vendors' extensions of the Chat Completions API are kept, and sent back only to their provider and model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chats.agent import events
from chats.agent.agent import Agent
from chats.agent.provider import ModelMessage, ModelRequest, without_items
from chats.providers.openai.chat_completions import OpenAIProvider
from chats.providers.openai.chat_completions.members import MAX_KEPT, VendorMembers
from chats.providers.openai.chat_completions.request import request_arguments
from chats.providers.openai.chat_completions.stream import StreamedAnswer
from tests.chats.providers.pieces import CALLED, GEMINI, calls, piece, read
from tests.support.openai_server import KEY, OpenAIServer, chunk, plays, refuses, says

DEEPSEEK, MAGISTRAL, ROUTER = "deepseek-thinks", "magistral", "local-model"
HELLO = ModelMessage("user", [{"type": "text", "text": "Pay bob 5."}])
SIGNATURE = {"google": {"thought_signature": "c2lnbmF0dXJlLW9mLXRoZS10aG91Z2h0"}}


def next_request(blocks, *, made_by=("openai", GEMINI), sent_to=GEMINI):
    """Return the answer with these blocks as the next request holds it."""
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "done"}
        for block in blocks
        if block["type"] == "tool_use"
    ]
    history = [
        HELLO,
        ModelMessage("assistant", blocks, *made_by),
        *([ModelMessage("user", results)] if results else []),
    ]
    stored = json.loads(json.dumps(history[1].content))
    history[1] = ModelMessage("assistant", stored, *made_by)
    request = ModelRequest(Agent(name="clerk"), without_items(history, "openai"))
    return request_arguments(request, sent_to)["messages"][1]


def called(**more):
    return {
        "id": "call_1",
        "type": "function",
        "function": {"name": "pay", "arguments": '{"amount": 5, "to": "bob"}'},
    } | more


def answered(content=None, *made, **more):
    return {"role": "assistant", "content": content} | ({"tool_calls": list(made)} if made else {}) | more


def test_the_signature_of_a_thought_goes_back_with_its_call():
    raws = [calls(piece("function-call-1", extra_content=SIGNATURE)), CALLED]
    blocks = read(raws)[1]
    assert next_request(blocks) == answered(None, called(id="function-call-1", extra_content=SIGNATURE))


def test_an_empty_thought_goes_back_with_the_call_behind_it():
    raws = [
        chunk({"role": "assistant", "content": None, "reasoning_content": ""}),
        chunk({"content": "I will pay now."}),
        calls(piece()),
        chunk({"content": ""}, "tool_calls"),
    ]
    shown, blocks = read(raws)
    assert [type(event).__name__ for event in shown][:3] == ["TextStarted", "TextDelta", "TextEnded"]
    assert next_request(blocks) == answered("I will pay now.", called(), reasoning_content="")


def thinking(text):
    return {"type": "thinking", "thinking": [{"type": "text", "text": text}]}


def test_content_as_a_list_of_parts_is_shown_and_goes_back_as_it_came():
    raws = [
        chunk({"role": "assistant", "content": [thinking("They want ")]}),
        chunk({"content": [thinking("to know.")]}),
        chunk({"content": [{"type": "text", "text": "The order "}]}),
        chunk({"content": "was paid."}),
        chunk({"content": ""}, "stop"),
    ]
    shown, blocks = read(raws, MAGISTRAL)
    assert [type(event).__name__ for event in shown] == [
        "ReasoningStarted",
        "ReasoningDelta",
        "ReasoningDelta",
        "ReasoningEnded",
        "TextStarted",
        "TextDelta",
        "TextDelta",
        "TextEnded",
    ]
    assert blocks[:2] == [
        {"type": "thinking", "thinking": "They want to know.", "field": "content"},
        {"type": "text", "text": "The order was paid."},
    ]
    whole = [thinking("They want to know."), {"type": "text", "text": "The order was paid."}]
    assert next_request(blocks) == answered(whole)
    assert next_request(blocks, sent_to="mistral-large") == answered("The order was paid.")


PARTS = {
    "a text alone": ({"type": "text", "text": "Yes."}, [("text", "Yes.")]),
    "words without a part": (["Yes", "."], [("text", "Yes.")]),
    "a thought in one text": ([{"type": "thinking", "thinking": "Hm."}], [("thinking", "Hm.")]),
    "a thought with a summary": (
        [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}],
        [("thinking", "Hm.")],
    ),
    "an unknown part": (
        ["See ", {"type": "image_url", "image_url": {"url": "data:,"}}, "this."],
        [
            ("text", "See "),
            ("text", "(This answer has a part that cannot be shown here: image_url.)"),
            ("text", "this."),
        ],
    ),
    "a part without a type": (
        [{"reference_ids": [1]}],
        [("text", "(This answer has a part that cannot be shown here: without a type.)")],
    ),
    "an unknown part of a thought": (
        [{"type": "thinking", "thinking": ["Hm.", {"type": "reference", "reference_ids": [1]}]}],
        [("thinking", "Hm.(This answer has a part that cannot be shown here: reference.)")],
    ),
    "a text without words": (
        [{"type": "text"}],
        [("text", "(This answer has a part that cannot be shown here: text.)")],
    ),
}


@pytest.mark.parametrize("case", PARTS)
def test_no_part_of_an_answer_is_lost(case):
    content, expected = PARTS[case]
    shown, blocks = read([chunk({"content": content}), chunk({}, "stop")], MAGISTRAL)
    assert [(block["type"], block[block["type"]]) for block in blocks if block["type"] != "vendor"] == expected
    deltas = [event.text for event in shown if isinstance(event, events.TextDelta | events.ReasoningDelta)]
    assert "".join(deltas) == "".join(text for _, text in expected)


def test_a_refusal_among_parts_is_a_refusal():
    streamed = StreamedAnswer(MAGISTRAL, {})
    for raw in (chunk({"content": [{"type": "refusal", "refusal": "No."}]}), chunk({}, "stop")):
        list(streamed.take(raw))
    assert (streamed.finished().stop_reason, streamed.finished().blocks[0]) == (
        "refusal",
        {"type": "text", "text": "No."},
    )


def test_unknown_parts_go_back_as_they_came():
    parts = [{"type": "text", "text": "See "}, {"type": "reference", "reference_ids": [1, 2]}]
    blocks = read([chunk({"content": [parts[0]]}), chunk({"content": [parts[1]]}), chunk({}, "stop")], MAGISTRAL)[1]
    assert next_request(blocks) == answered(parts)


DETAILS = [
    {"type": "reasoning.text", "text": "Bob is ", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.text", "text": "known.", "format": "anthropic-claude-v1", "index": 0, "signature": None},
    {"type": "reasoning.text", "signature": "c2ln", "format": "anthropic-claude-v1", "index": 0},
    {"type": "reasoning.encrypted", "data": "Zm9v", "id": "call_1", "format": "google-gemini-v1", "index": 1},
]
#: The streamed pieces, and the fields sent back. Null and members of the stream alone never are.
MEMBERS = {
    "details of OpenRouter": (
        [chunk({"reasoning": each.get("text"), "reasoning_details": [each]}) for each in DETAILS],
        {
            "reasoning": "Bob is known.",
            "reasoning_details": [
                DETAILS[0] | {"text": "Bob is known.", "signature": "c2ln"},
                DETAILS[3],
            ],
        },
    ),
    "thoughts of LiteLLM without an index": (
        [
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "ha", "signature": None}]}),
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "ha", "signature": None}]}),
            chunk({"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": "c2ln"}]}),
            chunk({"thinking_blocks": [{"type": "redacted_thinking", "data": "QQ"}]}),
            chunk({"thinking_blocks": [{"type": "redacted_thinking", "data": "Qg"}]}),
        ],
        {
            "thinking_blocks": [
                {"type": "thinking", "thinking": "haha", "signature": "c2ln"},
                {"type": "redacted_thinking", "data": "QQ"},
                {"type": "redacted_thinking", "data": "Qg"},
            ]
        },
    ),
    "a thought that only its vendor reads": (
        [chunk({"reasoning_opaque": "c2ln", "reasoning_text": "One, "}), chunk({"reasoning_text": "two."})],
        {"reasoning_opaque": "c2ln", "reasoning_text": "One, two."},
    ),
    "a signature of the message": ([chunk({"extra_content": SIGNATURE})], {"extra_content": SIGNATURE}),
    "the same with each piece": (
        [chunk({"extra_content": SIGNATURE, "tags": ["a"]}), chunk({"extra_content": SIGNATURE, "tags": ["a"]})],
        {"extra_content": SIGNATURE, "tags": ["a"]},
    ),
    "numbers and truth": (
        [chunk({"score": 0.5}), chunk({"score": 0.75, "final": True})],
        {"score": 0.75, "final": True},
    ),
    "nothing": (
        [chunk({"reasoning_content": None, "annotations": None, "role": "assistant", "audio": {"id": "a"}})],
        {},
    ),
    "the same thought under two names": (
        [chunk({"reasoning": "Hm.", "reasoning_content": "Hm."})],
        {"reasoning": "Hm.", "reasoning_content": "Hm."},
    ),
    "a character in two pieces": (
        [chunk({"note": "Paid \ud83d"}), chunk({"note": "\ude00"})],
        {"note": "Paid \U0001f600"},
    ),
}


@pytest.mark.parametrize("case", MEMBERS)
def test_members_of_a_message_go_back_whole(case):
    raws, expected = MEMBERS[case]
    blocks = read([*raws, calls(piece()), CALLED])[1]
    assert next_request(blocks) == answered(None, called(), **expected)


def test_members_of_a_call_and_of_its_function_come_in_pieces_and_go_back_to_their_call():
    second = piece("call_2", index=1)
    raws = [
        calls(
            piece(arguments='{"amount":5,', extra_content={"google": {"a": 1}}, provider_specific_fields=None), second
        ),
        calls({"index": 0, "function": {"arguments": '"to":"bob"}', "thought_signature": "c2ln"}}),
        calls({"index": 0, "extra_content": {"google": {"b": 2}}}),
        CALLED,
    ]
    function = called()["function"] | {"thought_signature": "c2ln"}
    first = called(function=function, extra_content={"google": {"a": 1, "b": 2}})
    assert next_request(read(raws)[1]) == answered(None, first, called(id="call_2"))


def test_only_the_provider_and_model_that_sent_members_gets_them_back():
    raws = [chunk({"reasoning_details": [DETAILS[3]]}), calls(piece(extra_content=SIGNATURE)), CALLED]
    blocks = read(raws)[1]
    plain = answered(None, called())
    own = answered(None, called(extra_content=SIGNATURE), reasoning_details=[DETAILS[3]])
    others = [next_request(blocks, made_by=made_by) for made_by in (("openai", "gpt-4o"), ("openai-responses", GEMINI))]
    others[1]["tool_calls"][0]["id"] = "call_1"
    assert [next_request(blocks), next_request(blocks, sent_to="gpt-4o"), *others] == [own, plain, plain, plain]


def test_members_without_a_call_go_back_and_thoughts_do_not():
    raws = [chunk({"reasoning": "Hm.", "reasoning_details": [DETAILS[0]], "content": "Done."}), chunk({}, "stop")]
    assert next_request(read(raws)[1]) == answered("Done.", reasoning_details=[DETAILS[0]])


def test_an_answer_without_words_and_calls_keeps_no_members():
    assert read([chunk({"extra_content": SIGNATURE}), chunk({}, "stop")])[1] == []


def test_a_call_has_its_first_id_again_where_a_signature_refers_to_it():
    details = [{"type": "reasoning.encrypted", "data": "Zm9v", "id": "tool_0_pay"}]
    raws = [chunk({"reasoning_details": details}), calls(piece("tool_0_pay")), CALLED]
    blocks = read(raws, used={"tool_0_pay"})[1]
    assert blocks[0]["id"] != "tool_0_pay"
    assert next_request(blocks) == answered(None, called(id="tool_0_pay"), reasoning_details=details)


def too_deep():
    value = "deep"
    for _ in range(100):
        value = [value]
    return value


WRONG = {
    "too long": "x" * (MAX_KEPT + 1),
    "too deep": too_deep(),
    "no number": float("nan"),
    "NUL": "a\x00b",
    "half of a character": "a\ud83d",
    "such a name": {"a\x00": 1},
}


@pytest.mark.parametrize("case", WRONG)
def test_a_member_that_cannot_be_kept_is_left_out_alone(case):
    members = VendorMembers({"known"})
    members.take({"known": 1, "wrong": WRONG[case], "right": "a"})
    assert members.kept() == {"right": "a"}


@pytest.mark.parametrize("case", ["too long", "too deep", "no number"])
def test_the_rest_of_a_member_that_was_left_out_is_left_out(case):
    members = VendorMembers(())
    members.take({"wrong": WRONG[case]})
    members.take({"wrong": "more"})
    assert members.kept() == {}


def test_all_members_of_a_message_are_bounded_together():
    members = VendorMembers(())
    for number in range(20):
        members.take({f"m{number}": "x" * (MAX_KEPT // 10)})
    assert len(members.kept()) == 9


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "index", "text", "type", "x"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(st.sampled_from(["a", "b", "text"]), VALUES, max_size=3), max_size=5))
def test_kept_members_can_always_be_stored(pieces):
    members = VendorMembers(())
    for each in pieces:
        members.take(each)
    kept = members.kept()
    json.dumps(kept, allow_nan=False).encode()
    assert None not in kept.values()


async def ask(server, *messages, model):
    provider = OpenAIProvider(api_key=KEY, model=model, base_url=server.base_url)
    asked = provider.stream(ModelRequest(Agent(name="clerk"), [HELLO, *messages]))
    return [event async for event in asked][-1].blocks


def after(blocks, model):
    results = [
        {"type": "tool_result", "tool_use_id": block["id"], "content": "done"} for block in blocks if "id" in block
    ]
    return ModelMessage("assistant", blocks, "openai", model), ModelMessage("user", results)


STRICT = {
    GEMINI: [calls(piece(extra_content=SIGNATURE)), CALLED],
    DEEPSEEK: [chunk({"reasoning_content": ""}), calls(piece()), CALLED],
}


@pytest.mark.parametrize("model", STRICT)
async def test_a_turn_goes_on_after_its_call_with_a_server_that_insists_on_its_members(model):
    with OpenAIServer() as server:
        server.will(plays(*STRICT[model]), says("Paid."))
        blocks = await ask(server, model=model)
        assert await ask(server, *after(blocks, model), model=model) == [{"type": "text", "text": "Paid."}]


REFUSALS = (
    "'messages.1': property 'channel' is unsupported",
    "[{'type': 'extra_forbidden', 'loc': ('body', 'messages', 1, 'channel')}]",
    "Please remove the channel from your message.",
)


@pytest.mark.parametrize("message", REFUSALS)
async def test_a_member_that_a_server_does_not_take_back_is_left_out_from_then_on(message):
    with OpenAIServer() as server:
        server.will(plays(chunk({"channel": "analysis"}), calls(piece()), CALLED))
        blocks = await ask(server, model=ROUTER)
        provider = OpenAIProvider(api_key=KEY, model=ROUTER, base_url=server.base_url)
        request = ModelRequest(Agent(name="clerk"), [HELLO, *after(blocks, ROUTER)])
        for _ in range(2):
            server.will(says("Paid."))
            finished = [event async for event in provider.stream(request)][-1]
        assert finished.blocks == [{"type": "text", "text": "Paid."}]
        sent = ["channel" in request.body["messages"][1] for request in server.requests[1:]]
    assert (sent, message in REFUSALS) == ([True, False, False], True)


async def test_another_problem_of_a_request_is_not_taken_for_one_of_a_member():
    with OpenAIServer() as server:
        server.will(plays(chunk({"reasoning_details": [DETAILS[0]]}), calls(piece()), CALLED))
        blocks = await ask(server, model=ROUTER)
        server.will(refuses(400, "invalid_request_error", "reasoning_details: the signature is invalid"))
        with pytest.raises(Exception, match="the signature is invalid"):
            await ask(server, *after(blocks, ROUTER), model=ROUTER)
        assert len(server.requests) == 2
