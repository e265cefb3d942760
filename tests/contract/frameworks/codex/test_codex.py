"""Codex, the real one, with a stand-in of its model: the command hook that `pausepoint connect` writes."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.contract.frameworks.codex.responses_server import ResponsesServer, Step, says, searches, shell, types
from tests.contract.frameworks.coding_agent import CodingAgent
from tests.support.processes.policies import HALT, apply_rules, pass_deadline
from tests.support.processes.ports import free_port
from tests.support.processes.server import Server

pytestmark = pytest.mark.server

CONFIG = """# My own settings.
model = "m"
model_provider = "stand-in"

[model_providers.stand-in]
name = "stand-in"
base_url = "{url}"
env_key = "STAND_IN_KEY"
wire_api = "responses"
"""
#: In the contract, no person can trust the hook in Codex.
UNATTENDED = ("--dangerously-bypass-hook-trust", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check")


class Codex(CodingAgent):
    """Codex with settings of its own, connected; `model` is the stand-in of its model."""

    name = program_name = "codex"
    program_file = "bin/codex.js"

    def __init__(self, desk: Server, folder: Path, model: ResponsesServer, version: str = "newest") -> None:
        super().__init__(desk, folder, version)
        self.model = model
        self.environment["CODEX_HOME"] = str(self.home)
        self.config = self.home / "config.toml"
        self.config.write_text(CONFIG.format(url=model.url))

    def run(self, *calls: Step, **environment: str) -> None:
        """Start it; the model asks for these calls, one after the other, and then says that it is done."""
        self.model.script += [*calls, says("done")]
        self.start(["codex", "exec", *UNATTENDED, "go"], {"STAND_IN_KEY": "x", **environment})
        assert self.program.stdin is not None
        self.program.stdin.close()
        self.program.stdin = None


@pytest.fixture
def model() -> Iterator[ResponsesServer]:
    with ResponsesServer() as running:
        yield running


@pytest.fixture
def codex(request: pytest.FixtureRequest, desk: Server, tmp_path: Path, model: ResponsesServer) -> Codex:
    found = Codex(desk, tmp_path, model, getattr(request, "param", "newest"))
    assert "/hooks" in found.connect("--agent", "codex")
    return found


@pytest.fixture
def halting(desk: Server) -> Iterator[None]:
    """At the deadlines of Codex's commands, the run is stopped."""
    apply_rules(desk, {"name": "Stop", "match": {"agents": ["Codex"], "tools": ["Bash"]}, **HALT})
    yield
    apply_rules(desk)


both_versions = pytest.mark.parametrize("codex", ["oldest", "newest"], indirect=True)


def impatient(codex: Codex, option: str = "--patience 1s") -> None:
    """Let the hook give up early, by default where the server is gone."""
    text = codex.config.read_text()
    codex.config.write_text(text.replace("hook codex", f"hook codex {option}"))
    assert option in tomllib.loads(codex.config.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]


@both_versions
@pytest.mark.shows("codex", "approve", "edit", "reject", "cancel", "once", "crash")
def test_commands_are_approved_changed_and_rejected_and_run_ungated_where_the_key_says_so(codex, desk):
    # The server may take its time to start again.
    impatient(codex, "--patience 2m")
    codex.run(*(shell(f"call_{name}", f"touch {name}") for name in ("one", "two", "three", "four")))
    first = codex.waiting(command="touch one")
    assert (first["tool_name"], first["title"], first["agent"]) == ("Bash", "Run a command in project?", "Codex")
    # The hook waits over repeated calls, which find the request of the first.
    desk.kill()
    desk.start()
    codex.decide(first, "approve")
    second = codex.waiting(command="touch two")
    codex.decide(second, "edit", edited_input={"command": "touch changed && echo changed"}, comment="Safer words")
    codex.decide(codex.waiting(command="touch three"), "reject", comment="Not this one")
    codex.cancel(codex.waiting(command="touch four"), "Never mind")
    codex.ended()
    results = [codex.result(one) for one in (first, second)]
    assert [(one["state"], one["output"]) for one in results] == [("succeeded", ""), ("succeeded", "changed\n")]
    assert "A person declined this call: Not this one. Do not repeat it." in codex.model.outputs["call_three"]
    assert "This call was cancelled: Never mind. Do not repeat it." in codex.model.outputs["call_four"]
    assert (codex.files, codex.requests()) == ({"one", "changed"}, 4)
    assert "Safer words" in codex.model.last
    assert "It ran with this input" in codex.model.last

    key = desk.key("requester", "ask", name="not gated")
    number = desk.value("SELECT max(id) FROM approvals_apikey WHERE name = ?", "not gated")
    lists = {"gated": "", "allowed": "*", "denied": "web_fetch"}
    assert desk.person("admin").post(f"/settings/keys/{number}/", **lists).status == 302
    codex.run(shell("call_five", "touch five"), PAUSEPOINT_KEY=key)
    codex.ended()
    assert (codex.files, codex.requests()) == ({"one", "changed", "five"}, 4)


