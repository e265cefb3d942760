"""Gemini CLI, Qwen Code, Copilot CLI and opencode, newest and oldest, with the hooks that `pausepoint connect` writes."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.frameworks.coding_agents.clis import CLIS, Cli
from tests.contract.frameworks.coding_agents.models import ModelServer
from tests.support.processes.policies import ALLOW, DENY, HALT, apply_rules, pass_deadline
from tests.support.processes.ports import free_port
from tests.support.processes.server import Server, until

pytestmark = pytest.mark.server
REJECTED = "A person declined this call: Not this one. Do not repeat it."


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture(params=[f"{agent} {version}" for agent in CLIS for version in ("newest", "oldest")])
def cli(request: pytest.FixtureRequest, desk: Server, tmp_path: Path, model: ModelServer) -> Cli:
    agent, version = request.param.split()
    made = CLIS[agent](desk, tmp_path, model, version)
    made.connect("--agent", agent)
    return made


@pytest.fixture
def rules(desk: Server) -> Iterator[None]:
    """Commands that a rule denies and allows, whatever an agent calls its shell."""
    apply_rules(
        desk,
        {"name": "No", "match": {"tools": ["Bash"]}, "when": 'input.command == "touch denied"', **DENY},
        {"name": "Yes", "match": {"tools": ["Bash"]}, "when": 'input.command == "touch allowed"', **ALLOW},
    )
    yield
    apply_rules(desk)


def hooks_of(cli: Cli) -> list[int]:
    """The processes of `pausepoint hook` below the agent."""
    found = subprocess.run(
        ["pgrep", "-f", f"pausepoint .*{cli.desk.address}.* hook {cli.agent}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return [int(line) for line in found.stdout.split() if int(line) != os.getpid()]


@pytest.mark.shows("gemini-cli", "approve", "edit", "reject", "cancel", "crash")
@pytest.mark.shows("qwen-code", "approve", "reject", "cancel", "crash")
@pytest.mark.shows("copilot", "approve", "edit", "reject", "cancel", "crash")
@pytest.mark.shows("opencode", "approve", "edit", "reject", "cancel", "crash")
@pytest.mark.lacks(
    "qwen-code", "edit", "It ignores a changed input: the call is denied, and the model is told the change."
)
def test_commands_are_approved_changed_and_rejected(cli, desk):
    # The server may take its time to start again.
    cli.impatient("--patience 2m")
    cli.run_commands("touch one", "touch two", "touch three", "touch four")
    first = cli.waiting(command="touch one")
    assert first["tool_name"] == "Bash"
    # The hook waits over repeated calls, which find the request of the first.
    desk.kill()
    desk.start()
    cli.decide(first, "approve", comment="Go ahead")
    second = cli.waiting(command="touch two")
    changed = {"command": "touch changed", **cli.more}
    cli.decide(second, "edit", edited_input=changed, comment="Safer words")
    cli.decide(cli.waiting(command="touch three"), "reject", comment="Not this one")
    cli.cancel(cli.waiting(command="touch four"), "Never mind")
    cli.ended()
    ran = [first, second] if cli.edits else [first]
    assert [cli.result(one)["state"] for one in ran] == ["succeeded"] * len(ran)
    assert (cli.files, cli.requests()) == ({"one", "changed"} if cli.edits else {"one"}, 4)
    assert REJECTED in cli.model.told
    assert "This call was cancelled: Never mind. Do not repeat it." in cli.model.told
    assert "Go ahead" in cli.model.told
    edited = "It ran with this input" if cli.edits else "Call the tool with this input"
    assert edited in cli.model.told


@pytest.mark.shows("gemini-cli", "once")
@pytest.mark.shows("qwen-code", "once")
@pytest.mark.shows("copilot", "once")
@pytest.mark.shows("opencode", "once")
def test_one_approval_lets_one_of_two_equal_calls_of_a_message_run(cli):
    cli.run([cli.shell("echo x >> lines"), cli.shell("echo x >> lines")])
    cli.decide(cli.waiting(command="echo x"), "approve")
    # Calls that wait at the same time share the request, and only one of them is told that it may run. Later ones ask anew.
    if until(lambda: cli.made(status="pending") or cli.program.poll() is not None, "it goes on", 60) is not True:
        cli.decide(cli.waiting(command="echo x"), "reject")
    cli.ended()
    assert (cli.project / "lines").read_text() == "x\n"


def test_calls_of_one_message_get_their_own_answers(cli):
    cli.run([cli.shell("touch one"), cli.shell("touch two"), cli.shell("touch three")])
    for command, verdict in (("touch one", "approve"), ("touch two", "reject"), ("touch three", "approve")):
        cli.decide(cli.waiting(command=command), verdict)
    cli.ended()
    approved = [one for one in cli.made() if one["status"] == "approved"]
    assert cli.files == {"one", "three"}
    assert [cli.result(one)["state"] for one in approved] == ["succeeded", "succeeded"]


def test_rules_and_lists_know_its_shell_as_bash(cli, desk, rules):
    cli.run_commands("touch denied", "touch allowed")
    cli.ended()
    assert (cli.files, "The policy denies this call" in cli.model.told) == ({"allowed"}, True)

    key = desk.key("requester", "ask", name=f"not gated {cli.session}")
    number = desk.value("SELECT max(id) FROM approvals_apikey WHERE name = ?", f"not gated {cli.session}")
    lists = {"gated": "write_*", "allowed": "bash", "denied": ""}
    assert desk.person("admin").post(f"/settings/keys/{number}/", **lists).status == 302
    made = cli.requests()
    cli.run_commands("touch free", PAUSEPOINT_KEY=key)
    cli.ended()
    assert (cli.files, cli.requests()) == ({"allowed", "free"}, made)


@pytest.mark.shows("gemini-cli", "expire")
@pytest.mark.shows("qwen-code", "expire")
@pytest.mark.shows("copilot", "expire")
@pytest.mark.shows("opencode", "expire")
def test_a_command_that_no_one_decides_in_time_does_not_run_and_cannot_be_approved_later(cli):
    cli.impatient("--give-up-after 5s")
    cli.run_commands("touch one")
    cli.ended()
    assert (cli.late(), cli.files) == (410, set())
    assert "No one decided in time, so this call was not run." in cli.model.told


def test_a_deadline_that_halts_denies_the_command(cli, desk):
    apply_rules(desk, {"name": "Stop", "match": {"tools": ["Bash"]}, **HALT})
    try:
        cli.run_commands("touch one")
        pass_deadline(desk, cli.waiting(command="touch one")["id"])
        cli.ended()
    finally:
        apply_rules(desk)
    assert ("the policy stops the run" in cli.model.told, cli.late(), cli.files) == (True, 410, set())


def test_nothing_runs_without_a_server_without_a_valid_key_and_without_the_command(cli):
    cli.impatient()
    whole = cli.settings.read_text()
    cli.run_commands("touch one", PAUSEPOINT_KEY="pp_00000000_wrong")
    cli.ended()
    words = [cli.model.told]
    cli.run_commands("touch two", PAUSEPOINT_KEY="")
    cli.ended()
    words.append(cli.model.told)
    cli.settings.write_text(whole.replace(cli.desk.address, f"http://127.0.0.1:{free_port()}"))
    cli.run_commands("touch three")
    cli.ended()
    words.append(cli.model.told)
    cli.settings.write_text(whole.replace("bin/pausepoint", "bin/absent"))
    cli.run_commands("touch four")
    cli.ended()
    words.append(cli.model.told)
    assert (cli.files, cli.requests()) == (set(), 0)
    if cli.tells_failures:
        expected = ["401", "Give the address and a key", "did not answer", "Pausepoint could not be asked"]
        assert [one for one, told in zip(expected, words, strict=True) if one not in told] == []


def test_a_hook_that_is_killed_blocks_the_command(cli):
    cli.run_commands("touch one")
    cli.waiting(command="touch one")
    hooks = hooks_of(cli)
    programs = [pid for pid in hooks if Path(f"/proc/{pid}/comm").read_text().startswith(("pausepoint", "python"))]
    # The shell first, so that it can't turn the end of the program into its exit code. Others run the call then.
    shells = [pid for pid in hooks if pid not in programs] if cli.blocks_without_shell else []
    for pid in [*shells, *programs]:
        os.kill(pid, signal.SIGKILL)
    cli.ended()
    assert cli.files == set()


def test_disconnected_it_has_its_own_settings_again(cli):
    cli.connect("--agent", cli.agent)
    cli.connect("--agent", cli.agent, "--remove")
    cli.run_commands("touch one")
    cli.ended()
    assert (cli.files, cli.requests()) == ({"one"}, 0)
    assert not cli.settings.exists() or "pausepoint" not in cli.settings.read_text().lower()
