"""The only writers of workflows, requests and decisions; every door ends here.

`asking` (how a request begins), `deciding` (how it ends), `closing` (how a workflow ends, and what came of a call);
`attending` (which processes live), `pruning` (what is old enough to go). All writes of one action are one transaction.
Signals and rings leave after its commit, and a failing one never turns a recorded decision into an error.
"""

from approvals.actions.asking import Asked, Origin, ask_for_client, open_workflow, request_approval
from approvals.actions.attending import gone, seen
from approvals.actions.closing import Result, close_workflow, end_workflow, report_result
from approvals.actions.deciding import Outcome, cancel, decide, expire, hold_workflow, settle, withdraw
from approvals.actions.pruning import old_delivered, old_sessions, prune_delivered, prune_sessions

__all__ = [
    "Asked",
    "Origin",
    "Outcome",
    "Result",
    "ask_for_client",
    "cancel",
    "close_workflow",
    "decide",
    "end_workflow",
    "expire",
    "gone",
    "hold_workflow",
    "old_delivered",
    "old_sessions",
    "open_workflow",
    "prune_delivered",
    "prune_sessions",
    "report_result",
    "request_approval",
    "seen",
    "settle",
    "withdraw",
]
