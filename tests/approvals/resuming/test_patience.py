"""How long the client asks again when Pausepoint cannot be reached."""

from __future__ import annotations

import pytest
from pausepoint import Desk, Unreachable
from pausepoint.desk import client as clients
from pausepoint.desk import transport

from tests.support.processes.ports import free_port


class Clock:
    """Goes on only where the client pauses."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.mark.parametrize("patience", [0, 1, 300])
def test_a_server_that_is_gone_is_unreachable_after_the_patience_and_no_later(monkeypatch, patience):
    clock = Clock()
    monkeypatch.setattr(clients, "time", clock)
    monkeypatch.setattr(transport, "time", clock)
    with Desk(f"http://127.0.0.1:{free_port()}", "pp_x", patience=patience) as client, pytest.raises(Unreachable):
        client.get("id")
    assert clock.now == pytest.approx(1000 + patience)


def test_patience_counts_from_the_first_failure(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(transport, "time", clock)
    call = transport.Call("GET", "/requests/id?wait=50", seconds=70)
    talk = transport.sure(call, 10)
    assert next(talk) is call
    # It was held for a minute, and is then lost, as in a restart.
    clock.now += 60
    assert isinstance(talk.send(transport.ConnectionLost("gone")), transport.Pause)
    assert talk.send(None) is call
    with pytest.raises(StopIteration) as ended:
        talk.send(transport.Response(200, b'{"status": "approved"}'))
    assert ended.value.value == {"status": "approved"}
