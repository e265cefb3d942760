"""A tool may need a message with each rejection: nothing gets around it."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.contrib.auth.models import User

from approvals import actions
from approvals.administration.tools.actions import store_strict_priorities
from approvals.asking.answers import Answer
from approvals.exceptions import Invalid
from approvals.models import AuditEntry, ToolSettings
from approvals.outbound.links import confirm_link
from approvals.states import Door, Kind, Priority, Verdict
from tests.support.desk.pressing import browser, refused
from tests.support.desk.requests import decide, make_request, stored
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def root():
    return User.objects.create_superuser("root")


WORDS = "A rejection of “refund” needs a message to the agent. Explain why you reject it."


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


@pytest.mark.parametrize("via", [Door.DASHBOARD, Door.CHAT, Door.REST, Door.AI_SDK, Door.CEDAR])
def test_a_priority_may_need_a_message_too_whatever_the_tool(via):
    store_strict_priorities(["high"], by=root())
    owner, decider = alice(), bob()
    for tool in ("other", ""):
        strict = make_request(owner, tool_name=tool, priority=Priority.HIGH)
        with pytest.raises(Invalid) as found:
            actions.decide(strict.pk, Answer(Verdict.REJECT), by=decider, via=via)
        assert found.value.errors == {"comment": "is missing"}
        decide(strict, decider, Verdict.REJECT, comment="No budget.")
        normal = make_request(owner, tool_name=tool)
        actions.decide(normal.pk, Answer(Verdict.REJECT), by=decider, via=via)
    question = make_request(owner, Kind.QUESTION, priority=Priority.HIGH)
    decide(question, decider, Verdict.REJECT)


def test_pages_say_before_that_the_priority_needs_a_message():
    store_strict_priorities(["high"], by=root())
    request, decider = make_request(alice(), tool_name="other", priority=Priority.HIGH), bob()
    client = browser(decider)
    assert "A rejection needs a message." in client.get(request.get_absolute_url()).text
    link = confirm_link(request, decider, Verdict.REJECT).removeprefix(settings.PUBLIC_URL)
    page = parse(client.get(link).text)
    assert "required" in page.find("textarea", id="confirm-comment")[0].attributes
    order = {"verdict": "reject", "pick": [f"{request.pk}:{request.input_digest}"]}
    client.post("/requests/bulk/", order | {"confirmed": "yes"})
    assert stored(request).pending


def test_administrators_choose_the_priorities_on_record():
    client, own = browser(root()), "/settings/tools/"
    for sent in (["high", "critical"], ["high", "critical"], []):
        assert client.post(own, {"priorities": sent}).status_code == 302
    entries = AuditEntry.objects.filter(event="priority.changed").order_by("pk")
    assert [entry.data for entry in entries] == [
        {"reason_required": ["high", "critical"]},
        {"reason_required": []},
    ]
    assert client.post(own, {"priorities": ["urgent"]}).status_code == 422
    assert browser(bob()).post(own, {"priorities": []}).status_code == 404


def test_a_bulk_rejection_leaves_the_tool_out_and_says_why(refund):
    owner, client = refund.requested_by, browser(bob())
    plain = make_request(owner, tool_name="other")
    order = {"verdict": "reject", "pick": [f"{one.pk}:{one.input_digest}" for one in (refund, plain)]}
    page = parse(client.post("/requests/bulk/", order).text)
    assert "A rejection of this request needs a message. Go back and write one." in page.words
    client.post("/requests/bulk/", order | {"confirmed": "yes"})
    assert [stored(one).status for one in (refund, plain)] == ["pending", "rejected"]
    client.post("/requests/bulk/", order | {"confirmed": "yes", "comment": "No budget."})
    assert stored(refund).status == "rejected"
