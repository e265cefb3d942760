"""The story: someone asks, the agent pauses, someone else decides, and the chat continues."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.conftest import caught, intercept
from tests.proofs.browser.places import LIVE
from tests.support.chats import agents
from tests.support.chats.files import PNG
from tests.support.processes.server import Server

pytestmark = pytest.mark.browser

#: Run in the approver's page: when did a card whose text holds this show up?
WATCH = """words => { window.seen = new Promise(done => {
    const look = () => [...document.querySelectorAll('#arrivals > .inbox-row')].some(card => card.textContent.includes(words))
        && done(Date.now());
    new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
}); window.untouched = true; }"""


def write(page, text: str) -> None:
    page.fill("textarea[name=text]", text)
    page.press("textarea[name=text]", "Enter")


def ask(windows, people, text: str):
    """Open Alice's window with a new chat and send this message."""
    page = windows.open(people("requester"), "/chats/")
    write(page, text)
    page.wait_for_url(re.compile(r"/chats/\d+/$"))
    page.wait_for_selector(LIVE)
    page.evaluate("window.untouched = true")
    return page


def wait_for_state(page, state: str) -> None:
    page.wait_for_selector(f'#turn[data-state="{state}"]', state="attached")


def last_text(page):
    """The last text of the assistant."""
    return page.locator(".message.assistant .part-text").last


def asked_at(server, title: str) -> float:
    """Return when the request was stored, in milliseconds."""
    workflow = server.value("SELECT id FROM approvals_workflow WHERE title = ?", title)
    stored = server.value("SELECT created_at FROM approvals_approvalrequest WHERE workflow_id = ?", workflow)
    return datetime.fromisoformat(stored).replace(tzinfo=UTC).timestamp() * 1000


#: Run in the approver's page: where the focus is once the answer to a form is swapped in, before anything pushed can be.
FOCUSED = """() => { window.focused = new Promise(done => document.addEventListener("htmx:afterSwap", ({ detail }) =>
    detail.requestConfig?.verb === "post" && setTimeout(() => done(document.activeElement.className)))); }"""


@pytest.fixture
def refund(windows, server, people, capsys):
    """Ask for a refund while Bob's dashboard is open; return her chat, his dashboard and the card, and measure the delay."""

    def ask_for(text: str):
        # A row shows the values of the request, of which the order is one; after the decision nothing else opens.
        order = re.search(r"\d+", text)[0]
        desk = windows.open(people("approver"), f"/?q={order}")
        desk.evaluate(WATCH, order)
        chat = ask(windows, people, text)
        took = desk.evaluate("window.seen") - asked_at(server, text)
        with capsys.disabled():
            print(f"\n  from the commit of the pause to the approver's screen: {took:.0f} ms", end=" ")
        desk.get_by_role("button", name="new request").click()
        request = desk.evaluate("document.activeElement.closest('.inbox-row').id.replace('row-', '')")
        desk.locator(f"#row-{request} .row-title").click()
        card = desk.locator(f"#request-{request}")
        card.wait_for()
        return chat, desk, card

    return ask_for


def test_edited_approval_resumes_the_chat(refund, server):
    chat, desk, card = refund("Please refund order 4720, 250 euros")
    rows = {row.locator("th").inner_text(): row.locator("td").inner_text() for row in card.locator(".values tr").all()}
    assert rows == {"amount": "250", "orderId": "4720"}

    card.get_by_role("link", name="Edit…").click()
    card.get_by_label("amount").fill("200")
    card.get_by_role("button", name="Review changes").click()
    desk.locator(".review-title:focus").wait_for()
    desk.evaluate(FOCUSED)
    card.get_by_role("button", name="Approve with changes").click()
    outcome = card.locator(".outcome")
    expect(outcome.locator("p").first).to_contain_text("Approved with changes by approver")
    assert desk.evaluate("window.focused") == "outcome status-approved"
    card.locator(".outcome:focus").wait_for()
    assert desk.evaluate("window.untouched") is True

    wait_for_state(chat, "completed")
    expect(last_text(chat)).to_contain_text("That is what happened with order 4720: ")
    words = last_text(chat).inner_text()
    assert ("A person changed the input" in words, "200" in words, "250" in words) == (True, True, False)
    expect(chat.locator(".request .outcome p").first).to_contain_text("Approved with changes by approver")
    expect(chat.locator(".changes tr").last.locator("th, td")).to_have_text(["amount", "250", "200"])
    assert chat.evaluate("window.untouched") is True
    desk.goto(f"{server.address}/workflows/")
    desk.wait_for_selector("#completed >> text=Please refund order 4720")


