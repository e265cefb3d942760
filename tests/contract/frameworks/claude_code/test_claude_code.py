"""Claude Code, the real one, with a stand-in of its model: hooks as `pausepoint connect` writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.frameworks.claude_agent_sdk.test_claude_agent_sdk import AnyAccount
from tests.contract.frameworks.coding_agent import CodingAgent
from tests.contract.frameworks.conftest import SOON
from tests.contract.frameworks.shared import program
from tests.support.anthropic_server import KEY, AnthropicServer, Block, says, text, tool_use
from tests.support.processes.policies import HALT, apply_rules, pass_deadline
from tests.support.processes.ports import free_port
from tests.support.processes.server import Server, until

pytestmark = pytest.mark.server

HERE = Path(__file__).parent
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "like a rose"}, {"label": "Blue", "description": "like the sea"}],
}
PAGE = program.HOW_TO / "claude-code.md"
#: The settings of the how-to page.
(SETTINGS,) = re.findall(r"^```json\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)


class ClaudeCode(CodingAgent):
    """Claude Code in a project that is connected; `model` is the stand-in of its model."""

    name = "claude_code"
    program_name, program_file = "claude", "bin/claude.exe"

    def __init__(self, desk: Server, folder: Path, model: AnthropicServer, version: str = "newest") -> None:
        super().__init__(desk, folder, version)
        self.model = model
        self.settings = self.project / ".claude" / "settings.json"

    def change(self, old: str, new: str) -> None:
        """Change the settings that `connect` has written."""
        before = self.settings.read_text()
        assert old in before
        self.settings.write_text(before.replace(old, new))

    def run(
        self,
        *calls: Block,
        arguments: tuple[str, ...] = ("-p", "go"),
        allowed: tuple[str, ...] = ("Bash", "Write", "Read", "mcp__colours__pick"),
        ends: bool = True,
        **environment: str,
    ) -> None:
        """Start it; the model asks for these calls, and says that it is done unless the process ends before."""
        if calls:
            self.model.will(says(*calls, stop_reason="tool_use"))
        if ends:
            self.model.will(says(text("done")))
        more = ["--output-format", "stream-json", "--verbose", "--setting-sources", "project"]
        self.start(
            ["claude", *arguments, *more, "--allowedTools", *allowed],
            {
                "ANTHROPIC_BASE_URL": self.model.url,
                "ANTHROPIC_API_KEY": KEY,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
                "IS_SANDBOX": "1",
                **environment,
            },
        )
        assert self.program.stdin is not None
        if "stream-json" not in arguments:
            self.program.stdin.close()
            self.program.stdin = None

    def results(self) -> tuple[dict[str, str], dict[str, Any]]:
        """Return the model's messages about each call, and its result."""
        lines = [json.loads(line) for line in self.ended().splitlines() if line.startswith("{")]
        blocks = [
            block
            for line in lines
            if line["type"] == "user" and isinstance(line["message"]["content"], list)
            for block in line["message"]["content"]
            if block["type"] == "tool_result"
        ]
        return {one["tool_use_id"]: str(one["content"]) for one in blocks}, [
            line for line in lines if line["type"] == "result"
        ][-1]


@pytest.fixture
def model() -> Iterator[AnthropicServer]:
    with AnthropicServer() as running:
        running.account = AnyAccount()
        yield running


@pytest.fixture
def claude(request: pytest.FixtureRequest, desk: Server, tmp_path: Path, model: AnthropicServer) -> ClaudeCode:
    found = ClaudeCode(desk, tmp_path, model, getattr(request, "param", "newest"))
    found.connect()
    assert found.settings.read_text() == SETTINGS.replace("https://desk.example.com", desk.address)
    return found


@pytest.fixture
def halting(desk: Server) -> Iterator[None]:
    """At the deadlines of Claude Code's commands, the run is stopped."""
    apply_rules(desk, {"name": "Stop", "match": {"agents": ["Claude Code"], "tools": ["Bash"]}, **HALT})
    yield
    apply_rules(desk)


both_versions = pytest.mark.parametrize("claude", ["oldest", "newest"], indirect=True)


def bash(number: int, command: str) -> Block:
    return tool_use(f"toolu_{number}", "Bash", command=command, description="A test")


