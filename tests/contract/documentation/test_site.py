"""The documentation as a site: it builds without a warning, has every page, and loads nothing from elsewhere."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.examples.test_first_commands import guides
from tests.support.root import ROOT
from tests.support.services import find_chromium, missing

SCRIPT = ROOT / "docs" / "build.py"


def loaded() -> Any:
    """docs/build.py, which is a script and in no package."""
    spec = importlib.util.spec_from_file_location("build_docs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


builder = loaded()


@pytest.fixture(scope="module", autouse=True)
def generator() -> None:
    if importlib.util.find_spec("zensical") is None:
        missing("no Zensical", "`make docs` and `make proofs` install docs/requirements.txt.")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("documentation")
    assert builder.build(folder) == []
    return folder / "site"


def test_every_page_is_in_the_navigation_and_in_the_site(site):
    names = [path.relative_to(ROOT).as_posix() for path in guides()]
    assert sorted(builder.navigation()) == names
    built = {path.relative_to(site).parent.as_posix() for path in site.rglob("index.html")}
    assert built == {name.removesuffix("README.md").removesuffix(".md").rstrip("/") or "." for name in names}


def test_examples_in_several_languages_are_tabs(site):
    page = (site / "docs/how-to/ask-from-any-agent/index.html").read_text()
    labels = re.findall(r'<label for="__tabbed_\d_\d">(?:<a[^>]*>)?([^<]+)', page)
    assert labels == ["Python", "JavaScript", "Shell", "Python", "JavaScript"]


@pytest.fixture
def broken(tmp_path, monkeypatch) -> Callable[..., list[str]]:
    """A function that builds the site with these texts on a page, and returns what is wrong."""

    def build_with(*texts: str) -> list[str]:
        copy_pages = builder.copy_pages

        def copy_and_break(folder: Path) -> None:
            copy_pages(folder)
            page = folder / "pages" / "docs" / "quick-start.md"
            page.write_text("\n\n".join([page.read_text(), *texts]))

        monkeypatch.setattr(builder, "copy_pages", copy_and_break)
        return builder.build(tmp_path)

    return build_with


def test_the_generator_refuses_a_link_to_no_page_or_anchor(broken):
    (found,) = broken("[gone](nowhere.md)", "[gone](architecture.md#nowhere)")
    assert [words for words in ("page does not exist", "anchor does not exist", "2 issues") if words not in found] == []


def test_a_page_that_lacks_a_file_or_loads_something_from_elsewhere_fails_the_build(broken):
    pixel = '<img src="https://example.org/pixel.png">'
    assert broken("![gone](pictures/nowhere.png)", "[gone](../examples/nowhere.py)", pixel) == [
        "docs/quick-start/index.html: loads https://example.org/pixel.png",
        "docs/quick-start/index.html: ../../examples/nowhere.py does not exist",
        "docs/quick-start/index.html: ../pictures/nowhere.png does not exist",
    ]


def test_a_page_that_is_not_in_the_navigation_fails_the_build(tmp_path, monkeypatch):
    listed = builder.navigation()
    monkeypatch.setattr(builder, "navigation", lambda: [*listed[1:], "docs/nowhere.md"])
    assert builder.build(tmp_path) == [
        f"{listed[0]} is not in the navigation",
        "docs/nowhere.md is in the navigation and does not exist",
    ]


def test_versions_are_beside_each_other_and_latest_is_the_newest(site, tmp_path, monkeypatch):
    title = f"Pausepoint {builder.version()}</title>"
    for name in ("0.9.3", "0.10.0", "0.9.4", "0.2.0"):
        monkeypatch.setattr(builder, "version", lambda name=name: name)
        builder.publish(site, tmp_path)
    listed = json.loads((tmp_path / "versions.json").read_text())
    assert [(each["version"], each["aliases"]) for each in listed] == [("0.10", ["latest"]), ("0.9", []), ("0.2", [])]
    assert (tmp_path / "latest").readlink() == Path("0.10")
    assert {path.name for path in tmp_path.iterdir()} == {"0.10", "0.9", "0.2", "latest", "versions.json", "index.html"}
    # Every page names its version in the title, also where it is read as a file.
    assert title in (tmp_path / "latest" / "docs" / "tutorial" / "index.html").read_text()


@pytest.fixture
def address(site, tmp_path) -> Iterator[str]:
    """The built site beside an earlier version, served as `make docs-serve` does."""
    versions = tmp_path / "versions"
    (versions / "0.0").mkdir(parents=True)
    builder.publish(site, versions)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(versions))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


BROWSE = """
import sys
from playwright.sync_api import sync_playwright

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=sys.argv[1], args=["--no-sandbox", "--disable-gpu"])
    page = browser.new_page()
    page.set_default_timeout(120_000)
    page.on("request", lambda request: print(request.url))
    for path in ("/", "/latest/", "/latest/docs/architecture/", "/latest/docs/reference/api/"):
        page.goto(sys.argv[2] + path, wait_until="networkidle")
    assert page.locator(".md-version__link").all_text_contents() == [sys.argv[3], "0.0"]
    page.keyboard.press("/")
    page.keyboard.type("checkpoint")
    page.wait_for_load_state("networkidle")
"""


@pytest.mark.browser
def test_a_browser_loads_nothing_from_elsewhere(address):
    newest = builder.version().rpartition(".")[0]
    command = [sys.executable, "-c", BROWSE, find_chromium(), address, newest]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    requested = done.stdout.split()
    assert len(requested) > 6
    assert [url for url in requested if not url.startswith((address, "data:", "blob:"))] == []
