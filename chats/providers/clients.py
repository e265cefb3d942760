"""Clients of a provider's SDK."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

import httpx2

Client = TypeVar("Client")


class Clients(Generic[Client]):
    """One client for each event loop, to which its connections belong."""

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[Client]]
    ) -> None:
        self._connect = connect
        self._of_loops: WeakKeyDictionary[
            asyncio.AbstractEventLoop, tuple[Client, AsyncGenerator[Client, None]]
        ] = WeakKeyDictionary()

    async def of_loop(self) -> Client:
        """Return the client of the running event loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._of_loops:
            keeper = self._keep()
            self._of_loops[loop] = await anext(keeper), keeper
        return self._of_loops[loop][0]

    async def _keep(self) -> AsyncGenerator[Client, None]:
        """Keep a client open until its loop ends: an ending loop closes its generators, and with this one the client."""
        async with self._connect() as client:
            yield client


@cache
def trusted() -> ssl.SSLContext:
    """Return what httpx trusts by default, read once: for each client it would stop the event loop for 30 ms.

    SSL_CERT_FILE or SSL_CERT_DIR may name other certificates than those of the machine.
    """
    return httpx2.create_ssl_context()
