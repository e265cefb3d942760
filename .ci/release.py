"""Build a release in build/release, and check each part of it where nothing of this repository is installed: `make release`.

Parts: the Python package, the npm package, the image of the server (if Docker runs here), and the notes. Needs only the
standard library, npm, and the registries of Python and npm. Publishes nothing.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TO = ROOT / "build" / "release"
PYTHON, JAVASCRIPT = ROOT / "clients" / "python", ROOT / "clients" / "javascript"
TOOLS = ("build>=1.2,<2", "twine>=6.1,<7")
#: Asks the package that is installed whether it works; the npm package says the same of itself.
USE_PYTHON = "from pausepoint import Desk; print(Desk('https://desk.example.com', 'pp_key').base)"
USE_JAVASCRIPT = """import { Desk } from "@pausepoint/client"; new Desk("https://desk.example.com", "pp_key");"""


def versions() -> dict[str, str]:
    """Return every place that says the version, and what it says."""
    lock = json.loads((JAVASCRIPT / "package-lock.json").read_text())
    return {
        "hitlsite/__init__.py": re.findall(
            r'__version__ = "(.+)"', (ROOT / "hitlsite" / "__init__.py").read_text()
        )[0],
        "pyproject.toml": tomllib.loads((ROOT / "pyproject.toml").read_text())[
            "project"
        ]["version"],
        "clients/python/pyproject.toml": tomllib.loads(
            (PYTHON / "pyproject.toml").read_text()
        )["project"]["version"],
        "clients/javascript/package.json": json.loads(
            (JAVASCRIPT / "package.json").read_text()
        )["version"],
        "clients/javascript/package-lock.json": lock["version"],
    }


def version() -> str:
    """Return the version, which all places have to agree on."""
    said = versions()
    if len(set(said.values())) != 1:
        sys.exit(
            "The versions differ:\n"
            + "\n".join(f"  {place}: {each}" for place, each in said.items())
        )
    return said["pyproject.toml"]


def section(changelog: str, name: str) -> str:
    """Return the text below the heading of a version; empty if there is none."""
    found = re.search(
        rf"^## \[{re.escape(name)}\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog, re.S | re.M
    )
    return found[1].strip() if found else ""


def notes(changelog: str, name: str) -> tuple[str, bool]:
    """Return the notes of a version, and whether the changelog is cut for it; otherwise they are of what is not released."""
    own = section(changelog, name)
    return f"# Pausepoint {name}\n\n{own or section(changelog, 'Unreleased')}\n", bool(
        own
    )


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """Run a command and return its output; leave with all that it printed if it fails."""
    done = subprocess.run(
        list(map(str, command)), cwd=folder, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def environment(folder: Path, *packages: str | Path) -> Path:
    """Make an environment with these packages and nothing else; return its folder of programs."""
    venv.create(folder, with_pip=True)
    run(
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *packages,
    )
    return folder / "bin"


def build_wheel(name: str, scratch: Path) -> None:
    python = environment(scratch / "tools", *TOOLS) / "python"
    shutil.rmtree(PYTHON / "build", ignore_errors=True)
    run(python, "-m", "build", "--outdir", TO, PYTHON)
    run(python, "-m", "twine", "check", "--strict", *TO.glob("pausepoint-*"))
    programs = environment(
        scratch / "empty", TO / f"pausepoint-{name}-py3-none-any.whl"
    )
    said = (
        run(programs / "pausepoint", "--version").split()[1],
        run(programs / "python", "-c", USE_PYTHON).strip(),
    )
    if said != (name, "https://desk.example.com/api/v1"):
        sys.exit(f"The installed Python package is another one: {said}")


def build_npm(name: str, scratch: Path) -> None:
    run("npm", "install", "--no-save", "--no-audit", "--no-fund", folder=JAVASCRIPT)
    shutil.rmtree(JAVASCRIPT / "dist", ignore_errors=True)
    run("npm", "run", "build", folder=JAVASCRIPT)
    run("npm", "run", "check", folder=JAVASCRIPT)
    run("npm", "pack", "--pack-destination", TO, folder=JAVASCRIPT)
    empty = scratch / "project"
    empty.mkdir()
    (empty / "package.json").write_text('{"private": true}')
    (empty / "use.mjs").write_text(USE_JAVASCRIPT)
    packed = TO / f"pausepoint-client-{name}.tgz"
    run(
        "npm",
        "install",
        "--no-save",
        "--no-audit",
        "--no-fund",
        "--ignore-scripts",
        packed,
        folder=empty,
    )
    run("node", "use.mjs", folder=empty)


def build_image(name: str) -> bool:
    """Build the image and let it migrate an empty database; return False where Docker does not run."""
    if (
        not shutil.which("docker")
        or subprocess.run(
            ["docker", "info"], capture_output=True, check=False
        ).returncode
    ):
        return False
    image = f"pausepoint:{name}"
    run("docker", "build", "--tag", image, ".")
    settings = (
        "SECRET_KEY=only-to-check-this-image-and-never-again",
        "DATABASE_URL=sqlite:////tmp/check.sqlite3",
    )
    given = [part for setting in settings for part in ("--env", setting)]
    run(
        "docker",
        "run",
        "--rm",
        *given,
        image,
        "python",
        "manage.py",
        "migrate",
        "--verbosity",
        "0",
    )
    run("docker", "save", "--output", TO / f"pausepoint-image-{name}.tar", image)
    return True


def main() -> None:
    name = version()
    shutil.rmtree(TO, ignore_errors=True)
    TO.mkdir(parents=True)
    text, cut = notes((ROOT / "CHANGELOG.md").read_text(), name)
    (TO / "NOTES.md").write_text(text)
    with tempfile.TemporaryDirectory() as folder:
        build_wheel(name, Path(folder))
        print(f"Python package {name}: built, and works in an empty environment.")
        build_npm(name, Path(folder))
        print(f"npm package {name}: built, and works in an empty folder.")
    if build_image(name):
        print(f"Image pausepoint:{name}: built, and migrates an empty database.")
    else:
        print("!!! NOT BUILT: the image, because Docker does not run here.")
    if not cut:
        print(
            f"!!! NOT CUT: CHANGELOG.md has no section [{name}], so the notes are those of [Unreleased]."
        )
    files = sorted(file for file in TO.iterdir() if file.name != "SHA256SUMS")
    sums = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in files
    ]
    (TO / "SHA256SUMS").write_text("".join(sums))
    print(
        f"{TO.relative_to(ROOT)} has {', '.join(file.name for file in files)} and SHA256SUMS."
    )


if __name__ == "__main__":
    main()
