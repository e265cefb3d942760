"""Checks around every view for programs: the caller, the limits of client tokens, and the rate limit on requests."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import update_wrapper
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.access import rate_limits
from approvals.access.callers import Caller, caller_of
from approvals.asking.asks import MAX_LENGTHS
from approvals.db.canonical_json import NotCanonical, canonical
from approvals.exceptions import Invalid, NotAllowed, Refusal, WrongMethod
from approvals.http import refusal_page
from approvals.text.translation import translated

#: Message for a client token outside its chat, used by every view that does not handle client tokens itself.
ELSEWHERE = gettext_lazy("A client token only works for its own chat. Use an API key.")
#: For views that accept client tokens and check the chat with `reaches`.
CONFINED = None

View = Callable[..., HttpResponse]
MAX_THREAD = MAX_LENGTHS["tool_call_id"]
_SECONDS = re.compile(r"\d{1,4}(\.\d{1,3})?", re.ASCII)


class Framed:
    """A view behind these checks. Callers need one of the scopes; `tokens` is the refusal of client tokens, or CONFINED."""

    def __init__(
        self, view: View, scopes: tuple[str, ...], tokens: Promise | None
    ) -> None:
        update_wrapper(self, view)
        self.view = view
        self.scopes = scopes
        self.tokens = tokens

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def admit(self, caller: Caller) -> None:
        """Raise NotAllowed for a client token that is not valid here, ScopeMissing or PersonNeeded."""
        if self.tokens is not CONFINED:
            refuse_tokens(caller, self.tokens)
        if self.scopes:
            caller.require(*self.scopes)


class Endpoint(Framed):
    """A view of one method for programs, `view(request, caller, ...)`, whose refusals become problem documents.

    Views that create requests are counted against the rate limit before the body is read. `refuse` converts refusals to another
    format; `headers` are added to every response.
    """

    def __init__(
        self,
        view: View,
        method: str,
        *scopes: str,
        tokens: Promise | None = ELSEWHERE,
        counts: bool = False,
        refuse: Callable[[HttpRequest, Refusal], HttpResponse] = refusal_page,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(view, scopes, tokens)
        self.method = method
        self.counts = counts
        self.refuse = refuse
        self.headers = headers or {}

    def __call__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            self.check(request)
        except Refusal as refusal:
            response = refusal_page(request, refusal)
        else:
            response = self._respond(request, *args, **kwargs)
        for name, value in self.headers.items():
            response.headers[name] = value
        return response

    def check(self, request: HttpRequest) -> None:
        """Raise WrongMethod."""
        if request.method != self.method and (request.method, self.method) != (
            "HEAD",
            "GET",
        ):
            raise WrongMethod(self.method)

    def _respond(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            caller = caller_of(request)
            self.admit(caller)
            return self.view(
                request, counted(caller) if self.counts else caller, *args, **kwargs
            )
        except Refusal as refusal:
            return self.refuse(request, refusal)


def endpoint(method: str, *scopes: str, **more: Any) -> Callable[[View], Endpoint]:
    """Decorate a view as an `Endpoint`; the arguments are documented there."""
    return lambda view: Endpoint(view, method, *scopes, **more)


def refuse_tokens(caller: Caller, message: Promise = ELSEWHERE) -> None:
    """Raise NotAllowed for a client token."""
    if caller.confined_to is not None:
        raise NotAllowed(str(message))


def counted(caller: Caller) -> Caller:
    """Count one more request against the rate limit, which a key or person shares with their client tokens. Raise TooMany.

    Each agent of an issuer's tokens has a limit of its own.

    A call counts once: the returned caller is marked as counted.
    """
    if caller.counted:
        return caller
    counted_as = f"{caller.scope} {caller.agent}"
    rate_limits.asks.count(counted_as, settings.HITL_ASKS_PER_MINUTE)
    return replace(caller, counted=True)


def reaches(caller: Caller, thread: str, *, owner: int | None = None) -> bool:
    """Return whether a caller may use the chat with this id; a client token is limited to one chat of its user.

    Ids are unique per owner. Without `owner`, the chat is looked up among the caller's own.
    """
    return caller.confined_to is None or (
        thread == caller.confined_to and owner in {None, caller.user.pk}
    )


def own_thread(caller: Caller) -> str:
    """Return the id of a client token's chat; empty for a key or a session."""
    return caller.confined_to or ""


def thread_of(request: HttpRequest) -> str:
    """Return `?thread=`, or "". Raise Invalid."""
    thread = request.GET.get("thread", "")
    try:
        canonical(thread)
    except NotCanonical as error:
        raise Invalid(
            _("The thread is invalid."), {"thread": translated(error)}
        ) from error
    if len(thread) > MAX_THREAD:
        raise Invalid(
            _("The thread is invalid."),
            {
                "thread": _("is longer than %(limit)s characters")
                % {"limit": MAX_THREAD}
            },
        )
    return thread


def wait_of(
    request: HttpRequest, *, limit: int, default: int = 0, error: str = ""
) -> float:
    """Return `?wait=` in seconds. Raise Invalid, with the message `error` if given."""
    text = request.GET.get("wait", str(default))
    if _SECONDS.fullmatch(text) and float(text) <= limit:
        return float(text)
    message = error or _("must be a number of seconds from 0 to %(limit)s") % {
        "limit": limit
    }
    raise invalid_parameter("wait", message)


def invalid_parameter(name: str, error: str) -> Invalid:
    return Invalid(
        _("The `%(name)s` parameter is invalid.") % {"name": name}, {name: error}
    )
