"""The pool: a connection in steady use is not checked, and one that broke while idle is replaced."""

from __future__ import annotations

import math
from collections.abc import Iterator

import pytest
from django.db import connection
from psycopg import OperationalError
from psycopg_pool import ConnectionPool

from hitlsite import env
from hitlsite.server.pooled import REST, PooledConnection

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def pool() -> Iterator[ConnectionPool[PooledConnection]]:
    """A pool as Django makes it from our settings, of a single connection: it has no other to lend."""
    given = {**connection.get_connection_params(), "autocommit": True}
    with ConnectionPool(kwargs=given, open=True, check=ConnectionPool.check_connection, **env._pool(1)) as made:
        made.wait()
        yield made


def used_and_broken(pool: ConnectionPool[PooledConnection]) -> PooledConnection:
    """Return a connection that was given back to the pool and then closed by the server."""
    with pool.connection() as used:
        pass
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 60000)", [used.info.backend_pid])
    return used


def test_a_connection_that_was_just_used_is_not_checked(pool):
    broken = used_and_broken(pool)
    broken.taken_at = math.inf  # just now, however slow the machine is

    def use() -> None:
        with pool.connection() as taken:
            assert taken is broken
            taken.execute("SELECT 1")

    with pytest.raises(OperationalError):
        use()
    with pool.connection() as taken:
        assert taken.execute("SELECT 1").fetchone() == (1,)


def test_a_connection_that_broke_while_it_rested_is_replaced(pool):
    broken = used_and_broken(pool)
    broken.taken_at -= REST
    with pool.connection() as taken:
        assert (taken is broken, taken.execute("SELECT 1").fetchone()) == (False, (1,))
