"""The common procedure of all adapters: find the request or ask, wait, and run an approved call once, in one process."""

from pausepoint.gate.asking import (
    AnyDesk,
    aask,
    adecided,
    ask,
    await_human,
    blocking,
    decided,
)
from pausepoint.gate.errors import Halted, HasFailed, NotApproved, NotGated
from pausepoint.gate.gates import Gate
from pausepoint.gate.rulings import Ruling, Wanted
from pausepoint.gate.running import (
    aclaimed,
    aended,
    arelease,
    areport,
    arun,
    claimed,
    ended,
    logger,
    release,
    report,
    run,
)

__all__ = [
    "AnyDesk",
    "Gate",
    "Halted",
    "HasFailed",
    "NotApproved",
    "NotGated",
    "Ruling",
    "Wanted",
    "aask",
    "aclaimed",
    "adecided",
    "aended",
    "arelease",
    "areport",
    "arun",
    "ask",
    "await_human",
    "blocking",
    "claimed",
    "decided",
    "ended",
    "logger",
    "release",
    "report",
    "run",
]
