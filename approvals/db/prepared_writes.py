"""Prepared inserts and updates, and several writes combined in one statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Generic, TypeVar

from django.db import DEFAULT_DB_ALIAS, IntegrityError, connections, models
from django.db.models import Expression, QuerySet
from django.db.models.sql import UpdateQuery

from approvals.db.prepared import (
    Parameter,
    Prepared,
    Statement,
    cursor_of,
    holes_for,
)
from approvals.json_types import JsonDict, JsonMapping

Stored = TypeVar("Stored", bound=models.Model)
#: Values that a statement returns of a written row: columns, or conditions such as `Exists(...)`.
Returning = Sequence[str | Expression]


@dataclass(frozen=True, slots=True)
class Write:
    """The write of one row: a statement and its values.

    `stored`, if set, is called with the returned values. `otherwise` is the error message if no row is written. `keys` maps
    columns to other writes of the same batch, by index, whose keys they take.
    """

    prepared: Prepared[tuple[Any, ...]]
    values: JsonMapping
    stored: Callable[[tuple[Any, ...]], None] | None = None
    otherwise: str = ""
    keys: Mapping[str, int] = field(default_factory=dict)


class Insert(Prepared[tuple[Any, ...]], Generic[Stored]):
    """Add rows of a model. Columns without a value get the model's default, or the expression in `computed`.

    The expressions take the given columns as `Parameter`s of their names. With `ignore_conflicts`, a row that violates a unique
    constraint is skipped, without an error that would end the transaction. `returning` must include the key if the database
    numbers the rows and `save` is used.
    """

    def __init__(
        self,
        model: type[Stored],
        *,
        ignore_conflicts: bool = False,
        returning: Returning = (),
        **computed: Any,
    ) -> None:
        super().__init__(model._base_manager.all)  # type: ignore[arg-type]
        self._model = model
        self._returning = returning
        self._computed = computed
        self._conflicts = " ON CONFLICT DO NOTHING" if ignore_conflicts else ""

    def row(self, **parameters: Any) -> tuple[Any, ...] | None:
        """Add a row with these values, by column (`owner_id`). Return the values of `returning`, or None if it was skipped."""
        return self.first(**self._complete(parameters))

    def rows(self, rows: Sequence[JsonMapping]) -> list[tuple[Any, ...]]:
        """Add several rows with one statement; return the values of `returning` for each.

        `executemany` is unsuitable: after the last message of psycopg's pipeline, PostgreSQL no longer ends a session that idles
        in its transaction, so a frozen process would hold its locks for ever.
        """
        assert not self._computed
        connection, statement = self.statement()
        width = len(self._columns)
        group = f"({', '.join(['%s'] * width)})"
        sql = statement.sql.replace(group, ", ".join([group] * len(rows)))
        filled = [statement.values(self._complete(row), connection) for row in rows]
        values = [value for of_row in filled for value in of_row[:width]]
        # The values in `returning` come after the columns.
        return statement.send(sql, [*values, *filled[-1][width:]], connection)

    def save(self, instance: Stored, **parameters: Any) -> bool:
        """Add a new instance; return False if it was skipped. `parameters` are for computed columns."""
        row = self.first(**vars(instance) | parameters)
        if row is None:
            return False
        self._mark_stored(instance, row)
        return True

    def of(
        self,
        instance: Stored,
        *,
        keys: Mapping[str, int] | None = None,
        **parameters: Any,
    ) -> Write:
        """Return a write that adds a new instance.

        `keys` are columns that take the keys of rows added with it, `parameters` are for computed columns.
        """
        return Write(
            self,
            vars(instance) | parameters,
            lambda row: self._mark_stored(instance, row),
            keys=keys or {},
        )

    def of_row(self, *, keys: Mapping[str, int] | None = None, **values: Any) -> Write:
        """Return a write that adds a row with these values, by column; `keys` as in `of`."""
        return Write(self, self._complete(values), keys=keys or {})

    def _mark_stored(self, instance: Stored, row: tuple[Any, ...]) -> None:
        for name, value in zip(self._returning, row, strict=True):
            if isinstance(name, str):
                setattr(instance, name, value)
        instance._state.adding = False
        instance._state.db = DEFAULT_DB_ALIAS

    @cached_property
    def _columns(self) -> JsonMapping:
        """The columns by name, except one numbered by the database."""
        fields = self._model._meta.concrete_fields
        return {
            field.attname: field
            for field in fields
            if not isinstance(field, models.AutoField)
        }

    def _complete(self, parameters: JsonMapping) -> JsonDict:
        assert self._computed or parameters.keys() <= self._columns.keys(), (
            parameters.keys() - self._columns.keys()
        )
        defaults = {
            name: field.get_default()
            for name, field in self._columns.items()
            if name not in parameters
        }
        return defaults | dict(parameters)

    def _compile(self) -> Statement[tuple[Any, ...]]:
        quoted = connections[DEFAULT_DB_ALIAS].ops.quote_name
        query = self._build().query
        compiler: Any = query.get_compiler(DEFAULT_DB_ALIAS)
        values: list[str] = []
        holes: list[Any] = []
        for name, column in self._columns.items():
            computed = self._computed.get(name)
            stored = (
                Parameter(name, column)
                if computed is None
                else computed.resolve_expression(query)
            )
            text, values_in_it = compiler.compile(stored)
            values.append(text)
            holes += values_in_it
        names = ", ".join(quoted(field.column) for field in self._columns.values())
        table = quoted(self._model._meta.db_table)
        sql = f"INSERT INTO {table} ({names}) VALUES ({', '.join(values)}){self._conflicts}"
        return _writing(sql, holes, self._model, self._returning)


class Update(Prepared[tuple[Any, ...]], Generic[Stored]):
    """Change `columns`, and those in `computed` by expression, in the rows of `build`.

    `build` takes `Parameter`s as in `Prepared`; no parameter may have the name of a changed column.
    """

    def __init__(
        self,
        build: Callable[[], QuerySet[Stored]],
        *columns: str,
        returning: Returning = (),
        **computed: Any,
    ) -> None:
        super().__init__(build)  # type: ignore[arg-type]
        self._changed = columns
        self._returning = returning
        self._computed = computed

    def run(self, **parameters: Any) -> int:
        """Change the rows; return their number."""
        return len(self.all(**parameters))

    def row(self, **parameters: Any) -> tuple[Any, ...] | None:
        """Change one row; return the values of `returning`, or None if there is no such row."""
        return self.first(**parameters)

    def of(self, *, otherwise: str = "", **parameters: Any) -> Write:
        """Return a write that changes one row."""
        return Write(self, parameters, otherwise=otherwise)

    def _compile(self) -> Statement[tuple[Any, ...]]:
        queryset: Any = self._build()
        query = queryset.query.chain(UpdateQuery)
        changes = {
            name: Parameter(name, queryset.model._meta.get_field(name))
            for name in self._changed
        }
        query.add_update_values(changes | self._computed)
        sql, holes = query.get_compiler(DEFAULT_DB_ALIAS).as_sql()
        return _writing(sql, holes, queryset.model, self._returning)


def _writing(
    sql: str, holes: Sequence[Any], model: type[models.Model], returning: Returning
) -> Statement[tuple[Any, ...]]:
    """Return a statement that writes rows and returns these values for each."""
    query: Any = model._base_manager.all().query
    compiler = query.get_compiler(DEFAULT_DB_ALIAS)
    connection = connections[DEFAULT_DB_ALIAS]
    if not returning:
        return Statement(sql, holes_for(holes, connection), {}, None)
    columns = [
        model._meta.get_field(item).get_col(model._meta.db_table)  # type: ignore[union-attr]
        if isinstance(item, str)
        else item.resolve_expression(query)
        for item in returning
    ]
    texts, holes_of_texts = zip(*map(compiler.compile, columns), strict=True)
    holes = [*holes, *(hole for some in holes_of_texts for hole in some)]
    converters = compiler.get_converters(columns)
    return Statement(
        f"{sql} RETURNING {', '.join(texts)}",
        holes_for(holes, connection),
        converters,
        tuple,
        width=len(columns),
    )


def write_together(writes: Sequence[Write]) -> list[tuple[Any, ...] | None]:
    """Write rows; return the returned values of each, or None if it wrote none. Raise IntegrityError for a missing required row.

    PostgreSQL gets all writes as one statement, whose parts do not see each other's changes, so no part may depend on them except
    through `keys`. Other databases get one statement after the other.
    """
    connection = connections[DEFAULT_DB_ALIAS]
    together = connection.vendor == "postgresql" and len(writes) > 1
    rows = _write_as_one(writes, connection) if together else _write_in_turn(writes)
    for write, row in zip(writes, rows, strict=True):
        if row is None and write.otherwise:
            raise IntegrityError(write.otherwise)
        if row is not None and write.stored is not None:
            write.stored(row)
    return rows


def _write_in_turn(writes: Sequence[Write]) -> list[tuple[Any, ...] | None]:
    rows: list[tuple[Any, ...] | None] = []
    for write in writes:
        keys = {name: (rows[place] or ())[0] for name, place in write.keys.items()}
        rows.append(write.prepared.first(**{**write.values, **keys}))
    return rows


def _write_as_one(
    writes: Sequence[Write], connection: Any
) -> list[tuple[Any, ...] | None]:
    statements = [write.prepared.statement()[1] for write in writes]
    values: list[Any] = []
    keys: list[tuple[int, int]] = []
    for statement, write in zip(statements, writes, strict=True):
        filled = statement.values(write.values, connection)
        for name, place in write.keys.items():
            hole = next(
                at for at, each in enumerate(statement.holes) if each.name == name
            )
            keys.append((len(values) + hole, place))
        values += filled
    for hole, _place in reversed(keys):
        del values[hole]
    cursor = cursor_of(connection)
    cursor.execute(_as_one(tuple(statements), tuple(keys)), values)
    returned = list(cursor.fetchone())
    rows: list[tuple[Any, ...] | None] = []
    for statement in statements:
        written, *row = returned[: 1 + statement.width]
        del returned[: 1 + statement.width]
        rows.append(statement.made(row, connection) if written else None)
    return rows


@lru_cache(maxsize=100)
def _as_one(
    statements: Sequence[Statement[Any]], keys: Sequence[tuple[int, int]]
) -> str:
    """Return one statement for several. `keys` are the holes for other rows' keys, each with the index of that row."""
    parts: list[str] = []
    chosen: list[str] = []
    for place, statement in enumerate(statements):
        columns = [f"c{number}" for number in range(statement.width)] or ["c0"]
        returning = "" if statement.width else " RETURNING 1"
        parts.append(f"w{place} ({', '.join(columns)}) AS ({statement.sql}{returning})")
        chosen.append(f"(SELECT true FROM w{place})")
        chosen += [
            f"(SELECT {column} FROM w{place})" for column in columns[: statement.width]
        ]
    before, *after = f"WITH {', '.join(parts)} SELECT {', '.join(chosen)}".split("%s")
    places = dict(keys)
    holes = [
        f"(SELECT c0 FROM w{places[number]})" if number in places else "%s"
        for number in range(len(after))
    ]
    return before + "".join(
        hole + text for hole, text in zip(holes, after, strict=True)
    )
