"""The only writers of chats, turns, steps, tool calls and checkpoints, one function per verb, split by what they are about:

`arriving` (what people send), `answering` (answers inside a client's copy of a message), `claiming` (who runs a turn),
`stepping` (what the runner commits), `calling` (tool calls), `delegating` (sub-agents), `ending` (stop, fail, finish),
`resuming` (what decisions do to a turn), `together` (two of these in one commit), `branching` (a new chat from a
checkpoint), `pruning` (what is old enough to go);
`keeping` holds what several of them write.
"""

from chats.actions.answering import take_answers
from chats.actions.arriving import add_user_message, answer_again, open_chat, post_message
from chats.actions.branching import branch_chat
from chats.actions.calling import claim_call, finish_call, lose_call
from chats.actions.claiming import claim_turn, release_turn, renew_lease
from chats.actions.delegating import delegate_call, settle_delegated
from chats.actions.ending import end_stopped, fail_turn, finish_turn, stop_turn
from chats.actions.pruning import (
    begin_pruning,
    contents,
    half_pruned,
    old_chats,
    prune_contents,
    prune_events,
    turns_to_prune,
)
from chats.actions.resuming import resume_turn
from chats.actions.stepping import append_events, commit_step, pause_turn
from chats.actions.together import in_one_commit

__all__ = [
    "add_user_message",
    "answer_again",
    "append_events",
    "begin_pruning",
    "branch_chat",
    "claim_call",
    "claim_turn",
    "commit_step",
    "contents",
    "delegate_call",
    "end_stopped",
    "fail_turn",
    "finish_call",
    "finish_turn",
    "half_pruned",
    "in_one_commit",
    "lose_call",
    "old_chats",
    "open_chat",
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
    "turns_to_prune",
]
