"""The audit page: the right to open it, its filters, its pages, exports and saved reports."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime, timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.http import QueryDict
from django.test import AsyncClient
from django.utils import timezone

from approvals import actions
from approvals.models import ApprovalRequest, AuditEntry, SavedView
from approvals.queries import audit as queries
from approvals.queries.audit import entries_for
from approvals.queries.audit_filters import audit_filters_from
from approvals.record import audit, integrity
from approvals.states import Door, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request, make_workflow, stored
from tests.support.desk.scopes import make_scope
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db

PATHS = ["/audit/", "/audit/export.csv", "/audit/export.jsonl", "/audit/export.ocsf"]


def dave() -> User:
    """He may read the audit log, and every request."""
    return make_person("dave", "view_auditentry", "view_approvalrequest")


def lines(client, query: str = "") -> list[str]:
    """Return the events on the page, latest first."""
    page = parse(client.get(f"/audit/{query}").text)
    return [line.words for line in page.find("p", class_="audit-event")]


@pytest.fixture
def refund() -> ApprovalRequest:
    """Alice asked, Bob approved with changes, and it ran."""
    request = make_request(alice(), title="Refund order 4711?", tool_name="issueRefund", tool_call_id="call-1")
    decide(request, bob(), Verdict.EDIT, edited_input={"amount": 50, "orderId": "4711"}, comment="Half of it.")
    request = stored(request)
    said = actions.ReportedResult(input_digest=request.decision.approved_digest, output={"reference": "zeppelin"})
    actions.report_result(request.pk, said, scope=request.scope, by=request.requested_by, via=Door.REST)
    return request


@pytest.mark.parametrize("path", [*PATHS, "/audit/?event=nothing"])
def test_it_is_absent_for_people_who_may_not_read_the_audit_log(path):
    assert browser(carol()).get(path).status_code == 404


@pytest.mark.parametrize("path", [*PATHS, "/audit/evidence/"])
def test_it_is_absent_for_auditors_whom_scopes_limit(path):
    auditor, free = dave(), make_person("erin", "view_auditentry", "ignore_scopes")
    make_scope(auditor, by=User.objects.create_superuser("root"))
    assert [browser(person).get(path).status_code for person in (auditor, free)] == [404, 200]


@pytest.mark.parametrize("path", ["/audit/reports/", "/audit/reports/delete/"])
def test_reports_are_absent_for_auditors_whom_scopes_limit(path):
    auditor = dave()
    make_scope(auditor, by=User.objects.create_superuser("root"))
    assert browser(auditor).post(path, {"name": "Mine", "query": "", "report": "1"}).status_code == 404
    assert not SavedView.objects.exists()


@pytest.mark.parametrize("path", ["/audit/reports/", "/audit/reports/delete/"])
def test_reports_are_absent_for_people_who_may_not_read_the_audit_log(path):
    assert browser(carol()).post(path, {"name": "Mine", "query": "", "report": "1"}).status_code == 404


def test_events_are_told_in_plain_words_with_their_values(refund):
    client = browser(dave())
    page = parse(client.get("/audit/").text)
    assert lines(client) == ["Result: Succeeded", "Approved with changes", "Approval requested"]
    values = [one.words for one in page.find("dl", class_="audit-values")]
    assert values == ["amount 50 orderId 4711", "amount 50 orderId 4711", "amount 120 orderId 4711"]
    assert page.find("p", class_="audit-note")[0].words == "“Half of it.”"


def test_values_are_in_words_where_the_schema_says_what_they_are():
    schema = {"properties": {"amount": {"x-currency": "EUR"}, "day": {"format": "date"}}}
    given = {"amount": 120, "day": "2026-12-24"}
    request = make_request(alice(), input=given, response_schema=schema)
    decide(request, bob(), Verdict.EDIT, edited_input={**given, "amount": 1050.5})
    page = parse(browser(dave()).get("/audit/").text)
    values = [shown.words for shown in page.find("dl", class_="audit-values")]
    assert values == ["amount 1,050.50 EUR day Dec. 24, 2026", "amount 120.00 EUR day Dec. 24, 2026"]


def test_a_line_links_to_its_request_and_workflow_and_to_what_the_person_did(refund):
    page = parse(browser(dave()).get("/audit/").text)
    (row, *_others) = page.find("li", class_="audit-row")
    assert [link.attributes["href"] for link in row.find("a")] == [
        refund.get_absolute_url(),
        "?tool=issueRefund",
        f"?request={refund.pk}",
        refund.workflow.get_absolute_url(),
        "?person=alice",
    ]


def test_requests_and_workflows_link_to_their_entries(refund):
    client = browser(dave())
    assert f"/audit/?request={refund.pk}" in client.get(refund.get_absolute_url()).text
    assert f"/audit/?workflow={refund.workflow_id}" in client.get(refund.workflow.get_absolute_url()).text


#: Filters, and how many entries they show.
FILTERED = [
    ("?event=tool.result", 1),
    ("?verdict=edit", 1),
    ("?verdict=approve", 0),
    ("?person=bob", 1),
    ("?tool=issueRefund", 3),
    ("?tool=issue", 0),
    ("?amount_from=120", 1),
    ("?amount_from=50&amount_to=50.00", 2),
    ("?amount_to=119.99", 2),
    ("?amount_from=-1&amount_to=0", 0),
    ("?amount_from=120.01", 0),
    ("?amount_to=120&person=bob&q=zeppelin", 1),
    ("?q=refund+4711", 3),
    ("?q=half", 3),
    ("?q=zeppelin", 3),
    ("?q=zeppelin&person=bob", 1),
    ("?q=nothing", 0),
    ("?q=tool:issue", 3),
    ("?q=orderId:4711+half", 3),
    ("?q=amount>=120", 1),
    ("?q=amount<120+zeppelin", 2),
    ("?q=amount>120", 0),
    ("?q=-", 0),
    ("?run=nothing", 0),
    ("?workflow=999", 0),
]


def test_filters_find_what_they_say_and_the_exports_have_the_same(refund):
    client = browser(dave())
    assert [(query, len(lines(client, query))) for query, _ in FILTERED] == FILTERED
    exported = [entries_for(audit_filters_from(QueryDict(query[1:]))).count() for query, _ in FILTERED]
    assert exported == [found for _, found in FILTERED]


def test_one_request_and_one_workflow_can_be_filtered_for(refund):
    make_request(User.objects.get(username="alice"))
    client = browser(dave())
    assert len(lines(client)) == 4
    for query in (f"?request={refund.pk}", f"?workflow={refund.workflow_id}", f"?run={refund.workflow.key}"):
        assert len(lines(client, query)) == 3


def test_days_begin_at_midnight_in_the_time_zone_of_the_site(settings):
    settings.TIME_ZONE = "Europe/Berlin"
    timezone.get_default_timezone.cache_clear()
    at = datetime(2026, 11, 20, 23, 30, tzinfo=UTC)
    audit.record("key.revoked", audit.Subject(scope="x"), data={"name": "k"}, actor=None, via="admin", at=at)
    client = browser(dave())
    assert lines(client, "?since=2026-11-21&until=2026-11-21") == ["API key revoked"]
    assert lines(client, "?until=2026-11-20") == []
    timezone.get_default_timezone.cache_clear()


INVALID = [
    "?event=nothing", "?since=yesterday", "?since=2026-11-22&until=2026-11-21", "?nonsense=1", "?after=x", "?q=a&q=b",
    "?verdict=maybe", "?request=7", "?workflow=x", "?person=%00", "?since=0001-01-01", "?until=9999-12-31",
    "?amount_from=1,000", "?amount_to=1e3", "?amount_from=2&amount_to=1",
]  # fmt: skip


def test_invalid_filters_show_nothing_and_say_what_is_wrong(refund):
    client = browser(dave())
    for query in INVALID:
        response = client.get(f"/audit/{query}")
        assert (response.status_code, lines(client, query)) == (400, []), query
        assert len(parse(response.text).find("div", class_="refusal")[0].find("li")) == 1, query
        assert client.get(f"/audit/export.csv{query}").status_code == 422, query


def test_a_search_that_cannot_be_read_keeps_its_text_and_names_the_word(refund):
    response = browser(dave()).get("/audit/", {"q": "half amount>many", "verdict": "edit"})
    page = parse(response.text)
    (problem,) = page.find("li", id="search-problem")
    assert (response.status_code, page.find("p", class_="audit-event")) == (400, [])
    assert page.find("input", id="audit-q")[0].attributes["value"] == "half amount>many"
    assert "“amount>many”" in problem.words


def test_each_applied_filter_is_a_chip_that_removes_it(refund):
    query = "?event=request.decided&verdict=edit&person=bob&tool=issueRefund&amount_from=1&amount_to=99.5&since=2026-01-02&q=half"
    page = parse(browser(dave()).get(f"/audit/{query}").text)
    (chips,) = page.find("p", class_="audit-chips")
    shown = {chip.words.partition(" Remove")[0]: chip.attributes["href"] for chip in chips.find("a")}
    assert list(shown) == [
        "Event: Decided", "Verdict: Approved with changes", "Person: bob", "Tool: issueRefund", "Amount from: 1",
        "Amount to: 99.5", "From: 2026-01-02",
    ]  # fmt: skip
    assert QueryDict(shown["Person: bob"][1:]).dict() == QueryDict(query.replace("&person=bob", "")[1:]).dict()
    # The fields of the form are sent once.
    assert page.find("form", class_="audit-filters")[0].find("input", type="hidden") == []


def test_pages_have_every_entry_once(monkeypatch):
    monkeypatch.setattr(queries, "PAGE", 3)
    at = timezone.now()
    for number in range(8):
        moment = at - timedelta(seconds=number // 2)
        audit.record("key.revoked", audit.Subject(scope="x"), data={"n": number}, actor=None, via="admin", at=moment)
    client, seen, query = browser(dave()), [], ""
    while query is not None:
        page = parse(client.get(f"/audit/{query}").text)
        seen += [one.words for one in page.find("dl", class_="audit-values")]
        links = [link for link in page.find("a") if link.attributes.get("rel") == "next"]
        query = links[0].attributes["href"] if links else None
    # Of entries of the same moment, the later one is first; the value 0 is not shown.
    assert seen == ["n 1", "", "n 3", "n 2", "n 5", "n 4", "n 7", "n 6"]


def test_a_search_for_frequent_words_stops_and_offers_to_go_on(refund, monkeypatch):
    monkeypatch.setattr("approvals.queries.search.FEW_ABOUT", 0)
    client = browser(dave())
    assert len(lines(client, "?q=refund")) == 3
    monkeypatch.setattr(queries, "SCANNED", 1)
    response = client.get("/audit/?q=refund").text
    page = parse(response)
    assert len(page.find("p", class_="audit-event")) == 2
    (further,) = [link for link in page.find("a") if link.attributes.get("rel") == "next"]
    assert "only the entries since" in response
    assert lines(client, further.attributes["href"]) == ["Approval requested"]


def test_the_page_takes_as_many_statements_for_one_entry_as_for_many(django_assert_max_num_queries, refund):
    client = browser(dave())
    client.get("/audit/")
    for _ in range(5):
        make_request(refund.requested_by, workflow=make_workflow(refund.requested_by), tool_name="another")
    with django_assert_max_num_queries(10):
        assert len(lines(client)) == 8


def test_a_long_input_is_not_read_for_the_list():
    make_request(alice(), input={"text": "x" * 30_000, "amount": 7})
    page = parse(browser(dave()).get("/audit/").text)
    # Only the amount is known, from its column.
    assert [one.words for one in page.find("dl", class_="audit-values")] == ["amount 7"]


def test_a_range_of_many_amounts_stops_and_offers_to_go_on(refund, monkeypatch):
    monkeypatch.setattr("approvals.queries.amounts.FEW_ABOUT", 0)
    client = browser(dave())
    assert len(lines(client, "?amount_from=1")) == 3
    monkeypatch.setattr(queries, "SCANNED", 1)
    page = parse(client.get("/audit/?amount_from=1&amount_to=120").text)
    assert len(page.find("p", class_="audit-event")) == 2
    (further,) = [link for link in page.find("a") if link.attributes.get("rel") == "next"]
    assert lines(client, further.attributes["href"]) == ["Approval requested"]
    # A search that finds few requests is not cut off by amounts that many entries have.
    assert len(lines(client, "?amount_from=1&q=refund")) == 3


def test_a_range_of_amounts_can_be_saved_and_refused_in_words(refund):
    client = browser(dave())
    sent = {"name": "Large", "query": "amount_from=100&amount_to=1e9"}
    assert client.post("/audit/reports/", sent).status_code == 422
    sent["query"] = "amount_to=200&amount_from=100"
    assert client.post("/audit/reports/", sent)["Location"] == "/audit/?amount_from=100&amount_to=200"
    (shown,) = parse(client.get("/audit/?amount_from=9&amount_to=8").text).find("div", class_="refusal")
    assert shown.find("li")[0].words == "amount_to must not be less than the lowest amount"


def test_reports_are_saved_shown_replaced_and_deleted(refund):
    client, other = browser(dave()), browser(make_person("erin", "view_auditentry"))
    sent = {"name": " Refunds ", "query": "tool=issueRefund", "shared": "1"}
    assert client.post("/audit/reports/", sent)["Location"] == "/audit/?tool=issueRefund"
    client.post("/audit/reports/", sent | {"query": "verdict=edit&tool=issueRefund"})
    report = SavedView.objects.get(page="audit")
    assert (report.name, report.query) == ("Refunds", "verdict=edit&tool=issueRefund")
    for person, words in ((client, "Refunds shared"), (other, "Refunds by dave")):
        (shown,) = parse(person.get("/audit/").text).find("nav", class_="audit-reports")
        assert shown.words == words
    assert other.post("/audit/reports/delete/", {"report": report.pk}).status_code == 404
    assert client.post("/audit/reports/delete/", {"report": report.pk, "next": "//evil"})["Location"] == "/audit/"
    assert not SavedView.objects.exists()


@pytest.mark.parametrize(("name", "query"), [("", "tool=x"), ("x" * 61, "tool=x"), ("A", "tool=x&event=nothing")])
def test_a_report_without_a_name_or_with_invalid_filters_is_refused(name, query):
    response = browser(dave()).post("/audit/reports/", {"name": name, "query": query})
    assert (response.status_code, SavedView.objects.count()) == (422, 0)


def test_nobody_saves_more_reports_than_allowed(monkeypatch):
    monkeypatch.setattr("approvals.actions.lists.saved_views.MAX_VIEWS", 1)
    client = browser(dave())
    codes = [client.post("/audit/reports/", {"name": name, "query": ""}).status_code for name in "AAB"]
    assert codes == [302, 302, 422]


def test_the_verdict_of_an_entry_is_checked_against_its_body(refund):
    entry = AuditEntry.objects.get(event="request.decided")
    assert (entry.verdict, integrity.altered_columns(entry)) == ("edit", [])
    entry.verdict = "approve"
    assert integrity.altered_columns(entry) == ["verdict"]


@pytest.mark.django_db(transaction=True)
async def test_the_csv_is_in_the_words_of_the_page():
    def make() -> User:
        request = make_request(
            alice(), title="=Refund 4711?", tool_name="issueRefund", input={"amount": -120, "order": "+4711"}
        )
        decide(request, bob(), Verdict.APPROVE, comment="@bob says yes")
        return dave()

    client = AsyncClient()
    await client.aforce_login(await sync_to_async(make)())
    response = await client.get("/audit/export.csv?event=request.decided")
    text = b"".join([piece async for piece in response.streaming_content]).decode()
    (row,) = csv.DictReader(io.StringIO(text.removeprefix("\ufeff")))
    assert row | {"Entry": "", "Digest": "", "Request": "", "Time (UTC)": ""} == {
        "Time (UTC)": "", "Event": "Approved", "Verdict": "Approved", "Title": "'=Refund 4711?", "Tool": "issueRefund",
        "Amount": "-120", "Field 1": "amount", "Value 1": "-120", "Field 2": "order", "Value 2": "'+4711", "Field 3": "",
        "Value 3": "", "Message": "'@bob says yes", "Person": "bob", "Via": "web", "Request": "", "Entry": "", "Digest": "",
    }  # fmt: skip


@pytest.mark.django_db(transaction=True)
async def test_an_export_has_what_the_filters_show():
    def make() -> User:
        make_request(alice(), tool_name="issueRefund")
        make_request(bob(), tool_name="deploy")
        return dave()

    client = AsyncClient()
    await client.aforce_login(await sync_to_async(make)())
    for kind, heading in (("csv", 1), ("jsonl", 0), ("ocsf", 0)):
        response = await client.get(f"/audit/export.{kind}?tool=deploy")
        text = b"".join([piece async for piece in response.streaming_content]).decode()
        assert (len(text.splitlines()), "issueRefund" in text) == (heading + 1, False)
