"""A conversation of all that a chat may hold, as the items of a request to a Responses API."""

from __future__ import annotations

from chats.agent.provider import GO_ON, ModelMessage
from tests.chats.providers.responses.test_request import HELLO, NAME, NEW, OWN, ask, person, read, server
from tests.chats.providers.test_openai_provider import PDF, PNG, foreign_blocks, results
from tests.support.anthropic_server import text, tool_use
from tests.support.responses.server import call, message, says, thought

__all__ = ["server"]


def step(*blocks, by=NAME, model=NEW, prefix=""):
    return ModelMessage("assistant", blocks, by, model, prefix)


def assistant(words, **more):
    """An answer: the item that it was, or its words alone."""
    parts = [{"type": "output_text", "text": words, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": parts if "id" in more else words, **more}


def output(call_id, value):
    return {"type": "function_call_output", "call_id": call_id, "output": value}


async def sent(server, *messages, **given):
    """Return the items of the request that asks for the next answer of this conversation, which the API does not refuse."""
    server.will(says(message("Well.")))
    await ask(server, messages, **given)
    assert server.refused == []
    return server.requests[-1].body["input"]


async def test_thoughts_and_items_go_back_exactly_as_they_came_to_the_model_that_made_them(server):
    made = [
        thought("rs_1", "Paris,", "then Rome."),
        thought("rs_2"),
        message("A look.", phase="commentary", item_id="msg_1"),
        call("call_1", "getWeather", item_id="fc_1", city="Paris"),
    ]
    server.will(says(*made))
    blocks = (await ask(server)).blocks
    history = [*HELLO, step(*blocks), results(("call_1", "clear"))]
    call_back = {name: value for name, value in made[3].items() if name != "status"}
    said = assistant("A look.", id="msg_1", status="completed", phase="commentary")
    assert await sent(server, *history) == [
        person(read("Hello")),
        *made[:2],
        said,
        call_back,
        output("call_1", "clear"),
    ]
    # Another model gets the words alone.
    plain = [person(read("Hello")), assistant("A look.", phase="commentary"), call_back, output("call_1", "clear")]
    del call_back["id"]
    assert await sent(server, *history, model=OWN) == plain


async def test_files_are_sent_as_parts_also_in_results_and_a_failed_result_says_so_in_words(server):
    files = [{"type": "image", "source": PNG}, {"type": "document", "source": PDF, "title": "Invoice"}]
    shown = [
        {"type": "input_image", "image_url": "data:image/png;base64,aWNvbg==", "detail": "auto"},
        {"type": "input_file", "filename": "Invoice", "file_data": "data:application/pdf;base64,JVBERg=="},
    ]
    calls = [tool_use("call_1", "getWeather", city="P"), tool_use("call_2", "getWeather", city="R")]
    failed = {"type": "tool_result", "tool_use_id": "call_2", "content": "no such city", "is_error": True}
    returned = results(("call_1", [text("Seen."), *files]))
    items = await sent(
        server,
        ModelMessage("user", [*files, text("Read this.")]),
        step(*calls),
        ModelMessage("user", [*returned.content, failed]),
    )
    assert items[0] == person(*shown, read("Read this."))
    assert items[3:] == [
        output("call_1", [read("Seen."), *shown]),
        output("call_2", "(This call failed.) no such city"),
    ]


async def test_what_another_provider_made_is_translated_or_left_out(server):
    blocks = foreign_blocks()
    history = [*HELLO, step(*blocks, by="anthropic", model="claude"), results((blocks[-1]["id"], "clear"))]
    _hello, said, made, result = await sent(server, *history)
    assert (said, made["type"], result) == (assistant("A look."), "function_call", output(made["call_id"], "clear"))
    assert (len(made["call_id"]), len(made["name"]) <= 64, len(server.requests)) == (9, True, 1)


async def test_a_history_that_does_not_pair_is_healed(server):
    sealed = {"id": "rs_1", "summary": [], "encrypted_content": "gAAAA"}
    unanswered = step(
        {"type": "thinking", "thinking": "", "item": sealed},
        tool_use("call_1", "getWeather", city="Paris") | {"item": {"id": "fc_1"}},
    )
    history = [*HELLO, unanswered, ModelMessage("user", [text("And?")]), results(("call_gone", "late"))]
    server.thoughts |= {"rs_1": ("gAAAA", NEW), "rs_2": ("gAAAA", NEW)}
    alone = step({"type": "thinking", "thinking": "Hm.", "item": sealed | {"id": "rs_2"}})
    assert await sent(server, *history, alone) == [
        person(read("Hello")),
        assistant("(nothing said)"),
        person(read("And?")),
        assistant("(nothing said)"),
        person(read(GO_ON)),
    ]


async def test_texts_of_one_message_stay_together_and_those_of_two_stay_apart(server):
    two = message("A", item_id="msg_1")
    two["content"].append(two["content"][0] | {"text": "B"})
    server.will(says(two, message("C", item_id="msg_2"), call("call_1", "getWeather", item_id="fc_1", city="P")))
    history = [*HELLO, step(*(await ask(server)).blocks), results(("call_1", "clear"))]
    own, other = await sent(server, *history), await sent(server, *history, model=OWN)
    assert [[part["text"] for part in item["content"]] for item in own[1:3]] == [["A", "B"], ["C"]]
    assert [item["content"] for item in other[1:3]] == ["AB", "C"]


async def test_an_item_that_would_come_twice_is_sent_in_words(server):
    server.will(says(thought("rs_1"), message("One.", item_id="msg_1")))
    blocks = (await ask(server)).blocks
    items = await sent(server, *HELLO, step(*blocks), *HELLO, step(*blocks), *HELLO)
    assert [item.get("id") for item in items] == [None, "rs_1", "msg_1", None, None, None]


async def test_a_thought_that_cannot_be_read_without_the_server_is_not_sent(server):
    server.will(says(thought("rs_1") | {"encrypted_content": None}, message("One.", item_id="msg_1")))
    blocks = (await ask(server)).blocks
    assert await sent(server, *HELLO, step(*blocks), *HELLO) == [
        person(read("Hello")),
        assistant("One."),
        person(read("Hello")),
    ]


async def test_an_open_thought_of_an_own_server_goes_back_to_it(server):
    open_thought = thought("rs_1") | {"encrypted_content": None, "content": [{"type": "reasoning_text", "text": "Hm."}]}
    server.will(says(open_thought, message("One.")))
    answer = await ask(server, model=OWN)
    assert answer.blocks[0]["thinking"] == "Hm."
    back = (await sent(server, *HELLO, step(*answer.blocks, model=OWN), *HELLO, model=OWN))[1]
    assert back == {name: value for name, value in open_thought.items() if value is not None}
