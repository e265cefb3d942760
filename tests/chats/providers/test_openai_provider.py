"""The requests to a server with OpenAI's API, and the omissions for it."""

from __future__ import annotations

import threading

import pytest
from pydantic import BaseModel

from chats.agent.agent import Agent
from chats.agent.demo import getWeather, issueRefund
from chats.agent.provider import GO_ON, ModelMessage, ModelRequest, ProviderError
from chats.agent.server_tools import ServerTool
from chats.agent.tools import tool
from chats.providers.openai import OpenAIProvider
from chats.providers.openai.servers import name_of
from tests.support.anthropic_server import text, tool_use
from tests.support.openai_server import KEY, OpenAIServer, call, refuses, says

NEW, OLD, OTHER = "gpt-5.5", "gpt-4o", "deepseek-v4"
HELLO = [ModelMessage("user", [text("Hello")])]
PNG = {"type": "base64", "media_type": "image/png", "data": "aWNvbg=="}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="}


@pytest.fixture
def server():
    with OpenAIServer() as started:
        yield started


def provider(server, **given):
    return OpenAIProvider(**{"api_key": KEY, "model": NEW, "base_url": server.base_url, **given})


async def ask(server, messages=HELLO, *, by=None, tools=(getWeather, issueRefund), model="", **given):
    """Return the answer's blocks."""
    agent = Agent(name="clerk", tools=tools, model=model, **given)
    asked = (by or provider(server)).stream(ModelRequest(agent, messages))
    return [event async for event in asked][-1].blocks


def step(*blocks, by="openai", model=NEW):
    return ModelMessage("assistant", blocks, by, model)


def results(*pairs, **more):
    blocks = [{"type": "tool_result", "tool_use_id": call_id, "content": said, **more} for call_id, said in pairs]
    return ModelMessage("user", blocks)


def foreign_blocks():
    """Return a possible answer of Claude: words in two blocks, a call, and blocks that no other provider accepts."""
    return [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "Zm9v"},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []},
        text("A "),
        text("look."),
        tool_use("toolu_" + "x" * 60, "get weather!" * 9, city="Paris"),
    ]


async def sent(server, *messages, **given):
    """Return the messages of the request that asks for the next answer of this conversation."""
    server.will(says("Well."))
    await ask(server, messages, **given)
    return server.requests[-1].body["messages"]


async def test_system_prompt_and_tools_are_sent(server):
    server.will(says("Hi"))
    assert await ask(server, system="Be kind.", max_tokens=100, model=OLD) == [text("Hi")]
    functions = [
        {"name": each.name, "description": each.description, "parameters": each.input_schema}
        for each in (getWeather, issueRefund)
    ]
    assert server.requests[0].body == {
        "model": OLD,
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 100,
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}],
        "tools": [{"type": "function", "function": function} for function in functions],
    }


CONCESSIONS = {
    "another name of the limit": (NEW, {}, {"stream_options", "max_completion_tokens"}),
    "no temperature": (NEW, {"temperature": 0.2}, {"stream_options", "max_completion_tokens"}),
    "a temperature where it is taken": (OLD, {"temperature": 0.2}, {"stream_options", "max_tokens", "temperature"}),
    "no usage": (OTHER, {}, {"max_tokens"}),
}


@pytest.mark.parametrize("case", CONCESSIONS)
async def test_an_argument_that_a_model_refuses_is_left_out_from_then_on(server, case):
    model, given, expected = CONCESSIONS[case]
    asked = {"by": provider(server), "model": model, "tools": (), **given}
    server.will(says("Hi"), says("Hi again"))
    assert [await ask(server, **asked), await ask(server, **asked)] == [[text("Hi")], [text("Hi again")]]
    *_, second, third = server.requests
    assert (second.body, third.body.keys() - {"model", "messages", "stream"}) == (third.body, expected)


async def test_a_wrong_value_is_told_and_not_left_out(server):
    words = "max_tokens is too large: 8192. This model supports at most 4096 completion tokens."
    server.will(refuses(400, "invalid_request_error", words))
    with pytest.raises(ProviderError) as failure:
        await ask(server, model=OLD)
    assert str(failure.value) == f"The model's server did not accept the request: {words}"


