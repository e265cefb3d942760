"""Prepared statements: SQL built once, for statements sent by every request, decision, read, chat step and request page.

Django rebuilds the SQL of a statement each time it runs. For a request with its workflow, decision and people, that takes many
times as long as the database's answer, and for a new row as long as storing it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import count
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast
from uuid import UUID

import django
import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper
from django.db.models import (
    AutoField,
    BigAutoField,
    BooleanField,
    CharField,
    DateTimeField,
    Expression,
    Field,
    ForeignKey,
    QuerySet,
    TextField,
    UUIDField,
)
from django.db.models.query import (
    FlatValuesListIterable,
    ModelIterable,
    ValuesListIterable,
    get_related_populators,
)

Row = TypeVar("Row")
#: Types of values that fields store unchanged, on any database and on PostgreSQL.
_PLAIN: Mapping[type[Any], type] = {
    CharField: str,
    TextField: str,
    BooleanField: bool,
    AutoField: int,
    BigAutoField: int,
}
_PLAIN_ON_POSTGRESQL: Mapping[type[Any], type] = {
    **_PLAIN,
    DateTimeField: datetime,
    UUIDField: UUID,
}


class Parameter(Expression):
    """A placeholder in a prepared statement, filled by name in each run."""

    def __init__(self, name: str, output_field: Field[Any, Any]) -> None:
        super().__init__(output_field=output_field)
        self.name = name

    def as_sql(self, compiler: Any, connection: Any) -> Any:
        return "%s", [self]


class Values(TextField):  # type: ignore[type-arg]
    """Many values in one parameter, as the database takes them."""

    def get_db_prep_value(
        self, value: Any, connection: Any, prepared: bool = False
    ) -> Any:
        items = list(value)
        return items if connection.vendor == "postgresql" else json.dumps(items)


@dataclass(frozen=True, slots=True, kw_only=True)
class Hole:
    """The place of a value in a statement: of a parameter by `name`, or of a constant.

    Values of the type `plain` are stored unchanged, and integers as `number`, if there is one. A field would take several calls
    for each; it stores all other values.
    """

    name: str = ""
    constant: Any = None
    field: Any = None
    plain: Any = object
    number: Callable[[int], Any] | None = None


def holes_for(parameters: Sequence[Any], connection: Any) -> list[Hole]:
    """Return the places of these constants and `Parameter`s."""
    return [
        _hole_for(each, connection)
        if isinstance(each, Parameter)
        else Hole(constant=each)
        for each in parameters
    ]


def _hole_for(parameter: Parameter, connection: Any) -> Hole:
    field: Any = parameter.output_field
    while isinstance(field, ForeignKey):
        field = field.target_field
    if connection.vendor != "postgresql":
        plain = _PLAIN.get(type(field), ())
        return Hole(name=parameter.name, field=field, plain=plain)
    plain = _PLAIN_ON_POSTGRESQL.get(type(field), ())
    number = None
    if not plain:
        number = connection.ops.integerfield_type_map.get(field.get_internal_type())
    return Hole(name=parameter.name, field=field, plain=plain, number=number)


@dataclass(frozen=True, slots=True, eq=False)
class Statement(Generic[Row]):
    """A statement compiled for one kind of database.

    `holes` are the places of its values. `converters` apply to returned columns, by position, and `make` builds the result from
    a row; without it, the statement returns only the number of written rows. `width` is the number of columns that a writing
    statement returns.
    """

    sql: str
    holes: Sequence[Hole]
    converters: Mapping[int, Any]
    make: Callable[[list[Any]], Row] | None
    locks: bool = False
    width: int = 0

    def values(self, parameters: Mapping[str, Any], connection: Any) -> list[Any]:
        """Return the values for the holes, as `save` would store them."""
        values = []
        for hole in self.holes:
            value = parameters[hole.name] if hole.name else hole.constant
            if value is None or isinstance(value, hole.plain):
                values.append(value)
            elif hole.number is not None and type(value) is int:
                values.append(hole.number(value))
            else:
                values.append(hole.field.get_db_prep_value(value, connection))
        return values

    def send(self, sql: str, values: Sequence[Any], connection: Any) -> list[Any]:
        """Run the statement, or `sql`, its variant for several rows; return its rows, or an empty one for each row written."""
        assert connection.in_atomic_block or not self.locks, (
            "a lock needs a transaction"
        )
        cursor = cursor_of(connection)
        cursor.execute(sql, values)
        if self.make is None:
            return [()] * cursor.rowcount
        return [self.made(list(row), connection) for row in cursor.fetchall()]

    def made(self, row: list[Any], connection: Any) -> Any:
        """Build the result from a returned row."""
        for position, (functions, expression) in self.converters.items():
            # No field changes a null.
            if row[position] is not None:
                for convert in functions:
                    row[position] = convert(row[position], expression, connection)
        return () if self.make is None else self.make(row)


class Prepared(Generic[Row]):
    """A query from `build`, with `Parameter`s in place of values; its rows are those of that queryset.

    It is compiled on first use, once for each kind of database, so `build` must always return the same query.
    """

    def __init__(self, build: Callable[[], QuerySet[Any, Row]]) -> None:
        self._build = build
        self._statements: dict[str, Statement[Row]] = {}

    def first(self, **parameters: Any) -> Row | None:
        """Return the first row for these values, or None."""
        return next(iter(self.all(**parameters)), None)

    def all(self, **parameters: Any) -> list[Row]:
        connection, statement = self.statement()
        return statement.send(
            statement.sql, statement.values(parameters, connection), connection
        )

    def statement(self) -> tuple[Any, Statement[Row]]:
        """Return the connection, and the statement for its kind of database."""
        connection = connections[DEFAULT_DB_ALIAS]
        statement = self._statements.get(connection.vendor)
        if statement is None:
            statement = self._statements.setdefault(connection.vendor, self._compile())
        return connection, statement

    def _compile(self) -> Statement[Row]:
        queryset = self._build()
        compiler: Any = queryset.query.get_compiler(DEFAULT_DB_ALIAS)
        sql, holes = compiler.as_sql()
        converters = compiler.get_converters([column[0] for column in compiler.select])
        return Statement(
            sql,
            holes_for(holes, connections[DEFAULT_DB_ALIAS]),
            converters,
            _maker(queryset, compiler),
            queryset.query.select_for_update,
        )


def _maker(queryset: QuerySet[Any, Any], compiler: Any) -> Callable[[list[Any]], Any]:
    """Return a function that builds the same result from a row as Django's iterables."""
    of_values: dict[Any, Callable[[list[Any]], Any]] = {
        ValuesListIterable: tuple,
        FlatValuesListIterable: itemgetter(0),
    }
    if queryset._iterable_class is not ModelIterable:
        return of_values[queryset._iterable_class]
    info = compiler.klass_info
    annotations = compiler.annotation_col_map
    begin = info["select_fields"][0]
    end = info["select_fields"][-1] + 1
    names = [column[0].target.attname for column in compiler.select[begin:end]]
    populators: Any = get_related_populators
    # Since Django 6.1, a query specifies how deferred fields are loaded.
    modes = (cast("Any", queryset)._fetch_mode,) if django.VERSION >= (6, 1) else ()
    related = populators(info, compiler.select, DEFAULT_DB_ALIAS, *modes)

    def make(row: list[Any]) -> Any:
        instance = info["model"].from_db(DEFAULT_DB_ALIAS, names, row[begin:end])
        for populator in related:
            populator.populate(row, instance)
        for name, position in annotations.items():
            setattr(instance, name, row[position])
        return instance

    return make


def cursor_of(connection: BaseDatabaseWrapper) -> CursorWrapper:
    """Return the cursor of a connection, opened if necessary. Users of the cursor must fetch all rows at once."""
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    held: Any = connection
    cursor = getattr(held, "one_cursor", None)
    if cursor is None or cursor.connection is not held.connection:
        postgresql = held.vendor == "postgresql"
        cursor = held.one_cursor = (
            _NumberingCursor(held.connection) if postgresql else held.create_cursor()
        )
    return held._prepare_cursor(cursor)  # type: ignore[no-any-return]


class _NumberingCursor(psycopg.RawCursor[Any]):
    """A cursor for statements as Django writes them. Other cursors parse long statements, or many parameters, on each run."""

    def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        return super().execute(_numbered(query), params, **options)


@lru_cache(maxsize=500)
def _numbered(sql: str) -> str:
    """Replace `%s` in a statement by `$1`, `$2`, as PostgreSQL expects."""
    numbers = count(1)
    return re.sub(
        "%s|%%", lambda match: "%" if match[0] == "%%" else f"${next(numbers)}", sql
    )
