"""`pausepoint connect` and a settings file that another program writes while the question is on the screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from pausepoint.cli import main
from pausepoint.connect.command import CANNOT

FILES = {"claude-code": ".claude/settings.json", "codex": ".codex/config.toml"}
OWN = {"claude-code": '{"model": "opus"}\n', "codex": 'model = "m"\n'}


def connect(agent: str, home: Path, *options: str) -> int:
    address = ("--url", "https://desk.example.org", "--key", "pp_key")
    return main([*address, "connect", "--no-test", "--agent", agent, "--project", str(home), *options])


@pytest.mark.parametrize("agent", FILES)
@pytest.mark.parametrize(
    ("begin", "options", "meanwhile"),
    [
        ("absent", (), "written"),
        ("own", (), "written"),
        ("own", (), "removed"),
        # Nothing else is in the file, so that it would be removed.
        ("connected", ("--remove",), "written"),
        ("connected", ("--remove",), "removed"),
    ],
)
def test_a_file_that_changes_while_the_question_is_asked_is_left_as_it_is(
    tmp_path, monkeypatch, capsys, agent, begin, options, meanwhile
):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    file = tmp_path / FILES[agent]
    file.parent.mkdir()
    if begin == "own":
        file.write_text(OWN[agent])
    elif begin == "connected":
        assert connect(agent, tmp_path, "--yes") == 0
    changed = f"{OWN[agent]}\n"

    def answer(question: str) -> str:
        if meanwhile == "written":
            file.write_text(changed)
        else:
            file.unlink()
        return "y"

    monkeypatch.setattr("builtins.input", answer)
    capsys.readouterr()
    code, errors = connect(agent, tmp_path, *options), capsys.readouterr().err
    assert (code, errors) == (CANNOT, f"{file} was changed meanwhile and is left as it is. Run the command again.\n")
    left = [one.read_text() for one in file.parent.iterdir()]
    assert left == ([changed] if meanwhile == "written" else [])
