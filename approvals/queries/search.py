"""Full-text search over requests: the index of each database, and the filter that uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Model, OuterRef, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.db.models.functions import Coalesce

from approvals.models import SearchText
from approvals.queries.amounts import FEW_ABOUT, with_amounts
from approvals.queries.search_words import for_postgresql, for_sqlite, parse_search

TABLE = "approvals_searchtext"
INDEX = "approvals_search"
M = TypeVar("M", bound=Model)

#: Up to this many hits are looked up by id (on SQLite ten times as many, in a subquery); beyond that the sorted list is scanned,
#: where the next hit is near. The query planners cannot make this choice: SQLite does not know how frequent a word is, and
#: PostgreSQL does not know how frequent a prefix is.
FEW = 500

#: The expression of the index on PostgreSQL, which the first migration creates.
_VECTOR = "array_to_tsvector(string_to_array(words, ' '))"
_FOUND = {
    "sqlite": f"SELECT request_id FROM {TABLE} WHERE id IN (SELECT rowid FROM {INDEX} WHERE {INDEX} MATCH %s)",
    "postgresql": f"SELECT request_id FROM {TABLE} WHERE {_VECTOR} @@ %s::tsquery",
}
_QUERY = {"sqlite": for_sqlite, "postgresql": for_postgresql}


@dataclass(frozen=True, slots=True)
class Hits:
    """Whether many requests contain the words of a search; otherwise `few` are their ids, on PostgreSQL."""

    many: bool
    few: Sequence[UUID] = ()


def hits_of(search: str) -> Hits:
    """Return how many requests contain all words of a search. For a frequent word, PostgreSQL reads all hits in its index."""
    connection = connections[DEFAULT_DB_ALIAS]
    words = parse_search(search).words
    if not words:
        return Hits(many=False)
    query = _QUERY[connection.vendor](words)
    if connection.vendor == "sqlite":
        more = f"SELECT 1 FROM {INDEX} WHERE {INDEX} MATCH %s LIMIT 1 OFFSET {10 * FEW}"
        return Hits(many=bool(_fetch(connection, more, query)))
    few = _fetch(connection, f"{_FOUND[connection.vendor]} LIMIT {FEW + 1}", query)
    return (
        Hits(many=True)
        if len(few) > FEW
        else Hits(many=False, few=[pk for (pk,) in few])
    )


def with_words(
    requests: QuerySet[M],
    search: str,
    *,
    each: bool | None = None,
    hits: Hits | None = None,
) -> QuerySet[M]:
    """Filter for requests that contain all words of a search and have an amount within its bounds; the last word may be a prefix.

    A search without any word (`-`, a quote) or that cannot be read finds nothing. By default, this suits a list that is sorted
    and sliced. `each=True` searches the words in one request after the other, for few requests; with `each=False`, the index
    finds all hits, in any order. `hits` are the result of `hits_of`, for several reads with one search.
    """
    parsed = parse_search(search)
    if parsed.is_empty:
        return requests.none()
    words = parsed.words
    requests = with_amounts(requests, parsed.amounts, each=each)[0]
    if not words:
        return requests
    connection = connections[requests.db]
    if hits is None and (
        each is None or (connection.vendor == "postgresql" and not each)
    ):
        hits = hits_of(search)
    if each is None:
        each = hits is not None and hits.many and connection.vendor == "sqlite"
    if each:
        contains = RawSQL(*_contains(connection, words), BooleanField())  # noqa: S611 - constants and parameters
        # A scalar subquery keeps PostgreSQL from using the index. It names the request by a Django expression, because Django
        # renames the table of `requests` where that is itself a subquery.
        texts = SearchText.objects.filter(request=OuterRef("pk")).values_list(contains)
        return requests.filter(
            Coalesce(Subquery(texts), False, output_field=BooleanField())
        )
    if connection.vendor == "postgresql" and hits is not None and not hits.many:
        return requests.filter(pk__in=hits.few)
    query = _QUERY[connection.vendor](words)
    matching = _FOUND[connection.vendor]
    return requests.filter(pk__in=RawSQL(matching, [query]))  # noqa: S611 - a constant and a parameter


def with_words_of_requests(
    entries: QuerySet[M], search: str
) -> tuple[QuerySet[M], bool]:
    """Filter rows with a column `request_id` for those about requests that contain all words of a search.

    Also return whether that scans the rows: up to FEW_ABOUT requests are looked up, and their rows are sorted; with more, the
    next hit is near in any order. An array or a scalar subquery keeps PostgreSQL from choosing the other way.
    """
    parsed = parse_search(search)
    if parsed.is_empty:
        return entries.none(), False
    words = parsed.words
    entries, scans = with_amounts(entries, parsed.amounts)
    if not words:
        return entries, scans
    connection = connections[entries.db]
    table = entries.model._meta.db_table
    query = _QUERY[connection.vendor](words)
    matching = _FOUND[connection.vendor]
    ((requests,),) = _fetch(
        connection,
        f"SELECT count(*) FROM ({matching} LIMIT {FEW_ABOUT + 1}) AS found",
        query,
    )
    if requests <= FEW_ABOUT:
        one_of = {
            "sqlite": f"{table}.id IN (SELECT a.id FROM {table} a WHERE a.request_id IN ({matching}))",
            "postgresql": f"{table}.id = ANY(ARRAY(SELECT a.id FROM {table} a WHERE a.request_id = ANY(ARRAY({matching}))))",
        }[connection.vendor]
        return entries.filter(RawSQL(one_of, [query], BooleanField())), False  # noqa: S611 - constants and a parameter
    condition, parameters = _contains(connection, words)
    scan = f"COALESCE((SELECT {condition} FROM {TABLE} WHERE {TABLE}.request_id = {table}.request_id), FALSE)"
    contains = RawSQL(scan, parameters, BooleanField())  # noqa: S611 - constants and parameters
    # Few entries with the amounts limit the scan for the words.
    return entries.filter(contains), scans or not parsed.amounts


def _contains(
    connection: BaseDatabaseWrapper, words: Sequence[str]
) -> tuple[str, list[Any]]:
    """Return the condition of a row of SearchText that contains these words, the last one as a prefix."""
    position = {"sqlite": "instr", "postgresql": "strpos"}[connection.vendor]
    condition = " AND ".join([f"{position}(' ' || words || ' ', %s) > 0"] * len(words))
    return condition, [*(f" {word} " for word in words[:-1]), f" {words[-1]}"]


def _fetch(connection: BaseDatabaseWrapper, statement: str, query: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [query])
        return list(cursor.fetchall())
