"""The origin of a client's request, and the identity of repeated calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import UUID, uuid4

from django.utils.crypto import salted_hmac

from approvals.db.canonical_json import canonical
from approvals.models.actors import Actor
from approvals.states import CLIENT, Door


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualCalls:
    """The identity of a repeated call: all equal calls of a client have the same `key`.

    A call with an id of its own (`named`) gets the same decision each time it is sent. Calls with one id have the same key, but
    count as different calls if their content differs. Calls without an id share a request while it is pending, and one of them
    consumes the decision: `taker` identifies this call, `taken_by` describes it for people, and `by` and `via` go on record. A
    reported result ends both, unless a named call `returns_results`: it then gets its request with the result.
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
    """The origin of a client's request.

    `scope` is the client, `source` the channel, `digest` covers everything that was sent. Without a `workflow` the request gets
    one of its own, which has its id as key and ends with it. `calls` is for clients that repeat calls, in place of an
    `idempotency_key`. `resume_state` is the state from which the run continues.
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
    """The identity of a new request, and of its call when it is sent again.

    `ask_digest` covers everything that the client sent. `taker` is set if only one of several equal calls may consume the
    decision.
    """

    id: UUID = field(default_factory=uuid4)
    idempotency_key: str | None = None
    ask_digest: str = ""
    taker: str | None = None


def key_of_calls(kind: str, *parts: object) -> str:
    """Return the key of equal calls, described by `parts`. Clients cannot compute it, so they cannot send it as their own."""
    return (
        kind
        + salted_hmac(__name__, canonical(list(parts)), algorithm="sha256").hexdigest()
    )
