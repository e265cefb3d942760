"""Daphne reads of a body only how long it is."""

from __future__ import annotations

import asyncio

from twisted.internet.testing import StringTransport

from hitlsite.server.daphne import BoundedFactory, DeskServer


async def test_a_form_is_not_parsed_on_the_event_loop():
    bodies, requests = [], []

    async def application(scope, receive, send):
        bodies.append((await receive())["body"])

    server = DeskServer(application, endpoints=["tcp:0"])
    server.connections = {}
    connect = server.protocol_connected
    server.protocol_connected = lambda request: (requests.append(request), connect(request))
    sent = {
        "application/x-www-form-urlencoded": b"a=1",
        "multipart/form-data": b"no boundary",
        "application/json": b"{}",
    }
    for kind, body in sent.items():
        line = BoundedFactory(server).buildProtocol(None)
        line.makeConnection(StringTransport())
        head = f"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
        line.dataReceived(head.encode() + body)
    begun = [known for known in server.connections.values() if "application_instance" in known]
    await asyncio.gather(*(known["application_instance"] for known in begun))
    assert (bodies, [request.args for request in requests if request.uri == b"/"]) == ([*sent.values()], [{}, {}, {}])
