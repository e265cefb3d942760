"""Results are shown where the call was approved: state, output or error, time, and whether the input matches."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.http import QueryDict
from django.utils import timezone

from approvals import actions
from approvals.access.standing import standing_of
from approvals.asking.digests import input_digest
from approvals.db.append_only import maintenance
from approvals.db.pool import run
from approvals.exceptions import OtherInput
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.pages.consumers import DeskConsumer
from approvals.pages.lists.inbox_consumer import InboxConsumer
from approvals.pages.pushes.result import render_results
from approvals.queries.filters import filters_from
from approvals.queries.results import ShownResult, results_of
from approvals.record import audit
from approvals.states import Door, Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request, make_workflow, stored
from tests.support.lines import line
from tests.support.markup import Element, parse
from tests.support.people import alice, bob, carol, make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def approved():
    owner = alice()
    request = make_request(owner, workflow=make_workflow(owner), tool_name="refund", tool_call_id="call-1")
    decide(request, bob(), Verdict.APPROVE)
    return stored(request)


def report(request: ApprovalRequest, **result) -> None:
    said = actions.ReportedResult(input_digest=request.decision.approved_digest, **result)
    actions.report_result(request.pk, said, scope=request.scope, by=request.requested_by, via=Door.REST)


def shown(user, path: str) -> Element:
    (result,) = parse(browser(user).get(path).text).find("section", class_="result")
    return result


def paths(request: ApprovalRequest) -> list[str]:
    return [request.get_absolute_url(), request.workflow.get_absolute_url()]


def test_output_is_shown_on_the_request_and_workflow_pages(approved):
    report(approved, output={"refunded": 120, "note": "<b>\u202e"})
    for path in paths(approved):
        result = shown(carol() if path == paths(approved)[0] else approved.requested_by, path)
        assert result.find("h5")[0].words == "Result Succeeded"
        assert result.find("p", class_="exact")[0].words == "Ran exactly what was approved."
        assert [cell.words for cell in result.find("td")] == ["<b>⟨U+202E⟩", "120"]
        assert result.find("time")[0].attributes["datetime"] == AuditEntry.objects.last().at.isoformat()
        assert "reported by alice" in result.find("p", class_="meta")[0].words


def test_long_output_is_complete_in_its_raw_json(approved):
    report(approved, output=[f"row {number}" for number in range(501)])
    result = shown(carol(), approved.get_absolute_url())
    assert result.find("details", class_="raw")[0].find("pre")[0].words.endswith('"row 500"]')


def test_an_error_is_shown(approved):
    report(approved, error_text="The bank refused <it>.")
    result = shown(carol(), approved.get_absolute_url())
    assert (result.find("h5")[0].words, result.find("pre")[0].words) == ("Result Failed", "The bank refused <it>.")


def test_missing_result_is_mentioned(approved):
    assert "No result yet." in shown(approved.requested_by, approved.get_absolute_url()).words


def approve_earlier(request: ApprovalRequest, minutes: int) -> None:
    with maintenance(connection, "an earlier decision"):
        Decision.objects.filter(request=request).update(decided_at=timezone.now() - timedelta(minutes=minutes))


def test_a_result_that_was_not_reported_in_time_is_missing_in_red(approved):
    approve_earlier(approved, 11)
    result = shown(approved.requested_by, approved.get_absolute_url())
    assert result.find("p", class_="refusal")[0].words.startswith("No result was reported. Approved 11")


def test_nothing_is_missing_while_other_requests_of_the_workflow_wait(approved):
    make_request(approved.requested_by, workflow=approved.workflow)
    approve_earlier(approved, 11)
    assert "No result yet." in shown(approved.requested_by, approved.get_absolute_url()).words


def test_both_digests_are_shown(approved):
    report(approved, output=1)
    digests = [cell.words for cell in shown(carol(), approved.get_absolute_url()).find("dd")]
    assert digests == [approved.decision.approved_digest, approved.decision.approved_digest]


def test_a_report_of_another_input_is_shown_in_red_beside_the_result(approved):
    other = input_digest({"amount": 9})
    for error in ("<b>Wrong account</b>", ""):
        said = actions.ReportedResult(input_digest=other, error_text=error)
        with pytest.raises(OtherInput):
            actions.report_result(approved.pk, said, scope=approved.scope, by=approved.requested_by, via=Door.REST)
    auditor = carol()
    result = shown(auditor, approved.get_absolute_url())
    (ran,) = result.find("div", class_="other-run")
    assert result.attributes["class"] == "result result-alarm"
    assert ran.find("p", class_="refusal")[0].words == "What ran differs from what was approved."
    assert ran.find("p", class_="meta")[0].words.endswith("reported by alice reported 2 times")
    assert (ran.find("pre")[0].words, ran.find("dd")[0].words) == ("<b>Wrong account</b>", other)
    assert "No result" not in result.words
    report(approved, output=1)
    for path in paths(approved):
        result = shown(approved.requested_by, path)
        assert result.find("p", class_="exact")[0].words == "Ran exactly what was approved."
        assert len(result.find("div", class_="other-run")) == 1
    record = browser(auditor).get(f"{approved.get_absolute_url()}record/").text
    assert other in parse(record).words


def test_a_request_is_found_by_the_words_of_its_result(approved):
    report(approved, output={"reference": "Zeppelin-77"})
    page = browser(carol()).get("/requests/?status=any&q=zeppelin+77").text
    assert str(approved.pk) in page


def test_a_push_shows_the_result(approved):
    report(approved, output={"refunded": 120})
    (pushed,) = parse(render_results([stored(approved)])).find("section", class_="result")
    assert pushed.attributes["hx-swap-oob"] == "outerHTML"
    page = parse(browser(carol()).get(approved.get_absolute_url()).text)
    assert [one.attributes["id"] for one in page.find("section", class_="result")] == [pushed.attributes["id"]]


@pytest.mark.django_db(transaction=True)
async def test_the_inbox_is_pushed_a_result_for_the_request_that_it_shows():
    owner, by = await run(alice), await run(bob)
    request = await run(lambda: make_request(owner, tool_name="refund", tool_call_id="call-1"))
    await run(decide, request, by, Verdict.APPROVE)
    async with line("/ws/requests/", by) as page:
        await run(lambda: report(stored(request), output={"refunded": 120}))
        (pushed,) = parse(await page.until("Ran exactly what was approved")).find("section", class_="result")
    assert (pushed.attributes["id"], pushed.attributes["hx-swap-oob"]) == (f"result-{request.pk}", "outerHTML")


@pytest.mark.parametrize("page", [DeskConsumer(), InboxConsumer()])
def test_a_page_that_missed_only_a_result_catches_up_with_it(approved, page):
    ApprovalRequest.objects.update(changed_at=timezone.now() - timedelta(hours=1))
    report(approved, output={"refunded": 120})
    page.filters, found = filters_from(QueryDict()), {}
    for name, ago in (("before", 60), ("after", -60)):
        page.scope = {"query_string": f"since={int(timezone.now().timestamp()) - ago}".encode()}
        viewer = standing_of(carol() if name == "before" else approved.requested_by)
        html = page.catch_up(viewer, BatchCache())
        found[name] = [one.attributes["id"] for one in parse(html).find("section", class_="result")]
    assert found == {"before": [f"result-{approved.pk}"], "after": []}


@pytest.mark.parametrize("verdict", [None, Verdict.REJECT])
def test_no_result_is_mentioned_if_nothing_was_approved(verdict):
    request = make_request(alice())
    if verdict:
        decide(request, bob(), verdict)
    page = browser(carol()).get(request.get_absolute_url()).text
    assert parse(page).find("section", class_="result") == []


@pytest.mark.parametrize(
    ("executed", "executions", "exact", "words"),
    [
        ("approved", 1, True, "Ran exactly what was approved."),
        ("other", 1, False, "What ran differs from what was approved."),
        ("", 0, None, "It did not run."),
    ],
)
def test_executed_input_is_compared_with_the_approved_one(approved, executed, executions, exact, words):
    digests = {"approved": approved.decision.approved_digest, "other": input_digest({"amount": 9}), "": ""}
    data = {
        "state": "failed",
        "executed_digest": digests[executed],
        "executions": executions,
        "output": None,
        "error_text": "x",
    }
    audit.record_once("tool.result", audit.subject_of(approved, approved.workflow), data=data, actor=None, via="runner")
    assert results_of([approved])[approved.pk].exact is exact
    assert words in shown(approved.requested_by, approved.get_absolute_url()).words


def test_executed_edit_matches_the_approved_edit():
    request = make_request(alice(), tool_call_id="call-2")
    decide(request, bob(), Verdict.EDIT, edited_input={"amount": 1, "orderId": "4711"})
    report(stored(request), output="done")
    result = results_of([stored(request)])[request.pk]
    assert (result.exact, result.output) == (True, "done")


def test_results_of_many_requests_take_one_query_and_of_none_no_query(approved, django_assert_num_queries):
    pending = make_request(approved.requested_by)
    with django_assert_num_queries(0):
        assert results_of([pending]) == {}
    others = [stored(approved)]
    _ = others[0].decision
    with django_assert_num_queries(1):
        found = results_of(others)
    decision = others[0].decision
    assert found == {
        approved.pk: ShownResult(approved_at=decision.decided_at, approved_digest=decision.approved_digest)
    }


def test_assignee_sees_the_result_without_the_permission_to_decide():
    owner, dora = alice(), make_person("dora", "decide_approvalrequest")
    workflow = make_workflow(owner)
    request = make_request(owner, Kind.APPROVAL, workflow=workflow, assigned_to=dora, tool_call_id="call-3")
    decide(request, bob(), Verdict.APPROVE)
    report(stored(request), output=5)
    dora.user_permissions.clear()
    assert shown(dora, workflow.get_absolute_url()).find("td")[0].words == "5"
