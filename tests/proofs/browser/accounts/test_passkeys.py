"""Second factors in a real browser: a passkey of Chromium's virtual authenticator, and an app, without a mouse."""

from __future__ import annotations

import time
from importlib import import_module

from allauth.mfa.totp.internal import auth as time_codes

from tests.proofs.browser.places import violations
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


def test_an_app_is_added_and_asked_for_without_a_mouse_and_without_findings_of_axe(browser, server, axe):
    expect = import_module("playwright.sync_api").expect
    server.run(
        """
from django.contrib.auth.models import User
User.objects.create_user("theo", password="correct horse battery staple")
"""
    )
    context = browser.new_context(reduced_motion="reduce")
    page = context.new_page()

    def log_in(to: str) -> None:
        page.goto(f"{server.address}/login/?next={to}")
        expect(page.locator("#id_username")).to_be_focused()
        page.keyboard.type("theo")
        page.keyboard.press("Tab")
        expect(page.locator("#id_password")).to_be_focused()
        page.keyboard.type("correct horse battery staple")
        page.keyboard.press("Enter")

    def require_good_page(path: str) -> None:
        page.wait_for_url(f"{server.address}{path}**")
        assert violations(page, axe) == {}
        page.set_viewport_size({"width": 360, "height": 740})
        page.wait_for_function("document.documentElement.scrollWidth <= innerWidth")

    log_in("/settings/sign-in/app/")
    require_good_page("/settings/sign-in/app/")
    secret = page.locator("main pre").inner_text().strip()
    code = time_codes.format_hotp_value(time_codes.hotp_value(secret, int(time.time()) // 30))
    field = page.locator("#id_code")
    page.wait_for_function("document.readyState === 'complete'")
    while not field.evaluate("field => field === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.type(code)
    page.keyboard.press("Enter")
    require_good_page("/settings/sign-in/recovery-codes/")
    recovery_code = page.locator("main pre").inner_text().split()[0]

    context.clear_cookies()
    log_in("/settings/sessions/")
    require_good_page("/login/factor/")
    page.keyboard.type(recovery_code)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{server.address}/settings/sessions/")
    page.goto(f"{server.address}/login/again/")
    require_good_page("/login/again/")
    context.close()
