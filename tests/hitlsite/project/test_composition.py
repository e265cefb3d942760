"""Dockerfile and compose.yaml, checked without Docker."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import Any

import pytest
import yaml

from hitlsite.health import probes
from tests.hitlsite.project.test_docs import REFERENCE, first_cells
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

COMPOSITION: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSITION["services"]
OURS = [name for name, service in SERVICES.items() if service.get("image") == "pausepoint"]
DOCKERFILE = re.sub(r"\\\n\s*", " ", (ROOT / "Dockerfile").read_text())
LINES = [line.split(maxsplit=1) for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
SECRET = re.compile(r"SECRET|PASSWORD|TOKEN|API_KEY")


def said(instruction: str) -> list[str]:
    return [rest for word, rest in LINES if word == instruction]


def copied() -> list[tuple[str, str]]:
    """The files of the image: (from the project, to below /app)."""
    pairs = [rest.split() for rest in said("COPY") if not rest.startswith("--from")]
    return [(source, target) for source, target in pairs]


def test_the_composition_has_two_web_processes_two_workers_postgresql_redis_and_a_migration():
    commands = [" ".join(SERVICES[name]["command"]) for name in OURS]
    assert commands == [
        "python manage.py migrate --no-input",
        *["python manage.py serve --host 0.0.0.0 --port 8000"] * 2,
        *["python manage.py worker"] * 2,
    ]
    assert sorted(set(SERVICES) - set(OURS)) == ["postgres", "redis"]


@pytest.mark.parametrize("name", OURS)
def test_our_containers_write_only_to_tmp_and_the_files_of_requests_and_have_no_capabilities(name):
    service = SERVICES[name]
    hardened = ("read_only", "tmpfs", "cap_drop", "security_opt")
    temporary = "/tmp"  # noqa: S108 - the container's
    assert [service[key] for key in hardened] == [True, [temporary], ["ALL"], ["no-new-privileges:true"]]
    assert service["volumes"] == ["attachments:/app/var/attachments"]


def test_only_web_processes_publish_ports_and_only_locally_by_default():
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert published == {"web1": ["${BIND:-127.0.0.1}:8001:8000"], "web2": ["${BIND:-127.0.0.1}:8002:8000"]}


def test_services_start_after_their_dependencies():
    for name in OURS:
        after = {other: how["condition"] for other, how in SERVICES[name]["depends_on"].items()}
        if name == "migrate":
            assert after == {"postgres": "service_healthy"}
        else:
            assert after == {"migrate": "service_completed_successfully", "redis": "service_healthy"}
    assert [name for name in ("postgres", "redis") if "healthcheck" not in SERVICES[name]] == []


def test_the_composition_holds_no_secret_and_refuses_to_start_without_them():
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if SECRET.search(name):
                assert re.fullmatch(rf"\$\{{{name}:(-|\?set {name} in \.env)\}}", value), name
    text = (ROOT / "compose.yaml").read_text()
    needed = {"SECRET_KEY", "POSTGRES_PASSWORD", "REDIS_PASSWORD", "PUBLIC_URL", "ALLOWED_HOSTS"}
    assert set(re.findall(r"\$\{(\w+):\?", text)) == needed


def test_every_setting_can_be_made_in_the_env_file():
    # Those for development and for the tests, and one that follows from the database.
    apart = {"DEBUG", "TEST_DATABASE", "HITL_DISPATCH"}
    known = {name for name in first_cells(REFERENCE / "settings.md") if name.isupper() and " " not in name}
    for name in OURS:
        assert known - set(SERVICES[name]["environment"]) == apart


def test_every_variable_of_the_composition_is_a_setting():
    known = set(first_cells(REFERENCE / "settings.md"))
    for name in OURS:
        assert set(SERVICES[name]["environment"]) - known == set()
    guide = (ROOT / "docs" / "how-to" / "run-it-for-a-team.md").read_text()
    read = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
    assert [name for name in sorted(read) if not re.search(rf"\b{name}\b", guide) and name not in known] == []


def test_the_image_runs_as_an_unprivileged_user_on_a_supported_python():
    assert said("FROM") == ["python:3.11-slim AS packages", "python:3.11-slim"]
    words = [word for word, _ in LINES]
    assert said("USER") == ["10001"]
    assert words.index("USER") > max(place for place, word in enumerate(words) if word in {"RUN", "COPY"})
    assert "--uid 10001" in DOCKERFILE


def test_the_image_copies_exactly_the_needed_files():
    sources = [source for source, _ in copied()]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert {"approvals", "chats", "hitlsite", "templates", "locale", "manage.py", "requirements.lock"} == set(sources)
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert rules[0] == "*"
    assert [s for s in sources if not any(fnmatch(s, rule[1:]) for rule in rules if rule[0] == "!")] == []


def test_the_health_check_of_the_image_uses_healthz():
    (check,) = said("HEALTHCHECK")
    (path,) = re.findall(r"http://127\.0\.0\.1:8000(/\w+)", check)
    assert path == "/healthz"
    assert path in probes.ADDRESSES
    assert said("CMD")[-1].replace('"', "").strip("[]").split(", ") == SERVICES["web1"]["command"]
