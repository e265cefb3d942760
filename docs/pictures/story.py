"""The moving picture of README.md: a request arrives in the Inbox, a person approves it, and the agent resumes."""

from __future__ import annotations

import base64
from pathlib import Path

from palette import moving
from playwright.sync_api import Browser, Page

SIZE = {"width": 1000, "height": 640}
FONT = (
    Path(__file__).parents[2]
    / "hitlsite/static/pausepoint/fonts/plex-sans-latin-600.woff2"
)
#: Loads the font of the product.
LOAD_FONT = """async (font) => {
    const face = new FontFace("Plex", `url(data:font/woff2;base64,${font})`, { weight: "600" });
    document.fonts.add(await face.load());
}"""
#: Draws a picture with a line below it that says what happens.
CAPTION = """async ([png, text]) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
    [canvas.width, canvas.height] = [picture.width, picture.height + 52];
    context.fillStyle = "#0f766e";
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(picture, 0, 0);
    context.fillStyle = "#ffffff";
    context.font = "600 19px Plex";
    context.fillText(text, 20, picture.height + 33);
    return canvas.toDataURL("image/png").split(",")[1];
}"""


def tell(browser: Browser, base: str) -> bytes:
    """Return the story as a moving picture, played on the demo."""
    alice, bob, auditor = (
        _logged_in(browser, base, name) for name in ("requester", "approver", "auditor")
    )
    # A page of no one, because the policy of ours forbids to decode pictures.
    drawing = browser.new_page()
    drawing.evaluate(LOAD_FONT, base64.b64encode(FONT.read_bytes()).decode())
    pictures: list[tuple[bytes, int]] = []

    def show(page: Page, text: str, duration: int) -> None:
        png = base64.b64encode(page.screenshot(animations="disabled")).decode()
        pictures.append(
            (base64.b64decode(drawing.evaluate(CAPTION, [png, text])), duration)
        )

    alice.goto(f"{base}/chats/")
    alice.fill("#text", "Please refund order 5120, 250 euros")
    alice.press("#text", "Enter")
    alice.wait_for_selector('#turn[data-state="suspended"]', state="attached")
    # From the Inbox itself this would load nothing.
    bob.goto("about:blank")
    bob.goto(f"{base}/#first")
    bob.locator("#detail-body .request").wait_for()
    show(bob, "1. Agents pause, and their requests wait in one Inbox.", 2600)
    bob.locator(".inbox-row", has_text="5120").first.locator(".row-title").click()
    approve = (
        bob.locator("#detail-body .request")
        .get_by_role("button", name="Approve", exact=True)
        .first
    )
    approve.wait_for()
    show(bob, "2. You see the exact input, and approve, edit or reject it.", 3200)
    approve.click()
    alice.wait_for_selector('#turn[data-state="completed"]', state="attached")
    show(alice, "3. The agent resumes exactly once, with what you approved.", 3200)
    auditor.goto(f"{base}/audit/?q=5120")
    show(auditor, "4. The audit log proves who said yes to what.", 3600)
    picture = moving(drawing, pictures)
    for page in (alice, bob, auditor, drawing):
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
