"""A site with an invalid environment refuses to start, and the last line names the variable."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.support.processes import starting
from tests.support.processes.server import PATIENCE

#: Too short by one character; and long, of too few different ones.
WEAK = ["0123456789abcdef0123456789abcde", "x" * 60, "abcdefg" * 10]


def check(**environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py check` with this environment and nothing else."""
    clean = {"PATH": os.environ["PATH"]} | environment
    return starting.run(["manage.py", "check"], env=clean, timeout=PATIENCE)


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "SECRET_KEY is not set. Set it to a long random text, or set DEBUG=1 to try Pausepoint on this machine."),
        ({"DEBUG": "0", "SECRET_KEY": " "}, "SECRET_KEY is not set. Set it to a long random text"),
        *(({"SECRET_KEY": weak}, "SECRET_KEY is too easy to guess. Use at least 32 characters") for weak in WEAK),
        ({"DEBUG": "perhaps"}, "DEBUG='perhaps' is not valid. Set it to 1 or 0."),
        ({"DEBUG": "1", "HITL_PROVIDER": "oracle"}, "HITL_PROVIDER='oracle' is not valid. "),
        ({"DEBUG": "1", "DATABASE_URL": "oracle://db"}, "DATABASE_URL is not valid. "),
    ],
)
def test_the_site_refuses_to_start_and_its_last_line_says_why(environment, words):
    refused = check(**environment)
    assert (refused.returncode != 0, refused.stdout) == (True, "")
    assert words in refused.stderr.strip().splitlines()[-1]


def test_a_long_random_key_is_taken():
    started = check(SECRET_KEY="0123456789abcdef0123456789abcdef", HITL_PROVIDER="scripted")
    assert (started.returncode, "SECRET_KEY" in started.stderr) == (0, False)


def test_a_trial_needs_nothing_but_debug():
    started = check(DEBUG="1")
    assert (started.returncode, started.stdout) == (0, "System check identified no issues (0 silenced).\n")
