"""Daphne with backpressure for responses and WebSockets, a limit on bodies, and a start-up line with its address.

Daphne buffers whatever an application sends, so a long download to a slow client, or a page that does not read its socket, would
fill the memory. And it stores a whole body before it calls the application.
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

from hitlsite.server.handler import (
    LARGE_BODY,
    LONG_ADDRESS,
    LONG_HEADERS,
    MAX_BODY,
    Bound,
    Headers,
    refusal,
)

#: Bytes of a refused body that are read and dropped, so that the client can read the response; then the connection is cut.
DROPPED = 8 * MAX_BODY
#: Limit on unread bytes of a WebSocket, and seconds to read them. After that, pushed messages are dropped.
MAX_UNSENT = 1_048_576
UNSENT_SECONDS = 5.0
#: The close code in that case, after which `live.js` reloads the page.
BEHIND = 4413


@implementer(IPushProducer)
class FlowControl:
    """Blocks the writer until the client has read the sent data; called by Twisted."""

    def __init__(self) -> None:
        self._open = asyncio.Event()
        self._open.set()

    def pauseProducing(self) -> None:
        self._open.clear()

    def resumeProducing(self) -> None:
        self._open.set()

    def stopProducing(self) -> None:
        self._open.set()

    async def wait_until_open(self) -> None:
        await self._open.wait()


class UnsentCount(FlowControl):
    """Counts the bytes sent to a WebSocket while its client does not read."""

    def __init__(self) -> None:
        super().__init__()
        self._unsent = 0

    async def has_room(self, size: int) -> bool:
        """Wait for the client to read earlier messages, and return whether another one may be sent. If so, count it."""
        if not self._open.is_set() and self._unsent + size > MAX_UNSENT:
            try:
                async with asyncio.timeout(UNSENT_SECONDS):
                    await self.wait_until_open()
            except TimeoutError:
                return False
        self._unsent = size if self._open.is_set() else self._unsent + size
        return True


class BoundedRequest(WebRequest):
    """A request that is refused as soon as it is known to be too large."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        # Django reads the body. Twisted would parse forms too, on the event loop, and use its mail parser to find out that a body
        # is JSON.
        super().__init__(*args, parsePOSTFormSubmission=False, **kwargs)
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
        """Respond in the middle of the request, which Twisted does not support itself, and discard its body."""
        self._refused = True
        self.content = BytesIO()
        sent = self.requestHeaders.getAllRawHeaders()
        headers = [(name, value) for name, values in sent for value in values]
        self.channel.transport.write(response_bytes(LARGE_BODY, headers))


def response_bytes(bound: Bound, headers: Headers = ()) -> bytes:
    """Return a whole response as bytes, for a request to which Twisted itself can no longer respond."""
    named, body = refusal(bound, headers)
    first = f"HTTP/1.1 {bound.status} {bound.title}".encode()
    return b"\r\n".join(
        [first, *(name + b": " + value for name, value in named), b"", body]
    )


#: Twisted's class has no types.
_Channel: Any = HTTPChannel


class BoundedChannel(_Channel):
    """Respond with 414 or 431 where Twisted closes the connection or responds with a bare 400."""

    _dropped: int | None = None

    def lineReceived(self, line: bytes) -> None:
        if self._receivedHeaderSize + len(line) + 2 > self.totalHeadersSize:
            self.lineLengthExceeded(line)
        elif self._dropped is None:
            super().lineReceived(line)

    def lineLengthExceeded(self, line: bytes) -> None:
        if self._dropped is None:
            self._dropped = 0
            # If no header was read yet, the long line is the request line.
            self.transport.write(
                response_bytes(
                    LONG_HEADERS if self._receivedHeaderSize else LONG_ADDRESS
                )
            )
            # Close only our side: a reset while the client still sends would lose the response.
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


# Daphne's server looks up its factory by this name and has no option for another.
server.HTTPFactory = BoundedFactory


class DeskServer(server.Server):
    """Print the address after binding it, and send each piece of a response when the client has read the previous ones."""

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        host, number = self.listening_addresses[-1]
        shown = f"[{host}]" if ":" in host else host
        message = _("Pausepoint is listening on %(url)s (press Ctrl+C to stop)")
        print(message % {"url": f"http://{shown}:{number}/"}, flush=True)

    def listen_error(self, failure: Any) -> None:
        self.stop()  # the command reports the reason in one line

    async def handle_reply(self, protocol: Any, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send" and not await _has_room(
            protocol, message
        ):
            protocol.sendClose(code=BEHIND)
            return
        in_pieces = (
            message["type"] == "http.response.body" and protocol.channel is not None
        )
        more = in_pieces and message.get("more_body", False)
        if more and protocol.producer is None:
            protocol.registerProducer(FlowControl(), True)
        elif in_pieces and not more and protocol.producer is not None:
            protocol.unregisterProducer()
        await super().handle_reply(protocol, message)
        if more and isinstance(protocol.producer, FlowControl):
            await protocol.producer.wait_until_open()


async def _has_room(protocol: Any, message: dict[str, Any]) -> bool:
    """Return whether a message may be sent to a WebSocket, whose unread bytes are limited."""
    transport = protocol.transport
    if transport is None:
        return True
    if not isinstance(transport.producer, UnsentCount):
        # The producer of the connection while it was still HTTP.
        transport.unregisterProducer()
        transport.registerProducer(UnsentCount(), True)
    content = message.get("bytes") or (message.get("text") or "").encode()
    return bool(await transport.producer.has_room(len(content)))
