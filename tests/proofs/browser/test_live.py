"""Open pages while things happen: decisions elsewhere, sentences and drafts, lost connections, logout; and pages without
JavaScript."""

from __future__ import annotations

import itertools
import re
from datetime import timedelta
from typing import NamedTuple

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import LIVE
from tests.proofs.browser.test_inbox import status
from tests.proofs.browser.test_journeys import CLIPBOARD, copied, press
from tests.proofs.browser.test_story import ask, wait_for_state
from tests.proofs.server.test_deadlines import move_deadline
from tests.support.machine import Remote
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


def shows_status(page, state: str, words: str) -> None:
    """Wait until the page says this about its connection."""
    expect(page.locator(f"#live[data-state={state}]")).to_have_text(words)


def card(page, request: str):
    return page.locator(f"#request-{request}")


def test_draft_survives_pushes(windows, people):
    alice = people("requester")
    (_, mine), (_, other) = (alice.pause(f"Please refund order {number}, 500 euros") for number in (84, 85))
    page = windows.open(people("admin"), f"/#{mine}")
    card(page, mine).get_by_role("link", name="Edit…").click()
    card(page, mine).get_by_label("amount").fill("450")
    comment = card(page, mine).locator("details.edit textarea[name=comment]")
    comment.fill("Half a sen")
    people("approver").decide(other, verdict="reject")
    page.locator(f"#row-{other} .row-outcome").wait_for()
    _, new = alice.pause("Please refund order 86, 500 euros")
    page.locator(f"#arrivals #row-{new}").wait_for(state="attached")
    expect(comment).to_be_focused()
    comment.press_sequentially("tence")
    expect(comment).to_have_value("Half a sentence")
    expect(card(page, mine).get_by_label("amount")).to_have_value("450")
    expect(card(page, mine).locator("details.edit")).to_have_attribute("open", "")


def test_status_shows_whether_the_page_is_live_and_the_page_catches_up(windows, tmp_path):
    # Any request of the page while there is no server.
    windows.tolerate("WebSocket connection to", "[object", "Failed to load resource: net::ERR_")
    with Server(tmp_path) as server:
        alice = server.person("requester")
        first, second, mine = (alice.pause(f"Please refund order {number}, 500 euros")[1] for number in (87, 88, 89))
        page = windows.open(server.person("approver"), f"/#{mine}")
        shows_status(page, "on", "Live")
        card(page, mine).get_by_placeholder("Message to the agent").fill("Half a sentence")
        for end, request in ((server.stop, first), (server.kill, second)):
            end()
            shows_status(page, "off", "Reconnecting…")
            assert page.locator(f"#row-{request} .row-outcome").count() == 0

            server.run(DECIDE.format(request=request))
            server.start()
            shows_status(page, "on", "Live")
            # The page calls itself live once it has caught up.
            assert page.locator(f"#row-{request} q").inner_text() == "While you were away."
            assert card(page, mine).get_by_placeholder("Message to the agent").input_value() == "Half a sentence"


def test_a_page_that_was_closed_because_it_read_nothing_loads_again_unless_someone_writes_on_it(windows, people):
    _, mine = people("requester").pause("Please refund order 90, 500 euros")
    page = windows.open(people("approver"), f"/#{mine}")
    sockets = []

    def pass_on(socket) -> None:
        socket.connect_to_server()
        sockets.append(socket)

    page.route_web_socket("**/ws/**", pass_on)
    page.reload()
    page.wait_for_selector(LIVE)
    with page.expect_navigation():
        sockets[-1].close(code=4413)
    page.wait_for_selector(LIVE)
    card(page, mine).get_by_placeholder("Message to the agent").fill("Half a sentence")
    sockets[-1].close(code=4413)
    shows_status(page, "stale", "This page is out of date: reload it")
    expect(card(page, mine).get_by_placeholder("Message to the agent")).to_have_value("Half a sentence")