def test_a_rejection_reaches_the_requester_with_its_reason(refund):
    chat, _, card = refund("Please refund order 4730, 900 euros")
    card.get_by_placeholder("Message to the agent").fill("Only half of it was returned.")
    card.get_by_role("button", name="Reject").click()

    wait_for_state(chat, "completed")
    outcome = chat.locator(".request .outcome")
    expect(outcome.locator("p").first).to_contain_text("Rejected by approver")
    expect(outcome.locator("blockquote")).to_have_text("Only half of it was returned.")
    expect(last_text(chat)).to_contain_text("Only half of it was returned.")
    assert chat.evaluate("window.untouched") is True


def test_options_are_buttons_or_checkboxes_and_the_answered_card_stays(windows, people):
    chat = ask(windows, people, "ask twice")
    first = chat.locator(".request").first
    first.get_by_role("button", name="Express").click()
    second = chat.locator(".request").nth(1)
    second.get_by_label("Greeting card").check()
    second.get_by_label("Gift wrap").check()
    second.get_by_role("button", name="Answer").click()
    wait_for_state(chat, "completed")
    expect(last_text(chat)).to_have_text("Thank you, I have both: Gift wrap, Greeting card it is.")
    for card, answer in ((first, "“Express”"), (second, "“Gift wrap, Greeting card”")):
        expect(card.locator(".outcome p").first).to_contain_text("Answered by requester")
        expect(card.locator(".answer")).to_have_text(answer)
        expect(card.locator("button, input:not([type=hidden]), textarea")).to_have_count(0)
    assert chat.evaluate("window.untouched") is True


def test_suggestions_are_buttons_and_free_text_is_a_field(windows, people):
    chat = ask(windows, people, "ask human")
    card = chat.locator(".request")
    suggestions = ["Offer a free return", "Ask them to refuse the parcel"]
    expect(card.locator(".choices button")).to_have_text(suggestions, use_inner_text=True)
    card.get_by_role("button", name="Offer a free return").click()
    wait_for_state(chat, "completed")
    expect(last_text(chat)).to_have_text("I was told: Offer a free return")

    write(chat, "ask human")
    card = chat.locator(".request").nth(1)
    card.get_by_placeholder("Or answer in your own words").fill("Tell them to keep it.")
    card.get_by_placeholder("Or answer in your own words").press("Enter")
    chat.wait_for_selector("text=I was told: Tell them to keep it.")
    expect(card.locator(".answer")).to_have_text("“Tell them to keep it.”")


def test_a_question_is_answered_by_typing_in_the_chat(windows, people):
    chat = ask(windows, people, "ask human")
    wait_for_state(chat, "suspended")
    write(chat, "Say that we are sorry.")
    wait_for_state(chat, "completed")
    expect(last_text(chat)).to_have_text("I was told: Say that we are sorry.")
    expect(chat.locator(".message.user")).to_have_count(1)


def test_a_late_response_hides_nothing_that_was_pushed_before_it(windows, people):
    chat = ask(windows, people, "ask human")
    wait_for_state(chat, "suspended")
    answers: list = []
    intercept(chat, "**/decide/", lambda route: answers.append((route, route.fetch())))
    chat.get_by_role("button", name="Offer a free return").click()
    route, answer = caught(chat, answers)
    wait_for_state(chat, "completed")
    route.fulfill(response=answer)
    chat.locator(".request .outcome").wait_for()
    expect(chat.locator(".message.assistant details.tool .badge")).to_have_text("done")


