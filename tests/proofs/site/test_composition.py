"""The commands of compose.yaml and Dockerfile, run as processes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.processes import redis_server, starting
from tests.support.processes.deployed import PEOPLE, new_database, site
from tests.support.processes.server import PATIENCE, until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

COMPOSITION: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSITION["services"]
OURS = [name for name, service in SERVICES.items() if service.get("image") == "pausepoint"]
DOCKERFILE = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
LINES = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]


def said(instruction: str) -> list[str]:
    return [rest for word, rest in LINES if word == instruction]


def copied() -> list[tuple[str, str]]:
    """The files of the image: (from the project, to below /app)."""
    pairs = [rest.split() for rest in said("COPY") if not rest.startswith("--from")]
    return [(source, target) for source, target in pairs]


def settings_with(environment: dict[str, str]) -> str:
    """All settings of ours and of mail, as a process with this environment has them."""
    shown = "from django.conf import settings as s; print({n: getattr(s, n) for n in dir(s) if n[:5] in ('HITL_', 'EMAIL')})"
    needed = {
        "PATH": os.environ["PATH"],
        "SECRET_KEY": "0123456789abcdef" * 4,
        "PUBLIC_URL": "https://desk.example.org",
    }
    command = ["manage.py", "shell", "--verbosity", "0", "-c", shown]
    done = starting.run(command, env=environment | needed, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_what_is_left_out_of_that_file_is_as_if_nothing_was_said():
    unset = {
        name: re.fullmatch(rf"\$\{{{name}:-(.*)\}}", value) for name, value in SERVICES["web1"]["environment"].items()
    }
    given = {name: found[1] for name, found in unset.items() if found is not None}
    assert {name: value for name, value in given.items() if value} == {
        "ANTHROPIC_BASE_URL": "https://api.anthropic.com",  # read by the SDK, which takes an empty one as it is
        "HSTS_SECONDS": "0",
        "TRUST_FORWARDED_PROTO": "0",
    }
    assert settings_with(given) == settings_with({})


def build(target: Path, **settings: str) -> None:
    """Build below `target` like `docker build`."""
    target.mkdir()
    for source, _ in copied():
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, target / source)
    (collect,) = [step for run in said("RUN") for step in run.split("&&") if "collectstatic" in step]
    words = shlex.split(collect)
    own = dict(word.split("=", 1) for word in words if "=" in word)
    with site(target.parent, project=target, **{"DEBUG": "0", "HITL_PROVIDER": "", **own}) as image:
        image.manage(*words[words.index("manage.py") + 1 :])


def contents(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in sorted(folder.rglob("*"))}


@pytest.mark.server
@pytest.mark.usefixtures("real_processes")
def test_the_commands_of_the_composition_serve_a_team_and_write_nothing_into_the_project(tmp_path):
    project = tmp_path / "app"
    build(project)
    for path in [*project.rglob("*"), project]:
        path.chmod(path.stat().st_mode & ~0o222)
    before = contents(project)
    settings = {"DEBUG": "0", "DATABASE_URL": new_database(), "REDIS_URL": redis_server.started().url}
    settings |= {"ALLOWED_HOSTS": "127.0.0.1", "PUBLIC_URL": "http://desk.example.org"}
    with site(tmp_path, project=project, **settings) as team:
        for name in OURS:
            _, _, command, *words = SERVICES[name]["command"]
            if command == "migrate":
                team.manage(command, *words)
                team.run(PEOPLE)
            elif command == "serve":
                team.serve()
            else:
                team.work()
        until(lambda: team.ready() == (200, []), "it is ready")

        asking = team.person("requester")
        chat, request = asking.pause("Please refund order 4711, 250 euros")
        assert team.person("approver").decide(request, verdict="approve").status == 302
        team.wait_for_turn(chat, "completed")

        page = asking.get("/").text
        (style,) = set(re.findall(r'"(/static/pausepoint/base\.[0-9a-f]{12}\.css)"', page))
        status, headers, _ = team.ask(style, **{"Accept-Encoding": "gzip"})
        assert (status, headers["content-encoding"]) == (200, "gzip")
        assert "immutable" in headers["cache-control"]
        assert set(team.stop()) == {0}, team.said()
    assert contents(project) == before
    for path in [project, *project.rglob("*")]:
        path.chmod(path.stat().st_mode | 0o200)


def test_a_site_without_its_static_files_says_so_instead_of_serving_broken_pages(tmp_path):
    project = tmp_path / "app"
    build(project)
    shutil.rmtree(project / "staticfiles")
    database = f"sqlite:///{tmp_path}/site.sqlite3"
    with site(tmp_path, project=project, DEBUG="0", DATABASE_URL=database) as bare:
        bare.manage("migrate", "--verbosity", "0")
        served = bare.manage("serve", check=False)
    assert served.returncode == 1
    assert "Run `manage.py collectstatic --no-input` first." in served.stderr
