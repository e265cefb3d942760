#!/usr/bin/env bash
# Pydantic AI: a person approves a call with changed arguments that do not fit the tool.
# Guess: the run fails, or the model is asked to try again (a RetryPromptPart). Seen: the tool does not run, the faults are its *result*
# (a ToolReturnPart), the run ends without an error, and the history keeps the arguments of the model.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pydantic-ai-slim==2.68.0
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, ToolApproved
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

ran = []


def model(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("pay", {"amount": 100, "to": "Ann"}, tool_call_id="c1")])
    return ModelResponse(parts=[TextPart("Done.")])


agent = Agent(FunctionModel(model), output_type=[str, DeferredToolRequests])


@agent.tool_plain(requires_approval=True)
def pay(amount: int, to: str) -> str:
    ran.append((amount, to))
    return f"paid {amount} to {to}"


def answered(**changed):
    """Return the final output, the kind and the beginning of what the model was told, and the amount in the history."""
    ran.clear()
    asked = agent.run_sync("Pay Ann.")
    decided = DeferredToolResults(approvals={"c1": ToolApproved(override_args=changed)})
    ended = agent.run_sync(message_history=asked.all_messages(), deferred_tool_results=decided)
    parts = [part for message in ended.all_messages() for part in message.parts]
    (call,) = [part for part in parts if isinstance(part, ToolCallPart)]
    (told,) = [part for part in parts if getattr(part, "tool_call_id", "") == "c1" and part is not call]
    fault = told.content[0]["type"] if isinstance(told.content, list) else told.content
    return ended.output, type(told).__name__, fault, call.args["amount"], list(ran)


fits, wrong = answered(amount=50, to="Ann"), answered(amount="many", to="Ann")
print("pydantic-ai-slim", version("pydantic-ai-slim"), fits, wrong, sep="\n")
assert fits == ("Done.", "ToolReturnPart", "paid 50 to Ann", 100, [(50, "Ann")])
assert wrong == ("Done.", "ToolReturnPart", "int_parsing", 100, [])
PYTHON
