"""How every protocol asks: one function makes a request, and one records a call that the lists of the key deny."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from approvals import actions
from approvals.access.callers import Caller
from approvals.access.tool_lists import Ruling, lists_from
from approvals.actions import AskOutcome
from approvals.api import frame
from approvals.asking.asks import Ask
from approvals.asking.origins import Origin
from approvals.record.audit import Subject
from approvals.states import Door


def ask(caller: Caller, wanted: Ask, origin: Origin) -> AskOutcome:
    """Create what a program asks, once, and count it unless that was done. TooMany; NotAllowed for a client token.

    Also what `actions.ask_for_client` raises.
    """
    frame.refuse_tokens(caller)
    return actions.ask_for_client(wanted, origin, by=frame.counted(caller).actor)


def ruling(caller: Caller, tool: str) -> tuple[Ruling, str]:
    """Return what the lists of the caller's key say about a tool, and the pattern that says so."""
    return lists_from(caller.key.tool_lists if caller.key else None).ruling(tool)


def deny(caller: Caller, subject: Subject, tool_input: Mapping[str, Any], pattern: str, *, via: Door) -> str:
    """Record a call of a denied tool, which counts like an ask, and return what the model reads about it. TooMany."""
    actions.record_denied_call(subject, tool_input, pattern, by=frame.counted(caller).actor, via=via)
    message = _("The tool %(tool)s is not allowed here, so this call was not run. Do not repeat it.")
    return message % {"tool": subject.tool_name}
