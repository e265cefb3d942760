"""The JavaScript client as npm installs it, beside the real SDKs, against a real server."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks.conftest import Agent, desk  # noqa: F401 - a fixture
from tests.contract.packages.building import JAVASCRIPT, build_javascript, install_javascript
from tests.support.processes.server import Server
from tests.support.root import ROOT
from tests.support.services import find_npm, install_packages, real_processes  # noqa: F401 - a fixture

HERE = Path(__file__).parent
INSTALLED = ROOT / ".venv-contract" / "javascript_client"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


@pytest.fixture(scope="package")
def installed(real_processes: None) -> Path:  # noqa: F811
    """A folder with the SDKs and the packed client, made anew if any of them has changed."""
    return install(HERE, INSTALLED)


@pytest.fixture(scope="package")
def folder(installed: Path) -> Callable[[str], Path]:
    """Such a folder with this version of the AI SDK: "5", "6" or "7", or "workflow" with its Workflow SDK."""

    def make(version: str) -> Path:
        if version == "7":
            return installed
        name = version if version == "workflow" else f"ai{version}"
        return install(HERE / name, installed / name)

    return make


def install(packages: Path, to: Path) -> Path:
    """Install the packages that a folder lists, and the client as npm packs it; each anew if it has changed."""
    locked = _digest(packages / "package-lock.json")
    client = _digest(*sorted(JAVASCRIPT.glob("src/*.ts")), JAVASCRIPT / "package.json")
    stamp = to / "made-from"
    with (packages / "package.json").open() as mark:
        # Tests that run in several processes would install into each other's folder.
        fcntl.flock(mark, fcntl.LOCK_EX)
        made = stamp.read_text().split() if stamp.is_file() else []
        if made[:1] != [locked]:
            shutil.rmtree(to, ignore_errors=True)
            to.mkdir(parents=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(packages / name, to)
            install_packages(to)
        if made != [locked, client]:
            shutil.rmtree(to / "node_modules" / "@pausepoint", ignore_errors=True)
            install_javascript(build_javascript(to), to)
            stamp.write_text(f"{locked} {client}")
    return to


def _digest(*files: Path) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def with_page(installed: Path, name: str, page: Path, blocks: slice = slice(None)) -> Path:
    """A program of this folder with verbatim blocks of JavaScript of a page, next to its imports."""
    code = re.findall(r"^```js\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)[blocks]
    program = installed / f"{name}.mjs"
    # From the last block to the first: a page shows the call of the agent first, and tools that it may have after that.
    return put(program, (HERE / program.name).read_text().replace("// THE PAGE", "\n".join(reversed(code))))


def put(program: Path, code: str) -> Path:
    """Write a program at once: those of other test processes may be reading it."""
    new = program.with_name(f"{program.name}.{os.getpid()}")
    new.write_text(code)
    return new.replace(program)


class Program(Agent):
    """An agent of this folder, which blocks of a page make whole."""

    def __init__(self, server: Server, installed: Path, name: str, page: str, blocks: slice) -> None:
        super().__init__(server, name)
        for shared in ("shared.mjs", "ai_sdk_model.mjs"):
            put(installed / shared, (HERE / shared).read_text())
        self.command = ["node", str(with_page(installed, name, ROOT / page, blocks)), self.thread]


@pytest.fixture
def ai_sdk(desk: Server, folder: Callable[[str], Path]) -> Callable[..., Program]:  # noqa: F811
    """An agent of the AI SDK: `ai_sdk("gate", "6")`."""
    blocks = {
        "gate": slice(0, 3, 2),
        "approval": slice(1, 3),
        "stream": slice(0),
        "whole": slice(0),
        "names": slice(0),
        "inner": slice(0),
        "workflow": slice(0),
    }

    def make(kind: str, version: str = "7") -> Program:
        return Program(desk, folder(version), f"ai_sdk_{kind}", "docs/how-to/ai-sdk-agents.md", blocks[kind])

    return make


@pytest.fixture
def openai_agents(desk: Server, installed: Path) -> Callable[..., Program]:  # noqa: F811
    blocks = {
        "openai_agents": slice(1),
        "openai_agents_stream": slice(0),
        "openai_agents_kinds": slice(0),
    }
    return lambda name="openai_agents": Program(desk, installed, name, "docs/how-to/openai-agents-js.md", blocks[name])


@pytest.fixture
def function(desk: Server, installed: Path) -> Program:  # noqa: F811
    return Program(desk, installed, "function", "clients/javascript/README.md", slice(1, 2))


@pytest.fixture
def node(desk: Server, installed: Path) -> Callable[..., list[Any]]:  # noqa: F811
    """Do things with the client, in order: `node(key, ("ask", "Pay?"), ...)`."""
    driver = put(installed / "driver.mjs", (HERE / "driver.mjs").read_text())

    def do(key: str, *acts: tuple[Any, ...]) -> list[Any]:
        variables = {
            "PAUSEPOINT_URL": desk.address,
            "PAUSEPOINT_KEY": key,
            "PATH": str(Path(shutil.which("node") or "").parent),
        }
        done = subprocess.run(
            ["node", str(driver)], input=json.dumps(acts), env=variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        found: list[Any] = json.loads(done.stdout)
        return found

    return do
