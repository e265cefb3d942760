"""The pages about relays: what they show matches the schemas, and the program of the guide passes the kit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

from jsonschema import Draft202012Validator
from pausepoint.relay_kit.checks import CHECKS, run_checks
from pausepoint.relay_kit.kit import SECRET, Kit, serving

from approvals.channels.relay import contract
from tests.contract.relay.test_kit import answers
from tests.support.processes.ports import free_port
from tests.support.processes.server import until
from tests.support.root import ROOT

REFERENCE = ROOT / "docs" / "reference" / "relay.md"
GUIDE = ROOT / "docs" / "how-to" / "write-a-relay.md"


def blocks(path: Any, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.+?)```", path.read_text(), re.DOTALL)


def test_every_example_of_the_contract_matches_its_schema():
    examples = [json.loads(block) for block in blocks(REFERENCE, "json")]
    shapes = {
        **contract.EVENTS,
        "answer": contract.ANSWER,
        "answered": contract.ANSWERED,
        "link": contract.LINK,
        "link_offered": contract.LINK_OFFERED,
    }
    matching = [
        [name for name, shape in shapes.items() if Draft202012Validator(shape).is_valid(example)]
        for example in examples
    ]
    # The last one is a refusal.
    assert matching == [[name] for name in shapes] + [[]]


def test_the_program_of_the_guide_passes_every_check(tmp_path):
    [program] = blocks(GUIDE, "python")
    (tmp_path / "relay.py").write_text(program)
    port = free_port()
    url = f"http://127.0.0.1:{port}/"
    lines: list[str] = []
    kit = Kit(url, lambda _account, label, text: type_in(f"{label} {text}".strip()), say=lines.append, quiet=0.3)
    with serving(kit, 0) as desk:
        environment = os.environ | {"PAUSEPOINT_RELAY": desk, "PAUSEPOINT_RELAY_SECRET": SECRET, "PORT": str(port)}
        command = [sys.executable, str(tmp_path / "relay.py")]
        relay = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

        def type_in(line: str) -> None:
            assert relay.stdin is not None
            relay.stdin.write(f"{line}\n")
            relay.stdin.flush()

        try:
            until(lambda: answers(url), "the relay answers")
            assert run_checks(kit) == 0, lines
        finally:
            relay.kill()
            printed = relay.communicate()[0]
    assert f"{len(CHECKS)} of {len(CHECKS)} checks passed" in GUIDE.read_text()
    assert "This request was rejected a minute ago by ann." in printed