@both_versions
@pytest.mark.shows("claude-code", "approve", "edit", "reject", "cancel")
def test_calls_are_approved_changed_and_rejected_and_reading_is_not_gated(claude):
    (claude.project / "notes").write_text("forty-two")
    claude.run(
        tool_use("toolu_0", "Read", file_path=str(claude.project / "notes")),
        bash(1, "touch one"),
        bash(2, "touch two"),
        bash(3, "touch three"),
        bash(4, "touch four"),
    )
    first = claude.waiting(command="touch one")
    assert (first["tool_name"], first["title"], first["agent"]) == ("Bash", "Run a command in project?", "Claude Code")
    claude.decide(first, "approve")
    second = claude.waiting(command="touch two")
    claude.decide(second, "edit", edited_input={"command": "touch changed && echo changed"}, comment="Safer words")
    claude.decide(claude.waiting(command="touch three"), "reject", comment="Not this one")
    claude.cancel(claude.waiting(command="touch four"), "Never mind")
    heard, last = claude.results()
    assert "forty-two" in heard["toolu_0"]
    results = [claude.result(one) for one in (first, second)]
    assert [(one["state"], one["output"]["stdout"]) for one in results] == [("succeeded", ""), ("succeeded", "changed")]
    assert "A person declined this call: Not this one. Do not repeat it." in heard["toolu_3"]
    assert "This call was cancelled: Never mind. Do not repeat it." in heard["toolu_4"]
    assert (claude.files, claude.requests(), last["result"]) == ({"notes", "one", "changed"}, 4, "done")
    # The change and its reason are in the next request to the model, next to the result.
    sent = json.dumps(claude.model.requests[-1].body)
    assert "Safer words" in sent
    assert "It ran with this input" in sent


@both_versions
def test_a_plan_that_a_person_has_approved_is_not_asked_about_again(claude):
    stream = ("-p", "--permission-mode", "plan", "--input-format", "stream-json", "--permission-prompt-tool", "stdio")
    claude.run(tool_use("toolu_1", "ExitPlanMode", plan="1. write w"), arguments=stream)
    said = {"type": "user", "message": {"role": "user", "content": "go"}}
    claude.program.stdin.write(json.dumps(said) + "\n")
    claude.program.stdin.flush()
    claude.decide(claude.waiting("ExitPlanMode"), "approve")
    out = claude.ended()
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    # Claude Code asks its client about undecided calls.
    assert [line for line in lines if line["type"] == "control_request"] == []
    results = [block for line in lines if line["type"] == "user" for block in line["message"]["content"]]
    (result,) = (block for block in results if isinstance(block, dict) and block["type"] == "tool_result")
    assert (result.get("is_error", False), lines[-1]["result"], claude.requests()) == (False, "done", 1), result


#: Another hook, which answers at once and lets another command run.
REWRITES = """
import json
said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": {"command": "touch rewritten"}}
print(json.dumps({"hookSpecificOutput": said}))
"""


@both_versions
def test_what_a_person_has_approved_runs_also_where_another_hook_rewrites_commands(claude):
    (claude.project / ".rewrites.py").write_text(REWRITES)
    settings = json.loads(claude.settings.read_text())
    command = f"python3 {claude.project / '.rewrites.py'}"
    settings["hooks"]["PreToolUse"].append({"matcher": "Bash", "hooks": [{"type": "command", "command": command}]})
    claude.settings.write_text(json.dumps(settings))
    claude.run(bash(1, "touch one"))
    claude.decide(claude.waiting(command="touch one"), "approve")
    claude.results()
    assert claude.files == {"one"}


def asked_twice(claude: ClaudeCode) -> dict[str, Any]:
    """Start Claude Code with a PermissionRequest hook and a prompt tool; return the request of the tool."""
    asking = json.loads(claude.settings.read_text())["hooks"]["PreToolUse"]
    claude.settings.write_text(json.dumps({"hooks": {"PermissionRequest": asking}}))
    headers = {"Authorization": f"Bearer {claude.asker.key}"}
    server = {"type": "http", "url": f"{claude.desk.address}/mcp", "headers": headers, "alwaysLoad": True}
    servers = json.dumps({"mcpServers": {"desk": server}})
    prompts = ("-p", "go", "--mcp-config", servers, "--permission-prompt-tool", "mcp__desk__permission")
    call = tool_use(f"toolu_{claude.session}", "Bash", command="touch one", description="A test")
    claude.run(call, arguments=prompts, allowed=("Read",))

    def found() -> list[dict[str, Any]]:
        waiting = claude.approver.send("GET", "/requests?status=pending&limit=200").body["items"]
        return [one for one in waiting if one["tool_call_id"] == call["id"]]

    return until(found, "the prompt tool asks", SOON)[0]


