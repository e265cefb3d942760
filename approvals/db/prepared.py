"""SQL that is written once: queries, inserts and updates.

Django builds the SQL of a statement anew each time that it runs. For a request with its workflow, its decision and its people
that takes many times as long as the database needs to answer, and for a new row as long as storing it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.models import Expression, Field, QuerySet
from django.db.models.sql import UpdateQuery

Row = TypeVar("Row")
Stored = TypeVar("Stored", bound=models.Model)
#: What a statement returns of a row that it has written: columns, or conditions such as `Exists(...)`.
Returning = Sequence[str | Expression]


class Parameter(Expression):
    """Stands in a prepared statement for a value that each run gives by this name."""

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

    def first(self, **parameters: Any) -> Row | None:
        """Return the first row for these values, or None."""
        return next(self._rows(parameters), None)

    def all(self, **parameters: Any) -> list[Row]:
        return list(self._rows(parameters))

    def _rows(self, parameters: dict[str, Any]) -> Iterator[Row]:
        connection = connections[DEFAULT_DB_ALIAS]
        queryset, compiler, sql, holes = self._compiled.get(connection.vendor) or self._compile(connection)
        assert connection.in_atomic_block or not queryset.query.select_for_update, "a lock needs a transaction"
        values = tuple(
            hole.output_field.get_db_prep_value(parameters[hole.name], connection)
            if isinstance(hole, Parameter)
            else hole
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
        columns = [column[0] for column in compiler.select]
        converters, composite = compiler.get_converters(columns), compiler.has_composite_fields(columns)
        compiler.get_converters, compiler.has_composite_fields = lambda _: converters, lambda _: composite
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


class Insert(Generic[Stored]):
    """Adds rows of a model. Columns that are not given get the defaults of the model, or what `computed` names by expressions.

    The expressions take the given columns as `Parameter`s of their names. With `ignore_conflicts`, a row that a unique
    constraint refuses is left out, without an error that would end the transaction. `returning` must name the key if the
    database numbers the rows and `save` is used.
    """

    def __init__(
        self, model: type[Stored], *, ignore_conflicts: bool = False, returning: Returning = (), **computed: Any
    ) -> None:
        self._model, self._returning, self._computed = model, returning, computed
        self._conflicts = " ON CONFLICT DO NOTHING" if ignore_conflicts else ""
        self._compiled: dict[str, tuple[Mapping[str, Any], _Written]] = {}

    def row(self, **parameters: Any) -> tuple[Any, ...] | None:
        """Add a row of these values, by column (`owner_id`). Return what `returning` names, or None if it was left out."""
        fields, written = self._statement()
        assert parameters.keys() <= fields.keys(), parameters.keys() - fields.keys()
        return written.row(_column_values(fields, parameters, written.connection))

    def rows(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
        """Add several rows with one statement; return what `returning` names of each.

        Not with `executemany`: psycopg's pipeline ends with a message behind which PostgreSQL no longer ends a session that
        idles in its transaction, so a process that freezes there would hold its locks for ever.
        """
        assert not self._computed
        fields, written = self._statement()
        return written.many([_column_values(fields, row, written.connection) for row in rows])

    def save(self, instance: Stored, **parameters: Any) -> bool:
        """Add a new instance; False if it was left out. `parameters` are for what is computed."""
        fields, written = self._statement()
        row = written.row(_column_values(fields, vars(instance) | parameters, written.connection))
        if row is None:
            return False
        for name, value in zip(self._returning, row, strict=True):
            if isinstance(name, str):
                setattr(instance, name, value)
        instance._state.adding, instance._state.db = False, DEFAULT_DB_ALIAS
        return True

    def _statement(self) -> tuple[Mapping[str, Any], _Written]:
        connection = connections[DEFAULT_DB_ALIAS]
        return self._compiled.get(connection.vendor) or self._compile(connection)

    def _compile(self, connection: Any) -> tuple[Mapping[str, Any], _Written]:
        options, quoted = self._model._meta, connection.ops.quote_name
        # The database numbers the rows of an AutoField.
        fields: dict[str, Any] = {
            field.attname: field for field in options.concrete_fields if not isinstance(field, models.AutoField)
        }
        names = ", ".join(quoted(field.column) for field in fields.values())
        values = dict.fromkeys(fields, "%s")
        query: Any = self._model._base_manager.all().query
        compiler = query.get_compiler(DEFAULT_DB_ALIAS)
        for name, expression in self._computed.items():
            values[name], fields[name] = compiler.compile(expression.resolve_expression(query))
        sql = f"INSERT INTO {quoted(options.db_table)} ({names}) VALUES ({', '.join(values.values())})"
        written = _Written(self._model, sql + self._conflicts, self._returning)
        return self._compiled.setdefault(connection.vendor, (fields, written))


class Update(Generic[Stored]):
    """Changes `columns`, and what `computed` names by expressions, in the rows that `build` returns.

    `build` takes `Parameter`s as in `Prepared`; no parameter has the name of a column that is changed.
    """

    def __init__(
        self, build: Callable[[], QuerySet[Stored]], *columns: str, returning: Returning = (), **computed: Any
    ) -> None:
        self._build, self._columns, self._returning, self._computed = build, columns, returning, computed
        self._compiled: dict[str, tuple[Sequence[Any], _Written]] = {}

    def run(self, **parameters: Any) -> int:
        """Change the rows; return how many."""
        holes, written = self._statement()
        return written.count(_hole_values(holes, parameters, written.connection))

    def row(self, **parameters: Any) -> tuple[Any, ...] | None:
        """Change one row; return what `returning` names, or None if there is no such row."""
        holes, written = self._statement()
        return written.row(_hole_values(holes, parameters, written.connection))

    def _statement(self) -> tuple[Sequence[Any], _Written]:
        connection = connections[DEFAULT_DB_ALIAS]
        return self._compiled.get(connection.vendor) or self._compile(connection)

    def _compile(self, connection: Any) -> tuple[Sequence[Any], _Written]:
        queryset = self._build()
        field_of = queryset.model._meta.get_field
        query: Any = queryset.query.chain(UpdateQuery)
        parameters = {name: Parameter(name, field_of(name)) for name in self._columns}  # type: ignore[arg-type]
        query.add_update_values(parameters | self._computed)
        sql, holes = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        written = _Written(queryset.model, sql, self._returning)
        return self._compiled.setdefault(connection.vendor, (holes, written))


class _Written:
    """A statement that writes, with what it returns."""

    def __init__(self, model: type[models.Model], sql: str, returning: Returning) -> None:
        query: Any = model._base_manager.all().query
        compiler = query.get_compiler(DEFAULT_DB_ALIAS)
        returned, self._more, self._converters = [], [], []
        for item in returning:
            if isinstance(item, str):
                field: Any = model._meta.get_field(item)
                expression = field.get_col(model._meta.db_table)
                returned.append(self.connection.ops.quote_name(field.column))
            else:
                expression = item.resolve_expression(query)
                text, params = compiler.compile(expression)
                returned.append(text)
                self._more += params
            convert = [*self.connection.ops.get_db_converters(expression)]
            self._converters.append((expression, convert + expression.get_db_converters(self.connection)))
        self._sql = f"{sql} RETURNING {', '.join(returned)}" if returned else sql

    @property
    def connection(self) -> Any:
        return connections[DEFAULT_DB_ALIAS]

    def row(self, values: Sequence[Any]) -> tuple[Any, ...] | None:
        with self.connection.cursor() as cursor:
            cursor.execute(self._sql, [*values, *self._more])
            if not self._converters:
                return () if cursor.rowcount else None
            row = cursor.fetchone()
        return None if row is None else tuple(map(self._converted, self._converters, row))

    def count(self, values: Sequence[Any]) -> int:
        with self.connection.cursor() as cursor:
            cursor.execute(self._sql, [*values, *self._more])
            return int(cursor.rowcount)

    def many(self, rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
        head, values, tail = self._sql.partition(" VALUES ")
        group, _, rest = tail.partition(")")
        groups = ", ".join([f"{group})"] * len(rows))
        with self.connection.cursor() as cursor:
            parameters = [value for row in rows for value in row]
            cursor.execute(f"{head}{values}{groups}{rest}", [*parameters, *self._more])
            added = cursor.fetchall() if self._converters else []
        return [tuple(map(self._converted, self._converters, row)) for row in added]

    def _converted(self, converters: tuple[Any, Sequence[Any]], value: Any) -> Any:
        expression, functions = converters
        for function in functions:
            value = function(value, expression, self.connection)
        return value


def _column_values(fields: Mapping[str, Any], parameters: Mapping[str, Any], connection: Any) -> list[Any]:
    """Return what `save` would store of these values, and the values in what is computed."""
    values: list[Any] = []
    for name, field in fields.items():
        if isinstance(field, Field):
            value = parameters[name] if name in parameters else field.get_default()
            values.append(field.get_db_prep_save(value, connection))
        else:
            values += _hole_values(field, parameters, connection)
    return values


def _hole_values(holes: Sequence[Any], parameters: Mapping[str, Any], connection: Any) -> list[Any]:
    return [
        hole.output_field.get_db_prep_save(parameters[hole.name], connection) if isinstance(hole, Parameter) else hole
        for hole in holes
    ]