async def test_calls_and_results_keep_their_ids_and_their_order(server):
    calls = [tool_use("call_1", "getWeather", city="Paris"), tool_use("call_2", "getWeather", city="Rome")]
    history = [*HELLO, step(text("A look."), *calls), results(("call_2", "rain"), ("call_1", "clear"))]
    assert await sent(server, *history) == [
        {"role": "user", "content": "Hello"},
        {
            "role": "assistant",
            "content": "A look.",
            "tool_calls": [
                call("call_1", "getWeather", city="Paris"),
                call("call_2", "getWeather", city="Rome"),
            ],
        },
        {"role": "tool", "tool_call_id": "call_2", "content": "rain"},
        {"role": "tool", "tool_call_id": "call_1", "content": "clear"},
    ]


async def test_a_failed_result_says_so_in_words_and_files_of_results_follow_the_results(server):
    files = [text("Seen."), {"type": "image", "source": PNG}, {"type": "document", "source": PDF, "title": "Invoice"}]
    history = [*HELLO, step(tool_use("call_1", "getWeather", city="P"))]
    failed = await sent(server, *history, results(("call_1", "no such city"), is_error=True))
    shown = await sent(server, *history, results(("call_1", files)))
    assert [failed[-1]["content"], shown[-2]["content"]] == ["(This call failed.) no such city", "Seen."]
    assert (shown[-2]["role"], shown[-1]["role"]) == ("tool", "user")
    assert shown[-1]["content"] == [
        text("(Files that the tools returned:)"),
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWNvbg=="}},
        {"type": "file", "file": {"filename": "Invoice", "file_data": "data:application/pdf;base64,JVBERg=="}},
    ]


async def test_what_another_provider_made_is_translated_or_left_out(server):
    blocks = foreign_blocks()
    long_id = blocks[-1]["id"]
    messages = await sent(server, *HELLO, step(*blocks, by="anthropic", model="claude"), results((long_id, "clear")))
    (made,) = messages[1]["tool_calls"]
    assert (messages[1].keys(), messages[1]["content"]) == ({"role", "content", "tool_calls"}, "A look.")
    assert (messages[2]["tool_call_id"], len(made["id"])) == (made["id"], 9)
    assert len(server.requests) == 2, "the stand-in refused only the name of the limit"


async def test_a_history_that_does_not_pair_is_healed(server):
    orphan = results(("call_gone", "late"))
    unanswered = step(text("A look."), tool_use("call_1", "getWeather", city="Paris"))
    thought = step({"type": "thinking", "thinking": "Hm.", "signature": "s"}, by="anthropic")
    history = [*HELLO, unanswered, ModelMessage("user", [text("And?")]), orphan, thought]
    assert await sent(server, *history) == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "A look."},
        {"role": "user", "content": "And?"},
        {"role": "assistant", "content": "(nothing said)"},
        {"role": "user", "content": GO_ON},
    ]


async def test_neighbours_of_one_role_are_joined(server):
    picture = ModelMessage("user", [{"type": "image", "source": PNG}])
    asked = ModelMessage("user", [text("And now?")])
    history = [*HELLO, asked, step(text("One.")), step(text("Two.")), asked, picture]
    assert await sent(server, *history) == [
        {"role": "user", "content": "Hello\n\nAnd now?"},
        {"role": "assistant", "content": "One.\n\nTwo."},
        {
            "role": "user",
            "content": [
                text("And now?"),
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWNvbg=="}},
            ],
        },
    ]


async def test_pictures_and_documents_are_sent_as_parts(server):
    files = [{"type": "image", "source": PNG}, {"type": "document", "source": PDF, "title": "Invoice"}]
    assert (await sent(server, ModelMessage("user", [*files, text("Read this.")])))[0]["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aWNvbg=="}},
        {"type": "file", "file": {"filename": "Invoice", "file_data": "data:application/pdf;base64,JVBERg=="}},
        text("Read this."),
    ]


async def test_thoughts_go_back_beside_calls_to_the_model_that_showed_them(server):
    made = call("call_1", "getWeather", city="Paris")
    server.will(says("", made, thoughts="Paris, then."))
    blocks = await ask(server, model=OTHER)
    shown = {"type": "thinking", "thinking": "Paris, then.", "field": "reasoning_content"}
    assert blocks[0] == shown | {"item": {"server": name_of(server.base_url)}}
    history = [*HELLO, step(*blocks, model=OTHER), results(("call_1", "clear"))]
    to_itself = (await sent(server, *history, model=OTHER))[1]
    to_another = (await sent(server, *history, model=OLD))[1]
    asked = {"role": "assistant", "content": None, "tool_calls": [made]}
    assert [to_itself, to_another] == [asked | {"reasoning_content": "Paris, then."}, asked]


