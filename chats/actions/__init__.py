"""The only writers of chats, turns, steps, tool calls and checkpoints: one function per verb.

`posting` (messages from people), `attachments` (their files), `answering` and `forgeries` (answers inside a client's copy of a
message), `claiming` (runners' claims of turns), `stepping` (a runner's commits), `asking` (requests about calls), `calling` (tool
calls and their results), `delegating` (sub-agents), `ending` (finish, fail, stop), `resuming` (effects of decisions on a turn),
`branching` (a new chat from a checkpoint), `pruning` (retention).

Changes of a turn are functions of `transitions` from one value to the next: `locking` locks a turn and tracks its stored value,
and `storing` stores the difference. `writes` holds shared code.
"""

from chats.actions.answering import take_answers
from chats.actions.branching import branch_chat
from chats.actions.calling import (
    Written,
    finish_call,
    record_run,
    result_event,
    start_calls,
    time_out_run,
)
from chats.actions.claiming import (
    begin_run,
    continue_turn,
    end_leases,
    lease_owners,
    release_turn,
    renew_leases,
    wake_turn,
)
from chats.actions.delegating import delegate_calls, settle_delegated
from chats.actions.ending import (
    abandon_turn,
    end_stopped,
    fail_turn,
    finish_turn,
    halt_turn,
    stop_turn,
)
from chats.actions.posting import (
    add_user_message,
    answer_again,
    find_or_create_chat,
    open_chat,
    post_message,
)
from chats.actions.pruning import (
    begin_pruning,
    count_contents,
    old_chats,
    partly_pruned_chats,
    prune_contents,
    prune_events,
    turns_to_prune,
)
from chats.actions.resuming import resume_turn
from chats.actions.stepping import (
    NewStep,
    UnfinishedAnswer,
    commit_step,
    pause_turn,
    store_progress,
)

__all__ = [
    "NewStep",
    "UnfinishedAnswer",
    "Written",
    "abandon_turn",
    "add_user_message",
    "answer_again",
    "begin_pruning",
    "begin_run",
    "branch_chat",
    "commit_step",
    "continue_turn",
    "count_contents",
    "delegate_calls",
    "end_leases",
    "end_stopped",
    "fail_turn",
    "find_or_create_chat",
    "finish_call",
    "finish_turn",
    "halt_turn",
    "lease_owners",
    "old_chats",
    "open_chat",
    "partly_pruned_chats",
    "pause_turn",
    "post_message",
    "prune_contents",
    "prune_events",
    "record_run",
    "release_turn",
    "renew_leases",
    "result_event",
    "resume_turn",
    "settle_delegated",
    "start_calls",
    "stop_turn",
    "store_progress",
    "take_answers",
    "time_out_run",
    "turns_to_prune",
    "wake_turn",
]
