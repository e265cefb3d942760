"""The result of a chat's tool call is shown on the pages of its request and workflow."""

from __future__ import annotations

import pytest

from approvals.models import ApprovalRequest
from approvals.states import Verdict
from tests.support.chats.turns import converse, decide, only_request, reload, run
from tests.support.desk.pressing import browser
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("changed", [None, {"amount": 101, "orderId": "4711"}])
def test_a_tool_that_ran_after_an_approval_is_shown_with_its_output(changed):
    turn = converse(alice(), "Please refund order 4711, 250 euros")
    request, decider = only_request(turn), bob()
    decide(
        request, decider, Verdict.EDIT if changed else Verdict.APPROVE, **({"edited_input": changed} if changed else {})
    )
    run(reload(turn))
    asked = ApprovalRequest.objects.get(pk=request.pk)
    for path in (asked.get_absolute_url(), asked.workflow.get_absolute_url()):
        (result,) = parse(browser(decider).get(path).text).find("section", class_="result")
        assert result.find("h5")[0].words == "Result Succeeded"
        assert result.find("p", class_="exact")[0].words == "Ran exactly what was approved."
        amounts = {row.find("th")[0].words: row.find("td")[0].words for row in result.find("tr")}
        assert amounts["orderId"] == "4711"


def test_call_stopped_before_it_ran_says_so():
    turn = converse(alice(), "ask mixed")
    request = ApprovalRequest.objects.get(kind="approval")
    decide(request, bob(), Verdict.APPROVE)
    from_page = browser(turn.chat.owner)
    from_page.post(f"{turn.chat.get_absolute_url()}stop/")
    (result,) = parse(from_page.get(request.get_absolute_url()).text).find("section", class_="result")
    assert (result.find("h5")[0].words, "It did not run." in result.words) == ("Result Cancelled", True)
