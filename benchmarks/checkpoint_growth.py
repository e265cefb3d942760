"""Measure the checkpoints of one turn with a hundred pauses: the stored bytes, and the bytes of whole copies.

    .venv/bin/python -m benchmarks.checkpoint_growth

The turn is a real one with the scripted provider; each question is answered with a sentence. Bytes are those of the stored JSON.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from chats.agent.agent import Agent
from chats.agent.interactive import ask_human
from chats.agent.script import Conversation, Say, Use
from tests.support.processes.server import Server

PAUSES = 100
ASKS = [
    [
        Say("One more thing that I have to know.", pause=0),
        Use("askHuman", {"question": "And what of the next one?"}),
    ]
]
asker = Agent(
    name="asker",
    tools=(ask_human,),
    script=(
        Conversation(
            "ask a hundred times", [*ASKS * PAUSES, [Say("Thank you.", pause=0)]]
        ),
    ),
    max_steps=PAUSES + 10,
)
MEASURE = f"""
import json
from django.contrib.auth.models import User
from approvals.states import Verdict
from tests.support.chats.turns import checkpoints_of, converse, decide, folded, kinds, only_request, run
alice = User.objects.get(username="requester")
turn = converse(alice, "ask a hundred times")
for number in range({PAUSES}):
    decide(only_request(turn), alice, Verdict.RESPOND, answer=f"The answer to this is number {{number}}, as far as I know.")
    turn = run(turn)
assert kinds(turn) == ["partial"] * {PAUSES} + ["final"]
stored = [len(json.dumps(row.tail)) for row in checkpoints_of(turn)]
whole = [len(json.dumps(parts)) for parts in folded(turn)]
print(f"{{'pauses':>8}}{{'this one, bytes':>18}}{{'all so far, bytes':>20}}{{'bytes per pause':>18}}{{'as whole copies':>18}}")
for place in (1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100):
    total = sum(stored[:place])
    print(f"{{place:>8}}{{stored[place - 1]:>18,}}{{total:>20,}}{{total / place:>18,.0f}}{{sum(whole[:place]):>18,}}")
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # Does not serve: the measuring process runs the turn itself.
        Server(Path(folder), HITL_AGENTS="benchmarks.checkpoint_growth.asker").run(
            MEASURE
        )


if __name__ == "__main__":
    main()
