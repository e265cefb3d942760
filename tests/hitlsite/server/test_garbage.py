"""The memory of a process that serves."""

from __future__ import annotations

import pytest
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from hitlsite.server.garbage import keep_no_statements


@pytest.mark.django_db
def test_a_process_that_serves_keeps_no_statements_even_with_debug(settings, monkeypatch):
    settings.DEBUG = True
    monkeypatch.setattr(BaseDatabaseWrapper, "queries_limit", BaseDatabaseWrapper.queries_limit)
    keep_no_statements()
    connection = connections.create_connection("default")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        assert list(connection.queries_log) == []
    finally:
        connection.close()
