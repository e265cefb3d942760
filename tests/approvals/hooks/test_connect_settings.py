"""What `pausepoint connect` makes of settings, and what it finds in a project; files as they may be."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pausepoint.connect_projects import search
from pausepoint.connect_settings import (
    CannotChange,
    claude_hook,
    claude_settings,
    claude_settings_without,
    codex_block,
    codex_config,
    codex_config_without,
)

from tests.support.root import ROOT

DESK = "https://desk.example.org"
OTHER = {"type": "command", "command": "./mine.sh"}
MINE = {
    "permissions": {"allow": ["Read"]},
    "hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [OTHER]}],
        "Stop": [{"hooks": [OTHER]}],
    },
}


def written(value: object, indent: int = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


def test_new_settings_block_every_failure_and_name_the_variable():
    found = json.loads(claude_settings("", DESK))
    hook = {
        "type": "http",
        "url": f"{DESK}/api/v1/hooks/claude-code",
        "headers": {"Authorization": "Bearer $PAUSEPOINT_KEY"},
        "allowedEnvVars": ["PAUSEPOINT_KEY"],
        "timeout": 600,
        "onFailure": "block",
    }
    group = {"matcher": "*", "hooks": [hook]}
    # What has run already cannot be blocked.
    report = {"matcher": "*", "hooks": [hook | {"timeout": 60, "onFailure": "continue"}]}
    assert found == {
        "hooks": {
            "PreToolUse": [group],
            "Elicitation": [group],
            "PostToolUse": [report],
            "PostToolUseFailure": [report],
        }
    }
    deferring = json.loads(claude_settings("", DESK, defer=True))["hooks"]
    assert [deferring[event][0]["hooks"][0]["url"].rpartition("?")[2] for event in ("PreToolUse", "Elicitation")] == [
        "wait=defer",
        f"{DESK}/api/v1/hooks/claude-code",
    ]


@pytest.mark.parametrize("before", ["", "{}\n", written(MINE), written(MINE, 4), written({"hooks": {"Stop": []}})])
def test_a_repeat_changes_nothing_another_address_replaces_ours_and_removing_undoes_all(before):
    once = claude_settings(before, DESK)
    assert claude_settings(once, DESK) == once
    moved = claude_settings(once, "https://other.example.org", defer=True)
    assert (moved.count("api/v1/hooks"), DESK in moved) == (4, False)
    undone = claude_settings_without(moved)
    assert (json.loads(undone or "{}"), claude_settings_without(undone)) == (json.loads(before or "{}"), undone)
    if before.strip("{}\n"):
        assert undone == before


def test_hooks_of_others_stay_where_they_are_also_beside_ours():
    mixed = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [OTHER, claude_hook(DESK)]}]}}
    command = {"type": "command", "command": "/opt/bin/pausepoint --url x hook claude-code || exit 2"}
    mixed["hooks"]["PreToolUse"].append({"hooks": [command]})
    undone = json.loads(claude_settings_without(written(mixed)))
    assert undone == {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [OTHER]}]}}


@pytest.mark.parametrize("text", ["[]", "{", "// comment\n{}", '{"hooks": []}', '{"hooks": {"PreToolUse": {}}}'])
def test_settings_that_cannot_be_read_are_not_changed(text):
    for change in (lambda: claude_settings(text, DESK), lambda: claude_settings_without(text)):
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


def test_settings_in_which_no_hook_runs_are_not_taken_for_connected():
    with pytest.raises(CannotChange, match="disableAllHooks"):
        claude_settings('{"disableAllHooks": true}', DESK)
    assert "hooks" in json.loads(claude_settings('{"disableAllHooks": false}', DESK))
    assert claude_settings_without('{"disableAllHooks": true}') == '{"disableAllHooks": true}'


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
    undone = claude_settings_without(claude_settings(json.dumps(before), DESK))
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
    assert (found.claude_code, found.codex, [one.name for one in found.frameworks]) == (
        False,
        True,
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
    assert blocks("claude-code.md", "json")[0] == claude_settings("", desk)
    (shown,) = blocks("codex.md", "toml")
    assert shown in codex_block(f"pausepoint --url {desk}")
