"""The client that blocks while it waits."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any, Self, Unpack

import httpx

from . import asking, requests, resuming
from .asking import Asked
from .outcomes import Outcome
from .resuming import LEASE, Resume
from .transport import LIMITS, Call, Flow, Key, Pause, Reply, Settings, T, response_of


class Desk(Settings):
    """A client that blocks while it waits. Safe to share between threads."""

    def __init__(
        self,
        address: str = "",
        key: Key = "",
        *,
        patience: float = 300.0,
        secret: str = "",
    ) -> None:
        super().__init__(address, key, patience=patience, secret=secret)
        self._http = httpx.Client(limits=LIMITS)

    def await_human(
        self,
        title: str,
        *,
        idempotency_key: str = "",
        give_up_after: float | None = None,
        **fields: Unpack[Asked],
    ) -> Outcome:
        """Ask a person and wait for the outcome, however long that takes. Raise Refused or Unreachable.

        `give_up_after` (seconds) raises StillWaiting; `timeout` is the deadline of the request itself.
        """
        return self._run(
            asking.await_human(
                self.patience, title, idempotency_key, give_up_after, fields
            )
        )

    def ask(
        self, title: str, *, idempotency_key: str = "", **fields: Unpack[Asked]
    ) -> dict[str, Any]:
        """Ask without waiting; return the request (`id`, `url`, `status`, ...). Raise Refused or Unreachable."""
        return self._run(asking.ask(self.patience, title, idempotency_key, fields))

    def wait(self, request_id: str, *, give_up_after: float | None = None) -> Outcome:
        """Wait for the outcome of a request. Raise StillWaiting, Refused or Unreachable."""
        return self._run(asking.wait(self.patience, request_id, give_up_after))

    def cancel(self, request_id: str, comment: str = "") -> Outcome:
        """Cancel a request. Raise Refused (`already_decided`: someone decided it first) or Unreachable."""
        return self._run(asking.cancel(self.patience, request_id, comment))

    def report(self, outcome: Outcome, *, output: Any = None, error: str = "") -> None:
        """Record the output or the error of the approved call. Raise Refused or Unreachable."""
        self._run(
            requests.report(
                self.patience,
                outcome,
                {"error": error} if error else {"output": output},
            )
        )

    def get(self, request_id: str) -> dict[str, Any]:
        """Return a request. Raise Refused or Unreachable."""
        return self._run(requests.get(self.patience, request_id))

    def list(self, **filters: str) -> list[dict[str, Any]]:
        """Return the requests that the key's user may see, newest first: `status="pending"`, `tool="refund"`, ...

        Raise Refused or Unreachable.
        """
        return self._run(requests.pages(self.patience, "requests", filters))

    def grants(self, **filters: str) -> Sequence[dict[str, Any]]:
        """Return the grants that the key's user may see, newest first: `tool="refund"`, `state="all"`, ...

        Raise Refused or Unreachable.
        """
        return self._run(requests.pages(self.patience, "grants", filters))

    def revoke(self, grant_id: str, *, reason: str = "") -> dict[str, Any]:
        """End a grant, so that its calls need a person again. It needs a key with the scope `grant`.

        Raise Refused or Unreachable.
        """
        return self._run(requests.revoke(self.patience, grant_id, reason))

    def scopes(self) -> Sequence[dict[str, Any]]:
        """Return the approver scopes, oldest first; they define who may see, answer and decide which requests.

        It needs a key with the scope `audit`, of an administrator or a person who may read the whole audit log. Raise Refused or
        Unreachable.
        """
        return self._run(requests.pages(self.patience, "scopes", {}))

    def decide(
        self, request_id: str, verdict: str, *, comment: str = "", **fields: Any
    ) -> Outcome:
        """Decide a request: `approve`, `reject`, `edit` (with `edited_input`) or `respond` (with `answer`).

        A file in the answer is a `Path`, or `{"name", "content"}` with bytes. It needs a key with the scope `decide`, of a user
        other than the requester. If several people decide it, this is a vote, and the status may still be `pending`. Raise
        Refused (`already_decided`: someone was first) or Unreachable.
        """
        return self._run(
            requests.decide(self.patience, request_id, verdict, comment, fields)
        )

    def advise(
        self,
        request_id: str,
        hint: str,
        text: str,
        *,
        raise_priority: str | None = None,
        more_votes: int | None = None,
    ) -> dict[str, Any]:
        """Advise people on a request: `looks_fine`, `look_closer` or `looks_wrong`, and why. It decides nothing.

        `raise_priority` is the minimum priority of the request; `more_votes` (1 to 3) is the number of additional approvals. It
        needs a key other than the one that asked, with the scope `advise`. Raise Refused (`already_decided`: someone decided
        before; `conflict`: the request cannot need so many votes) or Unreachable.
        """
        return self._run(
            requests.advise(
                self.patience, request_id, hint, text, raise_priority, more_votes
            )
        )

    def end_workflow(
        self, workflow_id: str, outcome: str = "completed"
    ) -> dict[str, Any]:
        """End a workflow as `completed`, `failed` or `cancelled`, and cancel its waiting requests.

        Raise Refused or Unreachable.
        """
        return self._run(requests.end_workflow(self.patience, workflow_id, outcome))

    @contextlib.contextmanager
    def resume(
        self, *request_ids: str, by: str = "", lease: int = LEASE
    ) -> Iterator[Resume]:
        """Resume the run that waits for these requests, in no other process at the same time.

            with desk.resume(request_id) as resume:
                continue_run(resume.state, resume.outcomes[request_id])

        At the end of the block the resume is completed for good; an error releases it. The lease (seconds) is renewed meanwhile;
        if that fails, `resume.lost` is True. Raise Refused (`resume_taken`, `already_resumed`: another process was first;
        `not_decided`), LeaseLost at the end if another process has claimed it meanwhile, or Unreachable.
        """
        resume = self._run(resuming.take(self.patience, request_ids, by, lease))
        over = threading.Event()
        renewing = threading.Thread(target=self._keep, args=(resume, over), daemon=True)
        renewing.start()
        try:
            yield resume
        except BaseException as error:
            resume.give_back(resume.returned or f"It failed: {type(error).__name__}.")
            raise
        finally:
            over.set()
            renewing.join()
            self._run(resuming.leave(self.patience, resume))

    def _keep(self, resume: Resume, over: threading.Event) -> None:
        while not over.wait(resume.lease / 3):
            self._run(resuming.renew(resume))

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as done:
                value: T = done.value
                return value
            if isinstance(step, Pause):
                time.sleep(step.seconds)
                reply = None
            else:
                reply = self._call(step)

    def _call(self, call: Call) -> Reply:
        try:
            return response_of(self._http.request(**self._request(call)))
        except httpx.TransportError as error:
            return self._connection_lost(error)
