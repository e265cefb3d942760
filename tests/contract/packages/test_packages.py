"""Both clients as people install them: built, checked, and installed from the built files in a fresh place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import time
import tomllib
import venv
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.contract.frameworks.conftest import desk  # noqa: F401 - a fixture
from tests.contract.packages.building import JAVASCRIPT, PYTHON, install_javascript, javascript_alone, run
from tests.support.machine import Remote
from tests.support.processes.server import Server, until
from tests.support.root import ROOT
from tests.support.services import find_npm, real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

#: Seconds. The promise is a minute on a machine with nothing else to do; this is for a machine that is busy.
GENEROUS = 600


def first_code(page: Path) -> str:
    """Return the first code of a README, verbatim."""
    return re.split(r"^```\w*\n", page.read_text(), flags=re.MULTILINE)[1]


class Built(NamedTuple):
    printed: str
    files: list[Path]

    @property
    def wheel(self) -> Path:
        return next(file for file in self.files if file.suffix == ".whl")

    @property
    def packed(self) -> Path:
        return next(file for file in self.files if file.suffix == ".tgz")


@pytest.fixture(scope="module")
def built(real_processes: None) -> Built:  # noqa: F811
    """Run the build commands of the release page; those that publish are in blocks of another language, `console`."""
    find_npm()
    page = (ROOT / "docs" / "how-to" / "publish-a-release.md").read_text()
    commands = "".join(re.findall(r"^```sh\n(.*?)^```$", page, re.MULTILINE | re.DOTALL))
    with javascript_alone():
        printed = run(["sh", "-euc", commands.replace("make ", f"make PYTHON={sys.executable} ")])
    return Built(printed, sorted((ROOT / "build" / "release").iterdir()))


def decided(server: Server, command: list[str], folder: Path) -> str:
    """Run a program that asks once, approve its request, and return its output."""
    # Keys of its own: both programs use the same id of a call.
    asker, approver = Remote(server, "requester", ("ask", "read")), Remote(server, "approver", ("decide", "read"))
    environment = os.environ | {"PAUSEPOINT_URL": server.address, "PAUSEPOINT_KEY": asker.key}
    program = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)

    def waiting() -> Any:
        items = approver.send("GET", "/requests?status=pending").body["items"]
        return [each for each in items if each["tool_call_id"] == "call-4711"]

    (request,) = until(waiting, "the request waits", GENEROUS)
    reply = approver.send("POST", f"/requests/{request['id']}/decision", {"verdict": "approve"})
    assert reply.status == 200
    return program.communicate(timeout=GENEROUS)[0].strip()


def test_a_fresh_environment_with_the_wheel_reaches_a_decision_with_three_lines(desk, built, tmp_path, capsys):  # noqa: F811
    began = time.monotonic()
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", str(built.wheel)])
    (tmp_path / "ask.py").write_text(first_code(PYTHON / "PACKAGE.md"))
    assert decided(desk, [python, "ask.py"], tmp_path) == "approved {'amount': 120}"
    took = time.monotonic() - began
    with capsys.disabled():
        print(f"\npip install of the wheel, three lines, a decision: {took:.1f} s")
    assert took < GENEROUS
    command = str(tmp_path / "venv" / "bin" / "pausepoint")
    assert run([command, "--help"]).startswith("usage: pausepoint")
    assert f"pausepoint-{run([command, '--version']).split()[1]}-" in built.wheel.name


def test_a_fresh_folder_with_the_npm_package_reaches_a_decision_with_three_lines(desk, built, tmp_path, capsys):  # noqa: F811
    began = time.monotonic()
    (tmp_path / "package.json").write_text('{"private": true}')
    install_javascript(built.packed, tmp_path)
    refund = "function refund({ amount }) { console.log(amount); return { refunded: amount }; }\n"
    (tmp_path / "ask.mjs").write_text(first_code(JAVASCRIPT / "README.md") + refund)
    assert decided(desk, ["node", "ask.mjs"], tmp_path) == "120"
    took = time.monotonic() - began
    with capsys.disabled():
        print(f"\nnpm install of the package, three lines, a decision: {took:.1f} s")
    assert took < GENEROUS
    assert [each.name for each in (tmp_path / "node_modules").iterdir() if not each.name.startswith(".")] == [
        "@pausepoint"
    ]


def test_the_wheel_has_its_types_license_and_extras_and_needs_only_httpx(built):
    with zipfile.ZipFile(built.wheel) as archive:
        names = archive.namelist()
        (metadata,) = [archive.read(name).decode() for name in names if name.endswith(".dist-info/METADATA")]
    assert {"pausepoint/py.typed", "pausepoint/desk/client.py"} <= set(names)
    assert sorted(name for name in names if name.startswith("pausepoint/") and name.endswith(".py")) == sorted(
        str(file.relative_to(PYTHON)) for file in (PYTHON / "pausepoint").rglob("*.py")
    )
    needed = re.findall(r"^Requires-Dist: (.+)$", metadata, re.M)
    assert [each for each in needed if "extra ==" not in each] == ["httpx<1,>=0.27"]
    extras = set(tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    assert set(re.findall(r"^Provides-Extra: (.+)$", metadata, re.M)) == extras
    assert "License-Expression: Apache-2.0" in metadata
    assert any(name.endswith("/licenses/LICENSE") for name in names)


def test_links_in_the_readme_of_a_package_do_not_lead_into_the_repository():
    """PyPI and npm show the README alone."""
    readme = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]["readme"]
    pages = [PYTHON / readme, JAVASCRIPT / "README.md"]
    assert [to for page in pages for to in re.findall(r"\]\(([^)#]+)", page.read_text()) if "://" not in to] == []


def test_the_npm_package_has_only_what_is_built_and_depends_on_nothing(built):
    with tarfile.open(built.packed) as archive:
        names = sorted(archive.getnames())
    modules = [file.stem for file in (JAVASCRIPT / "src").glob("*.ts")]
    built = [f"package/dist/{module}{ending}" for module in modules for ending in (".js", ".d.ts")]
    assert names == sorted([*built, "package/LICENSE", "package/README.md", "package/package.json"])
    assert "dependencies" not in json.loads((JAVASCRIPT / "package.json").read_text())


def test_the_commands_of_the_release_page_build_and_check_both_packages(built):
    version = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]["version"]
    packages = ["pausepoint-{}-py3-none-any.whl", "pausepoint-{}.tar.gz", "pausepoint-client-{}.tgz"]
    image = [] if "NOT BUILT: the image" in built.printed else ["pausepoint-image-{}.tar"]
    names = ["NOTES.md", "SHA256SUMS", *(name.format(version) for name in (*packages, *image))]
    assert [file.name for file in built.files] == sorted(names)
    checked = [line for line in built.printed.splitlines() if " works in an empty " in line]
    assert [line.partition(f" {version}:")[0] for line in checked] == ["Python package", "npm package"]
