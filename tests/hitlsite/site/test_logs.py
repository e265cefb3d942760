"""What is in the log: our own mistakes with all that led to them, once; of what clients do wrong a line at most."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from approvals.live import doorbell
from approvals.live.redis_layer import PatientLayer
from approvals.runtime.failures import Trouble
from tests.hitlsite.site.test_outages import away
from tests.support.processes.ports import free_port


async def test_a_ring_that_is_lost_because_redis_is_away_is_one_line(monkeypatch, caplog):
    layer = PatientLayer(hosts=[f"redis://127.0.0.1:{free_port()}/0"])
    monkeypatch.setattr(doorbell, "get_channel_layer", lambda: layer)
    monkeypatch.setattr(doorbell, "_lost", Trouble(doorbell.logger, "Rings are lost (%s).", "Rings arrive again."))
    await doorbell._send("desk", {"type": "news"})
    await layer.flush()
    (record,) = caplog.records
    assert re.match(r"Rings are lost \(ConnectionError: .*127\.0\.0\.1:\d+", record.getMessage())
    assert not record.exc_info


async def test_a_ring_that_is_lost_by_a_mistake_of_ours_has_its_traceback(caplog):
    await doorbell._send("no group's name!", {"type": "news"})
    (record,) = caplog.records
    assert record.exc_info[0] is TypeError


@pytest.mark.django_db
def test_a_page_that_fails_before_its_view_while_the_database_is_away_is_one_line_too(client, caplog, settings):
    settings.DEBUG = False
    client.raise_request_exception = False
    client.cookies["sessionid"] = "a" * 32
    with connection.execute_wrapper(away):
        assert client.get("/").status_code == 503
    assert [(record.name, bool(record.exc_info)) for record in caplog.records] == [("hitlsite.server.outages", False)]
