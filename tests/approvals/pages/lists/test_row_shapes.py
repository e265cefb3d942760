"""Rows of the inbox are filled into shapes: the result is what the template renders, and no text of a client is raw."""

from __future__ import annotations

import pytest
from django.template.loader import render_to_string
from django.utils.translation import override

from approvals.models import ApprovalRequest
from approvals.pages.lists.inbox_rows import InboxRow, rows_for
from approvals.pages.lists.row_shapes import TEMPLATE, rows_html, shape
from approvals.queries import request_list
from approvals.states import Kind, Priority, Verdict
from tests.support.desk.requests import FUTURE, decide, make_request, make_workflow
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

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
    return rows_for(decider, request_list.listed(ApprovalRequest.objects.all()))


def test_rows_are_what_the_template_renders():
    found = rows()
    for language in ("en", "de"):
        with override(language):
            for row in found:
                assert rows_html([row]) == render_to_string(TEMPLATE, {"rows": [row.shown]})
    assert rows_html(found) == "".join(rows_html([row]) for row in found)


def test_rows_with_the_same_parts_share_a_shape():
    owner = alice()
    asked = [make_request(owner, title=title) for title in "abc"]
    found = rows_for(bob(), request_list.listed(ApprovalRequest.objects.all()))
    shape.cache_clear()
    html = rows_html(found)
    assert shape.cache_info().misses == 1
    assert [f">{one.title}</a>" in html for one in asked] == [True] * 3
