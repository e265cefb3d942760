#!/usr/bin/env bash
# Pydantic AI: an agent with a structured result and a tool that needs an approval. The model calls the tool, another tool and the result in
# one message, as models do that make parallel calls. The `end_strategy` is "graceful" or "exhaustive": all tools run beside a result.
# Guess: people are asked about the call, as the other tool runs, and the result counts after they have answered. Seen: nobody is asked, neither
# by `DeferredToolRequests` nor by `HandleDeferredToolCalls`. The other tool runs, the call is dropped, and the run ends with
# the result, which says that it has paid. If the tool raises `ApprovalRequired` itself, no part of the history tells of the drop, and the next
# message of the user tells the model that the call "was interrupted". A result by text (`PromptedOutput`, `NativeOutput`) waits for people.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic-ai-slim==2.68.0
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from pydantic import BaseModel
from pydantic_ai import Agent, ApprovalRequired, DeferredToolRequests, PromptedOutput, RunContext, Tool
from pydantic_ai.capabilities import HandleDeferredToolCalls
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel


class Report(BaseModel):
    text: str


PAID, CHECKED = Report(text="paid"), Report(text="checked")
ran, asked, sent = [], [], []


def note(text: str) -> str:
    ran.append("note")
    return "noted"


def pay(amount: int) -> str:
    ran.append("pay")
    return "paid"


def pay_if_large(context: RunContext[None], amount: int) -> str:
    if not context.tool_call_approved:
        raise ApprovalRequired
    return pay(amount)


def approve(context, requests):
    asked.extend(call.tool_name for call in requests.approvals)
    return requests.build_results(approve_all=True)


def model(tool):
    """Return a model that calls both tools and gives its result in one message, and gives another result after that."""

    def result(info, report):
        if not info.output_tools:
            return TextPart(report.model_dump_json())
        return ToolCallPart(info.output_tools[0].name, report.model_dump(), tool_call_id="result")

    def answer(messages, info):
        sent[:] = messages
        if any(isinstance(message, ModelResponse) for message in messages):
            return ModelResponse([result(info, CHECKED)])
        calls = [ToolCallPart(tool, {"amount": 5}, tool_call_id="pay"), ToolCallPart("note", {"text": "x"}, tool_call_id="note")]
        return ModelResponse([*calls, result(info, PAID)])

    return FunctionModel(answer)


def returned(messages):
    """Return what the history has as the result of the gated call."""
    parts = [part for message in messages for part in message.parts]
    return [part.content for part in parts if isinstance(part, ToolReturnPart) and part.tool_call_id == "pay"]


def outcome(tool, **settings):
    """Run the agent; return its result, the tools that ran, those that people were asked about, and the gated call's result."""
    ran.clear(), asked.clear()
    name = getattr(tool, "name", None) or tool.__name__
    run = Agent(model(name), tools=[tool, note], **settings).run_sync("Pay 5")
    return run.output, sorted(ran), list(asked), returned(run.all_messages())


def next_turn():
    """Return what the model reads as the gated call's result in the turn after the drop."""
    agent = Agent(model("pay_if_large"), tools=[pay_if_large, note], output_type=[Report, DeferredToolRequests])
    first = agent.run_sync("Pay 5")
    agent.run_sync("Have you paid?", message_history=first.all_messages())
    return returned(sent)


desk = {"capabilities": [HandleDeferredToolCalls(handler=approve)]}
gated = Tool(pay, requires_approval=True)
seen = {}
for strategy in ("graceful", "exhaustive"):
    ends = {"end_strategy": strategy}
    seen[strategy, "deferred"] = outcome(gated, output_type=[Report, DeferredToolRequests], **ends)
    seen[strategy, "handled"] = outcome(gated, output_type=Report, **ends, **desk)
    seen[strategy, "raised"] = outcome(pay_if_large, output_type=Report, **ends, **desk)
text = outcome(gated, output_type=PromptedOutput(Report), **desk)
later = next_turn()
print("pydantic-ai-slim", version("pydantic-ai-slim"), "expected people to be asked, seen", seen, "by text:", text, "next turn:", later)
skipped = ["Tool not executed - a final result was already processed."]
for (_, kind), outcome_seen in seen.items():
    assert outcome_seen == (PAID, ["note"], [], [] if kind == "raised" else skipped)
assert text == (CHECKED, ["note", "pay"], ["pay"], ["paid"])
assert later == ["The tool call was interrupted before a result was produced."]
PYTHON
