"""The story: someone asks, the agent pauses, someone else decides, and the chat continues."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

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
    page.wait_for_selector('#live[data-state="on"]')
    page.evaluate("window.untouched = true")
    return page


def wait_for_state(page, state: str) -> None:
    page.wait_for_selector(f'#turn[data-state="{state}"]', state="attached")


def said(page) -> str:
    """Return the last text of the assistant."""
    return page.locator(".message.assistant .part-text").last.inner_text()


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
    assert outcome.locator("p").first.inner_text().startswith("Approved with changes by approver")
    assert desk.evaluate("window.focused") == "outcome status-approved"
    card.locator(".outcome:focus").wait_for()
    assert desk.evaluate("window.untouched") is True

    wait_for_state(chat, "completed")
    words = said(chat)
    assert words.startswith("That is what happened with order 4720: ")
    assert ("A person changed the input" in words, "200" in words, "250" in words) == (True, True, False)
    told = chat.locator(".request .outcome p").first.inner_text()
    assert told.startswith("Approved with changes by approver")
    changed = chat.locator(".changes tr").last
    assert [cell.inner_text() for cell in changed.locator("th, td").all()] == ["amount", "250", "200"]
    assert chat.evaluate("window.untouched") is True
    desk.goto(f"{server.address}/workflows/")
    desk.wait_for_selector("#completed >> text=Please refund order 4720")


def test_a_rejection_reaches_the_requester_with_its_reason(refund):
    chat, _, card = refund("Please refund order 4730, 900 euros")
    card.get_by_placeholder("Message to the agent").fill("Only half of it was returned.")
    card.get_by_role("button", name="Reject").click()

    wait_for_state(chat, "completed")
    outcome = chat.locator(".request .outcome")
    assert outcome.locator("p").first.inner_text().startswith("Rejected by approver")
    assert outcome.locator("blockquote").inner_text() == "Only half of it was returned."
    assert "Only half of it was returned." in said(chat)
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
    assert said(chat) == "Thank you, I have both: Gift wrap, Greeting card it is."
    for card, answer in ((first, "“Express”"), (second, "“Gift wrap, Greeting card”")):
        assert card.locator(".outcome p").first.inner_text().startswith("Answered by requester")
        assert card.locator(".answer").inner_text() == answer
        assert card.locator("button, input:not([type=hidden]), textarea").count() == 0
    assert chat.evaluate("window.untouched") is True


def test_suggestions_are_buttons_and_free_text_is_a_field(windows, people):
    chat = ask(windows, people, "ask human")
    card = chat.locator(".request")
    card.locator(".choices").wait_for()
    suggestions = [button.inner_text() for button in card.locator(".choices button").all()]
    assert suggestions == ["Offer a free return", "Ask them to refuse the parcel"]
    card.get_by_role("button", name="Offer a free return").click()
    wait_for_state(chat, "completed")
    assert said(chat) == "I was told: Offer a free return"

    write(chat, "ask human")
    card = chat.locator(".request").nth(1)
    card.get_by_placeholder("Or answer in your own words").fill("Tell them to keep it.")
    card.get_by_placeholder("Or answer in your own words").press("Enter")
    chat.wait_for_selector("text=I was told: Tell them to keep it.")
    assert card.locator(".answer").inner_text() == "“Tell them to keep it.”"


def test_a_question_is_answered_by_typing_in_the_chat(windows, people):
    chat = ask(windows, people, "ask human")
    wait_for_state(chat, "suspended")
    write(chat, "Say that we are sorry.")
    wait_for_state(chat, "completed")
    assert said(chat) == "I was told: Say that we are sorry."
    assert chat.locator(".message.user").count() == 1


def test_a_message_that_is_refused_stays_in_its_field(windows, people):
    windows.tolerate(" 409 ")
    chat = ask(windows, people, "approve refund")
    wait_for_state(chat, "suspended")
    write(chat, "Hurry up!")
    refusal = chat.locator("#composer .refusal")
    refusal.wait_for()
    assert refusal.inner_text() == "The agent is waiting for: “Run issueRefund?”. Answer that first, or stop the turn."
    assert chat.input_value("#composer textarea") == "Hurry up!"


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
    refusal.wait_for()
    assert (
        refusal.inner_text()
        == "The question has changed since you wrote this. Read the new question, then send it again."
    )
    assert (chat.input_value("#composer textarea"), chat.locator(".message.user").count()) == ("Keep it.", 1)


def test_message_that_could_not_be_sent_stays_in_its_field(windows, people):
    windows.tolerate(" 403 ")
    chat = ask(windows, people, "hello")
    wait_for_state(chat, "completed")
    chat.context.clear_cookies(name="csrftoken")
    write(chat, "Are you there?")
    refusal = chat.locator(".refusal")
    refusal.wait_for()
    assert refusal.inner_text() == "This form has expired or came from another site. Reload the page and try again."
    assert chat.input_value("#composer textarea") == "Are you there?"


def test_text_streams_in_and_stop_keeps_it(windows, tmp_path):
    # Of five thousand words only the first are ever said.
    with Server(tmp_path, HITL_AGENTS=agents.PATH) as server:
        chat = ask(windows, server.person, "recite")
        chat.locator(".live-step", has_text="This goes on").wait_for()
        chat.get_by_role("button", name="Stop").click()
        wait_for_state(chat, "stopped")
        assert chat.locator("#turn").inner_text() == "Stopped by requester"
        kept = said(chat)
        assert kept.startswith("This goes on")
        assert len(kept) < len(agents.RECITAL) / 2
        assert chat.locator(".live-step").count() == 0
        assert chat.get_by_text("This goes on").count() == 1
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
    refusal.wait_for()
    assert "bytes" in refusal.inner_text()
    assert page.input_value("#composer textarea") == "My long draft"
