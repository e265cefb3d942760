"""Reads of chats, in a constant number of statements each. What is absent and what is forbidden look alike."""

from chats.queries.chats import (
    chats_for,
    get_chat_for,
    get_own_chat,
    is_known_message_id,
    last_cut_messages,
    last_messages,
    last_texts,
    with_parts,
)
from chats.queries.checkpoints import checkpoints_of, get_checkpoint_for, group_by_message, parts_at
from chats.queries.listing import ChatFilters, filtered_chats_for
from chats.queries.progress import Progress, model_history, progress_of, remember
from chats.queries.requests import (
    calls_of,
    chain_of,
    last_calls,
    open_requests,
    own_open_requests,
    question_for_message,
    request_of,
    requests_of,
)
from chats.queries.steps import call_view, decision_of, history_before, step_views, steps_of
from chats.queries.turns import (
    events_after,
    last_seq,
    last_turn,
    running_message,
    running_turn,
    sub_agent_turns,
    unfinished_turn,
    unfinished_turns,
)

__all__ = [
    "ChatFilters",
    "Progress",
    "call_view",
    "calls_of",
    "chain_of",
    "chats_for",
    "checkpoints_of",
    "decision_of",
    "events_after",
    "filtered_chats_for",
    "get_chat_for",
    "get_checkpoint_for",
    "get_own_chat",
    "group_by_message",
    "history_before",
    "is_known_message_id",
    "last_calls",
    "last_cut_messages",
    "last_messages",
    "last_seq",
    "last_texts",
    "last_turn",
    "model_history",
    "open_requests",
    "own_open_requests",
    "parts_at",
    "progress_of",
    "question_for_message",
    "remember",
    "request_of",
    "requests_of",
    "running_message",
    "running_turn",
    "step_views",
    "steps_of",
    "sub_agent_turns",
    "unfinished_turn",
    "unfinished_turns",
    "with_parts",
]