async def test_a_tool_with_a_long_name_is_called_by_a_shorter_one(server):
    @tool(name="x" * 70)
    def long_name() -> str:
        """Do it."""
        return "done"

    server.will(says("Hi"))
    await ask(server, tools=[long_name])
    name = server.requests[-1].body["tools"][0]["function"]["name"]
    server.will(says("", call("call_1", name)))
    blocks = await ask(server, tools=[long_name])
    assert (len(name) <= 64, blocks) == (True, [tool_use("call_1", "x" * 70)])


class Verdict(BaseModel):
    fair: bool
    why: str = ""


SETTINGS = {
    "effort": (NEW, {"effort": "low"}, {"reasoning_effort": "low"}),
    "effort of a model that has none": (OLD, {"effort": "low"}, {}),
    "stop": (OLD, {"stop_sequences": ["END"]}, {"stop": ["END"]}),
    "stop of a model that takes none": (NEW, {"stop_sequences": ["END"]}, {}),
    "a forced call": (OLD, {"tool_choice": "any"}, {"tool_choice": "required"}),
    "a forced tool": (
        OLD,
        {"tool_choice": "getWeather"},
        {"tool_choice": {"type": "function", "function": {"name": "getWeather"}}},
    ),
    "no call": (OLD, {"tool_choice": "none"}, {"tool_choice": "none"}),
    "thinking, which is not sent": (OLD, {"thinking": 2048}, {}),
}


@pytest.mark.parametrize("case", SETTINGS)
async def test_the_settings_of_an_agent_are_sent(server, case):
    model, given, expected = SETTINGS[case]
    server.will(says("Hi"))
    await ask(server, model=model, **given)
    body = server.requests[-1].body
    found = {name: body[name] for name in ("reasoning_effort", "stop", "tool_choice") if name in body}
    assert found == expected


async def test_a_call_is_forced_only_in_the_first_answer_to_a_person(server):
    history = [*HELLO, step(tool_use("call_1", "getWeather", city="P")), results(("call_1", "clear"))]
    server.will(says("Clear."))
    await ask(server, history, tool_choice="any")
    assert "tool_choice" not in server.requests[-1].body


async def test_an_output_type_and_a_strict_tool_are_sent_in_the_form_that_is_accepted(server):
    @tool(strict=True)
    def rate(stars: int, why: str = "") -> str:
        """Rate it."""
        return "rated"

    server.will(says('{"fair": true, "why": ""}'))
    blocks = await ask(server, model=OLD, tools=[rate], output=Verdict)
    body = server.requests[-1].body
    assert (len(server.requests), blocks) == (1, [text('{"fair": true, "why": ""}')])
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["fair", "why"]
    assert body["tools"][0]["function"]["parameters"]["required"] == ["stars", "why"]


def test_an_agent_that_the_api_would_refuse_is_found_by_the_check(server):
    search = ServerTool(name="web_search")
    asked = {"stop_sequences": list("abcde"), "tool_choice": "fly", "fallbacks": "default", "extra": {"speed": "fast"}}
    agent = Agent(name="clerk", server_tools=[search], **asked)
    assert provider(server).problems(agent) == [
        "A request takes at most 4 stop sequences.",
        "Only Claude has the server tools web_search. Remove them, or give the agent its own tools.",
        "Only Claude supports fallbacks, extra. Remove them from the agent.",
        "tool_choice names the tool 'fly', which the agent does not have.",
    ]


class Watched(dict):
    """A picture that knows whether the thread of the event loop has read it."""

    blocking = None

    def get(self, name, *default):
        if name == "source":
            self.blocking = threading.current_thread() is threading.main_thread()
        return super().get(name, *default)


async def test_a_request_with_files_is_built_outside_of_the_event_loop(server):
    picture = Watched({"type": "image", "source": PNG})
    await sent(server, ModelMessage("user", [picture, text("What is this?")]), model=OLD)
    assert picture.blocking is False
