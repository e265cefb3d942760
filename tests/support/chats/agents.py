"""Agents for tests, with scripts for cases that the demo's agent lacks. List them in `settings.HITL_AGENTS`."""

from __future__ import annotations

from typing import Any

from chats.agent.agent import Agent
from chats.agent.interactive import ask_human, ask_user
from chats.agent.script import Conversation, Say, Use
from chats.agent.tools import Question, Tool, ToolContext, tool

PATH, PATIENT, BOSS = f"{__name__}.oddball", f"{__name__}.patient", f"{__name__}.boss"
ran: list[tuple[str, Any]] = []


@tool
def count(context: ToolContext) -> int:
    """How often this ran in the chat."""
    ran.append(("count", context.tool_call_id))
    return context.executions


@tool(needs_approval=True)
def pay(amount: int, to: str) -> dict[str, Any]:
    """Pay."""
    ran.append(("pay", (amount, to)))
    return {"paid": amount, "to": to}


@tool(needs_approval=lambda value: value["nothing"])
def shaky(amount: int) -> str:
    """Its predicate always raises."""
    ran.append(("shaky", amount))
    return "done"


@tool
def huge() -> str:
    """50 MB."""
    return "x" * 50_000_000


@tool
def odd() -> Any:
    """Not JSON."""
    return lambda: None


@tool
def infinite() -> float:
    """Not JSON either."""
    return float("nan")


def _too_many(_: Any) -> Question:
    return Question(title="Which?", options=[{"label": str(number)} for number in range(101)])


def _broken(_: Any) -> Question:
    raise RuntimeError("secret detail")


too_many = Tool(name="tooMany", description="Asks with 101 options.", input_model=count.input_model, ask=_too_many)
broken = Tool(name="broken", description="Cannot make its question.", input_model=count.input_model, ask=_broken)
#: A text that takes minutes with a pause between two words, for tests that act during an answer.
RECITAL = "This goes on and on. " * 1000
DELIVERY = {"question": "Which?", "options": [{"label": "A"}, {"label": "B"}], "multiSelect": False, "fieldName": "f"}


def one(tool_name: str, value: Any = None) -> list[list[Say | Use]]:
    return [[Use(tool_name, value or {})], [Say("It says: {answers}", pause=0)]]


oddball = Agent(
    name="oddball",
    tools=(count, pay, shaky, huge, odd, infinite, too_many, broken, ask_user, ask_human),
    script=(
        Conversation("recite", [[Say(RECITAL, pause=0.05)]]),
        Conversation("murmur", [[Say(RECITAL, pause=0.5)]]),
        Conversation(
            "ask first",
            [[Say("One question first."), Use("askUser", DELIVERY)], [Say(RECITAL, pause=0.05)]],
        ),
        Conversation("for ever", [[Use("count")] for _ in range(40)]),
        Conversation("unknown tool", one("noSuchTool", {"a": 1})),
        Conversation("bad input", one("pay", {"amount": "ten", "to": "Bob"})),
        Conversation("extra input", one("pay", {"amount": 10, "to": "Bob", "currency": "EUR"})),
        Conversation("shaky", one("shaky", {"amount": 1})),
        Conversation("huge", one("huge")),
        Conversation("odd", one("odd")),
        Conversation("infinite", one("infinite")),
        Conversation("too many", one("tooMany")),
        Conversation("broken", one("broken")),
        Conversation("nothing", [[]]),
        Conversation("pay and stop", [[Use("pay", {"amount": 5, "to": "Eve"})], []]),
        Conversation(
            "pay twice",
            [
                [Use("pay", {"amount": 1, "to": "A"}), Use("pay", {"amount": 2, "to": "B"})],
                [Say("Paid: {answers}", pause=0)],
            ],
        ),
        Conversation("pay", one("pay", {"amount": 5, "to": "Eve"})),
        Conversation("ask both", [[Use("askUser", DELIVERY), Use("askUser", DELIVERY)], [Say("{answers}", pause=0)]]),
        Conversation(
            "mixed",
            [
                [Use("count"), Use("askUser", DELIVERY), Use("pay", {"amount": 9, "to": "C"})],
                [Say("{answers}", pause=0)],
            ],
        ),
        Conversation("ask", one("askUser", DELIVERY)),
        Conversation(
            "human with default",
            one("askHuman", {"question": "Well?", "timeout": 60_000, "defaultResponse": "no idea", "priority": "low"}),
        ),
        Conversation("human without default", one("askHuman", {"question": "Well?", "timeout": 60_000})),
        Conversation("human", one("askHuman", {"question": "Well?"})),
    ),
)

accountant = Agent(
    name="accountant",
    tools=(pay, ask_user, count),
    script=(
        Conversation("recite", [[Say(RECITAL, pause=0.05)]]),
        Conversation("fail", [[Use("noSuchTool")], [Say("It did not work.", pause=0)]]),
        Conversation("count", [[Use("count")], [Say("Counted.", pause=0)]]),
        Conversation("ask", [[Use("askUser", DELIVERY)], [Say("It is {answers}.", pause=0)]]),
        Conversation(r"pay (?P<to>\w+)", [[Use("pay", {"amount": 5, "to": "{to}"})], [Say("{answers}", pause=0)]]),
    ),
)
clerk = Agent(
    name="clerk",
    tools=(accountant.as_tool(),),
    script=(
        Conversation(
            r"have (?P<what>.*) done",
            [[Use("accountant", {"task": "{what}"})], [Say("The accountant says: {answers}", pause=0)]],
        ),
    ),
)
boss = Agent(
    name="boss",
    tools=(clerk.as_tool(), accountant.as_tool(), ask_user, pay),
    script=(
        Conversation(
            r"let the clerk (?P<what>.*)",
            [[Use("clerk", {"task": "have {what} done"})], [Say("Done. {answers}", pause=0)]],
        ),
        Conversation(
            "both",
            [
                [Use("accountant", {"task": "pay Ann"}), Use("clerk", {"task": "have pay Ben done"})],
                [Say("Both. {answers}", pause=0)],
            ],
        ),
        Conversation(
            "myself too",
            [
                [
                    Use("askUser", DELIVERY),
                    Use("accountant", {"task": "pay Ann"}),
                    Use("accountant", {"task": "count"}),
                ],
                [Say("All. {answers}", pause=0)],
            ],
        ),
        Conversation(r"accountant (?P<what>.*)", one("accountant", {"task": "{what}"})),
    ),
)


def deep(levels: int) -> Agent:
    """Return an agent with so many levels of sub-agents below it."""
    below = accountant
    for level in range(levels):
        below = Agent(
            name=f"level{level}",
            tools=(below.as_tool(name="next"),),
            script=(Conversation("", [[Use("next", {"task": "pay Zoe"})], [Say("{answers}", pause=0)]]),),
        )
    return below


impostor = Agent(name="manager", tools=(Agent(name="accountant").as_tool(),))
deepest, too_deep = deep(4), Agent(name="deeper", tools=(deep(4).as_tool(name="next"),), script=deep(1).script)

patient = Agent(
    name="patient",
    tools=(ask_user,),
    max_steps=40,
    script=(
        Conversation(
            "ask in a row",
            [*([Use("askUser", DELIVERY)] for _ in range(16)), [Say("All are answered.", pause=0)]],
        ),
    ),
)
