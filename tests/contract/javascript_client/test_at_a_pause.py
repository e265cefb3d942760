"""What the SDKs for JavaScript do at a pause, without Pausepoint."""

from __future__ import annotations

import os
import subprocess

import pytest

from tests.contract.frameworks.conftest import told
from tests.contract.frameworks.pauses import check
from tests.contract.javascript_client.conftest import HERE, put

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]


@pytest.mark.parametrize(
    ("name", "title"), [("ai_sdk", "AI SDK"), ("openai_agents", "OpenAI Agents SDK for JavaScript")]
)
def test_the_page_says_what_it_does_at_a_pause(installed, name, title):
    program = HERE / f"{name}_at_a_pause.mjs"
    for each in ("shared.mjs", "ai_sdk_model.mjs", program.name):
        put(installed / each, (HERE / each).read_text())
    pipe = subprocess.PIPE
    node = subprocess.Popen(
        ["node", str(installed / program.name)], env=os.environ, stdout=pipe, stderr=pipe, text=True
    )
    check(f"{name}_js", title, program, told(node))
