"""Files that come with the tools of MCP."""

from __future__ import annotations

import pytest

from approvals.api.mcp import calls
from approvals.models import ApprovalRequest
from approvals.states import Verdict
from tests.approvals.api.mcp.agent import QUESTION, REFUND, Agent, decide, only
from tests.support.desk.files import JPEG, PNG, TEXT, attachment, folder, stored_names
from tests.support.people import alice, bob

__all__ = ["folder"]
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("folder")]


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


def names() -> list[str]:
    return [file["name"] for file in only().attachments]


def test_an_approval_and_a_question_may_have_files():
    agent = Agent(alice())
    agent.call("request_approval", REFUND | {"attachments": [attachment()]})
    assert names() == ["receipt.png"]
    agent.call("ask_human", QUESTION | {"attachments": [attachment(TEXT, "note.txt"), attachment(JPEG, "b.jpg")]})
    files = ApprovalRequest.objects.get(kind="question").attachments
    assert [(file["name"], file["media_type"]) for file in files] == [
        ("note.txt", "text/plain"),
        ("b.jpg", "image/jpeg"),
    ]


def test_a_large_file_fits_into_a_call():
    Agent(alice()).call("request_approval", REFUND | {"attachments": [attachment(b"x" * 3_000_000, "a.txt")]})
    assert only().attachments[0]["size"] == 3_000_000


def test_an_equal_call_with_the_same_files_is_the_same_request_and_with_others_another(folder):
    agent = Agent(alice())
    for files in ([attachment()], [attachment()], [attachment(JPEG)]):
        agent.call("request_approval", REFUND | {"attachments": files})
    assert (ApprovalRequest.objects.count(), len(stored_names(folder))) == (2, 2)


def test_a_file_that_is_refused_is_said_to_the_model():
    refusal = (
        Agent(alice()).call("request_approval", REFUND | {"attachments": [attachment(b"<html>", "a.png")]}).refusal
    )
    assert "attachments.0: is not a PNG, JPEG, GIF, WebP, PDF, text (UTF-8) or CSV file" in refusal
    assert ApprovalRequest.objects.count() == 0


def test_a_report_names_the_input_alone_and_is_compared_with_what_was_approved():
    agent = Agent(alice())
    agent.call("request_approval", REFUND | {"attachments": [attachment(PNG)]})
    decide(bob(), Verdict.APPROVE)
    report = {"request_id": str(only().pk), "input": REFUND["input"], "output": "done"}
    other = agent.call("report_result", report | {"input": {"amount": 1}})
    assert "differs from the approved input" in other.refusal
    assert agent.call("report_result", report).result.get("isError") is not True
