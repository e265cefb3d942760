"""Agent frameworks for JavaScript as npm installs them, each in a folder of its own, asking a real server.

The folders of packages are made when a test needs one, in .venv-contract/javascript_frameworks. With LOWEST in the environment,
they have the oldest versions that the client takes, from NAME/lowest/package.json.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contract.frameworks.conftest import Agent, desk  # noqa: F401 - a fixture
from tests.contract.javascript_client.conftest import install, put
from tests.support.processes.server import Server
from tests.support.root import ROOT
from tests.support.services import find_npm, real_processes  # noqa: F401 - a fixture

HERE = Path(__file__).parent
INSTALLED = ROOT / ".venv-contract" / "javascript_frameworks"
SHARED = (HERE.parent / "javascript_client" / "shared.mjs", HERE / "script.mjs")
LOWEST = "lowest" if os.environ.get("LOWEST") else ""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


class Framework:
    """The packages of one framework, and the code of its page."""

    def __init__(self, folder: Path, page: Path) -> None:
        self.tests = folder
        oldest = bool(LOWEST) and (folder / LOWEST).is_dir()
        packages = folder / LOWEST if oldest else folder
        self.installed = install(packages, INSTALLED / (f"{folder.name}-{LOWEST}" if oldest else folder.name))
        self.blocks = re.findall(r"^```js\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)

    def program(self, name: str, *blocks: int) -> Path:
        """Return a program of this folder, with these blocks of the page in place of the marked line, the last one
        first. `page` is the page's code alone.
        """
        for path in (*SHARED, *self.tests.glob("*.mjs")):
            put(self.installed / path.name, path.read_text())
        code = "\n".join(self.blocks[place] for place in reversed(blocks))
        text = (self.tests / f"{name}.mjs").read_text().replace("// THE PAGE", code) if name != "page" else code
        return put(self.installed / f"run-{name}-{'-'.join(map(str, blocks))}.mjs", text)


@pytest.fixture(scope="module")
def framework(request: pytest.FixtureRequest, real_processes: None) -> Framework:  # noqa: F811
    folder = request.path.parent
    pages = {"langchain_js": "langchain-js"}
    return Framework(folder, ROOT / "docs" / "how-to" / f"{pages.get(folder.name, folder.name)}.md")


class Program(Agent):
    """An agent of this folder, which blocks of the page make whole."""

    def __init__(self, server: Server, program: Path, name: str) -> None:
        super().__init__(server, name)
        self.command = ["node", str(program), self.thread]


@pytest.fixture
def program(desk: Server, framework: Framework) -> Callable[..., Program]:  # noqa: F811
    """Make an agent: `program("agent", 0, 1)` with the first two blocks of the page."""
    return lambda name, *blocks: Program(desk, framework.program(name, *blocks), framework.tests.name)


@pytest.fixture
def agent(program: Callable[..., Program]) -> Program:
    return program("agent", 0, 2)
