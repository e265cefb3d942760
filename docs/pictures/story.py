"""The moving picture of README.md: an agent asks, a person approves, and the agent resumes."""

from __future__ import annotations

import base64

from palette import moving
from playwright.sync_api import Browser, Page

SIZE = {"width": 1000, "height": 640}
#: Draws a picture with a line below it that says what happens.
CAPTION = """async ([png, text]) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    [canvas.width, canvas.height] = [picture.width, picture.height + 52];
    context.fillStyle = "#0f766e";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0);
    context.fillStyle = "#ffffff";
    context.font = "600 19px sans-serif";
    context.fillText(text, 20, picture.height + 33);
    return canvas.toDataURL("image/png").split(",")[1];
}"""


def tell(browser: Browser, base: str) -> bytes:
    """Return the story as a moving picture, played on the demo."""
    alice, bob = (_logged_in(browser, base, name) for name in ("requester", "approver"))
    # A page of no one, because the policy of ours forbids to decode pictures.
    drawing = browser.new_page()
    pictures: list[tuple[bytes, int]] = []

    def show(page: Page, text: str, duration: int) -> None:
        png = base64.b64encode(page.screenshot(animations="disabled")).decode()
        pictures.append(
            (base64.b64decode(drawing.evaluate(CAPTION, [png, text])), duration)
        )

    alice.goto(f"{base}/chats/")
    alice.fill("#text", "Please refund order 5120, 250 euros")
    show(alice, "1. You give an agent a task.", 2000)
    alice.press("#text", "Enter")
    alice.wait_for_selector('#turn[data-state="suspended"]', state="attached")
    show(
        alice,
        "2. The agent wants to pay money back, and pauses. While it waits, it uses no process.",
        3200,
    )
    bob.goto(f"{base}/?q=5120")
    bob.locator(".row-title").first.click()
    approve = (
        bob.locator("#detail-body .request")
        .get_by_role("button", name="Approve", exact=True)
        .first
    )
    approve.wait_for()
    show(
        bob,
        "3. A person sees the exact input in the Inbox, and approves, edits or rejects it.",
        3200,
    )
    approve.click()
    alice.wait_for_selector('#turn[data-state="completed"]', state="attached")
    show(
        alice,
        "4. The agent resumes exactly once, with exactly what was approved. The audit log has it all.",
        4000,
    )
    picture = moving(drawing, pictures)
    for page in (alice, bob, drawing):
        page.context.close()
    return picture


def _logged_in(browser: Browser, base: str, name: str) -> Page:
    page = browser.new_context(
        reduced_motion="reduce", color_scheme="light", viewport=SIZE
    ).new_page()
    page.goto(f"{base}/login/")
    page.fill("#id_username", name)
    page.fill("#id_password", "pausepoint")
    page.click("button.primary")
    page.wait_for_url(f"{base}/")
    return page
