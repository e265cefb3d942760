"""Constants in SQL."""

from __future__ import annotations

from django.db.models.expressions import RawSQL


def literal(word: str) -> RawSQL:
    """Return a constant that is part of the SQL, for `filter(status=literal(Status.PENDING))`.

    As a parameter, PostgreSQL could not use an index whose condition names it in a plan for any parameters.
    """
    assert word.isidentifier(), word
    return RawSQL(f"'{word}'", [])  # noqa: S611 - an identifier
