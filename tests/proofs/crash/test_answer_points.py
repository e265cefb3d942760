"""kill -9 around the commit in which an AI SDK client decides: nothing lost, nothing done twice, for every repeated message."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest

from tests.proofs.crash.browser import Refused
from tests.proofs.crash.points import ANSWERED
from tests.proofs.crash.rounds import Pages, retrying, run_chat
from tests.proofs.crash.test_write_points import check
from tests.proofs.crash.till import Till, patiently
from tests.support.services import ROUNDS

#: The change of the message sent again after the kill, and the kinds of all requests of the chat.
AFTER = {
    "answer decided, in": ("taken", ["approval"]),
    "answer commit, in": ("taken", ["approval"]),
    "answer commit": ("already_decided", ["approval", "recovery"]),
}

pytestmark = pytest.mark.crash


@pytest.mark.parametrize("point", ANSWERED)
def test_a_kill_around_an_answer_loses_nothing_and_repeats_nothing(point, played):
    assert played(point) == ROUNDS


class Client(Pages):
    """Bob's AI SDK client, in which he writes and approves; calls of unknown outcome after a kill he decides on a page."""

    def __init__(self, till: Till, ref: str) -> None:
        super().__init__(till, ref)
        self.outcomes: list[str] = []

    def write(self, agent: str, text: str) -> None:
        message = {"id": f"{self.ref}-1", "role": "user", "parts": [{"type": "text", "text": text}]}
        self.till.bob.post_json("/api/chat", {"id": self.ref, "agent": agent, "message": message})

    def decide(self, request: UUID, kind: str) -> None:
        if kind == "recovery":
            super().decide(request, kind)
        else:
            message = self.last_message()
            approval = {"id": str(request), "approved": True}
            message["parts"][-1] |= {"state": "approval-responded", "approval": approval}
            self.send(message)

    def send(self, message: dict[str, Any]) -> None:
        """Send a message, and send it again if the server dies before it answers."""
        for _ in patiently("an answer to the message"):
            with retrying(self.till):
                self.outcomes.append(self.outcome(message))
                return

    def outcome(self, message: dict[str, Any]) -> str:
        try:
            stream = self.till.bob.post_json("/api/chat", {"id": self.ref, "message": message})
        except Refused as refusal:
            return str(json.loads(refusal.args[1])["code"])
        assert stream.endswith("data: [DONE]\n\n")
        return "taken"

    def last_message(self) -> dict[str, Any]:
        message: dict[str, Any] = json.loads(self.till.bob.get(f"/api/chat/{self.ref}"))["messages"][-1]
        return message


def play_round(till: Till, point: str, ref: str) -> None:
    client = Client(till, ref)
    chat = run_chat(till, point, agent="cashier", text=f"charge {ref}", people=client)
    ((turn,),) = till.rows("SELECT id FROM chats_turn WHERE chat_id = ?", chat)
    check(till, ref, chat, turn, till.bob)
    outcome, kinds = AFTER[point]
    decisions = (
        "SELECT r.kind, d.via FROM approvals_decision d JOIN approvals_approvalrequest r ON r.id = d.request_id "
        "WHERE r.scope = ? ORDER BY r.created_at"
    )
    vias = {"approval": "ai-sdk", "recovery": "dashboard"}
    assert client.outcomes == [outcome]
    assert till.rows(decisions, f"chat:{chat}") == [(kind, vias[kind]) for kind in kinds]
    (part,) = [part for part in client.last_message()["parts"] if part["type"] == "tool-charge"]
    assert (part["state"], part["output"]) == ("output-available", f"receipt {ref}")
