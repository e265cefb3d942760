"""The cursor that prepared statements share."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, connection

from approvals.db.prepared import _numbered, cursor_of
from tests.support.people import alice


@pytest.mark.django_db
def test_all_statements_of_a_connection_share_one_cursor():
    first, second = cursor_of(connection), cursor_of(connection)
    assert first.cursor is second.cursor


@pytest.mark.django_db(transaction=True)
def test_a_new_connection_has_a_new_cursor():
    before = cursor_of(connection)
    connection.close()
    after = cursor_of(connection)
    after.execute("SELECT 1", [])
    assert (after.fetchall(), after.cursor is before.cursor) == ([(1,)], False)


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_failed_leaves_the_cursor_usable():
    name = alice().username
    cursor = cursor_of(connection)
    with pytest.raises(IntegrityError):
        cursor.execute("UPDATE auth_user SET username = NULL WHERE username = %s", [name])
    cursor.execute("SELECT username FROM auth_user WHERE username = %s", [name])
    assert cursor.fetchall() == [("alice",)]


def test_places_are_numbered_and_percent_signs_stay():
    assert _numbered("SELECT %s WHERE a LIKE '5%%s' AND b = %s") == "SELECT $1 WHERE a LIKE '5%s' AND b = $2"


@pytest.mark.django_db
def test_a_statement_with_more_values_than_psycopg_keeps_a_parse_of():
    places = ", ".join(["%s"] * 60)
    cursor = cursor_of(connection)
    cursor.execute(f"SELECT {places}", list(range(60)))
    assert cursor.fetchall() == [tuple(range(60))]
