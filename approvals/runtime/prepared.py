"""Queries that are compiled once.

Django builds the SQL of a query anew each time that it runs. For a request with its workflow, its decision and its people
that takes many times as long as the database needs to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Expression, Field, QuerySet

Row = TypeVar("Row")


class Parameter(Expression):
    """Stands in a prepared query for a value that each run gives by this name."""

    def __init__(self, name: str, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [self]


class Prepared(Generic[Row]):
    """A query that `build` returns with `Parameter`s in place of values; its rows are those of that queryset.

    It is compiled on first use, once for each kind of database, so `build` must always return the same query.
    """

    def __init__(self, build: Callable[[], QuerySet[Any, Row]]) -> None:
        self._build = build
        self._compiled: dict[str, tuple[QuerySet[Any, Row], Any, str, tuple[Any, ...]]] = {}

    def first(self, **given: Any) -> Row | None:
        """Return the first row for these values, or None."""
        return next(self._rows(given), None)

    def all(self, **given: Any) -> list[Row]:
        return list(self._rows(given))

    def _rows(self, given: dict[str, Any]) -> Iterator[Row]:
        connection = connections[DEFAULT_DB_ALIAS]
        queryset, compiler, sql, holes = self._compiled.get(connection.vendor) or self._compile(connection)
        assert connection.in_atomic_block or not queryset.query.select_for_update, "a lock needs a transaction"
        values = tuple(
            hole.output_field.get_db_prep_value(given[hole.name], connection) if isinstance(hole, Parameter) else hole
            for hole in holes
        )
        run = copy(compiler)
        run.connection, run.as_sql = connection, lambda *_, **__: (sql, values)
        source: Any = _Run(queryset, _Query(queryset.query, run))
        return iter(queryset._iterable_class(source))  # type: ignore[call-overload, no-any-return]

    def _compile(self, connection: Any) -> tuple[QuerySet[Any, Row], Any, str, tuple[Any, ...]]:
        queryset = self._build()
        compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, holes = compiler.as_sql()
        converters = compiler.get_converters([column[0] for column in compiler.select])
        compiler.get_converters = lambda _: converters
        return self._compiled.setdefault(connection.vendor, (queryset, compiler, sql, tuple(holes)))


class _Query:
    """The query of a queryset, whose compiler knows its SQL already."""

    def __init__(self, query: Any, compiler: Any) -> None:
        self._query, self._compiler = query, compiler

    def get_compiler(self, *_: Any, **__: Any) -> Any:
        return self._compiler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._query, name)


class _Run:
    """What Django's iterables take for the queryset."""

    def __init__(self, queryset: QuerySet[Any], query: _Query) -> None:
        self._queryset, self.query = queryset, query

    def __getattr__(self, name: str) -> Any:
        return getattr(self._queryset, name)
