"""A real server and headless Chromium; each window belongs to a person of the demo and reports console errors."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tests.proofs.browser.places import LIVE, axe, places  # noqa: F401
from tests.support.processes.server import Person, Server, until
from tests.support.services import find_chromium, real_processes  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Route

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
PATIENCE = 60_000
#: Collects all announcements, because the next one replaces the last one on the page.
ANNOUNCEMENTS = """window.announcements = [];
document.addEventListener('DOMContentLoaded', () => {
  const region = document.getElementById('announcements');
  const collect = () => window.announcements.push(region.textContent.trim().replace(/\\s+/g, ' '));
  if (region) new MutationObserver(collect).observe(region, { childList: true, characterData: true, subtree: true });
});"""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_chromium()


# Of the package and not of the session: while playwright runs, its thread counts as one with a running event loop,
# in which neither Django nor other asynchronous tests would work.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    playwright = importlib.import_module("playwright.sync_api")
    playwright.expect.set_options(timeout=PATIENCE)
    with playwright.sync_playwright() as play:
        launched = play.chromium.launch(executable_path=find_chromium(), args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory, real_processes: None) -> Iterator[Server]:  # noqa: F811
    # Tests ask for alike calls, each of which wants a row of its own.
    settings = {
        "HITL_FLOOD": "0",
        "HITL_WEBHOOK_ALLOW_PRIVATE": "1",
        "DJANGO_SETTINGS_MODULE": "tests.support.browser_settings",
    }
    with Server(tmp_path_factory.mktemp("browser"), **settings) as running:
        yield running


@pytest.fixture(scope="package")
def people(server: Server) -> Callable[[str], Person]:
    """Return the people of the demo, each logged in once."""
    known: dict[str, Person] = {}
    return lambda name: known.get(name) or known.setdefault(name, server.person(name))


class Windows:
    """Opens windows with separate cookies, and collects their console errors."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.complaints: list[str] = []
        self.expected: list[str] = ["Service Worker registration blocked by Playwright"]
        self.contexts: list[BrowserContext] = []

    def tolerate(self, *words: str) -> None:
        """Ignore console errors that contain any of these texts."""
        self.expected += words

    def open(self, person: Person, path: str = "/", **options: Any) -> Page:
        """Open a window of this person at a page, and wait until it is live."""
        # A service worker would answer in place of the routes that tests set up.
        context = self.browser.new_context(**{"service_workers": "block", **options})
        self.contexts.append(context)
        context.set_default_timeout(PATIENCE)
        context.add_init_script(ANNOUNCEMENTS)
        address = person.server.address
        context.add_cookies([{"name": name, "value": value, "url": address} for name, value in person.cookies.items()])
        page = context.new_page()
        page.on("console", lambda message: self._heard(page.url, message.type, message.text))
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        page.goto(address + path)
        if options.get("java_script_enabled", True) and page.locator("#live").count():
            page.wait_for_selector(LIVE)
        return page

    def stranger(self, server: Server, **options: Any) -> Page:
        """Open a window without a login."""
        return self.open(Person(server, "nobody"), "/login/", **options)

    def _heard(self, url: str, kind: str, text: str) -> None:
        if kind in {"error", "warning"} and not any(words in text for words in self.expected):
            self.complaints.append(f"{url}: {text}")

    def close(self) -> None:
        for context in self.contexts:
            context.close()


def intercept(page: Page, pattern: str, handler: Callable[[Route], object], **options: Any) -> None:
    """Handle the requests of the page to such addresses.

    Chromium 156 (playwright 1.65) says that it intercepts before the process of the page knows: on a busy machine, 1 of 150
    requests that a key sent right after `page.route` went to the server. So ask until an answer is ours.
    """
    page.route(pattern, handler, **options)
    page.route("**/healthz?intercepted", lambda route: route.fulfill(body="intercepted"))
    asked = "fetch('/healthz?intercepted').then(answer => answer.text())"
    until(lambda: page.evaluate(asked) == "intercepted", "requests of the page are intercepted")


def caught(page: Page, calls: list[Route]) -> Route:
    """Wait until the handler of a route, which keeps its calls in a list, was called; return the last call.

    Playwright calls it only while it waits for something else, so looking at the list alone would wait forever.
    """
    until(lambda: page.evaluate("true") and calls, "the handler of the route is called")
    return calls[-1]


@contextlib.contextmanager
def opened_in(browser: Browser) -> Iterator[Windows]:
    opened = Windows(browser)
    yield opened
    opened.close()
    assert opened.complaints == []


@pytest.fixture
def windows(browser: Browser) -> Iterator[Windows]:
    with opened_in(browser) as opened:
        yield opened


@pytest.fixture
def notified_windows(browser: Browser) -> Iterator[Windows]:
    """Windows of a browser that shows notifications."""
    whole = browser.browser_type.launch(executable_path=find_chromium(whole=True), args=ARGUMENTS)
    try:
        with opened_in(whole) as opened:
            yield opened
    finally:
        whole.close()
