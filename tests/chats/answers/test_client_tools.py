"""Tools whose input Claude knows by heart, and tools that it finds by a search: gated, stored and continued like all others."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry
from approvals.states import Verdict
from chats.agent.agent import Agent
from chats.agent.demo import getWeather
from chats.agent.tools import ToolContext, tool
from chats.agent.typed_tools import Bash, Memory, TextEditor, typed_tool
from chats.models import Message, ToolCall
from chats.states import CallState, TurnState
from tests.chats.answers.test_server_tools import claude, restart
from tests.support import people
from tests.support.anthropic_server import says, text, thinking, tool_use
from tests.support.chats.turns import decide, make_chat, only_request, run, say, shape

__all__ = ["claude"]

pytestmark = pytest.mark.django_db(transaction=True)

RAN: list[object] = []


@pytest.fixture(autouse=True)
def nothing_ran():
    RAN.clear()


@typed_tool(deadline=3600)
def shell(call: Bash, context: ToolContext) -> str:
    """Run a command on the bakery's server."""
    RAN.append((call.command, context.executions))
    return f"ran {call.command}"


@typed_tool(needs_approval=lambda value: value["command"] != "view")
def notes(call: Memory) -> str:
    """Keep notes."""
    RAN.append(call.command)
    return f"{call.command} {call.path}"


@typed_tool
def editor(call: TextEditor) -> str:
    """Edit."""
    RAN.append(call.command)
    return "ok"


@tool(deferred=True, needs_approval=True)
def closeBakery(reason: str) -> str:
    """Close the bakery for good."""
    RAN.append(reason)
    return "closed"


@tool(eager=True)
def writeRecipe(words: str) -> str:
    """Write a recipe."""
    return f"{len(words)} letters"


clerk = Agent(name="clerk", tools=[getWeather, shell, notes, editor], thinking="adaptive")
finder = Agent(name="finder", tools=[writeRecipe, closeBakery], tool_search="bm25", thinking="adaptive")


def named(settings, agent):
    settings.HITL_AGENTS = [f"{__name__}.{agent}"]
    restart()


def test_a_command_for_the_shell_waits_for_a_person_and_runs_once_after_a_restart(claude, settings):
    named(settings, "clerk")
    claude.will(
        says(thinking("I look.", "c2ln"), tool_use("toolu_1", "bash", command="ls /srv"), stop_reason="tool_use")
    )
    turn = run(say(make_chat(people.alice()), "What is on the server?"))
    request = only_request(turn)
    assert (turn.state, request.tool_name, request.input, RAN) == (
        TurnState.SUSPENDED,
        "bash",
        {"command": "ls /srv"},
        [],
    )
    restart()
    decide(request, people.bob(), Verdict.APPROVE)
    claude.will(says(text("Nothing.")))
    turn = run(turn)
    assert (turn.state, RAN, claude.refused) == (TurnState.COMPLETED, [("ls /srv", 1)], [])
    assert claude.requests[0].body["tools"][1:] == [
        {"type": "bash_20250124", "name": "bash"},
        {"type": "memory_20250818", "name": "memory"},
        {
            "type": "text_editor_20250728",
            "name": "str_replace_based_edit_tool",
            "cache_control": {"type": "ephemeral"},
        },
    ]
    assert claude.requests[1].messages[-1][1][0]["content"] == "ran ls /srv"
    assert shape(turn) == ["step-start", "reasoning", "output-available", "step-start", "text"]
    entries = AuditEntry.objects.filter(tool_call_id="toolu_1").order_by("id")
    assert [entry.event for entry in entries] == ["request.created", "request.decided", "tool.result"]


def test_a_command_that_a_person_has_changed_runs_as_changed(claude, settings):
    named(settings, "clerk")
    claude.will(says(tool_use("toolu_1", "bash", command="rm -rf /srv"), stop_reason="tool_use"), says(text("Done.")))
    turn = run(say(make_chat(people.alice()), "Tidy up"))
    changed = {"command": "ls /srv", "restart": False}
    decide(only_request(turn), people.bob(), Verdict.EDIT, edited_input=changed)
    assert (run(turn).state, RAN) == (TurnState.COMPLETED, [("ls /srv", 1)])


