#!/usr/bin/env bash
# Anthropic's SDKs: a tool runner (`client.beta.messages.tool_runner`) calls tools by itself. A program that asks people looks at each message of the
# loop before its tools run, and after a no gives the results itself: it appends the message and a user message with a `tool_result` "No".
# Guess: a call that has a result doesn't run. This is so in the JavaScript SDK (`pushMessages`, `setMessagesParams`). Seen: with `append_messages`
# of the Python SDK, the rejected calls run all the same, and what they return is thrown away: the model reads "No" and tells the user so,
# while the money is paid. The runner looks only after the tools have run whether the program has added messages. With
# `set_messages_params` the calls run, too, and the model reads both results. It is so with the synchronous and the asynchronous client. To be
# safe, ask inside the tool.
# Fails if that has changed. (The server is a stand-in on this machine.)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check anthropic==2.14.0
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund node@22.23.3 @anthropic-ai/sdk@1.14.0 >/dev/null
cat >look.mjs <<'JAVASCRIPT'
import Anthropic from "@anthropic-ai/sdk";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";

const client = new Anthropic({ apiKey: "none", baseURL: process.argv[2], maxRetries: 0 });
const inputSchema = { type: "object", properties: { amount: { type: "number" } }, required: ["amount"] };

// Run the conversation with a way to reject its calls; return the amounts that are paid.
async function paid(reject) {
  const amounts = [];
  const run = async ({ amount }) => {
    amounts.push(amount);
    return "paid";
  };
  const tools = [betaTool({ name: "pay", description: "Pay.", inputSchema, run })];
  const runner = client.beta.messages.toolRunner({ model: "any", max_tokens: 9, tools, messages: [{ role: "user", content: "Pay." }] });
  for await (const { role, content, stop_reason } of runner) {
    if (stop_reason === "tool_use") {
      const results = content.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "No" }));
      reject(runner, [{ role, content }, { role: "user", content: results }]);
    }
  }
  return amounts;
}

const seen = {
  "not rejected": await paid(() => {}),
  appended: await paid((runner, messages) => runner.pushMessages(...messages)),
  set: await paid((runner, added) => runner.setMessagesParams((params) => ({ ...params, messages: [...params.messages, ...added] }))),
};
console.log(JSON.stringify(seen));
JAVASCRIPT
cat >look.py <<'PYTHON'
import asyncio
import json
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

from anthropic import Anthropic, AsyncAnthropic, beta_async_tool, beta_tool

CALLS = [{"type": "tool_use", "id": f"call_{amount}", "name": "pay", "input": {"amount": amount}} for amount in (5, 50000)]
MESSAGE = {"id": "msg", "type": "message", "role": "assistant", "model": "any", "usage": {"input_tokens": 1, "output_tokens": 1}}
CALLING = {**MESSAGE, "stop_reason": "tool_use", "stop_sequence": None, "content": CALLS}
ENDING = {**MESSAGE, "stop_reason": "end_turn", "stop_sequence": None, "content": [{"type": "text", "text": "Done."}]}
read = []


class Model(BaseHTTPRequestHandler):
    """A model that calls `pay` twice in its first message, and keeps what it reads as results."""

    def do_POST(self):
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        first = isinstance(messages[-1]["content"], str)
        if not first:
            read[:] = [result["content"] for each in messages if each["role"] == "user" for result in each["content"]]
        answer = json.dumps(CALLING if first else ENDING).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


def nothing(runner, added):
    pass


def appended(runner, added):
    runner.append_messages(*added)


def set_(runner, added):
    runner.set_messages_params(lambda params: {**params, "messages": [*params["messages"], *added]})


def answer_for_people(runner, message, reject):
    if message.stop_reason == "tool_use":
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": "No"} for call in message.content]
        reject(runner, [{"role": "assistant", "content": CALLS}, {"role": "user", "content": results}])


def run(client, tool, amounts):
    amounts.clear()
    return client.beta.messages.tool_runner(model="any", max_tokens=9, tools=[tool], messages=[{"role": "user", "content": "Pay."}])


def outcome(address, reject):
    """Run the conversation with a way to reject its calls; return the amounts that are paid, and what the model reads."""
    amounts = []

    @beta_tool
    def pay(amount: int) -> str:
        """Pay."""
        amounts.append(amount)
        return "paid"

    with Anthropic(api_key="none", base_url=address, max_retries=0) as client:
        runner = run(client, pay, amounts)
        for message in runner:
            answer_for_people(runner, message, reject)
    return amounts, list(read)


async def async_outcome(address, reject):
    amounts = []

    @beta_async_tool
    async def pay(amount: int) -> str:
        """Pay."""
        amounts.append(amount)
        return "paid"

    async with AsyncAnthropic(api_key="none", base_url=address, max_retries=0) as client:
        runner = run(client, pay, amounts)
        async for message in runner:
            answer_for_people(runner, message, reject)
    return amounts, list(read)


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
address = f"http://127.0.0.1:{server.server_port}"
seen = {reject.__name__.strip("_"): outcome(address, reject) for reject in (nothing, appended, set_)}
seen["appended, asynchronous"] = asyncio.run(async_outcome(address, appended))
javascript = json.loads(subprocess.check_output(["node_modules/.bin/node", "look.mjs", address], text=True))
npm = json.loads(Path("node_modules/@anthropic-ai/sdk/package.json").read_text())["version"]
print("anthropic", version("anthropic"), "expected no payment where rejected, seen (paid, read by the model):", seen)
print("@anthropic-ai/sdk", npm, "for comparison, paid:", javascript)
both = [5, 50000]
rejected = both, ["No", "No"]
assert seen == {
    "nothing": (both, ["paid", "paid"]),
    "appended": rejected,
    "set": (both, ["No", "No", "paid", "paid"]),
    "appended, asynchronous": rejected,
}
assert javascript == {"not rejected": both, "appended": [], "set": []}
PYTHON
timeout 120 venv/bin/python look.py
