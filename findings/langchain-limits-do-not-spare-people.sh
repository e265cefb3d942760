#!/usr/bin/env bash
# LangChain: `ToolCallLimitMiddleware(run_limit=1)` beside `HumanInTheLoopMiddleware`, and two calls in one message.
# Guess: the limit spares people the second call if it comes first (the last in the list, as `after_model` hooks run in reverse).
# Seen: in both orders people are asked about both calls. The second one does not run if it is approved: the model reads that the limit was
# exceeded. A rejected call counts, too, so nothing runs after a rejection of the first call and an approval of the second one.
# Fails if that has changed.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langchain==1.5.2 langgraph==1.2.24
"$folder/venv/bin/python" - <<'PYTHON'
from importlib.metadata import version

from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware, ToolCallLimitMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

CONFIG = {"configurable": {"thread_id": "1"}}
YES, NO = {"type": "approve"}, {"type": "reject", "message": "Too much"}
ran = []


class Model(GenericFakeChatModel):
    def bind_tools(self, tools, **settings):
        return self


def pay(amount: int) -> str:
    """Pay an amount."""
    ran.append(amount)
    return "Paid"


def outcome(*decisions, limit_first):
    """Return the amounts that people are asked about, those that are paid, and what the model reads about the second call."""
    ran.clear()
    calls = [{"name": "pay", "args": {"amount": amount}, "id": f"call-{amount}"} for amount in (10, 20)]
    middleware = [HumanInTheLoopMiddleware({"pay": True}), ToolCallLimitMiddleware(run_limit=1)]
    agent = create_agent(
        Model(messages=iter([AIMessage("", tool_calls=calls), AIMessage("Done")])),
        [pay],
        middleware=middleware if limit_first else middleware[::-1],
        checkpointer=InMemorySaver(),
    )
    (question,) = agent.invoke({"messages": "Pay both"}, CONFIG)["__interrupt__"]
    asked = [action["args"]["amount"] for action in question.value["action_requests"]]
    messages = agent.invoke(Command(resume={"decisions": list(decisions)}), CONFIG)["messages"]
    read = [each.text for each in messages if isinstance(each, ToolMessage) and each.tool_call_id == "call-20"]
    return asked, list(ran), [text.split(".")[0] for text in read]


print("langchain", version("langchain"))
for limit_first in (True, False):
    both, second = outcome(YES, YES, limit_first=limit_first), outcome(NO, YES, limit_first=limit_first)
    print("limit first:", limit_first, "both approved:", both, "the second one approved:", second)
    assert both == ([10, 20], [10], ["Tool call limit exceeded"])
    assert second == ([10, 20], [], ["Tool call limit exceeded"])
PYTHON
