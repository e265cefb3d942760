"""The benchmarks do real work: their clients run whole cycles. Nothing here is timed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from benchmarks import long_turn
from benchmarks.chat_client import ChatClient
from benchmarks.load.program import make_key
from benchmarks.peers.contenders import ours
from benchmarks.stage import Stage
from tests.proofs.team.agents import AGENTS
from tests.support.processes.deployed import site
from tests.support.services import real_processes  # noqa: F401 - a fixture

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

REQUESTS = "SELECT tool_name, status, count(*) FROM approvals_approvalrequest GROUP BY 1, 2 ORDER BY 1, 2"
CALLS = "SELECT name, state, count(*) FROM chats_toolcall GROUP BY 1, 2 ORDER BY 1"
TURNS = "SELECT state, count(*) FROM chats_turn GROUP BY 1"


@contextmanager
def stage(folder: Path, agents: str) -> Iterator[Stage]:
    """A stage as the benchmarks make it, from a database that is migrated already."""
    url = f"sqlite:///{folder}/desk.sqlite3"
    with site(folder, DATABASE_URL=url, HITL_AGENTS=agents) as installed:
        installed.set_up()
        keys = [make_key(installed, name) for name in ("approver", "admin")]
        yield Stage(installed, *keys, url, [installed.serve()])


def test_each_contender_of_ours_runs_its_cycle(tmp_path):
    with stage(tmp_path, AGENTS) as installation:
        contenders = {contender.name: contender for contender in ours(installation, clients=2)}
        contenders.pop("Pausepoint, chat").batch(at_once=2, each=1)
        assert (installation.site.rows(CALLS), installation.site.rows(TURNS)) == (
            [("book", "succeeded", 2), ("look_up", "succeeded", 2)],
            [("completed", 2)],
        )
        for number, contender in enumerate(contenders.values(), start=1):
            contender.batch(at_once=1, each=2)
            assert installation.site.rows(REQUESTS) == [("book", "approved", 2), ("refund", "approved", 2 * number)]
        assert number == 4


def test_the_long_turn_pauses_again_after_each_approval(tmp_path):
    with stage(tmp_path, "benchmarks.long_turn.asker") as installation:
        client = ChatClient(installation.program())
        client.say("ask")
        long_turn.approve(client, 3)
        assert installation.site.rows(REQUESTS) == [("refund", "approved", 3), ("refund", "pending", 1)]
        assert installation.site.rows(TURNS) == [("suspended", 1)]
