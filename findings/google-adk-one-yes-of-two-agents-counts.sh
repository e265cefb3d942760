#!/usr/bin/env bash
# Google ADK: two agents that run side by side each call a tool with `require_confirmation`, and a reporter comes after both. People say
# yes to both, and the program sends the answers in one message, as it has to for two calls of one agent.
# Guess: both tools run, then the reporter. Seen: the first answer of the message decides which agent goes on, and its tool runs. The other yes
# is stored in the session and never read, and nothing tells of it: in a `Workflow` the join lets the reporter run, and the run ends without an
# error. One message for each answer is right there. With a `ParallelAgent` in a `SequentialAgent` (deprecated for `Workflow`) and a resumable
# app, no order is: the reporter runs after the first answer, and the second tool never runs, however often its answer is sent.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check google-adk==2.13.0
"$folder/venv/bin/python" - <<'PYTHON'
import asyncio
import logging
import warnings
from importlib.metadata import version

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)

from google.adk.agents import LlmAgent, ParallelAgent, SequentialAgent
from google.adk.apps import App, ResumabilityConfig
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import InMemoryRunner
from google.adk.tools import FunctionTool
from google.adk.workflow import START, JoinNode, Workflow
from google.genai import types

ran = []


def work(name: str) -> dict:
    """Do the work of an agent."""
    ran.append(name)
    return {"done": name}


class OneCall(BaseLlm):
    """A model that calls the tool for its agent once, and ends when it sees that call."""

    model: str = "offline"
    name: str

    async def generate_content_async(self, llm_request, stream=False):
        calls = [part.function_call for content in llm_request.contents for part in content.parts if part.function_call]
        part = types.Part(text="done")
        if not any(call.args == {"name": self.name} for call in calls):
            part = types.Part(function_call=types.FunctionCall(name="work", args={"name": self.name}))
        yield LlmResponse(content=types.Content(role="model", parts=[part]))


def agent(name, gated=True):
    return LlmAgent(name=name, model=OneCall(name=name), tools=[FunctionTool(work, require_confirmation=gated)])


def workflow():
    join = JoinNode(name="join")
    return Workflow(name="root", edges=[(START, (agent("refund"), agent("payout")), join, agent("report", gated=False))])


def sequence():
    both = ParallelAgent(name="both", sub_agents=[agent("refund"), agent("payout")])
    return SequentialAgent(name="root", sub_agents=[both, agent("report", gated=False)])


async def outcome(root, *batches):
    """Run the agents, give the answers in these messages; return what has run after each message."""
    ran.clear()
    app = App(name="desk", root_agent=root(), resumability_config=ResumabilityConfig(is_resumable=True))
    runner = InMemoryRunner(app=app)
    await runner.session_service.create_session(app_name="desk", user_id="user", session_id="session")

    async def send(*parts, **run):
        message = types.Content(role="user", parts=list(parts))
        return [event async for event in runner.run_async(user_id="user", session_id="session", new_message=message, **run)]

    asked, invocation = {}, ""
    for event in await send(types.Part(text="Go")):
        invocation = event.invocation_id
        for call in event.get_function_calls():
            if call.name == "adk_request_confirmation":
                asked[call.args["originalFunctionCall"]["args"]["name"]] = call.id
    assert sorted(asked) == ["payout", "refund"]
    steps = []
    for names in batches:
        yes = [{"id": asked[name], "name": "adk_request_confirmation", "response": {"confirmed": True}} for name in names]
        parts = [types.Part(function_response=types.FunctionResponse(**answer)) for answer in yes]
        await send(*parts, invocation_id=invocation)
        steps.append(list(ran))
    return steps


async def main():
    return {
        root.__name__: {
            "together": await outcome(root, ["refund", "payout"]),
            "the other first": await outcome(root, ["payout", "refund"]),
            "together, then one again": await outcome(root, ["refund", "payout"], ["payout"]),
            "one by one": await outcome(root, ["refund"], ["payout"]),
        }
        for root in (workflow, sequence)
    }


seen = asyncio.run(main())
print("google-adk", version("google-adk"), "expected refund, payout, report; ran after each message:", seen)
refund, payout, report = "refund", "payout", "report"
half = {"together": [[refund, report]], "the other first": [[payout, report]]}
assert seen == {
    "workflow": {
        **half,
        "together, then one again": [[refund, report], [refund, report, payout]],
        "one by one": [[refund], [refund, payout, report]],
    },
    "sequence": {
        **half,
        "together, then one again": [[refund, report], [refund, report]],
        "one by one": [[refund, report], [refund, report]],
    },
}
PYTHON
