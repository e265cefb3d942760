"""The export of the audit log: the filtered entries, streamed, safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from datetime import UTC, datetime

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext

from approvals.models import AuditEntry
from approvals.record import audit, export
from tests.support.desk.scopes import make_scope
from tests.support.machines import machine
from tests.support.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/admin/approvals/auditentry/"


def make_auditor():
    carol = make_person("carol", "view_approvalrequest", "view_auditentry")
    carol.is_staff = True
    carol.save()
    return carol


def make_entry(event="request.decided", *, at=None, **columns):
    actor = columns.pop("actor", None)
    data = columns.pop("data", {})
    audit.record(event, audit.Subject(scope="key:1", **columns), data=data, actor=actor, via="dashboard", at=at)


async def download(path: str) -> tuple[object, str]:
    client = AsyncClient()
    await client.aforce_login(await sync_to_async(make_auditor)())
    response = await client.get(LIST + path)
    chunks = [chunk async for chunk in response.streaming_content] if response.streaming else []
    return response, b"".join(chunks).decode()


@pytest.mark.parametrize("kind", ["jsonl", "ocsf", "csv"])
def test_programs_of_auditors_whom_scopes_limit_read_no_audit_log(kind):
    auditor, free = make_auditor(), make_person("erin", "view_auditentry", "ignore_scopes")
    make_scope(auditor, by=User.objects.create_superuser("root"))
    limited, whole = (machine(person, "audit").get(f"/api/v1/audit?format={kind}") for person in (auditor, free))
    assert (limited.status, limited.code, whole.status) == (403, "not_allowed", 200)
    assert "scope.created" in whole.text


async def test_the_csv_has_a_header_and_the_columns_of_the_record():
    await sync_to_async(make_entry)(tool_name="issueRefund", at=datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC))
    response, text = await download("export.csv")
    assert text[0] == "\ufeff"
    (row,) = csv.DictReader(io.StringIO(text[1:]))
    assert list(row) == audit.COLUMNS
    assert (row["at"], row["tool"], row["event"]) == ("2026-11-21T12:00:00.000005Z", "issueRefund", "request.decided")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="audit-20')


async def test_the_jsonl_has_one_object_per_line_in_the_order_of_events():
    for number in range(3):
        await sync_to_async(make_entry)(tool_call_id=f"call-{number}", data={"n": number})
    response, text = await download("export.jsonl")
    lines = [json.loads(line) for line in text.splitlines()]
    assert [(line["tool_call_id"], line["data"]) for line in lines] == [(f"call-{n}", {"n": n}) for n in range(3)]
    assert list(lines[0]) == audit.COLUMNS
    assert response["Content-Type"] == "application/x-ndjson"


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["a", "b", "c"]),
        ("?tool=issueRefund", ["a", "b"]),
        ("?tool=issue", []),
        ("?chat=chat-2", ["b"]),
        ("?person=alice", ["c"]),
        ("?event=tool.result", ["c"]),
        ("?from=2026-11-21", ["b", "c"]),
        ("?until=2026-11-20", ["a"]),
        ("?from=2026-11-21&until=2026-11-21", ["b"]),
        ("?tool=issueRefund&from=2026-11-21", ["b"]),
    ],
)
async def test_the_export_has_exactly_the_rows_that_the_filters_show(query, found):
    def make():
        alice = make_person("alice")
        make_entry(
            tool_call_id="a", tool_name="issueRefund", thread_id="chat-1", at=datetime(2026, 11, 20, 23, 59, tzinfo=UTC)
        )
        make_entry(
            tool_call_id="b", tool_name="issueRefund", thread_id="chat-2", at=datetime(2026, 11, 21, 0, 0, tzinfo=UTC)
        )
        make_entry(
            "tool.result", tool_call_id="c", tool_name="getWeather", actor=alice, at=datetime(2026, 11, 22, tzinfo=UTC)
        )

    await sync_to_async(make)()
    _, text = await download(f"export.jsonl{query}")
    assert [json.loads(line)["tool_call_id"] for line in text.splitlines()] == found
    client = AsyncClient()
    await client.aforce_login(await User.objects.aget(username="carol"))
    page = (await client.get(LIST + query)).content.decode()
    entries = await sync_to_async(lambda: dict(AuditEntry.objects.values_list("tool_call_id", "pk")))()
    assert [name for name in "abc" if f"{LIST}{entries[name]}/change/" in page] == found


async def test_a_spreadsheet_runs_nothing():
    for text in ("=1+1", "+1", "-1+1", "-1", "@sum", "\tx", "\rx"):
        await sync_to_async(make_entry)(tool_call_id=text, data={"amount": "=1+1"})
    _, text = await download("export.csv")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    # A number is no formula.
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == ["-1"]
    assert "'=1+1" in cells


def fill(rows: int, length: int = 0) -> None:
    now, body = datetime.now(UTC), json.dumps({"data": {"text": "x" * length}})
    row = {"event": "tool.result", "scope": "s", "body": body, "digest": "", "at": now, "last_seen_at": now}
    AuditEntry.objects.bulk_create((AuditEntry(**row) for _ in range(rows)), batch_size=100)


async def pages_read(rows: int, length: int, pieces_wanted: int) -> list[list[int]]:
    """The sizes of the pages that were read for each piece, for a client that takes so many."""
    await sync_to_async(fill)(rows, length)
    sizes: list[int] = []
    stream = export.pieces(AuditEntry.objects.all(), lambda page: sizes.append(len(page)) or export._jsonl(page))
    read = []
    for _ in range(pieces_wanted):
        await anext(stream, None)
        read.append(sizes[:])
        sizes.clear()
    await stream.aclose()
    return read


async def test_entries_are_read_in_pages_of_a_fixed_number_of_rows():
    read = await pages_read(1200, 0, 1)
    assert read == [[export.PAGE] * (len(read[0]))]
    assert 1 < len(read[0]) < 1200 / export.PAGE


async def test_nothing_is_read_before_the_client_asks_for_it():
    page = export.PAGE
    long = export.PIECE // page + 1
    assert await pages_read(3 * page + 7, long, 2) == [[page], [page]]


def test_a_page_costs_one_query_and_the_last_page_ends_the_export():
    fill(2 * export.PAGE + 7)
    with CaptureQueriesContext(connection) as queries:
        text, last = export._piece(AuditEntry.objects.order_by("pk"), 0, export._jsonl)
    assert (len(queries), len(text.splitlines()), last) == (3, 2 * export.PAGE + 7, None)


async def test_a_long_log_comes_as_a_stream_of_bounded_pieces():
    await sync_to_async(fill)(1200, 1000)
    client = AsyncClient()
    await client.aforce_login(await sync_to_async(make_auditor)())
    response = await client.get(LIST + "export.jsonl")
    pieces = [piece async for piece in response.streaming_content]
    line = len(pieces[0].splitlines(keepends=True)[0])
    assert (response.streaming, sum(piece.count(b"\n") for piece in pieces)) == (True, 1200)
    assert [piece for piece in pieces if len(piece) > export.PIECE + export.PAGE * (line + 10)] == []
    assert len(pieces) > 4


@pytest.mark.parametrize(
    "query", ["?from=yesterday", "?until=0000-00-00", "?nonsense=1", "?tool_name__regex=(((", "?at__gte=x", "?id__in=x"]
)
async def test_an_invalid_filter_is_refused_and_not_ignored(query):
    await sync_to_async(make_entry)()
    response, text = await download(f"export.csv{query}")
    assert (response.status_code, "request.decided" in text) == (400, False)


async def test_a_missing_page_of_the_list_exports_nothing():
    await sync_to_async(fill)(120)
    response, _ = await download("export.csv?p=9999")
    assert response.status_code == 400


async def test_an_unknown_event_finds_nothing():
    await sync_to_async(make_entry)()
    response, text = await download("export.jsonl?event=request.decidedd")
    assert (response.status_code, text) == (200, "")


async def test_only_those_who_may_see_the_log_export_it():
    client = AsyncClient()
    assert (await client.get(LIST + "export.csv")).status_code == 302
    mallory = await sync_to_async(make_person)("mallory")
    mallory.is_staff = True
    await mallory.asave()
    await client.aforce_login(mallory)
    assert (await client.get(LIST + "export.csv")).status_code == 403
