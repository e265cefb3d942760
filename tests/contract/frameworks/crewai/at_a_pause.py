"""What CrewAI's flows do at a pause, without Pausepoint: `at_a_pause.py THREAD`. Its tools have no pause."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import program
from crewai.flow import Flow, listen, start
from crewai.flow.async_feedback import HumanFeedbackPending
from crewai.flow.human_feedback import human_feedback
from crewai.flow.persistence import SQLiteFlowPersistence
from pausing import ran, refund, sibling, tell, twice

PERSISTENCE = SQLiteFlowPersistence(str(Path(tempfile.mkdtemp(), "flows.db")))


class Ask:
    """A provider that asks elsewhere: the flow pauses."""

    def request_feedback(self, context: Any, flow: Any) -> str:
        raise HumanFeedbackPending(context=context)


class Refund(Flow):  # type: ignore[type-arg]
    @start()
    def look(self) -> str:
        return program.look("4711")

    @start()
    @human_feedback(message="Refund 250?", provider=Ask())
    def propose(self) -> dict[str, Any]:
        return program.REFUND

    @listen(propose)
    def go_on(self, result: Any) -> str:
        return refund(**result.output) if result.feedback == "yes" else str(result.feedback)


def pause(name: str) -> None:
    Refund(persistence=PERSISTENCE).kickoff(inputs={"id": name})


def resume(name: str, feedback: str) -> Any:
    return Refund.from_pending(name, PERSISTENCE).resume(feedback)


pause("first")
seen = {"sibling": sibling()}
seen["rejected"] = str(resume("first", "Not today."))
ran()
pause("two")
seen["resumers"] = twice(lambda: resume("two", "yes"))
print(seen)
tell("crewai", **seen, condition="none", partial="one", changed="none", words="yes", restart="pending", id="run")
