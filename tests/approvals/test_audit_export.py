"""The audit log as a file: what the filters show, streamed, safe in a spreadsheet."""

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

from approvals import audit, exports
from approvals.models import AuditEntry
from tests.people import make_person

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


async def test_the_csv_has_a_header_and_the_columns_of_the_record():
    await sync_to_async(make_entry)(tool_name="issueRefund", at=datetime(2026, 11, 21, 12, 0, 0, 5, tzinfo=UTC))
    response, text = await download("export.csv")
    (row,) = csv.DictReader(io.StringIO(text))
    assert list(row) == audit.COLUMNS
    assert (row["at"], row["tool"], row["event"]) == ("2026-11-21T12:00:00.000005Z", "issueRefund", "request.decided")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"].startswith('attachment; filename="audit-20')


async def test_the_jsonl_has_one_object_a_line_in_the_order_of_events():
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
async def test_the_export_holds_exactly_what_the_filters_show(query, found):
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
    assert [name for name in "abc" if f'field-tool_call_id">{name}<' in page] == found


async def test_a_spreadsheet_runs_nothing():
    for text in ("=1+1", "+1", "-1", "@sum", "\tx", "\rx"):
        await sync_to_async(make_entry)(tool_call_id=text, data={"amount": "=1+1"})
    _, text = await download("export.csv")
    cells = [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]
    assert [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))] == []
    assert "'=1+1" in cells


async def test_it_is_read_page_by_page_and_only_as_far_as_the_client_wants():
    def make():
        row = {"event": "tool.result", "scope": "s", "body": '{"data":{}}', "digest": "", "at": datetime.now(UTC)}
        AuditEntry.objects.bulk_create(AuditEntry(**row, last_seen_at=row["at"]) for _ in range(1200))

    await sync_to_async(make)()
    pages = exports.pages(AuditEntry.objects.all())
    assert [len(await anext(pages)) for _ in range(2)] == [500, 500]
    assert [len(page) async for page in pages] == [200]


def test_a_page_costs_one_query():
    make_entry()
    with CaptureQueriesContext(connection) as queries:
        exports._read(AuditEntry.objects.order_by("pk"), 0)
    assert len(queries) == 1


async def test_who_may_not_see_the_log_gets_nothing():
    client = AsyncClient()
    assert (await client.get(LIST + "export.csv")).status_code == 302
    mallory = await sync_to_async(make_person)("mallory")
    mallory.is_staff = True
    await mallory.asave()
    await client.aforce_login(mallory)
    assert (await client.get(LIST + "export.csv")).status_code == 403
