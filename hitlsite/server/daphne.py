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
from django.utils.translation import gettext as _
from twisted.internet.interfaces import IPushProducer
from twisted.web.http import HTTPChannel
from zope.interface import implementer

from hitlsite.server.body_limit import LARGE_BODY, LONG_ADDRESS, LONG_HEADERS, MAX_BODY, Bound, Headers, refusal

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
        sent = self.requestHeaders.getAllRawHeaders()
        headers = [(name, value) for name, values in sent for value in values]
        self.channel.transport.write(written(LARGE_BODY, headers))


def written(bound: Bound, headers: Headers = ()) -> bytes:
    """Return the whole response as bytes, for a request that Twisted cannot answer any more."""
    named, body = refusal(bound, headers)
    first = f"HTTP/1.1 {bound.status} {bound.title}".encode()
    return b"\r\n".join([first, *(name + b": " + value for name, value in named), b"", body])


#: Twisted's, whose methods have no types.
_Channel: Any = HTTPChannel


class BoundedChannel(_Channel):
    """Answers 414 or 431 where Twisted's own channel closes the connection or answers a bare 400."""

    _dropped: int | None = None

    def lineReceived(self, line: bytes) -> None:
        if self._receivedHeaderSize + len(line) + 2 > self.totalHeadersSize:
            self.lineLengthExceeded(line)
        elif self._dropped is None:
            super().lineReceived(line)

    def lineLengthExceeded(self, line: bytes) -> None:
        if self._dropped is None:
            self._dropped = 0
            # Without a header read so far, the line that is too long is the request line.
            self.transport.write(written(LONG_HEADERS if self._receivedHeaderSize else LONG_ADDRESS))
            # Close this side only: a reset, while the client still sends, would lose the answer.
            self.transport.loseWriteConnection()

    def dataReceived(self, data: bytes) -> None:
        if self._dropped is None:
            super().dataReceived(data)
            return
        self._dropped += len(data)
        if self._dropped > MAX_BODY:
            self.forceAbortClient()


class BoundedFactory(HTTPFactory):
    protocol = BoundedChannel

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
        words = _("Pausepoint is listening on %(url)s (press Ctrl+C to stop)")
        print(words % {"url": f"http://{shown}:{number}/"}, flush=True)

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
