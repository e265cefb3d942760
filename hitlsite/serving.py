"""Daphne as we run it: says where it listens, lets a response wait for its client, and takes no body beyond the bound.

Daphne itself writes whatever an application sends at once, so a long download to a slow client would pile up in memory; and
it stores whatever a client sends before it asks anybody.
"""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import Any

from daphne import server
from daphne.http_protocol import HTTPFactory, WebRequest
from twisted.internet.interfaces import IPushProducer
from zope.interface import implementer

from hitlsite.bounds import MAX_BODY, refusal

#: So much of a refused body is read and dropped, so that its sender gets to read why; then the line is cut.
DROPPED = 8 * MAX_BODY


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


class BoundedRequest(WebRequest):
    """A request that is refused as soon as it is known to be too large."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read = 0
        self._refused = False

    def gotLength(self, length: int | None) -> None:
        if length is not None and length > MAX_BODY:
            self._refuse()
        else:
            super().gotLength(length)

    def handleContentChunk(self, data: bytes) -> None:
        self._read += len(data)
        if self._refused:
            if self._read > DROPPED:
                self.channel.forceAbortClient()
        elif self._read > MAX_BODY:
            self._refuse()
        else:
            super().handleContentChunk(data)

    def process(self) -> Any:
        if self._refused:
            return self.channel.loseConnection()
        return super().process()

    def _refuse(self) -> None:
        """Answer in the middle of the request, for which Twisted has no way of its own, and keep nothing of it."""
        self._refused = True
        self.content = BytesIO()
        headers, body = refusal(
            (name, value) for name, values in self.requestHeaders.getAllRawHeaders() for value in values
        )
        lines = [b"HTTP/1.1 413 Content Too Large", *(name + b": " + value for name, value in headers), b"", body]
        self.channel.transport.write(b"\r\n".join(lines))


class BoundedFactory(HTTPFactory):
    def buildProtocol(self, addr: Any) -> Any:
        protocol = super().buildProtocol(addr)
        protocol.requestFactory = BoundedRequest
        return protocol


# Daphne's server makes its factory by this name, and can be told of another in no other way.
server.HTTPFactory = BoundedFactory


class DeskServer(server.Server):
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
