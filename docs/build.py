"""Build the documentation as a site: `make docs`, in build/docs/versions or the folder that is given.

Nothing is loaded from elsewhere. The pages lie where GitHub shows them (README.md, docs/, examples/...). They are copied with
their folders first, so that the links between them hold in the site too. The build fails on any warning, missing file or
missing page. The folder keeps the versions that are there, and each page offers them in its header.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "docs" / "zensical.toml"
#: Examples in several languages: GitHub shows one below the other, each under its name in bold, and the site shows tabs.
TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end of tabs -->$", re.S | re.M)
NAME = re.compile(r"^\*\*([^*\n]+)\*\*$", re.M)
PAGES = (
    "*.md",
    "docs/**/*.md",
    "examples/*/README.md",
    "clients/*/README.md",
    "benchmarks/README.md",
)
#: What the root of the versions shows: the newest.
START = '<!doctype html><meta http-equiv="refresh" content="0; url=latest/"><a href="latest/">Documentation</a>\n'
#: Attributes by which a browser loads something on its own.
LOADING = {
    ("link", "href"),
    ("script", "src"),
    ("img", "src"),
    ("source", "src"),
    ("iframe", "src"),
}


def pages() -> list[Path]:
    """Return every page of the documentation."""
    return sorted(path for pattern in PAGES for path in ROOT.glob(pattern))


def linked_files(page: Path) -> set[Path]:
    """Return the local files that a page links to or shows."""
    targets = re.findall(r"\]\(([^)\s#]+)", page.read_text())
    return {
        (page.parent / target).resolve() for target in targets if "://" not in target
    }


def navigation(config: Path = CONFIG) -> list[str]:
    """Return the pages that the navigation lists, in order."""

    def listed(entry: object) -> list[str]:
        if isinstance(entry, str):
            return [entry]
        parts = (
            entry.values()
            if isinstance(entry, dict)
            else entry
            if isinstance(entry, list)
            else ()
        )
        return [name for part in parts for name in listed(part)]

    return listed(tomllib.loads(config.read_text())["project"]["nav"])


def navigation_problems() -> list[str]:
    """Return the pages that only the navigation or only the repository has."""
    listed, existing = (
        set(navigation()),
        {page.relative_to(ROOT).as_posix() for page in pages()},
    )
    return [
        f"{name} is not in the navigation" for name in sorted(existing - listed)
    ] + [
        f"{name} is in the navigation and does not exist"
        for name in sorted(listed - existing)
    ]


class Links(HTMLParser):
    """Collect what an HTML page links to and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.ids.add(value)
            if (name == "href" or (tag, name) in LOADING) and value:
                (self.loaded if (tag, name) in LOADING else self.links).add(value)


def problems(site: Path) -> list[str]:
    """Return broken links, missing files, and anything that a page would load from another host."""
    found = []
    site = site.resolve()
    read_pages = {page: Links(page.read_text()) for page in site.rglob("*.html")}
    for page, read in sorted(read_pages.items()):
        name = page.relative_to(site).as_posix()
        found += [
            f"{name}: loads {address}"
            for address in sorted(read.loaded)
            if urlsplit(address).netloc
        ]
        if name == "404.html":
            continue  # its links start at the root of a host
        for address in sorted(read.links | read.loaded):
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (
                (page.parent / unquote(parts.path)).resolve() if parts.path else page
            )
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                found.append(f"{name}: {address} does not exist")
            elif (
                parts.fragment
                and target.suffix == ".html"
                and parts.fragment not in read_pages[target].ids
            ):
                found.append(f"{name}: {address} has no such anchor")
    return found


def as_tabs(examples: str) -> str:
    """Return examples, each below its name, as tabs of the site."""
    _, *parts = NAME.split(examples)
    pairs = zip(parts[::2], parts[1::2], strict=True)
    return "\n\n".join(
        f'=== "{name}"\n\n{textwrap.indent(text.strip(), " " * 4)}'
        for name, text in pairs
    )


def version() -> str:
    """Return the version that the pages describe."""
    return str(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    )


def copy_pages(folder: Path) -> None:
    """Copy the pages, the files that they link to, and the configuration, with the version in the name of the site."""
    for path in {
        *pages(),
        *(file for page in pages() for file in linked_files(page) if file.is_file()),
    }:
        copy = folder / "pages" / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        if path.suffix == ".md":
            copy.write_text(TABS.sub(lambda match: as_tabs(match[1]), path.read_text()))
    config = CONFIG.read_text().replace(
        'site_name = "Pausepoint"', f'site_name = "Pausepoint {version()}"'
    )
    (folder / CONFIG.name).write_text(config)


def build(folder: Path) -> list[str]:
    """Build the site in `folder`/site and return what is wrong with it."""
    if missing := navigation_problems():
        return missing
    shutil.rmtree(folder, ignore_errors=True)
    copy_pages(folder)
    command = [
        sys.executable,
        "-m",
        "zensical",
        "build",
        "--strict",
        "--config-file",
        CONFIG.name,
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        return [done.stdout + done.stderr]
    return problems(folder / "site")


def publish(site: Path, versions: Path) -> None:
    """Put a site beside those of earlier versions, in the folder of its minor version; `latest` leads to the newest."""
    folder = versions / version().rpartition(".")[0]
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(site, folder)
    names = [
        path.name for path in versions.iterdir() if re.fullmatch(r"\d+\.\d+", path.name)
    ]
    newest, *older = sorted(
        names, key=lambda name: [int(part) for part in name.split(".")], reverse=True
    )
    (versions / "latest").unlink(missing_ok=True)
    (versions / "latest").symlink_to(newest)
    # Where the theme looks for them, as the tool `mike` writes them.
    listed = [{"version": newest, "title": newest, "aliases": ["latest"]}]
    listed += [{"version": name, "title": name, "aliases": []} for name in older]
    (versions / "versions.json").write_text(json.dumps(listed, indent=2) + "\n")
    (versions / "index.html").write_text(START)


def main(versions: Path) -> None:
    wrong = build(ROOT / "build" / "docs")
    if wrong:
        sys.exit("\n".join(wrong))
    publish(ROOT / "build" / "docs" / "site", versions)
    print(f"The documentation is in {versions}. `make docs-serve` shows it.")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
