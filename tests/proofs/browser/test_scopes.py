"""Approver scopes: an administrator writes one, and an approver then sees and decides only requests within it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.proofs.browser.places import violations
from tests.support.machine import Remote
from tests.support.processes.server import Server, until

pytestmark = pytest.mark.browser

ASKED = {
    "Refund 80?": ("refund", 80),
    "Refund 90?": ("refund", 90),
    "Refund 500?": ("refund", 500),
    "Pay 50?": ("payroll", 50),
}
ABOVE = "You cannot decide this request: its amount is above your limit of 100."


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:
    """A server of its own: a scope limits everyone."""
    with Server(tmp_path_factory.mktemp("scopes")) as running:
        yield running


def press(page, name: str) -> None:
    with page.expect_navigation():
        page.get_by_role("button", name=name, exact=True).click()


def listed(page, server: Server) -> set[str]:
    """Which of the requests are in the inbox, beside those of the demo."""
    page.goto(f"{server.address}/requests/")
    return set(page.locator("#inbox .row-title").all_inner_texts()) & set(ASKED)


def change_limit(page, server: Server, limit: str) -> None:
    page.goto(f"{server.address}/settings/scopes/")
    with page.expect_navigation():
        page.get_by_role("link", name="Small refunds").click()
    page.get_by_label("Decide only up to this amount").fill(limit)
    press(page, "Preview")
    press(page, "Save")


def test_a_scope_is_written_with_a_preview_and_limits_what_an_approver_sees_and_decides(windows, server, axe):
    remote = Remote(server, "requester", ("ask", "read"))
    asked = {
        title: remote.ask(title=title, tool_name=tool, input={"amount": amount})["id"]
        for title, (tool, amount) in ASKED.items()
    }
    admin = windows.open(server.person("admin"), "/settings/scopes/")
    approver = windows.open(server.person("approver"), "/requests/")
    assert listed(approver, server) == set(ASKED)

    # Write: its effect is shown first.
    admin.get_by_text("Add a scope").click()
    admin.get_by_label("Name", exact=True).fill("Small refunds")
    admin.get_by_label("People", exact=True).fill("approver")
    admin.get_by_label("What they may do").select_option("decide")
    admin.get_by_label("Decide only up to this amount").fill("100")
    admin.get_by_label("Tools", exact=True).fill("refund")
    press(admin, "Preview")
    preview = admin.get_by_role("status", name="What this changes").inner_text()
    assert "This is the first scope." in preview
    assert "Only superusers could decide approvals above 100, or without an amount." in preview
    assert "“Small refunds” does not match: tool: “payroll” is not “refund”." in preview
    assert "“Small refunds” matches, but the amount is above its limit, or missing." in preview
    expect(admin.locator(".row", has_text="approver").get_by_text("Loses")).to_have_count(1)
    assert violations(admin, axe) == {}
    press(admin, "Save")

    # See: only requests within the scope, as soon as the earlier ones have been compared.
    until(lambda: listed(approver, server) == set(ASKED) - {"Pay 50?"}, "the inbox has what fits")
    windows.tolerate("404")
    approver.goto(f"{server.address}/requests/{asked['Pay 50?']}/")
    expect(approver.get_by_text("It may not exist, or you may not have access.")).to_have_count(1)

    # Decide: within the limit; above it, the page says why not.
    approver.goto(f"{server.address}/requests/{asked['Refund 80?']}/")
    approver.get_by_role("button", name="Approve", exact=True).click()
    approver.locator(".outcome").wait_for()
    approver.goto(f"{server.address}/requests/{asked['Refund 500?']}/")
    expect(approver.locator(".request")).to_contain_text(ABOVE)
    expect(approver.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    assert violations(approver, axe) == {}

    # A higher limit counts from the next page, a lower one from the next press, also on a page that no push has reached.
    change_limit(admin, server, "1000")
    late = approver.context.new_page()
    late.route_web_socket("**/ws/**", lambda _socket: None)
    late.goto(approver.url)
    late.get_by_role("button", name="Approve", exact=True).wait_for()
    change_limit(admin, server, "100")
    late.get_by_role("button", name="Approve", exact=True).click()
    late.locator(".request", has_text=ABOVE).wait_for()
    statuses = {title: remote.send("GET", f"/requests/{pk}").body["status"] for title, pk in asked.items()}
    assert statuses == dict.fromkeys(ASKED, "pending") | {"Refund 80?": "approved"}

    # The page of the person says it in words, and without the last scope everything is decided again.
    admin.goto(f"{server.address}/settings/people/")
    with admin.expect_navigation():
        admin.get_by_role("link", name="approver", exact=True).click()
    words = admin.get_by_role("region", name="What this person may decide").inner_text()
    assert "Small refunds: May see, answer and decide calls of refund." in words
    assert "Approvals only up to an amount of 100." in words
    assert violations(admin, axe) == {}
    admin.goto(f"{server.address}/settings/scopes/")
    with admin.expect_navigation():
        admin.get_by_role("link", name="Small refunds").click()
    with admin.expect_navigation():
        admin.get_by_role("link", name="Delete scope").click()
    assert "This is the last scope." in admin.get_by_role("status", name="What this changes").inner_text()
    press(admin, "Delete scope")
    assert "Pay 50?" in listed(approver, server)
