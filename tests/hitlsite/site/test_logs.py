"""The log: our own errors once with a traceback, errors of clients in one line at most."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from approvals.db.failures import OutageLog
from approvals.live import doorbell
from approvals.live.redis_layer import ReconnectingLayer
from tests.hitlsite.site.test_outages import away
from tests.support.processes.ports import free_port


async def test_a_notification_lost_in_a_redis_outage_is_logged_in_one_line(monkeypatch, caplog):
    layer = ReconnectingLayer(hosts=[f"redis://127.0.0.1:{free_port()}/0"])
    monkeypatch.setattr(doorbell, "get_channel_layer", lambda: layer)
    monkeypatch.setattr(
        doorbell, "_outage", OutageLog(doorbell.logger, "Notifications are lost (%s).", "They arrive again.")
    )
    await doorbell.send("desk", {"type": "news"})
    await layer.flush()
    (record,) = caplog.records
    assert re.match(r"Notifications are lost \(ConnectionError: .*127\.0\.0\.1:\d+", record.getMessage())
    assert not record.exc_info


async def test_a_notification_lost_through_a_bug_is_logged_with_a_traceback(caplog):
    await doorbell.send("no group's name!", {"type": "news"})
    (record,) = caplog.records
    assert record.exc_info[0] is TypeError


@pytest.mark.django_db
def test_a_database_outage_in_middleware_is_logged_in_one_line(client, caplog, settings):
    settings.DEBUG = False
    client.raise_request_exception = False
    client.cookies["sessionid"] = "a" * 32
    with connection.execute_wrapper(away):
        assert client.get("/").status_code == 503
    assert [(record.name, bool(record.exc_info)) for record in caplog.records] == [("hitlsite.server.outages", False)]
