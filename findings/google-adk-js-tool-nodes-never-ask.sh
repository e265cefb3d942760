#!/usr/bin/env bash
# Agent Development Kit for JavaScript and Python: a workflow whose first node is a tool that needs a confirmation, and whose second one ships
# the goods.
# Guess: both pause at the tool, as the types of the JavaScript package say ("the confirmation gate ... all apply"), and ship after a yes.
# Seen: Python pauses, and pays and ships after the yes. JavaScript does not pay, but asks no one either: no call goes out that a person could
# confirm. The node ends with the words "requires confirmation" as its output, so the goods are shipped unpaid, and the run completes without
# an error.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
echo '{"private": true, "type": "module"}' >package.json
npm install --silent --no-audit --no-fund @google/adk@2.0.0 zod@3.25.76 2>/dev/null
cat >run.mjs <<'JS'
import { strict as assert } from "node:assert";
import { FunctionNode, FunctionTool, InMemorySessionService, Runner, START, ToolNode, Workflow } from "@google/adk";
import { z } from "zod";

const paid = [];
const shipped = [];
const pay = new ToolNode(
  new FunctionTool({
    name: "pay",
    description: "Pay.",
    parameters: z.object({ amount: z.number() }),
    requireConfirmation: true,
    execute: ({ amount }) => paid.push(amount),
  }),
);
const ship = new FunctionNode("ship", (_, input) => {
  shipped.push(input);
  return "shipped";
});
const agent = new Workflow({ name: "order", edges: [[START, pay], [pay, ship]] });
const sessionService = new InMemorySessionService();
const runner = new Runner({ appName: "desk", agent, sessionService });
const { id } = await sessionService.createSession({ appName: "desk", userId: "u" });
const calls = [];
const newMessage = { role: "user", parts: [{ text: '{"amount": 5}' }] };
for await (const event of runner.runAsync({ userId: "u", sessionId: id, newMessage })) {
  calls.push(...(event.content?.parts ?? []).filter((part) => part.functionCall));
}
console.log("@google/adk 2.0.0: asked", calls.length, "paid", paid, "shipped with", shipped);
assert.deepEqual({ calls, paid }, { calls: [], paid: [] });
assert.deepEqual(shipped, [{ error: "This tool call requires confirmation, please approve or reject." }]);
JS
node run.mjs
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check google-adk==2.13.0
venv/bin/python -W ignore - <<'PYTHON'
import asyncio
import logging
from importlib.metadata import version

from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.workflow import START, Workflow
from google.genai.types import Content, FunctionResponse, Part

logging.disable(logging.CRITICAL)
paid, shipped = [], []


def pay(amount: int) -> dict:
    paid.append(amount)
    return {"paid": amount}


def ship(node_input):
    shipped.append(node_input)
    return "shipped"


async def main():
    agent = Workflow(name="order", edges=[(START, FunctionTool(pay, require_confirmation=True), ship)])
    runner = InMemoryRunner(agent=agent, app_name="desk")
    session = await runner.session_service.create_session(app_name="desk", user_id="u")

    async def calls(part):
        message = Content(role="user", parts=[part])
        events = [event async for event in runner.run_async(user_id="u", session_id=session.id, new_message=message)]
        parts = [part for event in events if event.content for part in event.content.parts]
        return [part.function_call for part in parts if part.function_call]

    (call,) = await calls(Part(text='{"amount": 5}'))
    assert not paid and not shipped
    answer = FunctionResponse(id=call.id, name=call.name, response={"confirmed": True})
    assert not await calls(Part(function_response=answer))


asyncio.run(main())
print("google-adk", version("google-adk") + ": asked 1 paid", paid, "shipped with", shipped)
assert (paid, shipped) == ([5], [{"paid": 5}])
PYTHON
