"""A crew whose first agent delegates to a second one, which refunds: `inner.py THREAD`."""

from __future__ import annotations

import sys

import program
from crewai import Agent, Crew, Task
from crewai.tools import tool
from model import Model
from pausepoint import Desk
from pausepoint.crewai import ask_before_tools

work = {"task": "Refund 4711.", "context": "It is late.", "coworker": "clerk"}
boss = Agent(
    role="boss",
    goal="Refund.",
    backstory="A boss.",
    llm=Model(model="scripted", wishes=[("delegate_work_to_coworker", work)]),
    allow_delegation=True,
)
clerk = Agent(
    role="clerk",
    goal="Refund.",
    backstory="A clerk.",
    llm=Model(model="scripted", wishes=[("refund", program.REFUND)]),
    tools=[tool(program.refund)],
)
ask_before_tools(Desk(), "refund", thread_id=sys.argv[1])
task = Task(description="Refund 4711.", expected_output="What was done.", agent=boss)
program.tell(last=Crew(agents=[boss, clerk], tasks=[task]).kickoff().raw)
