"""Constants in SQL."""

from __future__ import annotations

from django.db.models.expressions import RawSQL


def literal(word: str) -> RawSQL:
    """Return a constant as part of the SQL, for `filter(status=literal(Status.PENDING))`.

    With a parameter, PostgreSQL's generic plans could not use an index whose condition contains the constant.
    """
    assert word.isidentifier(), word
    return RawSQL(f"'{word}'", [])  # noqa: S611 - an identifier
