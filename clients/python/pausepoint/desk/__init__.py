"""Ask people from an agent: the client of the package `pausepoint`, in one folder that you can copy.

It needs Python 3.11 and httpx.

    desk = Desk("https://desk.example.com", key)
    outcome = desk.await_human(
        "Refund order 4711?", tool_name="refund", tool_call_id="call-4711", input={"amount": 120}
    )
    if outcome.approved:
        desk.report(outcome, output=refund(**outcome.input))

`AsyncDesk` is the same with `await`. Every call is retried while Pausepoint cannot be reached. Retries do nothing twice:
Pausepoint recognizes a repeat by its `tool_call_id` or `idempotency_key`. If you give one of them, a program that is
restarted after a crash finds its request and the answer, instead of asking a second time.
"""

from .asking import Asked
from .async_client import AsyncDesk
from .client import Desk
from .digests import input_digest
from .errors import (
    DeskError,
    LeaseLost,
    NotUnderstood,
    Refused,
    StillWaiting,
    Unreachable,
)
from .outcomes import Outcome
from .resuming import LEASE, Resume

__all__ = [
    "LEASE",
    "Asked",
    "AsyncDesk",
    "Desk",
    "DeskError",
    "LeaseLost",
    "NotUnderstood",
    "Outcome",
    "Refused",
    "Resume",
    "StillWaiting",
    "Unreachable",
    "input_digest",
]
