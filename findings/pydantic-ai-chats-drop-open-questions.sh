#!/usr/bin/env bash
# Pydantic AI behind a chat of the AI SDK (`VercelAIAdapter`, `sdk_version=6`): the model calls `pay` for A and for B in one message, and both
# wait for an approval. People say yes to A, and the chat is sent before they have decided about B: one card is answered by a desk, or the page
# sends after each answer.
# Guess: an error, as `agent.run` refuses to go on until every call has an answer, or A waits for B. Seen: A is paid, and the call for B is cut
# out of what the model reads, which goes on as if it had never called it; only a warning in the server's log tells of it. In the chat, the card
# of B stays open. A later yes to it is an error ("does not contain any unprocessed tool calls"), B is never paid, and since the answer is part
# of the messages from then on, every later turn of this chat is the same error, whatever the user writes. A no breaks the chat in the same way.
# Answers that are sent together work. To be safe, refuse messages with an open question beside an answered one before the adapter reads them.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check "pydantic-ai-slim[ui]==2.68.0"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 ai@6.0.326 zod@4.6.7 >/dev/null
cat >chat.mjs <<'JAVASCRIPT'
// Read a message (or null) and the chunks of a stream; print the message as the AI SDK's chat stores it after them.
import { readFileSync } from "node:fs";
import { readUIMessageStream } from "ai";

const { message, chunks } = JSON.parse(readFileSync(0, "utf8"));
let last = message;
for await (const each of readUIMessageStream({ message: message ?? undefined, stream: ReadableStream.from(chunks), onError: () => {} })) {
  last = each;
}
console.log(JSON.stringify(last));
JAVASCRIPT
cat >look.py <<'PYTHON'
import asyncio
import json
import subprocess
import warnings
from importlib.metadata import version

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import DeltaToolCall, FunctionModel
from pydantic_ai.ui.vercel_ai import VercelAIAdapter

CALLS = {"A": {"name": "A", "amount": 5}, "B": {"name": "B", "amount": 50000}}
paid = []
read = []


def pay(name: str, amount: int) -> str:
    paid.append(name)
    return f"paid {name}"


def answer(messages, _):
    """Call `pay` twice in the first message, and end the turn in the others."""
    parts = [part for message in messages for part in message.parts]
    read[:] = [part.tool_call_id for part in parts if isinstance(part, ToolCallPart)]
    if any(isinstance(part, ToolReturnPart) for part in parts):
        return ModelResponse([TextPart("Done.")])
    return ModelResponse([ToolCallPart("pay", call, name) for name, call in CALLS.items()])


async def stream(messages, info):
    for index, part in enumerate(answer(messages, info).parts):
        if isinstance(part, TextPart):
            yield part.content
        else:
            yield {index: DeltaToolCall(part.tool_name, json.dumps(part.args), tool_call_id=part.tool_call_id)}


agent = Agent(FunctionModel(answer, stream_function=stream), tools=[Tool(pay, requires_approval=True)], output_type=[str, DeferredToolRequests])


class Chat:
    """A chat of the AI SDK, whose messages its own code builds from the adapter's stream."""

    def __init__(self):
        self.messages = []

    def write(self, text):
        self.messages.append({"id": f"user-{len(self.messages)}", "role": "user", "parts": [{"type": "text", "text": text}]})

    def decide(self, **decisions):
        """Answer cards as `addToolApprovalResponse` does."""
        for part in (part for message in self.messages for part in message["parts"]):
            if part.get("toolCallId") in decisions and part["state"] == "approval-requested":
                part["state"] = "approval-responded"
                part["approval"]["approved"] = decisions[part["toolCallId"]]

    async def send(self):
        """Send the messages; return what is paid by this turn, the calls that the model reads, and the error of the stream."""
        paid.clear()
        read.clear()
        body = json.dumps({"id": "chat", "trigger": "submit-message", "messages": self.messages})
        adapter = VercelAIAdapter(agent=agent, run_input=VercelAIAdapter.build_run_input(body.encode()), sdk_version=6)
        chunks = [json.loads(event.encode(6)) async for event in adapter.run_stream() if event.type != "done"]
        last = self.messages.pop() if self.messages[-1]["role"] == "assistant" else None
        given = json.dumps({"message": last, "chunks": chunks})
        built = subprocess.run(["node_modules/.bin/node", "chat.mjs"], input=given, check=True, capture_output=True, text=True)
        self.messages.append(json.loads(built.stdout))
        errors = [chunk["errorText"] for chunk in chunks if chunk["type"] == "error"]
        return "".join(sorted(paid)), "".join(read), errors


async def outcome(*turns):
    """Ask for the payments, then send a chat after each turn (a dict of decisions, or words); return what each turn did."""
    chat = Chat()
    chat.write("Pay.")
    await chat.send()
    outcomes = []
    for turn in turns:
        if isinstance(turn, str):
            chat.write(turn)
        else:
            chat.decide(**turn)
        outcomes.append(await chat.send())
    return outcomes


async def plain():
    paid.clear()
    waiting = await agent.run("Pay.")
    try:
        await agent.run(message_history=waiting.all_messages(), deferred_tool_results=DeferredToolResults(approvals={"A": True}))
    except UserError as error:
        return str(error).split(".")[0], paid
    return "no error", paid


async def main():
    seen = {
        "together": await outcome({"A": True, "B": True}),
        "A alone, then yes": await outcome({"A": True}, {"B": True}, "And?"),
        "A alone, then no": await outcome({"A": True}, {"B": False}, "And?"),
    }
    print("pydantic-ai-slim", version("pydantic-ai-slim"), "expected that B waits; seen for each turn (paid, calls the model reads, errors):")
    for name, turns in seen.items():
        print(" ", name, turns)
    refused = await plain()
    print("  agent.run, for comparison:", refused)
    failed = "", "", ["Tool call results were provided, but the message history does not contain any unprocessed tool calls."]
    dropped = "A", "A", []
    assert seen["together"] == [("AB", "AB", [])]
    assert seen["A alone, then yes"] == [dropped, failed, failed]
    assert seen["A alone, then no"] == [dropped, failed, failed]
    assert refused == ("Tool call results need to be provided for all deferred tool calls", [])


warnings.simplefilter("ignore")
asyncio.run(main())
PYTHON
venv/bin/python look.py
