"""Recognize a call that a client sends again, so that it never makes a second request.

A client that names its call (Claude Code does, in `_meta`) gets the same request for that name forever. Without a name, the
same tool with the same arguments is the same request for as long as that waits; afterwards it is asked anew, because one
decision is for one call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.db.models import CharField

from approvals.asking.asks import MAX_LENGTHS
from approvals.models import ApprovalRequest
from approvals.runtime.canonical import canonical
from approvals.runtime.prepared import Parameter, Prepared
from approvals.states import Status

#: How clients call, in `_meta`, their ids of a tool call and of a conversation; letters only, without a prefix.
CALL_IDS = frozenset({"tooluseid", "toolcallid"})
SESSIONS = frozenset({"session", "sessionid", "threadid", "conversationid"})
#: Digits of the number in a series of equal calls. With these keys, texts sort alike in every collation.
_DIGITS = 8

#: The requests of a client between two keys, the last one first.
_SERIES: Prepared[tuple[str | None, str]] = Prepared(
    lambda: (
        ApprovalRequest.objects.filter(
            scope=Parameter("scope", CharField()),
            idempotency_key__gte=Parameter("first", CharField()),
            idempotency_key__lte=Parameter("last", CharField()),
        )
        .order_by("-idempotency_key")
        .values_list("idempotency_key", "status")[:1]
    )
)


def named_in(meta: Mapping[str, Any], names: frozenset[str]) -> str:
    """Return the id that a client gives in `_meta` under one of these names; empty without one."""
    for name, value in meta.items():
        word = "".join(filter(str.isalpha, name.rpartition("/")[2])).lower()
        if word in names and isinstance(value, str) and 0 < len(value) <= 200:
            return value
    return ""


def name_of_call(session: str, call_id: str) -> str:
    """Return what a call with an id of its own is known by. Some models number their calls anew in each conversation."""
    name = f"{session}:{call_id}" if session else call_id
    return name if len(name) <= MAX_LENGTHS["tool_call_id"] else "call:" + hashlib.sha256(name.encode()).hexdigest()


def key_for(scope: str, *parts: Any, call_id: str) -> str:
    """Return the idempotency key of a call, which `parts` describe."""
    key = "mcp" + hashlib.sha256(canonical([*parts, call_id])).hexdigest()
    if call_id:
        return key
    first, last = f"{key}{'0' * _DIGITS}", f"{key}{'9' * _DIGITS}"
    found = _SERIES.first(scope=scope, first=first, last=last)
    latest, status = found or (None, "")
    if latest is None:
        return first
    return latest if status == Status.PENDING else f"{key}{int(latest[-_DIGITS:]) + 1:0{_DIGITS}}"
