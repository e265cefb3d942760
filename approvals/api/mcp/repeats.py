"""Recognize repeated calls, so that they never make a second request.

A client that names its calls (Claude Code does, in `_meta`) gets the same request for that name. Without a name, the same tool
with the same arguments is the same request while that is pending, and one call consumes its decision.
"""

from __future__ import annotations

from approvals.access.callers import Caller
from approvals.api.mcp.messages import MethodCall
from approvals.asking.asks import MAX_LENGTHS
from approvals.asking.origins import EqualCalls, key_of_calls
from approvals.json_types import JsonMapping
from approvals.states import Door

#: Clients' names in `_meta` for the ids of a tool call and a conversation; letters only, without a prefix.
CALL_IDS = frozenset({"tooluseid", "toolcallid"})
SESSIONS = frozenset({"session", "sessionid", "threadid", "conversationid"})


def named_in(meta: JsonMapping, names: frozenset[str]) -> str:
    """Return the client's id in `_meta` under one of these names; empty without one."""
    for name, value in meta.items():
        word = "".join(filter(str.isalpha, name.rpartition("/")[2])).lower()
        if word in names and isinstance(value, str) and 0 < len(value) <= 200:
            return value
    return ""


def name_of_call(session: str, call_id: str) -> str:
    """Return the identity of a call with its own id. Some models restart their call numbers in each conversation."""
    name = f"{session}:{call_id}" if session else call_id
    return (
        name
        if len(name) <= MAX_LENGTHS["tool_call_id"]
        else key_of_calls("call:", session, call_id)
    )


def equal_calls(
    caller: Caller,
    call: MethodCall,
    *,
    about: str = "",
    session: str = "",
    call_id: str,
    returns_results: bool = False,
) -> EqualCalls:
    """Return the identity of a call: its name (`call_id`) if it has one, else `about`, its content."""
    key = key_of_calls(
        "mcp",
        caller.scope,
        call.params.get("name"),
        "" if call_id else about,
        session,
        call_id,
    )
    who = (call.client[:100] or "MCP client", caller.actor.get_username())
    return EqualCalls(
        key=key,
        named=bool(call_id),
        taker=call.taker,
        taken_by=", ".join(who),
        by=caller.actor,
        via=Door.MCP,
        returns_results=returns_results,
    )
