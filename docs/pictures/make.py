"""Take the screenshots of the documentation: `make pictures`. Starts its own server on its own database.

With names, only these: `make pictures ARGS=story` takes the moving picture of README.md."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from palette import smaller
from playwright.sync_api import Browser, Page, sync_playwright
from slack_cards import connect, take_cards, workspace
from story import tell
from teams_cards import environment_of, take_teams

from tests.support.teams import Teams

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
#: Name, user, path; the scene says an empty path.
PAGES = [
    ("desk", "approver", "/"),
    ("requests", "approver", "/requests/"),
    ("bulk", "approver", "/requests/"),
    ("request", "approver", ""),
    ("edit", "approver", ""),
    ("critical", "approver", ""),
    ("form", "approver", ""),
    ("decided", "approver", ""),
    ("insights", "approver", "/insights/"),
    ("chat", "requester", ""),
    ("timeline", "requester", ""),
    ("compare", "requester", ""),
    ("login", "", "/login/"),
]
#: Suffix of the file, width, height, color scheme.
SHAPES = [
    ("", 1080, 720, "light"),
    ("-dark", 1080, 720, "dark"),
    ("-phone", 360, 700, "light"),
]


def manage(environment: dict[str, str], *arguments: str) -> str:
    command = [sys.executable, "manage.py", *arguments]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def prepare(page: Page, name: str) -> None:
    """Do what a person does before the screenshot."""
    if name == "edit":
        for _ in range(4):  # read all of it first, so that nothing is unseen
            page.keyboard.press("o")
        page.get_by_role("link", name="Edit…").click()
        page.get_by_label("amount").fill("945")
        page.get_by_role("button", name="Review changes").click()
        page.locator(".review").wait_for()
    if name == "desk" and page.locator(".detail-none").is_visible():
        page.locator(".row-title").nth(2).click()
        page.locator("#detail-body .request").wait_for()
    if name == "bulk":
        for box in page.locator("[name=pick]").all():
            box.evaluate("one => one.click()")
        page.locator("#bulk").evaluate(
            "form => form.requestSubmit(form.querySelector('.primary'))"
        )
        page.wait_for_url("**/requests/bulk/")


def take(browser: Browser, base: str, name: str, who: str, path: str) -> None:
    """Take one page in each shape."""
    context = browser.new_context(reduced_motion="reduce")
    page, decoder = context.new_page(), context.new_page()
    if who:
        page.goto(f"{base}/login/")
        page.fill("#id_username", who)
        page.fill("#id_password", "pausepoint")
        page.click("button.primary")
        page.wait_for_url(f"{base}/")
    for suffix, width, height, scheme in SHAPES:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.goto(base + path)
        if page.locator("#live").count():
            page.wait_for_selector('#live[data-state="on"]')
        prepare(page, name)
        (HERE / f"{name}{suffix}.png").write_bytes(smaller(decoder, page.screenshot()))
    context.close()


def main(*names: str) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        workspace() as (slack, channel),
        Teams() as teams,
    ):
        environment = {
            **os.environ,
            "DEBUG": "1",
            "DATABASE_URL": f"sqlite:///{folder}/pictures.sqlite3",
            "SLACK_API_URL": slack.api,
            "HITL_WEBHOOK_ALLOW_PRIVATE": "1",
            **environment_of(teams),
        }
        manage(environment, "migrate", "--verbosity", "0")
        manage(environment, "seed_demo", "--with-history")
        places = json.loads(
            manage(
                environment, "shell", "-c", (HERE / "scene.py").read_text()
            ).splitlines()[-1]
        )
        port = free_port()
        command = [sys.executable, "manage.py", "serve", "--port", str(port)]
        server = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
        )
        try:
            assert server.stdout is not None
            assert "listening" in server.stdout.readline()
            with sync_playwright() as play:
                chromium = os.environ.get("CHROMIUM", "/usr/bin/chromium")
                browser = play.chromium.launch(executable_path=chromium, args=ARGS)
                base = f"http://127.0.0.1:{port}"
                for name, who, path in PAGES:
                    if not names or name in names:
                        take(browser, base, name, who, path or places[name])
                decoder = browser.new_page()

                def run(script: str) -> str:
                    return manage(environment, "shell", "-c", script)

                def store(name: str, page: Page) -> None:
                    picture = smaller(decoder, page.screenshot())
                    (HERE / f"{name}.png").write_bytes(picture)

                if not names or "slack" in names:
                    connect(slack, channel, run)
                    take_cards(browser, slack, channel, base, store)
                if not names or "teams" in names:
                    take_teams(browser, teams, base, run, store)
                if not names or "story" in names:
                    (HERE / "story.png").write_bytes(tell(browser, base))
                browser.close()
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    main(*sys.argv[1:])
