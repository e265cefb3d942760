"""Stored flows of CrewAI in trouble: `feedback.py THREAD FOLDER two|fails|again`. Steps leave lines in FOLDER/ran.

`fails` begins the flow or goes on with it, and the step behind the feedback raises unless WORKS is set; `again` begins it anew.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import program
import resumers
from crewai.flow import Flow, and_, listen, start
from crewai.flow.flow_config import flow_config
from crewai.flow.human_feedback import human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence
from pausepoint import Desk
from pausepoint.crewai import DeskFeedback

THREAD, FOLDER, KIND = sys.argv[1:4]


class Two(Flow):  # type: ignore[type-arg]
    @start()
    def prepare(self) -> dict[str, Any]:
        return program.REFUND

    @listen(prepare)
    @human_feedback(message="Does finance agree?")
    def finance(self, given: Any) -> Any:
        return given

    @listen(prepare)
    @human_feedback(message="Does security agree?")
    def security(self, given: Any) -> Any:
        return given

    @listen(and_(finance, security))
    def pay(self) -> str:
        return resumers.refund(**program.REFUND)


class Fails(Flow):  # type: ignore[type-arg]
    @start()
    @human_feedback(message="Refund 250?")
    def propose(self) -> dict[str, Any]:
        return program.REFUND

    @listen(propose)
    def pay(self, result: Any) -> str:
        if "WORKS" not in os.environ:
            raise RuntimeError("The bank is away.")
        return resumers.refund(**result.output) if result.feedback == "approved" else "left"


persistence = SQLiteFlowPersistence(f"{FOLDER}/flows.db")
provider = DeskFeedback(Desk(), wait=False, options=["approved", "rejected"])
flow_config.hitl_provider = provider
flow: Any = Two if KIND == "two" else Fails
try:
    if KIND != "again" and persistence.load_pending_feedback(THREAD):
        found = provider.resume(flow, THREAD, persistence)
    else:
        found = flow(persistence=persistence).kickoff(inputs={"id": THREAD})
    program.tell(result=found if isinstance(found, str) else type(found).__name__)
except Exception as error:
    program.tell(result=f"{type(error).__name__}: {error}")
