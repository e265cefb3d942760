#!/usr/bin/env bash
# Strands: two nodes of a `Graph` run side by side. A hook asks people before each (`event.interrupt`) and sets `event.cancel_node` if they
# say no, as the documentation shows. Both are answered together: no to one, yes to the other.
# Guess: the rejected node is skipped, and the approved one runs, as it does with `cancel_tool`. Seen: `cancel_node` is an error of the graph. It
# cancels the nodes beside it, so the approved one stops in the middle of its tool, and the call of the graph raises a `RuntimeError` with the
# words of the rejection. With a session manager the graph is stuck: a new process has to give the answers again, and whatever they
# are, the graph fails and runs nothing; anything else is a `TypeError`. If the yes is sent alone and the no after it, the approved node
# ends, but the call raises all the same.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check strands-agents==1.62.0
cd "$folder"
venv/bin/python - <<'PYTHON'
import asyncio
import json
import logging
import warnings
from importlib.metadata import version

from strands import Agent, tool
from strands.hooks import BeforeNodeCallEvent, BeforeToolCallEvent
from strands.models import Model
from strands.multiagent import GraphBuilder
from strands.session import FileSessionManager

logging.disable(logging.CRITICAL)
warnings.simplefilter("ignore")
ran = []


@tool
async def pay(name: str) -> str:
    """Pay."""
    ran.append(f"begin {name}")
    await asyncio.sleep(1)
    ran.append(f"end {name}")
    return "paid"


class OneCall(Model):
    """A model that calls the tool once, and ends when it has a result."""

    def __init__(self, name):
        self.name = name

    def update_config(self, **settings):
        pass

    def get_config(self):
        return {}

    async def structured_output(self, *args, **settings):
        yield {}

    async def stream(self, messages, *args, **settings):
        has_result = any("toolResult" in block for message in messages for block in message["content"])
        start = {} if has_result else {"toolUse": {"name": "pay", "toolUseId": self.name}}
        delta = {"text": "done"} if has_result else {"toolUse": {"input": json.dumps({"name": self.name})}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": start}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if has_result else "tool_use"}}


def ask_before_node(event: BeforeNodeCallEvent):
    if event.interrupt("gate", reason=event.node_id) != "yes":
        event.cancel_node = "rejected"


def ask_before_tool(event: BeforeToolCallEvent):
    if event.interrupt("gate", reason=event.tool_use["input"]["name"]) != "yes":
        event.cancel_tool = "rejected"


def graph(hook, session=None):
    builder = GraphBuilder()
    hooks = [ask_before_tool] if hook is ask_before_tool else []
    for name in ("refund", "payout"):
        agent = Agent(model=OneCall(name), name=name, agent_id=name, tools=[pay], hooks=hooks, callback_handler=None)
        builder.set_entry_point(builder.add_node(agent, name).node_id)
    if session:
        builder.set_graph_id("graph")
        builder.set_session_manager(FileSessionManager(session_id=session, storage_dir="sessions"))
    app = builder.build()
    if hook is ask_before_node:
        app.hooks.add_callback(BeforeNodeCallEvent, hook)
    return app


def called(app, task):
    """Call the graph; return its status or error, and the tools that have run in this call."""
    ran.clear()
    try:
        outcome = app(task).status.value
    except Exception as error:
        outcome = f"{type(error).__name__}: {error}".split(" |")[0]
    return outcome, list(ran)


def answer(asked, **answers):
    return [{"interruptResponse": {"interruptId": asked[name], "response": word}} for name, word in answers.items()]


def begun(hook, session=None):
    app = graph(hook, session)
    return app, {each.reason: each.id for each in app("Go").interrupts}


app, asked = begun(ask_before_tool)
by_tool = called(app, answer(asked, refund="no", payout="yes"))
app, asked = begun(ask_before_node)
by_node = called(app, answer(asked, refund="no", payout="yes"))
app, asked = begun(ask_before_node)
in_turn = [called(app, answer(asked, payout="yes")), called(app, answer(asked, refund="no"))]
app, asked = begun(ask_before_node, "stored")
stored = [called(graph(ask_before_node, "stored"), answer(asked, refund="no", payout="yes"))]
stored += [called(graph(ask_before_node, "stored"), task) for task in ("Go", answer(asked, refund="yes", payout="yes"))]
print("strands-agents", version("strands-agents"), "expected as by cancel_tool:", by_tool)
print("seen by cancel_node:", by_node, "one after the other:", in_turn, "stored:", stored)
payout, half, error = ["begin payout", "end payout"], ["begin payout"], "RuntimeError: rejected"
assert by_tool == ("completed", payout)
assert by_node == (error, half)
assert in_turn == [("interrupted", payout), (error, [])]
assert stored == [(error, half), ("TypeError: prompt_type=<class 'str'>", []), ("failed", [])]
PYTHON
