"""Daphne as we run it: says where it listens, and lets a response wait for its client.

Daphne itself writes whatever an application sends at once, so a long download to a slow client would pile up in memory.
"""

from __future__ import annotations

import asyncio
from typing import Any

from daphne.server import Server
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer


@implementer(IPushProducer)
class Faucet:
    """Shut while the client has not taken what was written; Twisted turns it."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    def pauseProducing(self) -> None:
        self._open.clear()

    def resumeProducing(self) -> None:
        self._open.set()

    def stopProducing(self) -> None:
        self._open.set()

    async def flow(self) -> None:
        await self._open.wait()


class DeskServer(Server):
    """Prints its address when it listens; a response in pieces goes on when the client has taken the ones before."""

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        host, number = self.listening_addresses[-1]
        shown = f"[{host}]" if ":" in host else host
        print(f"Pausepoint listens on http://{shown}:{number}/ (Ctrl+C stops it)", flush=True)

    def listen_error(self, failure: Any) -> None:
        self.stop()  # the command says why, in one line

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        in_pieces = message["type"] == "http.response.body" and protocol.channel is not None
        more = in_pieces and message.get("more_body", False)
        if more and protocol.producer is None:
            protocol.registerProducer(Faucet(), True)
        elif in_pieces and not more and protocol.producer is not None:
            protocol.unregisterProducer()
        await super().handle_reply(protocol, message)
        if more and isinstance(protocol.producer, Faucet):
            await protocol.producer.flow()
