"""A crew with a scripted model, or a flow: `agent.py THREAD [flow | stored-flow FILE | tool NAME | less]`."""

from __future__ import annotations

import sys
from typing import Any

import program
from crewai import Agent, Crew, Task
from crewai.flow import Flow, listen, start
from crewai.flow.human_feedback import human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence
from crewai.tools import tool
from model import READ, Model
from pausepoint import Desk
from pausepoint.crewai import ask_before_tools

THREAD = sys.argv[1]
KIND = sys.argv[2] if len(sys.argv) > 2 else "crew"
NAMED = sys.argv[3] if len(sys.argv) > 3 else ""


class Refund(Flow):  # type: ignore[type-arg]
    @start()
    @human_feedback(message="Refund 250?\nTo the card.", emit=["approved", "rejected"], llm=Model(model="scripted"))
    def propose(self) -> dict[str, Any]:
        return program.REFUND

    @listen("approved")
    def pay(self) -> str:
        return program.refund(**program.REFUND)

    @listen("rejected")
    def leave(self) -> str:
        return "left"


class StoredRefund(Flow):  # type: ignore[type-arg]
    """Without `emit`, so that no model reads the feedback."""

    @start()
    @human_feedback(message="Refund 250?")
    def propose(self) -> dict[str, Any]:
        program.RAN.append("proposed")
        return program.REFUND

    @listen(propose)
    def go_on(self, result: Any) -> str:
        return program.refund(**result.output) if result.feedback == "approved" else "left"


given = {"desk": Desk(), "thread_id": THREAD, "Refund": StoredRefund if KIND == "stored-flow" else Refund}
if KIND in {"crew", "tool", "less"}:
    # It plays one call after the other.
    wishes = [(call.name, call.input) for calls in program.messages(THREAD) for call in calls]
    tools = [tool(each) for each in (program.refund, program.drop, program.ask_human, *program.FREE)]
    if KIND != "tool":
        names = program.run_page("crewai.md", given)
        if KIND == "less":
            wishes, tools = [("wipe", program.DROP)], [*tools[1:], tool("wipe")(program.drop)]
    else:
        ask_before_tools(given["desk"], NAMED, thread_id=THREAD)
        # The name by which CrewAI shows the tool to the model.
        wishes, tools = [("drop_table", program.DROP)], [tool(NAMED)(program.drop)]
    agent = Agent(
        role="billing",
        goal="Refund.",
        backstory="A clerk.",
        llm=Model(model="scripted", wishes=wishes),
        tools=tools,
    )
    task = Task(description="Refund 4711.", expected_output="What was done.", agent=agent)
    last = Crew(agents=[agent], tasks=[task]).kickoff().raw
    program.tell(READ, last=last)
elif KIND == "flow":
    names = program.run_page("crewai.md", given)
    program.tell(result=Refund().kickoff(inputs={"id": THREAD}))
else:
    persistence = SQLiteFlowPersistence(NAMED)
    names = program.run_page("crewai.md", {**given, "persistence": persistence})
    if persistence.load_pending_feedback(THREAD):
        program.tell(result=names["go_on"](THREAD))
    else:
        names["flow_config"].hitl_provider = names["provider"]
        pending = StoredRefund(persistence=persistence).kickoff(inputs={"id": THREAD})
        program.tell(result=type(pending).__name__)
