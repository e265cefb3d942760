"""Rows of the inbox: no text of a client is raw, and a decided one shows the approved input."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.translation import override

from approvals.access.standing import standing_of
from approvals.live.batching import BatchCache
from approvals.models import ApprovalRequest, ToolSettings
from approvals.pages.lists.inbox_rows import InboxRow, rows_for
from approvals.queries import request_list
from approvals.queries.described import MAX_SCHEMA
from approvals.queries.filters import OVER, Filters
from approvals.queries.lists.orders import parts_of
from approvals.states import Kind, Priority, Verdict
from tests.support.desk.requests import FUTURE, decide, make_request, make_workflow
from tests.support.markup import Element, parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

OVER_ONES = Filters(status=OVER)
ODD = "<b>title</b> &amp; {{ row.title }} \u202e\"'"


def rows() -> list[InboxRow]:
    """Return rows of every kind, priority and outcome, with and without each of their parts."""
    owner, decider = alice(), bob()
    for kind in Kind:
        for priority in Priority:
            make_request(owner, kind, priority=priority)
    workflow = make_workflow(owner, agent=ODD)
    odd = {"input": {ODD: ODD, "": "", "b": True}, "workflow": workflow, "assigned_to": decider, "deadline_at": FUTURE}
    for number, verdict in enumerate([None, Verdict.APPROVE, Verdict.REJECT]):
        made = make_request(owner, title=f"{ODD} {number}", **odd)
        if verdict is not None:
            decide(made, decider, verdict, comment=ODD)
    make_request(owner, Kind.QUESTION, title=ODD, message=ODD)
    make_request(owner, input={"": 1, "value": "\x01"})
    make_request(owner, input={})
    return rows_for(standing_of(decider), BatchCache(), request_list.listed(ApprovalRequest.objects.all()))


def listed_rows(user: User) -> list[InboxRow]:
    return rows_for(standing_of(user), BatchCache(), request_list.listed(ApprovalRequest.objects.all()))


def words_in(row: Element) -> list[str]:
    return [value.words for value in row.find("span", class_="row-value")]


def test_no_text_of_a_client_is_raw_in_a_row():
    html = render_to_string("approvals/inbox/_rows.html", {"rows": [row.shown for row in rows()]})
    assert [html.count(raw) for raw in ("<b>title", "\u202e", "\x01", "{{")] == [0, 0, 0, html.count("{{ row.title }}")]
    assert html.count("&lt;b&gt;title&lt;/b&gt; &amp;amp; {{ row.title }}") > 10


@pytest.mark.parametrize("pad", [0, 500])
def test_a_decided_row_shows_the_input_that_was_approved(pad):
    owner, decider = alice(), bob()
    ToolSettings.objects.create(tool_name="refund", key_fields=["/amount"])
    made = make_request(owner, tool_name="refund", input={"note": "n" * pad, "amount": 13})
    decide(made, decider, Verdict.EDIT, edited_input={"note": "n" * pad, "amount": 10})
    (listed,) = rows_for(standing_of(decider), BatchCache(), request_list.listed(ApprovalRequest.objects.all()))
    (section,) = request_list.first_rows(standing_of(decider), OVER_ONES, parts_of(OVER_ONES)[0], 5)
    assert [listed.values, rows_for(standing_of(decider), BatchCache(), [section])[0].values] == [
        [("amount", "10")]
    ] * 2


def test_a_decided_row_shows_when_it_was_decided_and_a_waiting_one_when_it_was_requested():
    owner, decider = alice(), bob()
    decided, waiting = make_request(owner), make_request(owner)
    decide(decided, decider, Verdict.APPROVE)
    hours_ago = timezone.now() - timedelta(hours=5)
    ApprovalRequest.objects.update(created_at=hours_ago)
    shown = {
        row.request.pk: row.shown
        for row in rows_for(standing_of(decider), BatchCache(), request_list.listed(ApprovalRequest.objects.all()))
    }
    times = [parse(str(shown[made.pk].about.when)).find("time")[0].words for made in (decided, waiting)]
    assert times == ["just now", "5h ago"]
    assert shown[decided.pk].outcome.words == "Approved by bob"


SCHEMA = {"properties": {"day": {"format": "date"}, "fee": {"x-currency": "EUR"}}}
PLAIN = [("day", "2026-12-24"), ("fee", "120")]


def test_a_row_has_its_values_in_words_where_the_schema_says_what_they_are():
    owner, decider = alice(), bob()
    waiting, decided = (make_request(owner, input=dict(PLAIN), response_schema=SCHEMA) for _number in range(2))
    decide(decided, decider, Verdict.EDIT, edited_input={"day": "2026-12-31"})
    html = render_to_string("approvals/inbox/_rows.html", {"rows": [row.shown for row in listed_rows(decider)]})
    values = {row.attributes["id"]: words_in(row) for row in parse(html).find("li")}
    assert values == {
        f"row-{waiting.pk}": ["day Dec. 24, 2026", "fee 120.00 EUR"],
        f"row-{decided.pk}": ["day Dec. 31, 2026"],
    }


@pytest.mark.parametrize(
    "schema", [None, {"properties": {"day": {"type": "string"}}}, {**SCHEMA, "$comment": "x" * MAX_SCHEMA}]
)
def test_values_are_as_they_were_sent_where_no_short_schema_says_what_they_are(schema):
    make_request(alice(), input=dict(PLAIN), response_schema=schema)
    assert [row.values for row in listed_rows(bob())] == [PLAIN]


def test_the_schema_of_an_answer_says_nothing_about_an_input():
    make_request(alice(), Kind.FORM, input={}, response_schema=SCHEMA)
    assert [request.described for request in request_list.listed(ApprovalRequest.objects.all())] == [""]


def test_a_title_that_only_names_the_tool_is_quiet_and_a_row_without_values_has_one_line():
    owner, approver = alice(), bob()
    for title, tool, given in (
        ("Run refund?", "refund", {"amount": 1}),
        ("refund", "refund", {}),
        ("Run mail?", "refund", {}),
        ("Run ?", "", {}),
    ):
        make_request(owner, title=title, tool_name=tool, input=given)
    html = render_to_string("approvals/inbox/_rows.html", {"rows": [row.shown for row in listed_rows(approver)]})
    found = {
        row.find("a")[0].words: (
            "is-made" in row.attributes["class"],
            row.find("span", class_="row-values")[0].text != "",
        )
        for row in parse(html).find("li")
    }
    assert found == {
        "Run refund?": (True, True),
        "refund": (True, False),
        "Run mail?": (False, False),
        "Run ?": (False, False),
    }
    with override("de"):
        titles = {row.shown.about.title for row in listed_rows(approver)}
    # The words of Pausepoint are translated, those of an agent are not.
    assert titles == {"refund ausführen?", "refund", "Run mail?", "Run ?"}
