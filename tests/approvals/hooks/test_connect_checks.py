"""Checks of `pausepoint connect` before it says that calls are blocked: other settings, and links."""

from __future__ import annotations

import json
import os

import pytest
from pausepoint.cli import main
from pausepoint.connect.command import CANNOT

from tests.approvals.hooks.projects import connect, install, made_project


@pytest.fixture
def project(tmp_path, monkeypatch):
    return made_project(tmp_path, monkeypatch)


SWITCHED_OFF = {"disableAllHooks": True}


@pytest.mark.parametrize(
    ("file", "settings", "switch"),
    [
        ("project/.claude/settings.json", SWITCHED_OFF, "disableAllHooks"),
        ("project/.claude/settings.local.json", SWITCHED_OFF, "disableAllHooks"),
        ("project/.claude/settings.local.json", {"disableAllHooks": "yes"}, "disableAllHooks"),
        ("project/.claude/settings.local.json", {"disableAllHooks": False}, ""),
        ("home/.claude/settings.json", SWITCHED_OFF, "disableAllHooks"),
        ("home/.claude/remote-settings.json", {"allowManagedHooksOnly": True}, "allowManagedHooksOnly"),
        ("organization/managed-settings.json", SWITCHED_OFF, "disableAllHooks"),
        ("organization/managed-settings.d/10.json", {"allowManagedHooksOnly": True}, "allowManagedHooksOnly"),
        (
            "organization/managed-settings.json",
            {"strictPluginOnlyCustomization": True},
            "strictPluginOnlyCustomization",
        ),
        (
            "organization/managed-settings.json",
            {"strictPluginOnlyCustomization": ["hooks"]},
            "strictPluginOnlyCustomization",
        ),
        ("organization/managed-settings.json", {"strictPluginOnlyCustomization": ["skills"]}, ""),
        # Only an organization can say these.
        ("project/.claude/settings.local.json", {"allowManagedHooksOnly": True}, ""),
    ],
)
def test_settings_of_claude_code_that_switch_hooks_off_are_found_wherever_they_are(
    project, capsys, file, settings, switch
):
    place = project.parent / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(settings))
    code, output = connect(project), capsys.readouterr()
    reason = f"{place} has {switch}, with which every call runs unasked" if switch else ""
    told = "without it every call is blocked" in output.out
    assert (code, reason in output.err, told) == (CANNOT if switch else 0, True, not switch), output


@pytest.mark.parametrize(
    ("file", "text", "refused"),
    [
        ("home/.codex/config.toml", "[features]\nhooks = false\n", "hooks = false"),
        ("home/.codex/config.toml", "[profiles.work.features]\ncodex_hooks = false\n", "codex_hooks = false"),
        ("home/.codex/config.toml", "[features]\nhooks = true\n", ""),
        ("project/.codex/config.toml", "[features]\nhooks = false\n", "hooks = false"),
        ("organization/managed_config.toml", "[features]\nhooks = false\n", "hooks = false"),
        ("organization/requirements.toml", "allow_managed_hooks_only = true\n", "allow_managed_hooks_only"),
        ("organization/requirements.toml", "allow_managed_hooks_only =\n", "may switch hooks off: it is not TOML"),
    ],
)
def test_settings_of_codex_that_switch_hooks_off_are_found_wherever_they_are(project, capsys, file, text, refused):
    place = project.parent / file
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text)
    code, output = connect(project, agent="codex"), capsys.readouterr()
    assert (code, refused in output.err, "trust the hook" in output.out) == (
        CANNOT if refused else 0,
        True,
        not refused,
    ), output


@pytest.mark.parametrize("content", ["{", "7", '{"a": 1, "a": 2}', "[" * 100_000, "\ud800", None])
def test_other_settings_that_cannot_be_read_may_switch_hooks_off(project, capsys, content):
    place = project / ".claude" / "settings.local.json"
    place.parent.mkdir()
    if content is None:
        os.mkfifo(place)
    else:
        place.write_bytes(content.encode(errors="surrogatepass"))
    assert (connect(project), f"{place} cannot be read, and may switch hooks off" in capsys.readouterr().err) == (
        CANNOT,
        True,
    )


@pytest.mark.parametrize(
    ("link", "target"),
    [
        (".claude/settings.json", "elsewhere/config.json"),
        (".claude/settings.json", "elsewhere/absent.json"),
        (".claude/settings.json", "elsewhere/absent/folder/absent.json"),
        (".claude", "elsewhere"),
        (".claude", "elsewhere/absent"),
        (".claude/settings.json", "project/.claude/settings.json"),
    ],
)
@pytest.mark.parametrize("options", [(), ("--remove",)])
def test_links_out_of_a_project_are_not_followed(project, capsys, link, target, options):
    outside = project.parent / "elsewhere"
    outside.mkdir()
    (outside / "config.json").write_text('{"hooks": {}}')
    place = project / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(project.parent / target)
    assert connect(project, *options) == CANNOT
    assert "project/.claude/settings.json is left as it is, because " in capsys.readouterr().err
    assert {file.name: file.read_text() for file in outside.iterdir()} == {"config.json": '{"hooks": {}}'}


def test_links_within_a_project_and_of_the_users_own_settings_stay_links(project):
    shared, dotfiles = project / "shared.json", project.parent / "dotfiles.json"
    (project / ".claude").mkdir()
    links = {project / ".claude/settings.json": shared, project.parent / "home/.claude/settings.json": dotfiles}
    for link, target in links.items():
        link.symlink_to(target)
    assert (connect(project), connect(project, "--user")) == (0, 0)
    assert [(link.readlink(), "hook claude-code" in link.read_text()) for link in links] == [
        (shared, True),
        (dotfiles, True),
    ]


def test_the_change_is_shown_without_obeying_what_the_settings_say(project, capsys):
    (project / ".claude").mkdir()
    evil = "\x9b31m\x1b]0;owned\x07 \u202egnihton\u2069"
    (project / ".claude/settings.json").write_text(
        json.dumps({"model": evil, "statusLine": "\r\u2028"}, ensure_ascii=False)
    )
    assert connect(project) == 0
    shown = capsys.readouterr().out
    assert [letter for letter in shown if not letter.isprintable() and letter != "\n"] == []
    assert "⟨U+009B⟩31m" in shown
    assert "⟨U+202E⟩gnihton⟨U+2069⟩" in shown


def test_settings_that_cannot_be_changed_leave_no_test_request(project, capsys):
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text("{ // mine\n}")
    # No server answers there: the settings are read first.
    arguments = ["--url", "http://127.0.0.1:9", "--key", "pp_key", "connect", "--yes", "--project", str(project)]
    assert main(arguments) == CANNOT
    assert "settings.json is left as it is, because it is not JSON" in capsys.readouterr().err


def test_shared_settings_name_the_command_as_other_machines_can_start_it(project, monkeypatch):
    def command(*options: str) -> str:
        assert connect(project, *options) == 0
        home = project.parent / "home" if options else project
        settings = json.loads((home / ".claude/settings.json").read_text())
        return settings["hooks"]["PostToolUse"][0]["hooks"][0]["command"].partition(" --url")[0]

    install(project, "pausepoint", "")
    everywhere = str(project.parent / "programs" / "pausepoint")
    assert (command(), command("--user")) == ("pausepoint", everywhere)
    inside = project / ".my venv/bin"
    inside.mkdir(parents=True)
    (project.parent / "programs" / "pausepoint").rename(inside / "pausepoint")
    monkeypatch.setenv("PATH", str(inside))
    assert command() == "\"$CLAUDE_PROJECT_DIR\"/'.my venv/bin/pausepoint'"
