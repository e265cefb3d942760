"""`pausepoint connect` for Gemini CLI, Qwen Code, Copilot CLI and opencode: it writes its hooks and leaves the rest alone."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pausepoint.connect.command import CANNOT
from pausepoint.connect.files import CannotChange
from pausepoint.connect.settings import (
    copilot_hooks,
    gemini_settings,
    gemini_settings_without,
    nothing,
    opencode_plugin,
    qwen_settings,
    settings_without,
)

from tests.approvals.hooks.projects import FILES, connect, made_project

COMMAND = "pausepoint --url https://desk.example.org"
WORDS = "Pausepoint could not be asked, so this was not run."
AGENTS = [agent for agent in FILES if agent != "codex"]
Change = Callable[[str], str]
EDITS: tuple[tuple[Change, Change], ...] = (
    (lambda text: gemini_settings(text, COMMAND), gemini_settings_without),
    (lambda text: qwen_settings(text, COMMAND), settings_without),
)
leaves = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)
hooks = st.fixed_dictionaries({"type": st.just("command"), "command": st.text(max_size=8)})
groups = st.fixed_dictionaries({"matcher": st.text(max_size=3), "hooks": st.lists(hooks, min_size=1, max_size=2)})
events = st.sampled_from(["PreToolUse", "BeforeTool", "AfterTool", "Stop"])
documents = st.dictionaries(
    st.text(max_size=5).filter(lambda name: name not in {"hooks", "security"}), values, max_size=3
)
allowed = st.lists(st.sampled_from(["HOME", "CI", "TOKEN"]), min_size=1, unique=True)
security = st.fixed_dictionaries({"environmentVariableRedaction": st.fixed_dictionaries({"allowed": allowed})})


@pytest.fixture
def project(tmp_path, monkeypatch):
    return made_project(tmp_path, monkeypatch)


@given(documents, st.dictionaries(events, st.lists(groups, min_size=1, max_size=2), max_size=2), st.none() | security)
def test_settings_of_others_are_as_before_once_ours_are_removed(document, others, redaction):
    if others:
        document["hooks"] = others
    if redaction:
        document["security"] = redaction
    before = json.dumps(document)
    for add, remove in EDITS:
        once = add(before)
        assert (add(once), once.count(COMMAND)) == (once, 2)
        assert json.loads(remove(once) or "{}") == document


def test_gemini_gets_ten_minutes_in_milliseconds_and_the_variables_that_it_hides_in_ci():
    written = json.loads(gemini_settings('{"theme": "dark"}', COMMAND))
    asking = f"{COMMAND} hook gemini-cli"
    hook = {"type": "command", "name": "pausepoint"}
    before = hook | {"command": f"{asking} || {{ echo '{WORDS}' >&2; exit 2; }}", "timeout": 600_000}
    assert written == {
        "theme": "dark",
        "hooks": {
            "BeforeTool": [{"matcher": "*", "hooks": [before]}],
            "AfterTool": [{"matcher": "*", "hooks": [hook | {"command": asking, "timeout": 60_000}]}],
        },
        "security": {"environmentVariableRedaction": {"allowed": ["PAUSEPOINT_KEY", "PAUSEPOINT_URL"]}},
    }


def test_copilot_gets_ten_minutes_in_seconds_under_the_names_of_claude_code():
    asking = f"{COMMAND} hook copilot"
    before = {"type": "command", "bash": f"{asking} || {{ echo '{WORDS}' >&2; exit 2; }}", "timeoutSec": 600}
    after = {"type": "command", "bash": asking, "timeoutSec": 60}
    assert json.loads(copilot_hooks("", COMMAND)) == {
        "version": 1,
        "hooks": {"PreToolUse": [before], "PostToolUse": [after]},
    }


@pytest.mark.parametrize("add", [copilot_hooks, opencode_plugin])
def test_a_file_of_the_same_name_that_is_not_ours_is_left_alone(add):
    ours = add("", COMMAND)
    assert (add(ours, COMMAND), nothing(ours), nothing("")) == (ours, "", "")
    for change in (lambda: add("// mine", COMMAND), lambda: nothing("// mine")):
        with pytest.raises(CannotChange, match="it was not written by Pausepoint"):
            change()


@pytest.mark.parametrize("security", [[], {"environmentVariableRedaction": []}, "x"])
def test_redaction_of_another_form_is_not_changed(security):
    with pytest.raises(CannotChange):
        gemini_settings(json.dumps({"security": security}), COMMAND)


@pytest.mark.parametrize("agent", AGENTS)
def test_it_writes_to_the_settings_of_the_user_and_takes_it_back(project, capsys, agent):
    file = project.parent / "home" / FILES[agent]
    assert (connect(project, agent=agent), file.is_file()) == (0, True)
    assert "PAUSEPOINT_KEY" in capsys.readouterr().out
    assert (connect(project, "--remove", agent=agent), file.exists()) == (0, False)
    assert list(project.iterdir()) == []


@pytest.mark.parametrize(
    ("agent", "file", "settings", "switch"),
    [
        ("gemini-cli", "home/.gemini/settings.json", {"hooksConfig": {"enabled": False}}, "hooksConfig.enabled"),
        ("gemini-cli", "project/.gemini/settings.json", {"hooksConfig": {"disabled": ["x"]}}, "hooksConfig.disabled"),
        ("gemini-cli", "organization/settings.json", {"hooksConfig": {"enabled": "no"}}, "hooksConfig.enabled"),
        ("gemini-cli", "project/.gemini/settings.json", {"hooksConfig": {"enabled": True, "disabled": []}}, ""),
        ("qwen-code", "project/.qwen/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
        ("qwen-code", "home/.qwen/settings.json", {"disableAllHooks": False}, ""),
        ("copilot", "home/.copilot/settings.json", {"disableAllHooks": True}, "disableAllHooks"),
    ],
)
def test_settings_that_switch_hooks_off_are_named(project, capsys, agent, file, settings, switch):
    place = project.parent / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(settings))
    code, errors = connect(project, agent=agent), capsys.readouterr().err
    assert (code, f"has {switch}, with which every call runs unasked" in errors) == (
        CANNOT if switch else 0,
        bool(switch),
    )
