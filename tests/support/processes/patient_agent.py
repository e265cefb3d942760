"""An agent that writes one word every WORD_SECONDS, for tests that stop the server in the middle."""

from __future__ import annotations

import os

from chats.agent.agent import Agent
from chats.agent.demo import issueRefund
from chats.agent.script import Conversation, Say, Use

PAUSE = float(os.environ.get("WORD_SECONDS", "0.01"))
WORDS = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"

SCRIPT = [
    Conversation("count", [[Say(WORDS, pause=PAUSE)]]),
    Conversation(
        "refund",
        [
            [Say("I will ask."), Use("issueRefund", {"amount": 120, "orderId": "A-1"})],
            [Say("one two three four", pause=PAUSE)],
        ],
    ),
]
patient = Agent(name="patient", title="Patient", tools=[issueRefund], script=SCRIPT)
