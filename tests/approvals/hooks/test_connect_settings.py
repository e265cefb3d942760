"""`pausepoint connect`: its changes of settings, and its findings in a project; with files of all kinds."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pausepoint.connect.files import CannotChange
from pausepoint.connect.projects import JAVASCRIPT, search
from pausepoint.connect.settings import (
    MARK,
    claude_hook,
    claude_settings,
    codex_config,
    codex_config_without,
    settings_without,
)

from tests.support.root import ROOT

DESK = "https://desk.example.org"
COMMAND = f"pausepoint --url {DESK}"
OTHER = {"type": "command", "command": "./mine.sh"}
MINE = {
    "permissions": {"allow": ["Read"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [OTHER]}],
        "Stop": [{"hooks": [OTHER]}],
    },
}


def codex_block(command: str) -> str:
    """The lines for Codex, in a file of their own."""
    return codex_config("", command)


def written(value: object, indent: int = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


def test_new_settings_block_every_failure():
    found = json.loads(claude_settings("", COMMAND))
    words = "Pausepoint could not be asked, so this was not run."
    asking = f"{COMMAND} hook claude-code"
    hook = {
        "type": "command",
        "command": f"{asking} || {{ echo '{words}' >&2; exit 2; }}",
        "timeout": 600,
        "onFailure": "block",
    }
    group = {"matcher": "*", "hooks": [hook]}
    # A call that has run can't be blocked.
    report = {"matcher": "*", "hooks": [hook | {"command": asking, "timeout": 60, "onFailure": "continue"}]}
    assert found == {
        "hooks": {
            "PreToolUse": [group],
            "Elicitation": [group],
            "PostToolUse": [report],
            "PostToolUseFailure": [report],
        }
    }
    deferring = json.loads(claude_settings("", COMMAND, defer=True))["hooks"]
    deferred = {event: "--defer" in groups[0]["hooks"][0]["command"] for event, groups in deferring.items()}
    assert deferred == {
        "PreToolUse": True,
        "Elicitation": False,
        "PostToolUse": False,
        "PostToolUseFailure": False,
        "UserPromptSubmit": False,
    }
    assert deferring["UserPromptSubmit"] == [group]


@pytest.mark.parametrize("before", ["", "{}\n", written(MINE), written(MINE, 4), written({"hooks": {"Stop": []}})])
def test_a_repeat_changes_nothing_another_address_replaces_ours_and_removing_undoes_all(before):
    once = claude_settings(before, COMMAND)
    assert claude_settings(once, COMMAND) == once
    moved = claude_settings(once, "pausepoint --url https://other.example.org", defer=True)
    assert (moved.count("hook claude-code"), DESK in moved) == (5, False)
    undone = settings_without(moved)
    assert (json.loads(undone or "{}"), settings_without(undone)) == (json.loads(before or "{}"), undone)
    if before.strip("{}\n"):
        assert undone == before


def test_hooks_of_others_stay_where_they_are_also_beside_ours():
    mixed = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [OTHER, claude_hook(COMMAND)]}]}}
    command = {"type": "command", "command": "/opt/bin/pausepoint --url x hook claude-code || exit 2"}
    mixed["hooks"]["PreToolUse"].append({"hooks": [command]})
    undone = json.loads(settings_without(written(mixed)))
    assert undone == {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [OTHER]}]}}


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{",
        "// comment\n{}",
        '{"hooks": []}',
        '{"hooks": {"PreToolUse": {}}}',
        # Written again, these would lose something, or be no JSON.
        '{"hooks": {}, "hooks": {"Stop": []}}',
        '{"model": NaN}',
        "[" * 100_000,
    ],
)
def test_settings_that_cannot_be_read_are_not_changed(text):
    for change in (lambda: claude_settings(text, COMMAND), lambda: settings_without(text)):
        with pytest.raises(CannotChange):
            change()


CONFIG = '# Mine.\nmodel = "m"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = "command"\ncommand = "x"\n'


@pytest.mark.parametrize("before", ["", CONFIG, 'model = "m"'])
def test_codex_gets_a_command_that_ends_with_two_whatever_happens(before):
    once = codex_config(before, "pausepoint --url https://desk.example.org")
    hooks = tomllib.loads(once)["hooks"]
    ((group,), (report,)) = hooks["PreToolUse"], hooks["PostToolUse"]
    words = "Pausepoint could not be asked, so this was not run."
    command = f"pausepoint --url {DESK} hook codex || {{ echo '{words}' >&2; exit 2; }}"
    assert group == {"matcher": "*", "hooks": [{"type": "command", "command": command, "timeout": 600}]}
    assert report["hooks"][0]["command"] == f"pausepoint --url {DESK} hook codex"
    assert (once.startswith(before), codex_config(once, f"pausepoint --url {DESK}")) == (True, once)
    assert codex_config_without(once).rstrip("\n") == before.rstrip("\n")
    behind = once + '\n[tui]\ntheme = "dark"\n'
    assert tomllib.loads(codex_config_without(behind)) == tomllib.loads(f'{before}\n[tui]\ntheme = "dark"\n')


#: Other content of a config, some of it with words that look like ours.
OTHERS = (
    '[hooks.state."/home/me/.codex/config.toml:pre_tool_use:0:0"]\ntrusted_hash = "sha256:1"\n',
    '[projects."/home/me/project"]\ntrust_level = "trusted"\n',
    "[mcp_servers.docs]\nargs = ['[[hooks.PreToolUse]]']\nstartup_timeout_sec = nan\n",
    '[[hooks.PreToolUse]]\nmatcher = "Bash"\n\n[[hooks.PreToolUse.hooks]]\ntype = "command"\ncommand = "./mine.sh"\n',
    '[[hooks.PermissionRequest]]\n[[hooks.PermissionRequest.hooks]]\ntype = "command"\ncommand = "pausepoint hook codex"\n',
    f"[notes]\ntext = '''\n# Pausepoint\n[[hooks.PostToolUse]]\n{MARK} Or not.\n'''\n",
    "# A comment.\n",
)


def mine(text: str) -> tuple[list[str], dict[str, object]]:
    """Return the lines of a config without comments, and their values."""
    # Fractions as texts, because NaN does not equal itself.
    return [line for line in text.splitlines() if line], tomllib.loads(text, parse_float=str)


@given(
    others=st.lists(st.sampled_from(OTHERS), unique=True),
    places=st.lists(st.integers(0, 3), min_size=len(OTHERS), max_size=len(OTHERS)),
)
def test_what_codex_adds_between_our_lines_stays(others, places):
    first, last = codex_block(COMMAND).split("\n[[hooks.PostToolUse]]")
    ours = [first, f"\n[[hooks.PostToolUse]]{last}"]
    at = dict(zip(others, places, strict=False))
    parts = [[f"\n{one}" for one in others if min(at[one], len(ours)) == place] for place in range(len(ours) + 1)]
    before = "".join("".join(part) + own for part, own in zip(parts, [*ours, ""], strict=True))
    alone = "".join(one for part in parts for one in part)

    assert codex_config(before, COMMAND) == before
    moved = codex_config(before, "pausepoint --url https://other.example.org")
    assert codex_config(moved, "pausepoint --url https://other.example.org") == moved
    assert (moved.count("https://other.example.org"), DESK in moved) == (2, False)
    assert [mine(codex_config_without(text)) for text in (before, moved)] == [mine(alone)] * 2


def test_hooks_of_others_keep_the_places_by_which_codex_trusts_them():
    behind = codex_config("", COMMAND) + "\n" + OTHERS[3]
    moved = tomllib.loads(codex_config(behind, "pausepoint --url https://other.example.org"))
    assert [group["matcher"] for group in moved["hooks"]["PreToolUse"]] == ["*", "Bash"]


def test_hooks_written_by_hand_and_changed_options_are_replaced():
    once = codex_config(CONFIG, COMMAND)
    by_hand = once.replace(f"{MARK}\n", "").replace("hook codex", "hook codex --patience 1m").replace("600", "300")
    assert codex_config(by_hand, COMMAND).replace(f"{MARK}\n", "") == once.replace(f"{MARK}\n", "")
    assert codex_config_without(by_hand) == CONFIG


@pytest.mark.parametrize(
    "text",
    [
        f"hooks.PreToolUse = [{{ hooks = [{{ command = '{COMMAND} hook codex' }}] }}]\n",
        codex_block(COMMAND) + '[[hooks.PostToolUse.hooks]]\ntype = "command"\ncommand = "./mine.sh"\n',
        codex_block(COMMAND) + '\nstatusMessage = "Asking"\n',
        f"[notes]\ntext = '''\n{codex_block(COMMAND)}'''\n{codex_block(COMMAND)}",
    ],
)
def test_a_config_in_which_only_ours_cannot_be_removed_is_not_changed(text):
    with pytest.raises(CannotChange, match="its hooks are written in a form that cannot be changed"):
        codex_config_without(text)


@pytest.mark.parametrize("text", ["model =", "hooks = {}\n", 'hooks = "x"\n'])
def test_a_config_that_cannot_be_added_to_is_not_changed(text):
    with pytest.raises(CannotChange):
        codex_config(text, "pausepoint")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(others=st.dictionaries(st.text(max_size=5), JSON, max_size=3), hooks=st.dictionaries(
    st.sampled_from(["PreToolUse", "Stop", "Elicitation"]), st.lists(JSON, min_size=1, max_size=3), max_size=3
))  # fmt: skip
def test_whatever_else_is_in_the_settings_stays(others, hooks):
    before = {**others, "hooks": hooks} if hooks else {name: value for name, value in others.items() if name != "hooks"}
    undone = settings_without(claude_settings(json.dumps(before), COMMAND))
    assert json.loads(undone or "{}") == before


def test_frameworks_are_found_in_the_files_of_a_project(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "requirements-dev.txt").write_text("-r other.txt\n# crewai\nCrewAI[tools]==1.15 ; x\nopenai_agents\n")
    (tmp_path / "pyproject.toml").write_text(
        '[project]\ndependencies = ["LangGraph>=1", "requests"]\n'
        '[project.optional-dependencies]\nai = ["pydantic-ai-slim"]\n'
        '[dependency-groups]\ndev = ["google-adk", {include-group = "x"}]\n'
        '[tool.poetry.dependencies]\nllama-index = "^0.1"\n'
    )
    (tmp_path / "package.json").write_text('{"dependencies": {"ai": "7"}, "devDependencies": {"@openai/agents": "*"}}')
    (tmp_path / ".codex").mkdir()
    found = search(tmp_path)
    assert ([agent.name for agent in found.agents], [one.name for one in found.frameworks]) == (
        ["codex"],
        [
            "LangChain",
            "Pydantic AI",
            "OpenAI Agents",
            "CrewAI",
            "Google ADK",
            "LlamaIndex",
            "AI SDK",
            "OpenAI Agents (JavaScript)",
        ],
    )


@pytest.mark.parametrize(
    "content", ["", "[", "[]", "7", '{"dependencies": []}', '{"dependencies": {"x": 1}}', "\ud800"]
)
def test_files_of_any_content_are_no_error(tmp_path, monkeypatch, content):
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("package.json", "pyproject.toml", "requirements.txt"):
        (tmp_path / name).write_bytes(content.encode(errors="surrogatepass"))
    assert search(tmp_path).frameworks == ()


def blocks(page: str, language: str) -> list[str]:
    """The code of a how-to page in a language."""
    text = (ROOT / "docs" / "how-to" / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def test_the_pages_show_what_connecting_writes():
    desk = "https://desk.example.com"
    assert blocks("claude-code.md", "json") == [claude_settings("", f"pausepoint --url {desk}")]
    (shown,) = blocks("codex.md", "toml")
    assert shown in codex_block(f"pausepoint --url {desk}")


@pytest.mark.parametrize("framework", JAVASCRIPT, ids=lambda framework: framework.name)
def test_the_lines_for_javascript_import_what_the_package_exports(framework):
    client = ROOT / "clients" / "javascript"
    exports = json.loads((client / "package.json").read_text())["exports"]
    for line in framework.lines[:-1]:
        name, module = re.fullmatch(r'import \{ (\w+) \} from "@pausepoint/client(.*)";', line).groups()
        entry = exports[f".{module}"]["default"].replace("dist", "src").replace(".js", ".ts")
        exported = re.findall(
            r"export (?:async )?(?:class|function|const) (\w+)|export \{ ([^}]+) \}", (client / entry).read_text()
        )
        assert name in {part.strip() for names in exported for each in names for part in each.split(",")}
