"""The OpenAPI document in the hands of others: a strict linter, and clients that are generated from it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import venv
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.contract.frameworks.conftest import desk, people  # noqa: F401 - a fixture
from tests.contract.packages.building import run
from tests.support.processes.server import Server
from tests.support.root import ROOT
from tests.support.services import find_npm, install_packages, missing, real_processes  # noqa: F401 - a fixture

HERE = Path(__file__).parent
#: The generator of the Python client, in an environment of its own.
PYTHON, GENERATOR = ROOT / ".venv-contract" / "openapi", "openapi-python-client==0.29.1"

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    find_npm()


@pytest.fixture(scope="module")
def tool(real_processes: None) -> Callable[..., str]:  # noqa: F811
    """Run a program of npm: `tool("redocly", "lint", ...)`."""
    install_packages(HERE)
    return lambda name, *arguments: run([str(HERE / "node_modules" / ".bin" / name), *arguments])


@pytest.fixture
def document(desk: Server, tmp_path: Path) -> Path:  # noqa: F811
    """The document as the server sends it, in a folder of its own."""
    headers = {"Authorization": f"Bearer {people(desk)[0].key}"}
    path = tmp_path / "openapi.json"
    path.write_bytes(httpx.get(f"{desk.address}/api/v1/openapi.json", headers=headers).content)
    return path


def printed(server: Server, command: list[str]) -> object:
    asker, approver, _ = people(server)
    keys = {"PAUSEPOINT_URL": server.address, "PAUSEPOINT_KEY": asker.key, "APPROVER_KEY": approver.key}
    done = subprocess.run(command, env=os.environ | keys, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


DONE = ["approved", "succeeded", {"amount": 60}]


def test_a_strict_linter_finds_nothing(document, tool):
    tool("redocly", "lint", str(document), "--extends", "recommended-strict")


def test_a_generated_typescript_client_asks_waits_edits_and_reports(desk, document, tool):  # noqa: F811
    folder = document.parent
    (folder / "node_modules").symlink_to(HERE / "node_modules")
    (folder / "package.json").write_text('{"type": "module"}')
    shutil.copy(HERE / "client.ts", folder)
    tool("openapi-typescript", str(document), "--output", str(folder / "api.d.ts"))
    options = ["--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"]
    tool("tsc", *options, str(folder / "client.ts"))
    assert printed(desk, ["node", str(folder / "client.js")]) == DONE


def test_a_generated_python_client_asks_waits_edits_and_reports(desk, document):  # noqa: F811
    folder = document.parent
    generator = PYTHON / "bin" / "openapi-python-client"
    if not generator.is_file():
        venv.create(PYTHON, with_pip=True)
        pip = [str(PYTHON / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", GENERATOR]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            missing(f"no way to install {GENERATOR} ({done.stderr.strip()[-200:]})", "Look at pip's index.")
    to = ["--output-path", str(folder / "desk_client"), "--meta", "none"]
    run([str(generator), "generate", "--path", str(document), *to])
    shutil.copy(HERE / "client.py", folder)
    assert printed(desk, [str(PYTHON / "bin" / "python"), str(folder / "client.py")]) == DONE
