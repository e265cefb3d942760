"""Open pages while things happen: decisions elsewhere, drafts, lost connections, logout; and pages without JavaScript."""

from __future__ import annotations

import re

import pytest

from tests.proofs.browser.test_story import ask, wait_for_state
from tests.support.processes.server import Person, Server

pytestmark = pytest.mark.browser

DECIDE = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.asking.answers import Answer
from approvals.states import Door, Verdict
bob = User.objects.get(username="approver")
actions.decide("{request}", Answer(Verdict.APPROVE, "While you were away."), by=bob, via=Door.DASHBOARD)
"""


def live(page) -> tuple[str, str]:
    mark = page.locator("#live")
    return mark.get_attribute("data-state"), mark.inner_text()


def card(page, request: str):
    return page.locator(f"#request-{request}")


def tops(page, *requests: str) -> list[float]:
    """Return the tops of cards, read at once so that none is replaced meanwhile."""
    return page.evaluate(
        "ids => ids.map(id => document.getElementById(id).getBoundingClientRect().top + scrollY)",
        [f"request-{one}" for one in requests],
    )


@pytest.mark.parametrize(
    ("number", "ruling"),
    [
        (811, {"verdict": "approve"}),
        (814, {"verdict": "reject", "comment": "Only half of it came back."}),
        (817, {"verdict": "reject", "comment": "A long story. " * 60}),
    ],
    ids=["short", "with-a-reason", "with-a-long-reason"],
)
def test_decision_elsewhere_updates_the_card_and_moves_no_other(windows, people, number, ruling):
    asked = [people("requester").pause(f"Please refund order {number + n}, 500 euros")[1] for n in range(3)]
    above, decided, below = asked
    page = windows.open(people("admin"))
    before = tops(page, *asked)
    assert people("approver").decide(decided, **ruling).status == 302
    outcome = card(page, decided).locator(".outcome")
    words = {"approve": "Approved by approver", "reject": "Rejected by approver"}[ruling["verdict"]]
    assert outcome.locator("p").first.inner_text().startswith(words)
    assert outcome.inner_text().count("A long story.") == ruling.get("comment", "").count("A long story.")
    assert tops(page, *asked) == before
    assert [card(page, one).locator("button[name=verdict]").count() > 0 for one in (above, decided, below)] == [
        True,
        False,
        True,
    ]


def test_draft_survives_pushes(windows, people):
    alice = people("requester")
    (_, mine), (_, other) = (alice.pause(f"Please refund order {number}, 500 euros") for number in (84, 85))
    page = windows.open(people("admin"))
    card(page, mine).get_by_text("Approve with changes…").click()
    card(page, mine).get_by_label("amount").fill("450")
    comment = card(page, mine).get_by_placeholder("Message to the agent")
    comment.fill("Half a sen")
    people("approver").decide(other, verdict="reject")
    card(page, other).locator(".outcome").wait_for()
    _, new = alice.pause("Please refund order 86, 500 euros")
    card(page, new).wait_for()
    assert page.evaluate("document.activeElement.name") == "comment"
    comment.press_sequentially("tence")
    assert comment.input_value() == "Half a sentence"
    assert card(page, mine).get_by_label("amount").input_value() == "450"
    assert card(page, mine).locator("details.edit").get_attribute("open") is not None


def test_status_shows_whether_the_page_is_live_and_the_page_catches_up(windows, tmp_path):
    windows.tolerate("WebSocket connection to", "[object")
    with Server(tmp_path) as server:
        alice = server.person("requester")
        first, second, mine = (alice.pause(f"Please refund order {number}, 500 euros")[1] for number in (87, 88, 89))
        page = windows.open(server.person("approver"))
        assert live(page) == ("on", "Live")
        card(page, mine).get_by_placeholder("Message to the agent").fill("Half a sentence")
        for end, request, number in ((server.stop, first, 87), (server.kill, second, 88)):
            end()
            page.wait_for_selector('#live[data-state="off"]')
            page.locator("#live", has_text="Not live: reload for updates").wait_for()
            assert card(page, request).locator("button").count() > 0

            server.run(DECIDE.format(request=request))
            server.start()
            page.wait_for_selector('#live[data-state="on"]')
            outcome = card(page, request).locator(".outcome")
            assert outcome.locator("blockquote").inner_text() == "While you were away."
            page.wait_for_selector(f"#completed >> text=Please refund order {number}")
            assert live(page) == ("on", "Live")
            assert card(page, mine).get_by_placeholder("Message to the agent").input_value() == "Half a sentence"


def test_logout_in_one_tab_shows_in_the_others(windows, server):
    bob = server.person("approver")
    page = windows.open(bob)
    other = page.context.new_page()
    other.goto(server.address + "/workflows/")
    other.locator(".user").click()
    other.get_by_role("button", name="Log out").click()
    other.wait_for_url("**/login/")
    page.wait_for_selector('#live[data-state="out"]')
    assert live(page) == ("out", "You are logged out: reload to log in")


def test_chat_continues_in_every_window(windows, people):
    chat = ask(windows, people, "ask")
    wait_for_state(chat, "suspended")
    second = windows.open(people("approver"), chat.url.removeprefix(people("approver").server.address))
    second.locator(".request").get_by_role("button", name="Standard").click()
    for window in (chat, second):
        wait_for_state(window, "completed")
        assert window.locator(".request .outcome p").first.inner_text().startswith("Answered by approver")
        last = window.locator(".message.assistant .part-text").last.inner_text()
        assert last == "Thank you, you chose Standard. I will arrange that."


def test_everything_works_without_javascript(windows, people, server):
    _, request = people("requester").pause("Please refund order 99, 500 euros")
    page = windows.open(Person(server, "approver"), "/", java_script_enabled=False)
    assert page.url == f"{server.address}/login/?next=/"
    page.fill("#id_username", "approver")
    page.fill("#id_password", "pausepoint")
    with page.expect_navigation():
        page.click("main button")
    assert page.url == f"{server.address}/"
    assert live(page) == ("off", "Not live: reload for updates")
    card(page, request).get_by_placeholder("Message to the agent").fill("By hand.")
    with page.expect_navigation():
        card(page, request).get_by_role("button", name="Approve", exact=True).click()
    assert page.url == f"{server.address}/"
    page.goto(f"{server.address}/requests/{request}/")
    outcome = card(page, request).locator(".outcome")
    assert outcome.locator("p").first.inner_text().startswith("Approved by approver")
    assert outcome.locator("blockquote").inner_text() == "By hand."

    page.goto(f"{server.address}/chats/")
    page.fill("textarea[name=text]", "hello")
    with page.expect_navigation():
        page.get_by_role("button", name="Send").click()
    assert re.fullmatch(rf"{server.address}/chats/\d+/", page.url)
    page.reload()
    assert page.locator(".message.user").inner_text() == "hello"