def test_logout_in_one_tab_shows_in_the_others_and_erases_drafts(windows, server):
    bob = server.person("approver")
    page = windows.open(bob)
    other = page.context.new_page()
    other.goto(server.address + "/workflows/")
    drafts = "`pausepoint.drafts.${document.body.dataset.person}`"
    key = other.evaluate(f"localStorage.setItem({drafts}, '{{}}'), {drafts}")
    other.locator(".user").click()
    other.get_by_role("button", name="Log out").click()
    other.wait_for_url("**/login/")
    # Typed text does not stay in the browser.
    assert other.evaluate("key => localStorage.getItem(key)", key) is None
    shows_status(page, "out", "You are logged out: reload to log in")
    # The bar for selected requests is hidden while there are none.
    expect(page.locator(".bulk-bar.idle")).to_be_hidden()


def test_chat_continues_in_every_window(windows, people):
    chat = ask(windows, people, "ask")
    wait_for_state(chat, "suspended")
    second = windows.open(people("approver"), chat.url.removeprefix(people("approver").server.address))
    second.locator(".request").get_by_role("button", name="Standard").click()
    for window in (chat, second):
        wait_for_state(window, "completed")
        expect(window.locator(".request .outcome p").first).to_contain_text("Answered by approver")
        last = window.locator(".message.assistant .part-text").last
        expect(last).to_have_text("Thank you, you chose Standard. I will arrange that.")


def test_everything_works_without_javascript(windows, people, server):
    _, request = people("requester").pause("Please refund order 99, 500 euros")
    page = windows.open(Person(server, "approver"), "/", java_script_enabled=False)
    assert page.url == f"{server.address}/login/?next=/"
    page.fill("#id_username", "approver")
    page.fill("#id_password", "pausepoint")
    with page.expect_navigation():
        page.click("main button")
    assert page.url == f"{server.address}/"
    shows_status(page, "off", "Not live: reload for updates")
    page.locator(f"#row-{request} .row-title").click()
    expect(page).to_have_url(f"{server.address}/requests/{request}/")
    card(page, request).get_by_placeholder("Message to the agent").fill("By hand.")
    with page.expect_navigation():
        card(page, request).get_by_role("button", name="Approve", exact=True).click()
    assert page.url == f"{server.address}/requests/{request}/"
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


words = itertools.count(1)
#: A key takes 150 ms, regardless of the machine's load.
TYPED_SLOWLY = """{
    let now = 0;
    performance.now = () => now;
    addEventListener("keydown", () => { now += 150; }, true);
    window.pass = (time) => { now += time; };
}"""
BEGUN, REST = "Please wait, ", "it will be a joy already, she said, gc, x? /"
NAME = {"type": "object", "properties": {"name": {"type": "string", "title": "Name"}}}
APPROVAL = {"kind": "approval", "tool_name": "pay", "input": {"reason": "Lunch"}}


class Kind(NamedTuple):
    """A field that takes text, with the request that has it and an answer to that."""

    request: dict[str, object]
    field: str
    answer: dict[str, str]


KINDS = {
    "message": Kind(APPROVAL, ".verdicts [name=comment]", {"verdict": "reject"}),
    "edit": Kind(APPROVAL, "details.edit [name='input.reason']", {"verdict": "reject"}),
    "name": Kind(APPROVAL | {"priority": "critical"}, ".verdicts [name=typed_name]", {"verdict": "reject"}),
    "note": Kind(APPROVAL, ".new-note textarea", {"verdict": "reject"}),
    "question": Kind({"kind": "question"}, "form.free [name=text]", {"verdict": "respond", "text": "Green"}),
    "form": Kind({"kind": "form", "response_schema": NAME}, "[name='answer.name']", {"verdict": "reject"}),
}


@pytest.fixture(scope="module")
def agent(server):
    return Remote(server, "requester", ("ask", "read"))


@pytest.fixture(scope="module")
def ends(server, people, agent):
    """Ways in which a request ends while a person types."""
    return {
        "deadline": lambda request, answer: move_deadline(server, request.replace("-", ""), timedelta(seconds=-1)),
        "cancelled by the agent": lambda request, answer: agent.send("POST", f"/requests/{request}/cancel", {}),
        "decided by a colleague": lambda request, answer: people("admin").decide(request, **answer),
    }


