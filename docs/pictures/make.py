"""Take the pictures of the documentation: `make pictures`. Starts its own server on a database of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PORT = 8765
BASE = f"http://127.0.0.1:{PORT}"
ARGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]
#: name, who looks, path, width, height, colour scheme
PICTURES = [("desk", "approver", "/", 1280, 900, "light")]


def manage(environment: dict[str, str], *arguments: str) -> None:
    subprocess.run([sys.executable, "manage.py", *arguments], cwd=ROOT, env=environment, check=True)


def take(browser: Browser, name: str, who: str, path: str, width: int, height: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    page = context.new_page()
    page.goto(f"{BASE}/login/?next={path}")
    page.fill("#id_username", who)
    page.fill("#id_password", "pausepoint")
    page.click("button.primary")
    page.wait_for_selector('#live[data-state="on"]')
    page.screenshot(path=HERE / f"{name}.png")
    context.close()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "DEBUG": "1", "DATABASE_URL": f"sqlite:///{folder}/pictures.sqlite3"}
        manage(environment, "migrate", "--verbosity", "0")
        manage(environment, "seed_demo")
        command = [sys.executable, "manage.py", "serve", "--port", str(PORT)]
        server = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None and "listens" in server.stdout.readline()
            with sync_playwright() as play:
                browser = play.chromium.launch(
                    executable_path=os.environ.get("CHROMIUM", "/usr/bin/chromium"), args=ARGS
                )
                for picture in PICTURES:
                    take(browser, *picture)
                browser.close()
        finally:
            server.terminate()
            server.wait(20)


if __name__ == "__main__":
    main()
