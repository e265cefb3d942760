"""The commands in the documentation work verbatim, in a fresh clone and a shell without settings for Pausepoint.

Every shell block of every page is run, in the order of its page, or is listed here with the reason why it is not.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.support.machine import Remote
from tests.support.processes.clone import Clone
from tests.support.processes.ports import free_port
from tests.support.root import ROOT
from tests.support.services import missing, real_processes  # noqa: F401 - a fixture

SHELLS = {"sh", "bash", "shell", "console", ""}
FENCE = re.compile(r"^( *)```([^\n]*)\n(.*?)^ *```$", re.S | re.M)
DOCUMENTED = "http://127.0.0.1:8000"
#: Pages for a server whose settings are loaded, as they say: their commands find them in the environment.
INSTALLED = {
    "docs/how-to/back-up-and-restore.md",
    "docs/how-to/run-it-for-a-team.md",
    "docs/how-to/second-factors.md",
}
#: Pages that install the Python client, which is in the clone.
CLIENTS = {"docs/tutorial.md"}
#: Commands that run until they are stopped, and their output when they work.
ENDLESS = {"manage.py serve": "Pausepoint is listening on", "curl -N": ": connected"}

KEY = re.compile(r"pp_[0-9a-f]{8}_[0-9A-Za-z]{51}")
DEMO = "every command here runs beside the server that it starts"
ENVIRONMENT = "changes the environment, which all tests share"
DOCKER = "needs Docker; tests/proofs/site/test_composition.py runs what the containers run"
POSTGRESQL = "needs a database server of your own; tests/proofs/site/test_backups.py does the same"
TESTS = "runs tests"
AGENTS = "waits for people; tests/contract/examples/test_agent_examples.py runs it"
FRAMEWORK = "installs from npm; tests/contract/javascript_frameworks runs the program beside it"
NPM = "installs from npm and serves; tests/proofs/browser runs it"
PACKAGES = "installs from PyPI and npm; tests/contract/packages runs it"
CLAUDE_CODE = "needs Claude Code; tests/contract/frameworks/claude_agent_sdk/test_mcp.py runs it"
PUBLISHES = "publishes, with an account"
DEPLOYED = "needs an installation: its user, its folder, its settings in /etc"
#: The blocks that are not run, by page and beginning.
NOT_RUN = {
    "docs/how-to/genkit.md: npm init": FRAMEWORK,
    "docs/how-to/langchain-js.md: npm init": FRAMEWORK,
    "docs/how-to/mastra.md: npm init": FRAMEWORK,
    "docs/how-to/voltagent.md: npm init": FRAMEWORK,
    "README.md: make demo": DEMO,
    "README.md: make test": TESTS,
    "README.md: python3 -m venv": ENVIRONMENT,
    "README.md: .venv/bin/python -m pytest": TESTS,
    "CONTRIBUTING.md: make demo": DEMO,
    "CONTRIBUTING.md: make test  ": TESTS,
    "CONTRIBUTING.md: make test ARGS": TESTS,
    "docs/quick-start.md: make demo": DEMO,
    "docs/tutorial.md: make demo": DEMO,
    "docs/tutorial.md: .venv/bin/pip": ENVIRONMENT,
    "docs/quick-start.md: python3 -m venv": ENVIRONMENT,
    "docs/how-to/ask-from-any-agent.md: docker compose": DOCKER,
    'docs/how-to/ask-from-any-agent.md: curl -sS "$DESK/api/v1/requests/$ID/decision"': (
        "refused, since a person has decided the request by then; test_ask_from_any_agent.py runs it"
    ),
    "docs/how-to/break-glass-when-sign-on-is-down.md: .venv/bin/python manage.py breakglass": (
        "needs an account of yours; tests/hitlsite/accounts/test_guides.py runs it"
    ),
    "docs/how-to/people-from-entra-or-okta.md: .venv/bin/python manage.py createkey": (
        "needs an account of yours; tests/hitlsite/scim/test_guide.py runs it"
    ),
    "docs/how-to/second-factors.md: .venv/bin/python manage.py resetfactors": (
        "needs an account of yours; tests/hitlsite/accounts/test_guides.py runs it"
    ),
    "docs/how-to/back-up-and-restore.md: mv var/pausepoint.sqlite3": (
        "replaces the database of the running server; tests/proofs/site/test_backups.py restores one"
    ),
    "docs/how-to/back-up-and-restore.md: pg_dump": POSTGRESQL,
    "docs/how-to/back-up-and-restore.md: docker compose": DOCKER,
    "docs/how-to/run-it-for-a-team.md: docker compose up": DOCKER,
    "docs/how-to/run-it-for-a-team.md: docker compose exec": DOCKER,
    "docs/how-to/run-it-for-a-team.md: set -a; . /etc/pausepoint.env; set +a\n.venv/bin/pip": DEPLOYED,
    "docs/how-to/run-it-for-a-team.md: set -a; . /etc/pausepoint.env; set +a\n.venv/bin/python": DEPLOYED,
    "docs/how-to/run-it-for-a-team.md: install --directory": DEPLOYED,
    "examples/ai-sdk/README.md: cd examples/ai-sdk": NPM,
    "examples/bakery/README.md: .venv/bin/python manage.py test": "test_examples.py runs it",
    "examples/cedar/README.md: cd examples/cedar": NPM,
    "docs/how-to/command-line.md: .venv/bin/pip": ENVIRONMENT,
    "docs/how-to/command-line.md: pausepoint ask": "runs a script of yours; tests/contract/python_client/test_command.py does it",
    "docs/how-to/send-files.md: pip install": ENVIRONMENT,
    "docs/how-to/get-notified.md: curl": "needs a team; tests/approvals/api/openapi/test_page.py sends the same",
    "docs/how-to/into-your-siem.md: export SPLUNK_URL": "needs Splunk; test_into_your_siem.py runs it against a double",
    "docs/how-to/manage-api-keys.md: curl": "needs a key that leaked; tests/hitlsite/site/test_leaked_keys.py sends the same",
    "docs/how-to/mcp.md: claude mcp add": CLAUDE_CODE,
    "docs/how-to/mcp.md: claude mcp list": CLAUDE_CODE,
    "docs/how-to/mcp.md: claude -p": CLAUDE_CODE,
    "docs/how-to/publish-a-release.md: make release": PACKAGES,
    "docs/how-to/publish-a-release.md: python3 -m twine upload": PUBLISHES,
    "docs/how-to/publish-a-release.md: docker build": DOCKER,
    "examples/langgraph/README.md: .venv/bin/pip": ENVIRONMENT,
    "examples/langgraph/README.md: .venv/bin/python": AGENTS,
    "examples/plain-script/README.md: .venv/bin/pip": ENVIRONMENT,
    "examples/plain-script/README.md: .venv/bin/python": AGENTS,
    "benchmarks/README.md: .venv/bin/python -m benchmarks": "measures for a minute, with a server of its own",
}


#: A colleague's decisions while the commands of a page wait, by title and kind.
ANSWERS: dict[str, dict[str, Any]] = {
    "approval": {"verdict": "approve"},
    "question": {"verdict": "respond", "answer": "blue"},
}
DECISIONS = dict.fromkeys(("Refund order 4711?", "Which colour?"), ANSWERS)
#: And of the tutorial, by order; it decides the others itself.
REFUNDS: dict[str, dict[str, Any]] = {
    "4711": {"verdict": "approve"},
    "4712": {"verdict": "edit", "edited_input": {"order": "4712", "amount": 90}},
}


class Block(NamedTuple):
    page: str
    commands: str

    @property
    def not_run(self) -> list[str]:
        """The entries of NOT_RUN that mean it."""
        return [entry for entry in NOT_RUN if f"{self.page}: {self.commands}".startswith(entry)]

    @property
    def endless(self) -> str:
        """The output of a working command that runs until it is stopped."""
        return next((words for command, words in ENDLESS.items() if command in self.commands), "")


def guides() -> list[Path]:
    """Every page that people read, on GitHub and in the documentation's site."""
    patterns = ("*.md", "docs/**/*.md", "examples/*/README.md", "clients/*/README.md", "benchmarks/README.md")
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def typed(language: str, text: str) -> str:
    """The commands of a block: for a console, the lines after a prompt."""
    if language != "console":
        return text
    return "\n".join(line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ "))


def shell_blocks() -> list[Block]:
    return [
        Block(path.relative_to(ROOT).as_posix(), typed(language.strip(), re.sub(f"^{indent}", "", text, flags=re.M)))
        for path in guides()
        for indent, language, text in FENCE.findall(path.read_text())
        if language.strip() in SHELLS
    ]


BLOCKS = shell_blocks()
PAGES = sorted({block.page for block in BLOCKS if not block.not_run})


class Demo(NamedTuple):
    clone: Clone
    port: int
    #: The output of `make demo` until it served.
    printed: str

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def shell(self, commands: str) -> str:
        """The commands of a page, for the port of this server."""
        return commands.replace(DOCUMENTED, self.address).replace("/backups/", f"{self.clone.path.parent}/")


@pytest.fixture(scope="module")
def demo(real_processes, tmp_path_factory) -> Iterator[Demo]:  # noqa: F811 - the fixture that is imported
    """`make demo PORT=...` in a fresh clone, with a person who answers the requests there."""
    for program in ("make", "curl"):
        if shutil.which(program) is None:
            missing(f"no {program}", f"apt-get install {program}")
    clone, port = Clone(tmp_path_factory.mktemp("clone")), free_port()
    with clone.running(f"exec make demo PORT={port}", "Pausepoint is listening on") as printed:
        demo = Demo(clone, port, printed)
        leaving = threading.Event()
        approver = threading.Thread(target=answer_everything, args=(demo, leaving))
        approver.start()
        yield demo
        leaving.set()
        approver.join()


def answer_everything(demo: Demo, leaving: threading.Event) -> None:
    """Approve approvals and answer questions of programs, as a colleague would."""
    key = demo.clone.run("make key USER=approver SCOPES=ask,decide,read").strip()
    colleague = Remote(demo, "approver", key=key)
    while not leaving.wait(0.3):
        for request in colleague.send("GET", "/requests?status=pending").body["items"]:
            decision = DECISIONS.get(request["title"], {}).get(request["kind"])
            if request["title"] == "Run payRefund?":
                decision = REFUNDS.get(colleague.send("GET", f"/requests/{request['id']}").body["input"]["order"])
            if decision:
                decided = colleague.send("POST", f"/requests/{request['id']}/decision", decision)
                # Meanwhile a command may have decided it, or not wait any more.
                assert decided.status in {200, 409, 410}, decided


@pytest.mark.server
@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_when_they_are_pasted(demo, page, tmp_path):
    variables = tmp_path / "variables"
    variables.touch()
    settings = {"DEBUG": "1"} if page in INSTALLED else {}
    settings |= {"PYTHONPATH": "clients/python"} if page in CLIENTS else {}
    for block in BLOCKS:
        if block.page != page or block.not_run:
            continue
        # One shell after the other, each with the variables of the one before: an endless one is stopped.
        commands = f"set -a; . {variables}\n{demo.shell(block.commands)}"
        if "manage.py serve" in block.commands:
            commands = commands.replace("manage.py serve", f"manage.py serve --port {free_port()}")
        if block.endless:
            own = {"DATABASE_URL": f"sqlite:///{tmp_path}/own.sqlite3"} if "manage.py serve" in commands else {}
            with demo.clone.running(commands, block.endless, **settings, **own):
                pass
        else:
            demo.clone.run(f"{commands}\nexport -p > {variables}", **settings)


def test_every_exception_is_one_block_that_exists():
    meant = [entry for block in BLOCKS for entry in block.not_run]
    assert sorted(set(meant)) == sorted(NOT_RUN)
    assert all(len(block.not_run) < 2 for block in BLOCKS)
    assert [
        page for page in sorted(INSTALLED) if "set -a; . /etc/pausepoint.env" not in (ROOT / page).read_text()
    ] == []
    assert len([block for block in BLOCKS if not block.not_run]) >= 20


@pytest.mark.server
def test_the_command_that_the_demo_prints_asks_a_question_in_the_inbox(demo):
    (command,) = re.findall(r"^ +(curl .+)$", demo.printed, re.M)
    asked = json.loads(demo.clone.run(command))
    (key,) = KEY.finditer(demo.printed.split("API key", 1)[1].split("curl", 1)[0])
    listed = json.loads(
        demo.clone.run(f"curl -H 'Authorization: Bearer {key[0]}' '{demo.address}/api/v1/requests?status=pending'")
    )
    assert asked["url"] == f"{demo.address}/requests/{asked['id']}/"
    assert (asked["status"], asked["title"]) == ("pending", "Which size?")
    assert asked["id"] in {request["id"] for request in listed["items"]}
    assert DOCUMENTED not in demo.printed
    assert f"It appears in the Inbox of requester and of approver: {demo.address}/\n" in demo.printed


@pytest.mark.server
def test_a_second_start_of_the_demo_prints_the_same_key(demo):
    again = demo.clone.run("DEBUG=1 .venv/bin/python manage.py seed_demo")
    assert KEY.search(again)[0] == KEY.search(demo.printed)[0]


@pytest.mark.server
def test_make_key_prints_a_key_and_nothing_else(demo):
    assert KEY.fullmatch(demo.clone.run('make key USER=requester NAME="billing agent"').strip())


@pytest.mark.server
def test_make_key_without_a_user_says_how_to_name_one(demo):
    process = demo.clone.start("make key", USER="somebody-from-the-environment")
    printed, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "make key USER=requester" in printed


@pytest.mark.skipif(shutil.which("make") is None, reason="no make")
@pytest.mark.parametrize(
    ("words", "address"),
    [
        ([], "http://127.0.0.1:8000"),
        (["PORT=9123"], "http://127.0.0.1:9123"),
        (["PORT=9123", "PUBLIC_URL=https://desk.example.org"], "https://desk.example.org"),
    ],
)
def test_links_of_the_demo_follow_its_port(words, address):
    env = {name: value for name, value in os.environ.items() if name not in {"PORT", "PUBLIC_URL", "MAKEFLAGS"}}
    dry = ["make", "--dry-run", "--old-file=.venv/ready", "demo", *words]
    lines = subprocess.run(dry, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
    ours = [line for line in lines if "manage.py" in line]
    assert len(ours) == 3
    assert all(f" PUBLIC_URL={address} " in line for line in ours)
