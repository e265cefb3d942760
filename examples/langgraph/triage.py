"""A LangGraph graph whose interrupts people answer. Its checkpoints are in a file: you can kill it and start it again.

python triage.py "My parcel never came" --thread ticket-1 --state triage.sqlite3
"""

from __future__ import annotations

import argparse
from typing import Any, TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from pausepoint import Desk

#: The fields of an outcome that a node receives.
TOLD = ("status", "answer", "input", "comment")


class Ticket(TypedDict, total=False):
    complaint: str
    team: str
    reply: str
    outcome: str


def sort(ticket: Ticket) -> Ticket:
    """Ask a person which team this is for."""
    team = interrupt(
        {
            "title": "Which team is this for?",
            "message": ticket["complaint"],
            "kind": "question",
            "options": ["shipping", "billing"],
        }
    )
    return {
        "team": team["answer"]["selected"][0]
        if team["status"] == "answered"
        else "shipping"
    }


def write(ticket: Ticket) -> Ticket:
    """Write the reply. A real graph would ask a model."""
    return {"reply": f"We are sorry. Our {ticket['team']} team looks into it."}


def send(ticket: Ticket) -> Ticket:
    """Send the reply, as it was approved or changed by a person."""
    ruling = interrupt(
        {
            "title": "Send this reply?",
            "tool_name": "sendReply",
            "input": {"text": ticket["reply"]},
        }
    )
    if ruling["status"] != "approved":
        return {"outcome": f"not sent: {ruling['comment'] or ruling['status']}"}
    return {"outcome": f"sent: {ruling['input']['text']}"}


def build() -> StateGraph[Ticket]:
    graph = StateGraph(Ticket)
    for name, node in (("sort", sort), ("write", write), ("send", send)):
        graph.add_node(name, node)
    for before, after in (
        (START, "sort"),
        ("sort", "write"),
        ("write", "send"),
        ("send", END),
    ):
        graph.add_edge(before, after)
    return graph


def run(graph: Any, start: Ticket, thread: str, desk: Desk) -> Ticket:
    """Run the graph to its end, and ask people for the answers to its interrupts, all at the same time."""
    config = {"configurable": {"thread_id": thread}}
    if not graph.get_state(config).created_at:
        graph.invoke(start, config)
    while (state := graph.get_state(config)).next:
        # The id of an interrupt stays the same after a restart, so no one is asked twice.
        asked = {
            each.id: desk.ask(
                **each.value,
                idempotency_key=f"{thread}:{each.id}",
                workflow_id=thread,
                agent="triage.py",
            )
            for each in state.interrupts
        }
        outcomes = {key: desk.wait(request["id"]) for key, request in asked.items()}
        answers = {
            key: {name: getattr(one, name) for name in TOLD}
            for key, one in outcomes.items()
        }
        # Without an interrupt the program was killed between two nodes, and the graph just continues.
        graph.invoke(Command(resume=answers) if answers else None, config)
    return state.values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("complaint")
    parser.add_argument("--thread", required=True)
    parser.add_argument("--state", default="triage.sqlite3")
    said = parser.parse_args()
    with Desk() as desk, SqliteSaver.from_conn_string(said.state) as saver:
        ticket = run(
            build().compile(checkpointer=saver),
            {"complaint": said.complaint},
            said.thread,
            desk,
        )
        desk.end_workflow(said.thread)
    print(f"{ticket['team']}: {ticket['outcome']}")


if __name__ == "__main__":
    main()
