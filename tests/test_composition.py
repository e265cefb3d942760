"""Dockerfile and compose.yaml without Docker: what they say is checked, and their commands are run as processes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml

from hitlsite import probes
from tests import redis_server
from tests.deployed import PEOPLE, new_database, site
from tests.server import ROOT, until
from tests.services import real_processes  # noqa: F401 - a fixture
from tests.test_docs import REFERENCE, first_cells

COMPOSITION: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSITION["services"]
OURS = [name for name, service in SERVICES.items() if service.get("image") == "pausepoint"]
DOCKERFILE = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
LINES = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|API_KEY")


def said(instruction: str) -> list[str]:
    return [rest for word, rest in LINES if word == instruction]


def copied() -> list[tuple[str, str]]:
    """What the image is made of: (from the project, to below /app)."""
    pairs = [rest.split() for rest in said("COPY") if not rest.startswith("--from")]
    return [(source, target) for source, target in pairs]


def test_there_are_two_web_processes_and_two_workers_a_database_redis_and_one_migration():
    commands = [" ".join(SERVICES[name]["command"]) for name in OURS]
    assert commands == [
        "python manage.py migrate --no-input",
        *["python manage.py serve --host 0.0.0.0 --port 8000"] * 2,
        *["python manage.py worker"] * 2,
    ]
    assert sorted(set(SERVICES) - set(OURS)) == ["postgres", "redis"]


@pytest.mark.parametrize("name", OURS)
def test_our_containers_can_write_nowhere_but_in_tmp_and_are_allowed_nothing(name):
    service = SERVICES[name]
    hardened = ("read_only", "tmpfs", "cap_drop", "security_opt")
    temporary = "/tmp"  # noqa: S108 - the container's
    assert [service[key] for key in hardened] == [True, [temporary], ["ALL"], ["no-new-privileges:true"]]
    assert "volumes" not in service


def test_only_the_web_processes_are_reached_from_outside_and_only_from_this_machine_unless_told():
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web1": ["${BIND:-127.0.0.1}:8001:8000"], "web2": ["${BIND:-127.0.0.1}:8002:8000"]}


def test_nothing_starts_before_what_it_needs():
    for name in OURS:
        after = {other: how["condition"] for other, how in SERVICES[name]["depends_on"].items()}
        if name == "migrate":
            assert after == {"postgres": "service_healthy"}
        else:
            assert after == {"migrate": "service_completed_successfully", "redis": "service_healthy"}
    assert [name for name in ("postgres", "redis") if "healthcheck" not in SERVICES[name]] == []


def test_no_secret_stands_in_the_composition_and_without_them_nothing_starts():
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name):
                assert re.fullmatch(rf"\$\{{{name}:(-|\?set {name} in \.env)\}}", value), name
    text = (ROOT / "compose.yaml").read_text()
    needed = {"SECRET_KEY", "POSTGRES_PASSWORD", "PUBLIC_URL", "ALLOWED_HOSTS"}
    assert set(re.findall(r"\$\{(\w+):\?", text)) == needed


def test_every_setting_can_be_made_in_the_file_beside_the_composition():
    # Those for development and for the tests, and one that follows from the database.
    apart = {"DEBUG", "TEST_DATABASE", "HITL_DISPATCH"}
    known = {name for name in first_cells(REFERENCE / "settings.md") if name.isupper() and " " not in name}
    for name in OURS:
        assert known - set(SERVICES[name]["environment"]) == apart


def settings_with(environment: dict[str, str]) -> str:
    """All settings of ours and of mail, as a process with this environment has them."""
    shown = "from django.conf import settings as s; print({n: getattr(s, n) for n in dir(s) if n[:5] in ('HITL_', 'EMAIL')})"
    needed = {
        "PATH": os.environ["PATH"],
        "SECRET_KEY": "0123456789abcdef" * 4,
        "PUBLIC_URL": "https://desk.example.org",
    }
    command = [sys.executable, "manage.py", "shell", "--verbosity", "0", "-c", shown]
    done = subprocess.run(command, cwd=ROOT, env=environment | needed, capture_output=True, text=True, timeout=120)
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


def test_everything_in_the_environment_is_a_setting_that_there_is():
    known = set(first_cells(REFERENCE / "settings.md"))
    for name in OURS:
        assert set(SERVICES[name]["environment"]) - known == set()
    guide = (ROOT / "docs" / "how-to" / "run-it-for-a-team.md").read_text()
    read = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
    assert [name for name in sorted(read) if not re.search(rf"\b{name}\b", guide) and name not in known] == []


def test_the_image_runs_as_nobody_in_particular_on_the_python_that_is_supported():
    assert said("FROM") == ["python:3.11-slim AS packages", "python:3.11-slim"]
    words = [word for word, _ in LINES]
    assert said("USER") == ["10001"]
    assert words.index("USER") > max(place for place, word in enumerate(words) if word in {"RUN", "COPY"})
    assert "--uid 10001" in DOCKERFILE


def test_the_image_holds_what_is_needed_and_its_context_lets_that_through():
    sources = [source for source, _ in copied()]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert {"approvals", "chats", "hitlsite", "templates", "manage.py", "requirements.txt"} == set(sources)
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert rules[0] == "*"
    assert [s for s in sources if not any(fnmatch(s, rule[1:]) for rule in rules if rule[0] == "!")] == []


def test_the_image_s_health_is_that_of_the_process():
    (check,) = said("HEALTHCHECK")
    (path,) = re.findall(r"http://127\.0\.0\.1:8000(/\w+)", check)
    assert path == "/healthz"
    assert path in probes.ADDRESSES
    assert said("CMD")[-1].replace('"', "").strip("[]").split(", ") == SERVICES["web1"]["command"]


def build(target: Path, **settings: str) -> None:
    """What `docker build` would make of the project, below `target`."""
    target.mkdir()
    for source, _ in copied():
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, target / source, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / source, target / source)
    (collect,) = [step for run in said("RUN") for step in run.split("&&") if "collectstatic" in step]
    words = shlex.split(collect)
    own = dict(word.split("=", 1) for word in words if "=" in word)
    with site(target.parent, project=target, **{"DEBUG": "0", **own}) as image:
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