def test_a_message_that_is_refused_stays_in_its_field(windows, people):
    windows.tolerate(" 409 ")
    chat = ask(windows, people, "approve refund")
    wait_for_state(chat, "suspended")
    write(chat, "Hurry up!")
    refusal = chat.locator("#composer .refusal")
    expect(refusal).to_have_text("The agent is waiting for: “Run issueRefund?”. Answer that first, or stop the turn.")
    expect(chat.locator("#composer textarea")).to_have_value("Hurry up!")


def test_what_was_written_as_an_answer_is_not_sent_as_anything_else(windows, people):
    windows.tolerate(" 409 ")
    chat = ask(windows, people, "ask human")
    wait_for_state(chat, "suspended")
    chat.fill("#composer textarea", "Keep it.")
    colleague = windows.open(
        people("approver"), chat.locator(".request").get_by_role("link").first.get_attribute("href")
    )
    colleague.get_by_role("button", name="Offer a free return").click()
    wait_for_state(chat, "completed")
    chat.press("#composer textarea", "Enter")
    refusal = chat.locator("#composer .refusal")
    expect(refusal).to_have_text(
        "The question has changed since you wrote this. Read the new question, then send it again."
    )
    expect(chat.locator("#composer textarea")).to_have_value("Keep it.")
    expect(chat.locator(".message.user")).to_have_count(1)


def test_message_that_could_not_be_sent_stays_in_its_field(windows, people):
    windows.tolerate(" 403 ")
    chat = ask(windows, people, "hello")
    wait_for_state(chat, "completed")
    chat.context.clear_cookies(name="csrftoken")
    write(chat, "Are you there?")
    refusal = chat.locator(".refusal")
    expect(refusal).to_have_text("This form has expired or came from another site. Reload the page and try again.")
    expect(chat.locator("#composer textarea")).to_have_value("Are you there?")


def test_text_streams_in_and_stop_keeps_it(windows, tmp_path):
    # Of five thousand words only the first are ever said.
    with Server(tmp_path, HITL_AGENTS=agents.PATH) as server:
        chat = ask(windows, server.person, "recite")
        chat.locator(".live-step", has_text="This goes on").wait_for()
        chat.get_by_role("button", name="Stop").click()
        wait_for_state(chat, "stopped")
        expect(chat.locator("#turn")).to_have_text("Stopped by requester", use_inner_text=True)
        expect(chat.locator(".live-step")).to_have_count(0)
        expect(chat.get_by_text("This goes on")).to_have_count(1)
        kept = last_text(chat).inner_text()
        assert kept.startswith("This goes on")
        assert len(kept) < len(agents.RECITAL) / 2
        windows.close()


def test_a_picture_is_sent_with_a_message_and_shown_without_a_reload(windows, people):
    page = ask(windows, people, "hello")
    wait_for_state(page, "completed")
    page.set_input_files("#files", {"name": "dot.png", "mimeType": "image/png", "buffer": PNG})
    write(page, "hello")
    picture = page.wait_for_selector(".message.user img[alt='dot.png']")
    page.wait_for_function("image => image.complete && image.naturalWidth === 1", arg=picture)
    page.wait_for_function("() => document.querySelector('#files').files.length === 0")
    assert page.evaluate("window.untouched")


def test_files_that_are_too_large_are_refused_and_the_draft_stays(windows, people):
    windows.tolerate("413")
    page = ask(windows, people, "hello")
    wait_for_state(page, "completed")
    page.fill("#composer textarea", "My long draft")
    large = [
        {"name": f"{number}.png", "mimeType": "image/png", "buffer": PNG + bytes(3_000_000)} for number in range(3)
    ]
    page.set_input_files("#files", large)
    page.click("#composer button.primary")
    refusal = page.locator("[data-problem]")
    expect(refusal).to_contain_text("bytes")
    expect(page.locator("#composer textarea")).to_have_value("My long draft")