WRONG = {
    "no command": ("bash", {}),
    "another argument": ("bash", {"command": "ls", "sudo": True}),
    "no path": ("str_replace_based_edit_tool", {"command": "create", "file_text": "x"}),
    "a command of other versions": ("str_replace_based_edit_tool", {"command": "undo_edit", "path": "a"}),
    "a way out": ("memory", {"command": "view", "path": "/memories/../etc/passwd"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_an_input_of_another_shape_neither_asks_nor_runs_and_its_problem_reaches_the_model(claude, settings, case):
    name, value = WRONG[case]
    named(settings, "clerk")
    claude.will(says(tool_use("toolu_1", name, **value), stop_reason="tool_use"), says(text("Sorry.")))
    turn = run(say(make_chat(people.alice()), "Go"))
    call = ToolCall.objects.get()
    assert (turn.state, call.state, call.approval, RAN) == (TurnState.COMPLETED, CallState.FAILED, None, [])
    (result,) = claude.requests[1].messages[-1][1]
    assert (result["is_error"], result["content"]) == (True, call.error_text)
    assert call.error_text.startswith(f"Invalid input for {name}: ")


def test_a_predicate_lets_the_memory_be_read_and_asks_before_it_is_changed(claude, settings):
    named(settings, "clerk")
    reads = tool_use("toolu_1", "memory", command="view", path="/memories")
    writes = tool_use("toolu_2", "memory", command="delete", path="/memories/a.md")
    claude.will(says(reads, stop_reason="tool_use"), says(writes, stop_reason="tool_use"))
    turn = run(say(make_chat(people.alice()), "Forget it"))
    assert (turn.state, RAN, only_request(turn).input) == (TurnState.SUSPENDED, ["view"], writes["input"])


SEARCHED = [
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "tool_search_tool_bm25", "input": {"query": "close"}},
    {
        "type": "tool_search_tool_result",
        "tool_use_id": "srvtoolu_1",
        "content": {
            "type": "tool_search_tool_search_result",
            "tool_references": [{"type": "tool_reference", "tool_name": "closeBakery"}],
        },
    },
]
CLOSE = tool_use("toolu_1", "closeBakery", reason="Holidays")


def closes(claude, settings):
    """Return a turn in which Claude has found a deferred tool and called it."""
    named(settings, "finder")
    claude.will(says(thinking("Which tool?", "c2ln"), *SEARCHED, CLOSE, stop_reason="tool_use"))
    return run(say(make_chat(people.alice()), "Close the bakery"))


def test_a_deferred_tool_that_was_found_is_gated_and_its_search_is_sent_back_unchanged_after_a_restart(
    claude, settings
):
    turn = closes(claude, settings)
    assert (turn.state, only_request(turn).tool_name, RAN) == (TurnState.SUSPENDED, "closeBakery", [])
    restart()
    decide(only_request(turn), people.bob(), Verdict.APPROVE)
    claude.will(says(text("Closed.")))
    turn = run(turn)
    assert (turn.state, RAN, claude.refused) == (TurnState.COMPLETED, ["Holidays"], [])
    recipe, close, search = claude.requests[1].body["tools"]
    assert search == {
        "type": "tool_search_tool_bm25_20251119",
        "name": "tool_search_tool_bm25",
        "cache_control": {"type": "ephemeral"},
    }
    assert (close["defer_loading"], recipe["eager_input_streaming"]) == (True, True)
    assert ("defer_loading" in recipe, "eager_input_streaming" in close) == (False, False)
    assert claude.requests[1].messages[1] == ("assistant", [thinking("Which tool?", "c2ln"), *SEARCHED, CLOSE])
    parts = Message.objects.get(chat=turn.chat, message_id=turn.message_id).parts
    (found,) = (part["data"] for part in parts if part["type"] == "data-server-tool")
    assert found == {"name": "tool_search_tool_bm25", "input": {"query": "close"}, "tools": ["closeBakery"]}


def test_the_page_shows_which_tools_a_search_has_found(claude, settings, client):
    turn = closes(claude, settings)
    client.force_login(turn.chat.owner)
    page = client.get(turn.chat.get_absolute_url()).content.decode()
    shown = ("tool_search_tool_bm25</code>", "run by the model's provider", "&quot;tools&quot;: [")
    assert [words in page for words in shown] == [True, True, True]


def test_a_found_tool_that_an_agent_no_longer_has_is_left_out_of_the_search(claude, settings):
    turn = closes(claude, settings)
    decide(only_request(turn), people.bob(), Verdict.REJECT)
    named(settings, "clerk")
    turn.chat.turns.update(agent="clerk")
    claude.will(says(text("Then not.")))
    assert (run(turn).state, claude.refused) == (TurnState.COMPLETED, [])
    assert claude.requests[1].messages[1][1][1]["content"] == SEARCHED[1]["content"] | {"tool_references": []}


def test_an_eager_input_that_is_no_json_runs_nothing(claude, settings):
    named(settings, "finder")
    broken = tool_use("toolu_1", "writeRecipe")
    reply = says(broken, stop_reason="tool_use")
    items = [
        item | {"delta": {"type": "input_json_delta", "partial_json": '{"words": "Take fl'}}
        if isinstance(item, dict) and item["type"] == "content_block_delta"
        else item
        for item in reply.items
    ]
    claude.will(type(reply)(items=items, blocks=[broken]), says(text("Again.")))
    assert run(say(make_chat(people.alice()), "Write")).state == TurnState.COMPLETED
    assert ToolCall.objects.get().error_text.startswith("The arguments of writeRecipe could not be read")
