"""The first start as in the guide: with the required settings alone, after a `migrate` that was killed, under systemd."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.proofs.site.test_composition import build
from tests.support.processes import redis_server
from tests.support.processes.deployed import PEOPLE, new_database, site
from tests.support.processes.server import until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

GUIDE = (ROOT / "docs" / "how-to" / "run-it-for-a-team.md").read_text()
COMPOSITION: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
#: The process dies as `kill -9` would have it, before or after the call of this function.
DIES = """
import os, signal
from django.core.management import call_command
from {module} import {owner}
called = {owner}.{name}
def die(*args, **kwargs):
    if {after}:
        called(*args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
{owner}.{name} = die
call_command("migrate", verbosity=0)
"""
#: Between two migrations; and between the last one and the triggers.
POINTS = {
    "between": {
        "module": "django.db.migrations.recorder",
        "owner": "MigrationRecorder",
        "name": "record_applied",
        "after": True,
    },
    "triggers": {"module": "approvals.db", "owner": "append_only", "name": "create_triggers", "after": False},
}


def required_settings() -> dict[str, str]:
    """Return the environment that compose.yaml gives a process with only the required settings, on the services of this run."""
    given = COMPOSITION["services"]["web1"]["environment"]
    defaults = {name: re.fullmatch(r"\$\{\w+:-(.*)\}", value) for name, value in given.items()}
    settings = {name: default[1] for name, default in defaults.items() if default is not None}
    return settings | {
        "DEBUG": "0",
        "SECRET_KEY": "k3wq9x7m" * 8,
        "DATABASE_URL": new_database(),
        "REDIS_URL": redis_server.started().url,
        "PUBLIC_URL": "http://127.0.0.1",
        "ALLOWED_HOSTS": "127.0.0.1",
    }


def test_the_image_starts_a_desk_with_the_required_settings_alone_and_chats_say_what_is_missing(tmp_path):
    project = tmp_path / "app"
    build(project)
    with site(tmp_path, project=project, **required_settings()) as team:
        team.manage("migrate", "--no-input", "--verbosity", "0")
        team.run(PEOPLE)
        assert team.run("from django.conf import settings; print(sorted(settings.HITL_LANGUAGES))") == "['de', 'en']\n"
        team.serve()
        team.work()
        until(lambda: team.ready() == (200, []), "it is ready")
        asking = team.person("requester")
        chat = asking.start_chat("Please refund order 4711, 250 euros")
        team.wait_for_turn(chat, "failed")
        assert "No model provider is configured. Set HITL_PROVIDER." in asking.get(f"/chats/{chat}/").text


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
@pytest.mark.parametrize("point", POINTS)
def test_migrate_finishes_what_a_killed_one_has_begun(tmp_path, database, point):
    url = new_database() if database == "postgresql" else f"sqlite:///{tmp_path}/site.sqlite3"
    with site(tmp_path, DATABASE_URL=url) as killed:
        with pytest.raises(AssertionError):
            killed.run(DIES.format(**POINTS[point]))
        again = killed.manage("migrate", "--no-input")
        restored = "Restored triggers that were missing" in again.stderr
        assert (again.returncode, restored) == (0, point == "triggers"), again.stderr
        assert killed.manage("check", "--database", "default").returncode == 0
        assert "Restored" not in killed.manage("migrate", "--no-input").stderr


def unit() -> dict[str, str]:
    """The lines of the unit of a web process in the guide, below [Service]."""
    (text,) = [block for block in re.findall(r"```ini\n(.*?)```", GUIDE, re.DOTALL) if "[Service]" in block]
    parser = ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read_string(text)
    return dict(parser["Service"])


def test_the_unit_of_the_guide_is_valid(tmp_path):
    (text,) = [block for block in re.findall(r"```ini\n(.*?)```", GUIDE, re.DOTALL) if "[Service]" in block]
    program = tmp_path / "pausepoint" / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    (tmp_path / "pausepoint.env").write_text("")
    text = text.replace("/opt/pausepoint", str(tmp_path / "pausepoint"))
    text = text.replace("/etc/pausepoint.env", str(tmp_path / "pausepoint.env")).replace("User=pausepoint", "User=root")
    path = tmp_path / "pausepoint-web@8001.service"
    path.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if "pausepoint-web" in line] == []


def read_only_but(project: Path, writable: list[str], command: list[str]) -> list[str]:
    """The command that runs `command` where `project` is read-only but for these folders, as systemd has it."""
    steps = [f"mount --bind {project} {project}", f"mount -o remount,ro,bind {project}"]
    for folder in writable:
        steps += [f"mount --bind {folder} {folder}", f"mount -o remount,rw,bind {folder}"]
    return ["unshare", "--mount", "sh", "-c", " && ".join([*steps, f"exec {shlex.join(command)}"])]


WRITE = """
from hitlsite.storage import unwritable_folder
from approvals.models.attachments import file_storage
from django.core.files.base import ContentFile
print(unwritable_folder(), file_storage().save("ab/abc", ContentFile(b"paid")))
"""


def test_files_can_be_stored_where_the_unit_of_the_guide_lets_it_write(tmp_path):
    service, project = unit(), tmp_path / "pausepoint"
    assert (service["ProtectSystem"], service["WorkingDirectory"]) == ("strict", "/opt/pausepoint")
    writable = [path.replace("/opt/pausepoint", str(project)) for path in service["ReadWritePaths"].split()]
    project.mkdir()
    for name in ("manage.py", "hitlsite", "approvals", "chats", "templates", "locale"):
        (project / name).symlink_to(ROOT / name)
    (made,) = re.findall(r"^install .*$", GUIDE, re.MULTILINE)
    subprocess.run(
        shlex.split(made.replace("--owner pausepoint", "").replace("/opt/pausepoint", str(project))), check=True
    )
    start = (
        f"import os; os.environ['DJANGO_SETTINGS_MODULE'] = 'hitlsite.settings'; import django; django.setup()\n{WRITE}"
    )
    location = f'{{"location": "{project}/var/attachments"}}'
    with site(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path}/none.sqlite3", ATTACHMENTS_OPTIONS=location) as desk:
        command = read_only_but(project, writable, [sys.executable, "-c", start])
        done = subprocess.run(command, cwd=ROOT, env=desk.env, capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("None ab/abc\n", 0), done.stderr
        refused = read_only_but(project, [], [sys.executable, "-c", start])
        done = subprocess.run(refused, cwd=ROOT, env=desk.env, capture_output=True, text=True, check=False)
        assert (done.returncode, "Read-only file system" in done.stderr) == (1, True)
