"""A tool may need a message with each rejection: nothing gets around it."""

from __future__ import annotations

import pytest

from approvals import actions
from approvals.asking.answers import Answer
from approvals.exceptions import Invalid
from approvals.models import ToolSettings
from approvals.states import Door, Kind, Verdict
from tests.support.desk.pressing import browser, refused
from tests.support.desk.requests import decide, make_request, stored
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

WORDS = "A rejection of “refund” needs a message to the agent. Write why you reject it."


@pytest.fixture(autouse=True)
def strict():
    ToolSettings.objects.create(tool_name="refund", reason_required=True)
    ToolSettings.objects.create(tool_name="other", reason_required=False)


@pytest.fixture
def refund():
    return make_request(alice(), tool_name="refund")


@pytest.mark.parametrize("via", [Door.DASHBOARD, Door.CHAT, Door.REST, Door.AI_SDK, Door.CEDAR])
def test_a_rejection_without_a_message_is_refused_on_every_path(refund, via):
    with pytest.raises(Invalid) as found:
        actions.decide(refund.pk, Answer(Verdict.REJECT, "  "), by=bob(), via=via)
    assert (str(found.value), found.value.errors) == (WORDS, {"comment": "is missing"})
    assert stored(refund).status == "pending"


def test_a_message_is_enough(refund):
    decide(refund, bob(), Verdict.REJECT, comment="Too much.")
    assert stored(refund).status == "rejected"


def test_other_verdicts_tools_and_kinds_need_none(refund):
    owner, decider = refund.requested_by, bob()
    for request, verdict in (
        (refund, Verdict.APPROVE),
        (make_request(owner, tool_name="other"), Verdict.REJECT),
        (make_request(owner, tool_name=""), Verdict.REJECT),
        (make_request(owner, Kind.QUESTION, tool_name="refund"), Verdict.REJECT),
    ):
        decide(request, decider, verdict)
        assert not stored(request).pending


def test_the_page_says_it_at_the_field(refund):
    words = refused(refund, bob(), {"verdict": "reject"}, 422)
    assert words == f"{WORDS} The message to the agent is missing"


def test_a_bulk_rejection_leaves_the_tool_out_and_says_why(refund):
    owner, client = refund.requested_by, browser(bob())
    plain = make_request(owner, tool_name="other")
    order = {"verdict": "reject", "pick": [f"{one.pk}:{one.input_digest}" for one in (refund, plain)]}
    page = parse(client.post("/requests/bulk/", order).text)
    assert "A rejection of this tool needs a message. Go back and write one." in page.words
    client.post("/requests/bulk/", order | {"confirmed": "yes"})
    assert [stored(one).status for one in (refund, plain)] == ["pending", "rejected"]
    client.post("/requests/bulk/", order | {"confirmed": "yes", "comment": "No budget."})
    assert stored(refund).status == "rejected"
