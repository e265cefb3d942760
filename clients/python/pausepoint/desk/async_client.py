"""The client for asyncio: the methods of `Desk`, with `await`."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self, Unpack

import httpx

from . import asking, requests, resuming
from .asking import Asked
from .outcomes import Outcome
from .resuming import LEASE, Resume
from .transport import LIMITS, Call, Flow, Key, Pause, Reply, Settings, T, response_of


class AsyncDesk(Settings):
    """A client for asyncio: hundreds of calls can wait at once."""

    def __init__(
        self,
        address: str = "",
        key: Key = "",
        *,
        patience: float = 300.0,
        secret: str = "",
    ) -> None:
        super().__init__(address, key, patience=patience, secret=secret)
        #: A connection belongs to an event loop; frameworks whose agents are called without one start a loop for each call.
        self._clients: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    @property
    def _http(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            for ended in [each for each in list(self._clients) if each.is_closed()]:
                self._clients.pop(ended, None)
            self._clients[loop] = httpx.AsyncClient(limits=LIMITS)
        return self._clients[loop]

    async def await_human(
        self,
        title: str,
        *,
        idempotency_key: str = "",
        give_up_after: float | None = None,
        **fields: Unpack[Asked],
    ) -> Outcome:
        """Like `Desk.await_human`."""
        return await self._run(
            asking.await_human(
                self.patience, title, idempotency_key, give_up_after, fields
            )
        )

    async def ask(
        self, title: str, *, idempotency_key: str = "", **fields: Unpack[Asked]
    ) -> dict[str, Any]:
        """Like `Desk.ask`."""
        return await self._run(
            asking.ask(self.patience, title, idempotency_key, fields)
        )

    async def wait(
        self, request_id: str, *, give_up_after: float | None = None
    ) -> Outcome:
        """Like `Desk.wait`."""
        return await self._run(asking.wait(self.patience, request_id, give_up_after))

    async def cancel(self, request_id: str, comment: str = "") -> Outcome:
        """Like `Desk.cancel`."""
        return await self._run(asking.cancel(self.patience, request_id, comment))

    async def report(
        self, outcome: Outcome, *, output: Any = None, error: str = ""
    ) -> None:
        """Like `Desk.report`."""
        await self._run(
            requests.report(
                self.patience,
                outcome,
                {"error": error} if error else {"output": output},
            )
        )

    async def get(self, request_id: str) -> dict[str, Any]:
        """Like `Desk.get`."""
        return await self._run(requests.get(self.patience, request_id))

    async def list(self, **filters: str) -> list[dict[str, Any]]:
        """Like `Desk.list`."""
        return await self._run(requests.pages(self.patience, "requests", filters))

    async def grants(self, **filters: str) -> Sequence[dict[str, Any]]:
        """Like `Desk.grants`."""
        return await self._run(requests.pages(self.patience, "grants", filters))

    async def revoke(self, grant_id: str, *, reason: str = "") -> dict[str, Any]:
        """Like `Desk.revoke`."""
        return await self._run(requests.revoke(self.patience, grant_id, reason))

    async def scopes(self) -> Sequence[dict[str, Any]]:
        """Like `Desk.scopes`."""
        return await self._run(requests.pages(self.patience, "scopes", {}))

    async def decide(
        self, request_id: str, verdict: str, *, comment: str = "", **fields: Any
    ) -> Outcome:
        """Like `Desk.decide`."""
        return await self._run(
            requests.decide(self.patience, request_id, verdict, comment, fields)
        )

    async def advise(
        self,
        request_id: str,
        hint: str,
        text: str,
        *,
        raise_priority: str | None = None,
        more_votes: int | None = None,
    ) -> dict[str, Any]:
        """Like `Desk.advise`."""
        return await self._run(
            requests.advise(
                self.patience, request_id, hint, text, raise_priority, more_votes
            )
        )

    async def end_workflow(
        self, workflow_id: str, outcome: str = "completed"
    ) -> dict[str, Any]:
        """Like `Desk.end_workflow`."""
        return await self._run(
            requests.end_workflow(self.patience, workflow_id, outcome)
        )

    @contextlib.asynccontextmanager
    async def resume(
        self, *request_ids: str, by: str = "", lease: int = LEASE
    ) -> AsyncIterator[Resume]:
        """Like `Desk.resume`, with `async with`."""
        resume = await self._run(resuming.take(self.patience, request_ids, by, lease))
        renewing = asyncio.create_task(self._keep(resume))
        try:
            yield resume
        except BaseException as error:
            resume.give_back(resume.returned or f"It failed: {type(error).__name__}.")
            raise
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)
            await self._run(resuming.leave(self.patience, resume))

    async def _keep(self, resume: Resume) -> None:
        while True:
            await asyncio.sleep(resume.lease / 3)
            await self._run(resuming.renew(resume))

    async def close(self) -> None:
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def _run(self, flow: Flow[T]) -> T:
        reply: Reply = None
        while True:
            try:
                step = flow.send(reply)
            except StopIteration as done:
                value: T = done.value
                return value
            if isinstance(step, Pause):
                await asyncio.sleep(step.seconds)
                reply = None
            else:
                reply = await self._call(step)

    async def _call(self, call: Call) -> Reply:
        try:
            return response_of(await self._http.request(**self._request(call)))
        except httpx.TransportError as error:
            return self._connection_lost(error)
