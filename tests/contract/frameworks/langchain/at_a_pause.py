"""What LangChain's agents do at a pause, without Pausepoint: `at_a_pause.py THREAD`."""

from __future__ import annotations

import sqlite3
from typing import Any

import program
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.types import Command
from model import Model
from pausing import CHANGED, WANTED, Condition, history, identity, ran, refund, sibling, tell, twice

CALLS = [{"name": name, "args": args, "id": f"call-{name}"} for name, args in WANTED]
connection = sqlite3.connect(":memory:", check_same_thread=False)
checkpointer = SqliteSaver(connection)
APPROVE, REJECT = {"type": "approve"}, {"type": "reject"}


def agent(config: Any, *messages: AIMessage) -> Any:
    """Return the agent as each process would make it anew, with what its model says from then on."""
    return create_agent(
        Model(messages=iter([*messages, AIMessage("done")])),
        [tool(refund), tool(program.drop), tool(program.look)],
        middleware=[HumanInTheLoopMiddleware({"refund": config, "drop": config})],
        checkpointer=checkpointer,
    )


def thread(name: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": name}}


def pause(name: str, config: Any = True) -> Any:
    return agent(config, AIMessage("", tool_calls=CALLS)).invoke({"messages": [("user", "go")]}, thread(name))


def resume(name: str, *decisions: Any, config: Any = True) -> Any:
    return agent(config).invoke(Command(resume={"decisions": list(decisions)}), thread(name))


def results(found: Any) -> dict[str, Any]:
    return {message.name: message.content for message in found["messages"] if message.type == "tool"}


first = pause("first")
seen = {"sibling": sibling()}
(asked,) = first["__interrupt__"]
(again,) = pause("second")["__interrupt__"]
seen["id"] = identity(asked.id, again.id, "call-refund")
condition = Condition()
conditional = {"allowed_decisions": ["approve", "reject"], "when": lambda *_: condition()}
pause("conditional", conditional)
before = condition.times
resume("conditional", APPROVE, REJECT, config=conditional)
seen["condition"] = "again" if condition.times > before else "once"

ran()
pause("partial")
try:
    resume("partial", APPROVE)
except ValueError:
    seen["partial"] = "runs" if ran() else "refused"
else:
    seen["partial"] = "runs"

pause("two")
seen["resumers"] = twice(lambda: resume("two", APPROVE, REJECT))
edited = {"type": "edit", "edited_action": {"name": "refund", "args": CHANGED}}
after = resume("first", edited, REJECT)
calls = [call for message in after["messages"] if message.type == "ai" for call in message.tool_calls]
seen["changed"] = history([call["args"] for call in calls if call["name"] == "refund"])
seen["rejected"] = results(after)["drop"]
pause("words")
seen["words"] = results(resume("words", APPROVE, REJECT | {"message": "Not today."}))["drop"]
tell("langchain", **seen, restart="checkpoint")
