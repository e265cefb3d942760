"""Every address for programs is behind the frame, which checks the caller and limits client tokens."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from django.urls import URLPattern, URLResolver, get_resolver
from ninja.operation import PathView

from approvals.access.callers import is_for_machines
from approvals.api.frame import CONFINED, Endpoint, Framed
from tests.support.root import ROOT
from tests.support.sources import APPS, functions, sources

#: Where views for programs are, for any address.
ROOMS = ("approvals.api.", "chats.protocols.")
#: Views that know no caller, and why.
OPEN = {
    "approvals.api.rest.urls.index": "a page for people, who are logged in or are shown how to",
    "approvals.api.rest.urls.openapi": "the document of the API",
    "approvals.channels.relay.endpoint.answer": "the signature of the relay proves the call",
    "approvals.channels.relay.endpoint.link": "the signature of the relay proves the call",
    "approvals.channels.relay.endpoint.schema": "the schemas of the contract are public",
    "approvals.channels.slack.endpoint.events": "the signature of Slack proves the call",
    "approvals.channels.slack.endpoint.interactivity": "the signature of Slack proves the call",
    "approvals.channels.teams.endpoint.messages": "a token of Microsoft proves the call",
    "hitlsite.leaked_keys.leaked_keys": "the key that is reported proves the report",
}
#: Views that take client tokens: each asks `reaches`, or looks a chat up with `own_chat` or `chat_for`, which do.
CONFINING = {
    "approvals.api.agentforge.endpoint.follow",
    "chats.protocols.ai_sdk.endpoint.post",
    "chats.protocols.ai_sdk.endpoint.read",
    "chats.protocols.ai_sdk.endpoint.resume",
    "chats.protocols.ai_sdk.endpoint.stop",
    "chats.protocols.cedar.endpoint.cancel",
    "chats.protocols.cedar.endpoint.chat",
    "chats.protocols.cedar.endpoint.chat_stream",
    "chats.protocols.cedar.endpoint.resume",
    "chats.protocols.cedar.endpoint.resume_stream",
    "chats.protocols.cedar.endpoint.suspended",
    "chats.protocols.export.export",
    "chats.protocols.export.export_own",
    "chats.protocols.files.read",
}


def named(view: Any) -> str:
    return f"{view.__module__}.{view.__name__}"


def patterns(resolver: URLResolver, before: str = "/") -> Iterator[tuple[str, URLPattern]]:
    for pattern in resolver.url_patterns:
        address = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from patterns(pattern, address)
        else:
            yield address, pattern


def views_of(callback: Callable[..., Any]) -> list[Any]:
    """Return the view of an address, or the operations that ninja keeps behind one."""
    view = inspect.unwrap(callback, stop=lambda each: isinstance(each, Framed))
    path = None if isinstance(view, Framed) else inspect.getclosurevars(view).nonlocals.get("self")
    return [operation.view_func for operation in path.operations] if isinstance(path, PathView) else [view]


def views_for_programs() -> list[Any]:
    return [
        view
        for address, pattern in patterns(get_resolver())
        if is_for_machines(address) or pattern.callback.__module__.startswith(ROOMS)
        for view in views_of(pattern.callback)
    ]


def test_every_view_for_programs_is_behind_the_frame():
    bare = {named(view) for view in views_for_programs() if not isinstance(view, Framed)}
    assert bare == set(OPEN)


def test_client_tokens_are_refused_but_by_views_that_confine_them():
    assert {
        named(view) for view in views_for_programs() if isinstance(view, Framed) and view.tokens is CONFINED
    } == CONFINING


def test_every_view_needs_a_scope_but_that_of_mcp_whose_tools_do():
    framed = [view for view in views_for_programs() if isinstance(view, Framed)]
    assert [named(view) for view in framed if not view.scopes] == ["approvals.api.mcp.endpoint._serve"]
    assert {type(view) for view in framed if view.__module__.startswith("chats.")} == {Endpoint}


@functools.cache
def names_by_function() -> dict[str, set[str]]:
    """The names that each function calls or reads."""
    return {
        f"{path.relative_to(ROOT)} {function.name}": {
            name for node in ast.walk(function) for name in (getattr(node, "attr", ""), getattr(node, "id", "")) if name
        }
        for path in sources(*APPS)
        for function in functions(path)
    }


def uses(name: str) -> list[str]:
    """The functions that call a function, or read an attribute, of this name."""
    return sorted(function for function, names in names_by_function().items() if name in names)


def test_programs_ask_through_one_function():
    assert uses("ask_for_client") == ["approvals/api/requests.py ask"]


def test_an_ask_is_counted_in_one_place():
    assert uses("HITL_ASKS_PER_MINUTE") == ["approvals/api/frame.py counted"]


def test_a_client_token_is_confined_in_one_module():
    assert uses("confined_to") == [
        f"approvals/api/frame.py {name}" for name in ("own_thread", "reaches", "refuse_tokens")
    ]