@pytest.mark.shows("codex", "expire")
def test_a_command_that_nobody_decides_in_time_expires_and_cannot_be_approved_any_more(codex):
    impatient(codex, "--give-up-after 5s")
    codex.run(shell("call_1", "touch one"))
    codex.ended()
    assert "No one decided in time, so this call was not run." in codex.model.outputs["call_1"]
    assert (codex.late(), codex.files) == (410, set())


@both_versions
def test_a_deadline_that_halts_denies_the_command_and_its_model_is_told_to_do_nothing_more(codex, halting):
    codex.run(shell("call_1", "touch one"))
    pass_deadline(codex.desk, codex.waiting(command="touch one")["id"])
    codex.ended()
    words = "No one decided in time, so the policy stops the run. Do nothing more."
    assert (words in codex.model.outputs["call_1"], codex.late(), codex.files) == (True, 410, set())


def test_a_server_that_is_killed_while_somebody_thinks_blocks_the_command(tmp_path, model):
    (tmp_path / "desk").mkdir()
    with Server(tmp_path / "desk") as desk:
        codex = Codex(desk, tmp_path, model)
        codex.connect("--agent", "codex")
        impatient(codex)
        codex.run(shell("call_1", "touch one"))
        codex.waiting(command="touch one")
        desk.kill()
        codex.ended()
    assert (codex.files, "Pausepoint could not be asked" in model.outputs["call_1"]) == (set(), True), model.outputs


@both_versions
def test_nothing_runs_without_a_server_without_a_valid_key_and_without_the_command(codex):
    impatient(codex)
    whole = codex.config.read_text()
    codex.run(shell("call_1", "touch one"), PAUSEPOINT_KEY="pp_00000000_wrong")
    codex.ended()
    codex.run(shell("call_2", "touch two"), PAUSEPOINT_KEY="")
    codex.ended()
    codex.config.write_text(whole.replace(codex.desk.address, f"http://127.0.0.1:{free_port()}"))
    codex.run(shell("call_3", "touch three"))
    codex.ended()
    codex.config.write_text(whole.replace("bin/pausepoint", "bin/absent"))
    codex.run(shell("call_4", "touch four"))
    codex.ended()
    words = ["401", "Give the address and a key", "did not answer", "Pausepoint could not be asked"]
    assert [one for one, said in zip(words, codex.model.outputs.values(), strict=True) if one not in said] == []
    assert (codex.files, codex.requests()) == (set(), 0)


@both_versions
def test_what_is_typed_into_a_command_that_runs_is_not_asked_about(codex):
    codex.run(
        shell("call_1", "sh", tty=True, yield_time_ms=250),
        types("call_2", "call_1", "touch typed; exit\n"),
    )
    codex.decide(codex.waiting(command="sh"), "approve")
    codex.ended()
    assert (codex.files, codex.requests()) == ({"typed"}, 1)


@both_versions
def test_a_hosted_search_of_the_web_is_not_asked_about_and_can_be_switched_off(codex):
    codex.run(searches("pandas"))
    codex.ended()
    assert ("web_search" in codex.model.tools, codex.requests()) == (True, 0)
    codex.config.write_text(f'web_search = "disabled"\n{codex.config.read_text()}')
    codex.run()
    codex.ended()
    assert "web_search" not in codex.model.tools


def test_disconnected_it_has_its_own_settings_again(codex, model):
    codex.connect("--agent", "codex")
    assert codex.config.read_text().count("hook codex") == 2
    codex.start(["codex", "mcp", "add", "docs", "--", "docs-server"], {})
    codex.ended()
    added = codex.config.read_text()
    codex.connect("--agent", "codex")
    assert codex.config.read_text() == added
    codex.connect("--agent", "codex", "--remove")
    own = CONFIG.format(url=model.url)
    assert codex.config.read_text() == f'{own}\n[mcp_servers.docs]\ncommand = "docs-server"\n'
