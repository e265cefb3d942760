"""The only writers of chats, turns, steps, tool calls and checkpoints: one function per verb.

`posting` (messages from people), `attachments` (their files), `answering` and `forgeries` (answers inside a client's copy of
a message), `claiming` (which runner has a turn), `stepping` (what a runner commits), `asking` (requests about calls),
`calling` (tool calls), `delegating` (sub-agents), `ending` (finish, fail, stop), `resuming` (what decisions do to a turn),
`branching` (a new chat from a checkpoint), `pruning` (retention); `writes` holds what several of them share.
"""

from chats.actions.answering import take_answers
from chats.actions.branching import branch_chat
from chats.actions.calling import begin_call, claim_call, finish_call, time_out_call
from chats.actions.claiming import begin_run, claim_turn, release_turn, renew_lease
from chats.actions.delegating import delegate_call, settle_delegated
from chats.actions.ending import abandon_turn, end_stopped, fail_turn, finish_turn, stop_turn
from chats.actions.posting import add_user_message, answer_again, find_or_create_chat, open_chat, post_message
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
from chats.actions.stepping import NewStep, UnfinishedAnswer, append_events, commit_step, pause_turn

__all__ = [
    "NewStep",
    "UnfinishedAnswer",
    "abandon_turn",
    "add_user_message",
    "answer_again",
    "append_events",
    "begin_call",
    "begin_pruning",
    "begin_run",
    "branch_chat",
    "claim_call",
    "claim_turn",
    "commit_step",
    "count_contents",
    "delegate_call",
    "end_stopped",
    "fail_turn",
    "find_or_create_chat",
    "finish_call",
    "finish_turn",
    "old_chats",
    "open_chat",
    "partly_pruned_chats",
    "pause_turn",
    "post_message",
    "prune_contents",
    "prune_events",
    "release_turn",
    "renew_lease",
    "resume_turn",
    "settle_delegated",
    "stop_turn",
    "take_answers",
    "time_out_call",
    "turns_to_prune",
]