@pytest.mark.parametrize("first", ["hook", "tool"])
@pytest.mark.parametrize(("verdict", "later"), [("approve", "reject"), ("reject", "approve")])
def test_a_permission_hook_and_a_prompt_tool_are_asked_at_once_and_the_first_answer_wins(claude, first, verdict, later):
    asked = {"tool": asked_twice(claude), "hook": claude.waiting(command="touch one")}
    claude.decide(asked.pop(first), verdict)
    claude.results()
    # The second request waits on, and its decision changes nothing.
    claude.decide(asked.popitem()[1], later)
    assert claude.files == ({"one"} if verdict == "approve" else set())


@pytest.mark.parametrize("claude", ["oldest"], indirect=True)
def test_the_oldest_version_asks_the_prompt_tool_alone(claude):
    claude.decide(asked_twice(claude), "approve")
    claude.results()
    # Only the hook says in which project it asks.
    assert (claude.files, claude.requests()) == ({"one"}, 0)


@pytest.mark.shows("claude-code", "expire")
def test_a_call_that_nobody_decides_in_time_expires_and_cannot_be_approved_any_more(claude):
    claude.change("hook claude-code", "hook claude-code --give-up-after 5s")
    claude.run(bash(1, "touch one"))
    heard, last = claude.results()
    assert "No one decided in time, so this call was not run." in heard["toolu_1"], heard
    assert (last["result"], claude.late(), claude.files) == ("done", 410, set())


@both_versions
@pytest.mark.shows("claude-code", "halted")
def test_a_deadline_that_halts_denies_the_call_and_stops_the_run_where_the_version_can(claude, halting, request):
    newest = request.node.callspec.params["claude"] == "newest"
    claude.run(bash(1, "touch one"), ends=not newest)
    pass_deadline(claude.desk, claude.waiting(command="touch one")["id"])
    heard, last = claude.results()
    assert "No one decided in time, so the policy stops the run. Do nothing more." in heard["toolu_1"]
    # The oldest version ignores `continue` beside a denial: its model is asked once more.
    assert (last["terminal_reason"], len(claude.model.requests)) == (
        ("hook_stopped", 1) if newest else ("completed", 2)
    )
    assert (claude.files, claude.requests(), claude.late()) == (set(), 1, 410)


@both_versions
@pytest.mark.shows("claude-code", "once", "crash")
def test_a_deferred_call_costs_nothing_and_runs_once_when_the_session_is_resumed(claude):
    claude.connect("--defer")
    claude.run(bash(1, "date >> runs"), ends=False)
    _heard, last = claude.results()
    deferred = last["deferred_tool_use"]
    assert (last["stop_reason"], deferred["id"], claude.files) == ("tool_deferred", "toolu_1", set())
    resume = ("-p", "--resume", last["session_id"])
    # Resumed before a decision, it ends again. No second request is created.
    claude.run(arguments=resume, ends=False)
    assert claude.results()[1]["stop_reason"] == "tool_deferred"
    (asked,) = claude.approver.send("GET", f"/requests?status=pending&thread={last['session_id']}").body["items"]
    claude.decide(asked, "edit", edited_input={"command": "echo approved >> runs"})
    claude.run(arguments=resume)
    assert claude.results()[1]["result"] == "done"
    assert ((claude.project / "runs").read_text(), claude.requests()) == ("approved\n", 1)


@both_versions
def test_a_prompt_does_not_get_past_a_deferred_call_which_runs_once_after_the_approval(claude):
    claude.connect("--defer")
    claude.run(bash(1, "date >> runs"), ends=False)
    session = claude.results()[1]["session_id"]
    resume = ("-p", "go on", "--resume", session)
    # Otherwise the prompt is sent without a result of the call, and newer versions never ask about the call again.
    for _early in range(2):
        claude.run(arguments=resume, ends=False)
        last = claude.results()[1]
        assert "A call of this session is still waiting for a decision" in last["result"], last
    assert (len(claude.model.requests), claude.files) == (1, set())
    (request,) = claude.made()
    claude.decide(request, "approve")
    # Claude Code lets the model go on after the call, and then sends the prompt.
    claude.model.will(says(text("the call has run")))
    claude.run(arguments=resume)
    assert claude.results()[1]["result"] == "done"
    assert (len((claude.project / "runs").read_text().splitlines()), claude.requests()) == (1, 1)
    assert claude.result(request)["state"] == "succeeded"


