"""A passkey in a real browser, with Chromium's virtual authenticator: added, used alone, and as a second step."""

from __future__ import annotations

from importlib import import_module

from tests.support.processes.server import Server

DEVICE = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def test_a_passkey_is_added_and_logs_in_alone_and_as_a_second_step(browser, server: Server):
    expect = import_module("playwright.sync_api").expect
    # Passkeys belong to a name, and an IP address is none.
    site = server.address.replace("127.0.0.1", "localhost")
    server.run(
        """
from django.contrib.auth.models import User
User.objects.create_user("petra", password="correct horse battery staple")
"""
    )
    context = browser.new_context(viewport={"width": 390, "height": 800})
    page = context.new_page()
    device = context.new_cdp_session(page)
    device.send("WebAuthn.enable")
    device.send("WebAuthn.addVirtualAuthenticator", {"options": DEVICE})
    section = page.locator("section.login")

    def log_in() -> None:
        section.get_by_label("Username").fill("petra")
        section.get_by_label("Password").fill("correct horse battery staple")
        section.get_by_role("button", name="Log in", exact=True).click()

    page.goto(f"{site}/login/?next=/settings/sign-in/")
    log_in()
    page.get_by_role("link", name="Add a passkey").click()
    page.get_by_label("Name").fill("Blue key")
    page.get_by_role("button", name="Add passkey").click()
    expect(page.get_by_role("region", name="Recovery codes")).to_be_visible()
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("Blue key")).to_be_visible()

    context.clear_cookies()
    page.goto(f"{site}/login/?next=/settings/sessions/")
    section.get_by_role("button", name="Log in with a passkey").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()

    context.clear_cookies()
    page.goto(f"{site}/login/?next=/settings/sessions/")
    log_in()
    expect(page.get_by_role("heading", name="Confirm that it is you")).to_be_visible()
    page.get_by_role("button", name="Use a passkey").click()
    expect(page.get_by_role("heading", name="Sessions")).to_be_visible()
    context.close()
