"""Where a client's request comes from, and what its call is recognized by when it is sent again."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID, uuid4

from django.utils.crypto import salted_hmac

from approvals.db.canonical_json import canonical
from approvals.models.actors import Actor
from approvals.states import CLIENT, Door


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualCalls:
    """What a call is recognized by: all equal calls of a client have the same `key`.

    A call with an id of its own (`named`) gets its decision again whenever it is sent again. All calls of one id have the same
    key, but those that ask something else are other calls. Calls without an id share a request while it waits, and one of them
    takes the decision: `taker` identifies this call, `taken_by` says for people which one it is, and `by` and `via` go on
    record. A result that was reported ends both, unless a named call `returns_results`: it then gets its request with the
    result.
    """

    key: str
    named: bool
    taker: str
    taken_by: str
    by: Actor
    via: Door
    returns_results: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a client's request comes from.

    `scope` is the client, `source` the way the request came, `digest` is over everything that was sent. Without a
    `workflow` the request gets one of its own, which has its id as key, and ends with it. `calls` is for clients that
    repeat calls, in place of an `idempotency_key`. `resume_state` is what the run behind it continues from.
    """

    scope: str
    digest: str
    source: str = CLIENT
    workflow: str = ""
    workflow_title: str = ""
    thread_id: str = ""
    agent: str = ""
    idempotency_key: str | None = None
    calls: EqualCalls | None = None
    resume_state: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """By what a new request is known, and its call when it is sent again.

    `ask_digest` is over everything that its client sent. `taker` is empty if one of several equal calls has to take the decision.
    """

    id: UUID = field(default_factory=uuid4)
    idempotency_key: str | None = None
    ask_digest: str = ""
    taker: str | None = None


def key_of_calls(kind: str, *parts: object) -> str:
    """Return the key of equal calls, which `parts` describe. No client can compute it, and so send it as a key of its own."""
    return kind + salted_hmac(__name__, canonical(list(parts)), algorithm="sha256").hexdigest()
