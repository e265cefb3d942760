"""The frame around every view for programs: who calls, what a client token may do, and the limit on asking."""

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
from approvals.exceptions import Invalid, NotAllowed, Refusal, ScopeMissing, WrongMethod
from approvals.http import refusal_page
from approvals.text.translation import translated

#: What a client token is told where it does not work, which is everywhere but where a view says that it confines it.
ELSEWHERE = gettext_lazy("A client token only works for its own chat. Use an API key.")
#: A view that takes client tokens, and asks `reaches` for which chat.
CONFINED = None

View = Callable[..., HttpResponse]
MAX_THREAD = MAX_LENGTHS["tool_call_id"]
_SECONDS = re.compile(r"\d{1,4}(\.\d{1,3})?", re.ASCII)


class Framed:
    """A view behind the frame. Its callers need one of the scopes; `tokens` is why it refuses client tokens, or CONFINED."""

    def __init__(self, view: View, scopes: tuple[str, ...], tokens: Promise | None) -> None:
        update_wrapper(self, view)
        self.view, self.scopes, self.tokens = view, scopes, tokens

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def admit(self, caller: Caller) -> None:
        """Raise NotAllowed for a client token that does not work here, and ScopeMissing."""
        if self.tokens is not CONFINED:
            refuse_tokens(caller, self.tokens)
        if self.scopes and caller.scopes.isdisjoint(self.scopes):
            raise ScopeMissing(self.scopes[-1])


class Endpoint(Framed):
    """A view of one method for programs, `view(request, caller, ...)`, whose refusals are problem documents.

    One that asks `counts` before it reads the body. `refuse` answers refusals of the view in another form; `headers` are
    those of every response.
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
        self.method, self.counts, self.refuse, self.headers = method, counts, refuse, headers or {}

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
        if request.method != self.method and (request.method, self.method) != ("HEAD", "GET"):
            raise WrongMethod(self.method)

    def _respond(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            caller = caller_of(request)
            self.admit(caller)
            return self.view(request, counted(caller) if self.counts else caller, *args, **kwargs)
        except Refusal as refusal:
            return self.refuse(request, refusal)


def endpoint(method: str, *scopes: str, **more: Any) -> Callable[[View], Endpoint]:
    """Decorate a view as an `Endpoint`, which explains the arguments."""
    return lambda view: Endpoint(view, method, *scopes, **more)


def refuse_tokens(caller: Caller, message: Promise = ELSEWHERE) -> None:
    """Raise NotAllowed for a client token."""
    if caller.confined_to is not None:
        raise NotAllowed(str(message))


def counted(caller: Caller) -> Caller:
    """Count one more request against the rate limit, which a key or person shares with their client tokens. TooMany.

    A call counts once: the caller that is returned is counted already.
    """
    if caller.counted:
        return caller
    rate_limits.asks.count(caller.scope, settings.HITL_ASKS_PER_MINUTE)
    return replace(caller, counted=True)


def reaches(caller: Caller, thread: str, *, owner: int | None = None) -> bool:
    """Return whether a caller may use the chat with this id: a client token, only the one of its user that it is for.

    Ids are unique per owner. Without `owner`, the chat is looked up among the caller's own.
    """
    return caller.confined_to is None or (thread == caller.confined_to and owner in {None, caller.user.pk})


def own_thread(caller: Caller) -> str:
    """Return the id of the chat that a client token is for; empty for a key or a session."""
    return caller.confined_to or ""


def thread_of(request: HttpRequest) -> str:
    """Return `?thread=`, or "". Raises Invalid."""
    thread = request.GET.get("thread", "")
    try:
        canonical(thread)
    except NotCanonical as error:
        raise Invalid(_("The thread is invalid."), {"thread": translated(error)}) from error
    if len(thread) > MAX_THREAD:
        raise Invalid(
            _("The thread is invalid."), {"thread": _("is longer than %(limit)s characters") % {"limit": MAX_THREAD}}
        )
    return thread


def wait_of(request: HttpRequest, *, limit: int, default: int = 0, error: str = "") -> float:
    """Return `?wait=` in seconds. Raises Invalid, with `error` if that is given."""
    text = request.GET.get("wait", str(default))
    if _SECONDS.fullmatch(text) and float(text) <= limit:
        return float(text)
    message = error or _("must be a number of seconds from 0 to %(limit)s") % {"limit": limit}
    raise invalid_parameter("wait", message)


def invalid_parameter(name: str, error: str) -> Invalid:
    return Invalid(_("The `%(name)s` parameter is invalid.") % {"name": name}, {name: error})
