"""The only writers of workflows, requests and decisions; every door ends here.

`asking` (how a request begins), `deciding` (how it ends), `closing` (how a workflow ends, and what came of a call). All
writes of one action are one transaction. Signals and rings leave after its commit, and a failing one never turns a
recorded decision into an error.
"""

from approvals.actions.asking import Asked, Origin, ask_for_client, open_workflow, request_approval
from approvals.actions.closing import Result, close_workflow, end_workflow, report_result
from approvals.actions.deciding import Outcome, cancel, decide, expire, hold_workflow, settle, withdraw

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
    "hold_workflow",
    "open_workflow",
    "report_result",
    "request_approval",
    "settle",
    "withdraw",
]
