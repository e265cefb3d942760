"""The code that writes rows, one function per action; pages, APIs and background jobs call these.

`asking` creates requests and `attachments` stores their files, `deciding` and `expiring` end them, `closing` ends workflows and
stores results; `assigning`, `commenting` and `lists` are for people, `resuming` for requesting programs; `secrets`, `logins`,
`processes` and `pruning` for operators. Administrators' actions are in `approvals.administration`.

All writes of one action are one transaction. Signals and notifications are sent after its commit, and a failure of one never
turns a recorded decision into an error.
"""

from approvals.actions.asking import (
    AskOutcome,
    ask_for_client,
    open_workflow,
    request_approval,
)
from approvals.actions.assigning import assign, claim, free_lapsed, release
from approvals.actions.attachments import (
    due_attachments,
    erase_attachments,
    old_attachments,
    prune_attachments,
)
from approvals.actions.closing import (
    ReportedResult,
    close_workflow,
    end_of_workflow,
    report_result,
)
from approvals.actions.commenting import comment
from approvals.actions.deciding import (
    EarlyFacts,
    cancel,
    cancel_requests,
    decide,
    settle,
)
from approvals.actions.decisions.writes import Outcome
from approvals.actions.expiring import expire, expire_free
from approvals.actions.factors import begin_try, finish_try, record_factor
from approvals.actions.locking import lock_workflow
from approvals.actions.logins import (
    EndReason,
    continue_session,
    end_provider_sessions,
    end_sessions,
    note_address,
    record_failed_login,
    record_login,
    record_session,
    store_password,
)
from approvals.actions.repeating import take_decision
from approvals.actions.results import ToolResult, record_denied_call, record_tool_result
from approvals.actions.resuming import (
    complete_resume,
    free_lost_resume,
    lost_leases,
    release_resume,
    renew_resume,
    take_resume,
)
from approvals.actions.secrets import (
    create_signing_secret,
    end_old_signing_secrets,
    reveal_secret,
)
from approvals.actions.upkeep.processes import record_heartbeat, remove_process
from approvals.actions.upkeep.pruning import (
    old_absences,
    old_delivered,
    old_sessions,
    old_states,
    prune_absences,
    prune_delivered,
    prune_sessions,
    prune_states,
)

__all__ = [
    "AskOutcome",
    "EarlyFacts",
    "EndReason",
    "Outcome",
    "ReportedResult",
    "ToolResult",
    "ask_for_client",
    "assign",
    "begin_try",
    "cancel",
    "cancel_requests",
    "claim",
    "close_workflow",
    "comment",
    "complete_resume",
    "continue_session",
    "create_signing_secret",
    "decide",
    "due_attachments",
    "end_of_workflow",
    "end_old_signing_secrets",
    "end_provider_sessions",
    "end_sessions",
    "erase_attachments",
    "expire",
    "expire_free",
    "finish_try",
    "free_lapsed",
    "free_lost_resume",
    "lock_workflow",
    "lost_leases",
    "note_address",
    "old_absences",
    "old_attachments",
    "old_delivered",
    "old_sessions",
    "old_states",
    "open_workflow",
    "prune_absences",
    "prune_attachments",
    "prune_delivered",
    "prune_sessions",
    "prune_states",
    "record_denied_call",
    "record_factor",
    "record_failed_login",
    "record_heartbeat",
    "record_login",
    "record_session",
    "record_tool_result",
    "release",
    "release_resume",
    "remove_process",
    "renew_resume",
    "report_result",
    "request_approval",
    "reveal_secret",
    "settle",
    "store_password",
    "take_decision",
    "take_resume",
]