def type_across(page, kind: Kind, request: str, end) -> str:
    """Type a sentence into a field while the request ends; returns the text of the field in use."""
    page.locator(f"#request-detail #request-{request}").wait_for()
    if kind.field.startswith("details.edit"):
        page.locator("#request-detail a.to-edit").click()
    if kind.field.startswith(".new-note"):
        page.locator("#request-detail").get_by_role("tab", name="Notes").click()
    page.locator(f"#request-detail {kind.field}").click()
    page.keyboard.press("Control+a")
    page.keyboard.type(BEGUN)
    end(request, kind.answer)
    page.locator(f"#request-detail #request-{request}:not(.is-pending)").wait_for()
    page.keyboard.type(REST)
    return page.evaluate("document.activeElement.value")


@pytest.mark.parametrize("end", ["deadline", "cancelled by the agent", "decided by a colleague"])
def test_a_sentence_goes_on_in_its_field_when_its_request_ends(windows, people, server, agent, ends, end):
    word = f"sentence{next(words)}"
    requests = {
        name: [agent.ask(title=f"{word} {name}?", **kind.request)["id"] for _ in range(3)]
        for name, kind in KINDS.items()
    }
    pane, texts = windows.open(people("approver"), f"/?q={word}"), {}
    alone = pane.context.new_page()
    for page in (pane, alone):
        page.add_init_script(TYPED_SLOWLY)
    pane.reload()
    for name, (in_pane, on_page, _) in requests.items():
        alone.goto(f"{server.address}/requests/{on_page}/")
        pane.locator(f"#row-{in_pane} .row-title").click()
        for page, request in ((pane, in_pane), (alone, on_page)):
            texts[name, page is pane] = type_across(page, KINDS[name], request, ends[end])
            assert page.url.endswith((f"?q={word}#{request}", f"/requests/{request}/")), name
    assert texts == dict.fromkeys(itertools.product(KINDS, (True, False)), BEGUN + REST)
    assert {status(server, other) for *_, other in requests.values()} == {"pending"}


def test_no_shortcut_works_until_a_pause_after_the_focus_was_taken(windows, people, server, agent, ends):
    word = f"pause{next(words)}"
    first, second = (agent.ask(title=f"{word} {name}?", **APPROVAL)["id"] for name in ("first", "second"))
    page = windows.open(people("approver"), f"/?q={word}")
    page.add_init_script(TYPED_SLOWLY)
    page.goto(f"{page.url}#{first}")
    page.reload()
    shown = page.locator(f"#detail-body #request-{first}")
    # A key that leads to a field, before the request is there.
    page.evaluate("document.activeElement.blur()")
    page.keyboard.type("can you say")
    shown.locator(".verdicts [name=comment]").click()
    # A field that is gone, and of which nothing is kept.
    page.evaluate("document.activeElement.remove()")
    page.keyboard.type("joyas ")
    page.keyboard.press("Enter")
    assert (page.url[-36:], status(server, first), status(server, second)) == (first, "pending", "pending")
    page.evaluate("pass(999)")
    page.keyboard.type("j")
    assert page.url.endswith(f"#{first}")
    # Escape, Tab, a click or a second without a key: the next key is meant.
    page.evaluate("pass(1000)")
    page.keyboard.type("j")
    page.locator(f"#detail-body #request-{second}").wait_for()


def test_a_new_agent_is_connected_and_its_first_request_shows_itself(windows, people, server):
    page = windows.open(people("admin"), "/settings/connect/", **CLIPBOARD)
    page.get_by_label("Name of your agent").fill("billing agent")
    press(page, "Create key")
    key = copied(page, "API key")
    page.get_by_text("LangChain, LangGraph", exact=True).click()
    assert copied(page, "Shell commands for LangChain, LangGraph").splitlines()[1:] == [
        "export PAUSEPOINT_URL=http://127.0.0.1:8000",
        f"export PAUSEPOINT_KEY={key}",
    ]
    page.get_by_role("button", name="Wait for the first request").click()
    page.get_by_text("Waiting for the first request…").wait_for()
    page.wait_for_url("**/settings/connect/*/?since=*")
    expect(page.locator("#first-request-progress")).to_be_focused()
    page.reload()
    page.get_by_text("Waiting for the first request…").wait_for()
    assert key not in page.content()

    agent = Remote(server, "admin", key=key)
    request = agent.ask(title="Refund order 4711?")
    page.get_by_text("The first request arrived:").wait_for()
    page.get_by_role("link", name="Refund order 4711?", exact=True).click()
    page.wait_for_url(f"{server.address}/requests/{request['id']}/")
