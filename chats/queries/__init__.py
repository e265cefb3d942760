"""Reads of chats, in a constant number of statements each. What is absent and what is forbidden look alike."""

from chats.queries.chats import (
    chats_for,
    chats_older_than,
    get_chat_for,
    get_own_chat,
    last_messages,
    last_said,
    lately_cut,
    listed_chats_for,
    names_message,
)
from chats.queries.checkpoints import checkpoints_of, get_checkpoint_for, group_by_message, parts_at
from chats.queries.requests import open_requests, own_open_requests, requests_of
from chats.queries.steps import call_view, decision_of, model_history, step_views, tool_parts_of
from chats.queries.turns import (
    Progress,
    events_after,
    first_response,
    last_seq,
    last_turn,
    progress_of,
    running_turn,
    states_below,
    unfinished_turn,
    unfinished_turns,
)

__all__ = [
    "Progress",
    "call_view",
    "chats_for",
    "chats_older_than",
    "checkpoints_of",
    "decision_of",
    "events_after",
    "first_response",
    "get_chat_for",
    "get_checkpoint_for",
    "get_own_chat",
    "group_by_message",
    "last_messages",
    "last_said",
    "last_seq",
    "last_turn",
    "lately_cut",
    "listed_chats_for",
    "model_history",
    "names_message",
    "open_requests",
    "own_open_requests",
    "parts_at",
    "progress_of",
    "requests_of",
    "running_turn",
    "states_below",
    "step_views",
    "tool_parts_of",
    "unfinished_turn",
    "unfinished_turns",
]
