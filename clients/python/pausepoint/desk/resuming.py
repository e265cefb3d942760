"""The right to resume a run, held by one process at a time."""

from __future__ import annotations

import contextlib
import math
import os
import socket
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import DeskError, LeaseLost, Refused, Unreachable, mapping, member
from .outcomes import NULL, Outcome, outcome_of
from .transport import GRACE, Call, Flow, place, sure

#: Lifetime of a resume lease in seconds, unless it is renewed.
LEASE = 60


@dataclass(frozen=True, slots=True)
class Taken:
    """The resume of one request. `document` is the whole response."""

    request_id: str
    token: str = field(repr=False)
    document: Mapping[str, Any] = field(repr=False)

    @property
    def outcome(self) -> Outcome:
        return outcome_of(self.document["request"])


@dataclass(slots=True)
class Resume:
    """The exclusive right to resume a run, from `desk.resume(...)`."""

    #: One for each request, in the order of the call.
    taken: Sequence[Taken]
    #: Lifetime in seconds; the lease is renewed three times in that time.
    lease: int
    #: When the lease expires unless it is renewed, by `time.monotonic()`.
    until: float
    #: Why it is finally released instead of completed.
    returned: str | None = None

    @property
    def state(self) -> str | None:
        """The `resume_state` of the first request that has one."""
        return next(
            (
                state
                for lease in self.taken
                if (state := lease.document.get("state")) is not None
            ),
            None,
        )

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """How the requests ended, by their ids."""
        return {lease.request_id: lease.outcome for lease in self.taken}

    @property
    def attempt(self) -> int:
        """1, or more if another process has held it before without completing it: that one may have run something."""
        return max(int(lease.document["attempt"]) for lease in self.taken)

    @property
    def lost(self) -> bool:
        """Whether the lease has expired, so that another process may run the same: stop as soon as you can."""
        return time.monotonic() >= self.until

    def give_back(self, reason: str = "") -> None:
        """At the end of the `with` block, release the resume lease instead of completing it."""
        self.returned = reason


def take(
    patience: float, request_ids: Sequence[str], by: str, lease: int
) -> Flow[Resume]:
    """Claim the resume leases of all requests or of none."""
    taken: dict[str, Taken] = {}
    until = time.monotonic() + lease
    try:
        # In the same order everywhere, so that two processes never each hold a part.
        for request_id in sorted(set(request_ids)):
            body = {
                "by": by or f"{socket.gethostname()}:{os.getpid()}",
                "lease_seconds": lease,
            }
            headers = {"Idempotency-Key": str(uuid.uuid4())}
            claim = yield from sure(
                Call("POST", place("requests", request_id, "/resume"), body, headers),
                patience,
            )
            taken[request_id] = Taken(request_id, member(claim, "token", str), claim)
            member(claim, "state", str, NULL)
            member(claim, "attempt", int)
            outcome_of(member(claim, "request", Mapping))
    except DeskError:
        yield from give_back(
            list(taken.values()), "Another request of the same run is not free."
        )
        raise
    return Resume(
        [taken[request_id] for request_id in dict.fromkeys(request_ids)], lease, until
    )


def renew(resume: Resume) -> Flow[None]:
    """Renew the lease of all requests. If one is lost, all are."""
    until = time.monotonic() + resume.lease
    try:
        for lease in resume.taken:
            body = {"token": lease.token, "lease_seconds": resume.lease}
            path = place("requests", lease.request_id, "/resume/renew")
            yield from sure(
                Call("POST", path, body, seconds=resume.lease / 3), resume.lease / 3
            )
        resume.until = until
    except Refused:
        resume.until = -math.inf
    except Unreachable:
        # The lease expires, unless a later attempt is in time.
        return


def give_back(taken: Sequence[Taken], reason: str) -> Flow[None]:
    """Release claimed leases; those that cannot be released expire."""
    for lease in taken:
        body = {"token": lease.token, "reason": reason[:2000]}
        with contextlib.suppress(DeskError):
            yield from sure(
                Call(
                    "POST", place("requests", lease.request_id, "/resume/release"), body
                ),
                GRACE,
            )


def complete(patience: float, resume: Resume) -> Flow[None]:
    for lease in resume.taken:
        path = place("requests", lease.request_id, "/resume/complete")
        try:
            yield from sure(Call("POST", path, {"token": lease.token}), patience)
        except Refused as refused:
            if refused.code not in {"resume_lost", "already_resumed"}:
                raise
            raise LeaseLost(
                lease.request_id,
                str(mapping(refused.problem.get("resume")).get("by") or ""),
            ) from refused


def leave(patience: float, resume: Resume) -> Flow[None]:
    """Complete a resume, or release it if that was requested."""
    if resume.returned is None:
        yield from complete(patience, resume)
    else:
        yield from give_back(resume.taken, resume.returned)
