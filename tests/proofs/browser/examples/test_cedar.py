"""The Cedar-OS example, built and served as its README says, driven in Chromium beside the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.examples.server import served
from tests.support.processes.server import Server, until

PAYMENT = "Run sendPayment?"


@pytest.fixture(scope="module")
def address(server: Server) -> Iterator[str]:
    with served("cedar", server) as found:
        yield found


class Asker:
    """A person at the example's page, and the dashboard."""

    def __init__(self, page, server, approver) -> None:
        self.page, self.server, self.approver = page, server, approver

    def say(self, text: str) -> None:
        self.page.get_by_label("Message").fill(text)
        self.page.get_by_role("button", name="Send").click()  # there once the assistant is done

    def sees(self, text: str) -> None:
        self.page.get_by_text(text).last.wait_for()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def decide(self, **fields: object) -> None:
        """Decide the waiting payment on the dashboard as the approver."""
        waiting = (
            "SELECT id FROM approvals_approvalrequest WHERE status = 'pending' AND title = ? ORDER BY created_at DESC"
        )
        ((request,), *_) = until(lambda: self.server.rows(waiting, PAYMENT), "the payment is asked for")
        assert self.approver.decide(str(UUID(request)), **fields).status == 302


@pytest.fixture
def asker(address, windows, server, people):
    # Cedar's own callbacks use it.
    windows.tolerate("'executeCustomSetter' is deprecated")
    page = windows.open(people("approver"), "/login/")
    page.goto(address)
    return Asker(page, server, people("approver"))


def test_a_payment_is_approved_in_the_page(asker):
    asker.say("approve payment")
    asker.press("Approve")
    asker.sees("The payment is settled: status sent")
    expect(asker.page.get_by_role("button", name="Approve")).to_have_count(0)


def test_a_payment_is_rejected_with_a_reason(asker):
    asker.say("approve payment")
    asker.page.get_by_label("Reason, for the agent to read").fill("Wrong account.")
    asker.press("Reject")
    asker.sees("Their reason: Wrong account.")


def test_waiting_request_survives_a_reload(asker):
    asker.say("approve payment")
    asker.page.get_by_role("button", name="Approve").wait_for()
    asker.page.reload()
    asker.press("Approve")
    asker.sees("The payment is settled: status sent")


def test_a_question_is_answered_by_a_button_and_another_by_typing(asker):
    asker.say("ask")
    asker.press("Express")
    asker.sees("Thank you, you chose Express. I will arrange that.")
    asker.say("ask human")
    asker.sees("Write the answer as your next message.")
    asker.say("Offer a free return")
    asker.sees("I was told: Offer a free return")


def test_late_decision_names_the_first(asker):
    asker.say("approve payment")
    asker.page.get_by_role("button", name="Approve").wait_for()
    asker.decide(verdict="reject")
    asker.press("Approve")
    asker.sees("This request was rejected just now by approver.")


def test_cancelled_run_cancels_its_requests(asker):
    asker.say("approve payment")
    asker.press("Cancel")
    asker.sees("has been cancelled.")
    last = "SELECT verdict, via FROM approvals_decision ORDER BY id DESC LIMIT 1"
    until(lambda: asker.server.rows(last) == [("cancel", "cedar")], "the request is withdrawn")
