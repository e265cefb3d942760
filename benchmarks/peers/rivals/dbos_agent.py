"""The cycle in DBOS: a workflow that runs models and tools as steps, tells that it waits, and receives a decision.

python dbos_agent.py postgresql://... CLIENTS
"""

from __future__ import annotations

import sys

from batches import answer_batches
from dbos import DBOS, DBOSConfig

#: Seconds that nothing here ever takes.
PATIENCE = 600


@DBOS.step()
def model(text: str, tool: str) -> dict[str, object]:
    return {"text": text, "tool": tool, "input": {"amount": 5}}


@DBOS.step()
def look_up(amount: int) -> str:
    return f"{amount} is free"


@DBOS.step()
def book(amount: int) -> str:
    return f"booked {amount}"


@DBOS.workflow()
def agent(text: str) -> list[str]:
    model("A moment.", "look_up")
    said = [look_up(5)]
    DBOS.set_event("waiting", model("It is free.", "book"))
    if DBOS.recv("decision", timeout_seconds=PATIENCE) == "approve":
        said.append(book(5))
    return [*said, str(model("Done.", "")["text"])]


def cycle() -> None:
    handle = DBOS.start_workflow(agent, "look up and book it")
    assert DBOS.get_event(handle.workflow_id, "waiting", timeout_seconds=PATIENCE)
    DBOS.send(handle.workflow_id, "approve", "decision")
    assert handle.get_result() == ["5 is free", "booked 5", "Done."]


def main() -> None:
    url, clients = sys.argv[1:]
    config: DBOSConfig = {
        "name": "rival",
        "system_database_url": url,
        "log_level": "ERROR",
        # By default, an event waits 10 ms for others before its readers are told.
        "notification_coalesce_sec": 0.001,
    }
    DBOS(config=config)
    DBOS.launch()
    answer_batches(*[cycle] * int(clients))
    DBOS.destroy()


if __name__ == "__main__":
    main()