@both_versions
def test_a_deferred_call_that_was_rejected_never_runs_and_the_prompt_goes_on(claude):
    claude.connect("--defer")
    claude.run(bash(1, "date >> runs"), ends=False)
    resume = ("-p", "go on", "--resume", claude.results()[1]["session_id"])
    claude.run(arguments=resume, ends=False)
    claude.ended()
    (request,) = claude.made()
    claude.decide(request, "reject", comment="Not this one")
    claude.model.will(says(text("the call was declined")))
    claude.run(arguments=resume)
    heard, last = claude.results()
    assert "Not this one" in heard["toolu_1"]
    assert (last["result"], claude.files, claude.requests()) == ("done", set(), 1)


def test_a_model_that_numbers_its_calls_anew_is_asked_about_again(claude):
    call = bash(1, "date >> runs")
    claude.run(call)
    first = claude.waiting(command="date >> runs")
    claude.decide(first, "approve")
    session = claude.results()[1]["session_id"]
    assert claude.result(first)["state"] == "succeeded"
    claude.run(call, arguments=("-p", "again", "--resume", session))
    claude.decide(claude.waiting(command="date >> runs"), "reject", comment="Once is enough")
    heard, _last = claude.results()
    assert "Once is enough" in heard["toolu_1"]
    assert (len((claude.project / "runs").read_text().splitlines()), claude.requests()) == (1, 2)


@pytest.mark.shows("claude-code", "answer")
def test_questions_of_the_model_and_of_mcp_servers_are_answered_by_people(claude):
    server = {"command": "python3", "args": [str(HERE / "colours.py")], "alwaysLoad": True}
    stream = ("-p", "--input-format", "stream-json", "--permission-prompt-tool", "stdio")
    given = ("--mcp-config", json.dumps({"mcpServers": {"colours": server}}))
    claude.run(
        tool_use("toolu_1", "AskUserQuestion", questions=[COLOUR]),
        tool_use("toolu_2", "mcp__colours__pick"),
        arguments=(*stream, *given),
    )
    said = {"type": "user", "message": {"role": "user", "content": "go"}}
    claude.program.stdin.write(json.dumps(said) + "\n")
    claude.program.stdin.flush()
    claude.decide(claude.waiting("AskUserQuestion"), "respond", answer="Red")
    claude.decide(claude.waiting("mcp__colours__pick"), "approve")
    claude.decide(claude.waiting(), "respond", answer={"colour": "blue"})
    heard, _last = claude.results()
    assert '"Which colour?"="Red"' in heard["toolu_1"]
    assert '"action": "accept", "content": {"colour": "blue"}' in heard["toolu_2"].replace("\\", "")


@pytest.mark.parametrize("version", ["oldest", "newest"])
def test_a_server_that_is_killed_while_somebody_thinks_blocks_the_call(version, tmp_path, model):
    (tmp_path / "desk").mkdir()
    with Server(tmp_path / "desk") as desk:
        claude = ClaudeCode(desk, tmp_path, model, version)
        claude.connect()
        claude.change("hook claude-code", "hook claude-code --patience 1s")
        claude.run(bash(1, "touch one"))
        claude.waiting(command="touch one")
        desk.kill()
        heard, last = claude.results()
    assert (claude.files, last["result"], "hook error" in heard["toolu_1"]) == (set(), "done", True), heard


@both_versions
def test_nothing_runs_without_a_server_without_a_valid_key_and_without_the_command(claude):
    claude.change("hook claude-code", "hook claude-code --patience 1s")
    heard = {}
    claude.run(bash(1, "touch one"), PAUSEPOINT_KEY="pp_00000000_wrong")
    heard |= claude.results()[0]
    claude.run(bash(2, "touch two"), PAUSEPOINT_KEY="")
    heard |= claude.results()[0]
    claude.change(claude.desk.address, f"http://127.0.0.1:{free_port()}")
    claude.run(bash(3, "touch three"))
    heard |= claude.results()[0]
    claude.change("pausepoint --url", "pausepoint-absent --url")
    claude.run(bash(4, "touch four"))
    heard |= claude.results()[0]
    words = ["401", "Give the address and a key", "did not answer", "not found"]
    assert [one for one, said in zip(words, heard.values(), strict=True) if one not in said] == [], heard
    assert (claude.files, claude.requests()) == (set(), 0)
