"""The example front end, built and served as its README says, driven in Chromium beside the dashboard."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import UUID

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.examples.server import served
from tests.support.processes.server import Server, until

HIDDEN = "Object.defineProperty(document, 'hidden', {configurable: true, get: () => %s})"


@pytest.fixture(scope="module")
def address(server: Server) -> Iterator[str]:
    with served("ai-sdk", server) as found:
        yield found


class Asker:
    """A person at the example's page, and the dashboard."""

    def __init__(self, page, server, approver) -> None:
        self.page, self.server, self.approver = page, server, approver

    def say(self, text: str) -> None:
        self.page.get_by_label("Message").fill(text)
        self.page.get_by_role("button", name="Send").click()  # there once the assistant is done

    def card(self, title: str):
        return self.page.get_by_role("region", name=title)

    def decide(self, title: str, **fields: object) -> None:
        """Decide on the dashboard as the approver."""
        waiting = (
            "SELECT id FROM approvals_approvalrequest WHERE status = 'pending' AND title = ? ORDER BY created_at DESC"
        )
        ((request,), *_) = until(lambda: self.server.rows(waiting, title), f"{title} is asked")
        assert self.approver.decide(str(UUID(request)), **fields).status == 302

    def sees(self, text: str) -> None:
        self.page.get_by_text(text).last.wait_for()


@pytest.fixture
def asker(address, windows, server, people):
    page = windows.open(people("approver"), "/login/")
    page.goto(address)
    return Asker(page, server, people("approver"))


def test_a_question_is_answered_in_the_page_and_the_same_message_goes_on(asker):
    asker.say("ask")
    asker.card("Which delivery do you prefer?").get_by_role("button", name="Express").click()
    asker.sees("Thank you, you chose Express. I will arrange that.")
    expect(asker.page.get_by_role("article", name="Agent")).to_have_count(1)
    asker.page.reload()
    asker.sees("Thank you, you chose Express. I will arrange that.")


def test_a_refund_is_approved_in_the_page_and_rejected_with_a_reason(asker):
    asker.say("Please refund order 4711, 250 euros")
    asker.page.get_by_role("button", name="Approve").click()
    asker.sees("That is what happened with order 4711")
    asker.say("Please refund order 4712, 260 euros")
    asker.page.get_by_label("Reason, for the agent to read").fill("Only half came back.")
    asker.page.get_by_role("button", name="Reject").click()
    asker.sees("That is what happened with order 4712")
    asker.sees("Only half came back.")


def test_page_shows_decisions_of_the_dashboard_and_keeps_drafts(asker):
    asker.say("Please refund order 4713, 270 euros")
    asker.page.get_by_role("button", name="Approve").wait_for()
    asker.page.get_by_label("Message").fill("half a sen")
    asker.decide("Run issueRefund?", verdict="approve")
    asker.sees("That is what happened with order 4713")
    expect(asker.page.get_by_label("Message")).to_have_value("half a sen")


def test_two_questions_are_answered_in_different_places(asker):
    asker.say("ask parallel")
    asker.card("Which delivery do you prefer?").get_by_role("button", name="Standard").click()
    asker.card("Which delivery do you prefer?").get_by_text("answered", exact=True).wait_for()
    asker.decide("What should we add?", verdict="respond", choice="0")
    asker.sees("Thank you. You said: Standard and Gift wrap.")


def test_late_answer_names_the_first(asker, windows):
    windows.tolerate("409")
    # A page in the background polls only once, when the assistant is done.
    asker.page.evaluate(HIDDEN % "true")
    asker.say("ask")
    asker.sees("Waiting for an answer.")
    asker.decide("Which delivery do you prefer?", verdict="respond", choice="0")
    asker.card("Which delivery do you prefer?").get_by_role("button", name="Express").click()
    asker.sees("approver answered first: ")
    asker.page.evaluate(HIDDEN % "false")
    asker.sees("Thank you, you chose Standard. I will arrange that.")


def test_reload_continues_where_it_was(asker):
    asker.say("ask slow")
    asker.sees("One question")
    asker.page.reload()
    asker.card("Which delivery do you prefer?").get_by_role("button", name="Express").click()
    asker.sees("You chose Express. This answer takes")
    asker.page.reload()
    asker.sees("stop in the middle of it and see what is kept.")
    expect(asker.page.get_by_role("article", name="Agent")).to_have_count(1)
