"""A chat with Claude survives kills, a branch and a change of model; the API never refuses a request.

The stand-in is strict: it answers 400 if a thought comes back after other content than before, or a call without
its result.
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.proofs.claude.agents import CHARGES, RELEASE
from tests.support.anthropic_server import KEY, AnthropicServer, Reply, answer, says, text, thinking, tool_use
from tests.support.processes import redis_server
from tests.support.processes.deployed import Site, new_database, site
from tests.support.processes.server import until

OLD, NEW = "claude-sonnet-5-5", "claude-opus-5-5"


@pytest.fixture
def claude() -> Iterator[AnthropicServer]:
    with AnthropicServer() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def shop(request: pytest.FixtureRequest, tmp_path: Path, claude: AnthropicServer) -> Iterator[Site]:
    """One process on SQLite, or a web process and a worker on PostgreSQL, with Redis."""
    settings = {
        "HITL_PROVIDER": "anthropic",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_BASE_URL": claude.url,
        "HITL_MODEL": OLD,
        "HITL_AGENTS": "tests.proofs.claude.agents.cashier",
        CHARGES: str(tmp_path / "charges"),
        RELEASE: str(tmp_path / "release"),
        "DATABASE_URL": f"sqlite:///{tmp_path / 'shop.sqlite3'}",
    }
    if request.param == "postgresql":
        settings |= {"DATABASE_URL": new_database(), "REDIS_URL": redis_server.started().url}
    with site(tmp_path, **settings) as found:
        found.set_up()
        start(found)
        yield found


def start(shop: Site) -> None:
    shop.port = 0
    shop.serve()
    shop.work()


def kill_and_start(shop: Site) -> None:
    """Kill every process, and let the leases of the dead end, which take 15 seconds."""
    assert set(shop.kill()) == {-signal.SIGKILL}
    shop.run(
        "from chats.models import Turn; Turn.objects.filter(state='running').update(lease_until='2026-01-01T00:00Z')"
    )
    start(shop)


def asks(number: int) -> Reply:
    """Think, say a word, and ask to charge the card."""
    blocks = (
        thinking(f"They want charge {number}.", f"signed-{number}"),
        text("One moment."),
        tool_use(f"toolu_{number}", "charge", ref=f"c-{number}"),
    )
    return says(*blocks, stop_reason="tool_use")


def ends(number: int) -> Reply:
    return says(thinking(f"That is done: {number}.", f"signed-end-{number}"), text(f"Charged c-{number}."))


def broken_by_a_kill(gate: threading.Event) -> Reply:
    """The first words of an answer whose rest never comes."""
    whole = answer(text("One moment, I am still speaking."), stop_reason="end_turn")
    return Reply(items=[*whole[:5], gate])


def request_of(shop: Site, chat: int) -> str:
    """The id of the one request that the chat waits for."""
    return shop.run(
        "from approvals.models import ApprovalRequest\n"
        f"print(ApprovalRequest.objects.get(scope='chat:{chat}', status='pending').pk, end='')"
    )


def charges(shop: Site) -> list[str]:
    file = Path(shop.env[CHARGES])
    return file.read_text().split() if file.exists() else []


def test_kills_a_branch_and_another_model_change_nothing_that_the_api_accepts(claude, shop):
    gate = threading.Event()
    claude.will(broken_by_a_kill(gate))
    alice = shop.person("requester")
    chat = alice.start_chat("charge c-1", agent="cashier")
    claude.wait_for_request(1)

    # Killed while the model speaks: it is asked again.
    claude.will(asks(1))
    kill_and_start(shop)
    shop.wait_for_turn(chat, "suspended")

    # Killed while the tool runs: a person is asked about its outcome.
    assert shop.person("approver").decide(request_of(shop, chat), verdict="approve").status == 302
    until(lambda: charges(shop) == ["c-1"], "the card is charged")
    kill_and_start(shop)
    shop.wait_for_turn(chat, "suspended")
    claude.will(ends(1))
    recovery = request_of(shop, chat)
    assert shop.person("approver").decide(recovery, verdict="respond", text='"receipt c-1"').status == 302
    shop.wait_for_turn(chat, "completed")

    # A branch from the pause asks again, with a new id for the call.
    Path(shop.env[RELEASE]).touch()
    (checkpoint, *_) = re.findall(
        r"/chats/checkpoints/(\d+)/", shop.person("requester").get(f"/chats/{chat}/checkpoints/").text
    )
    claude.will(ends(2))
    made = alice_branches(shop, checkpoint)
    assert shop.person("approver").decide(request_of(shop, made), verdict="approve").status == 302
    shop.wait_for_turn(made, "completed")
    assert charges(shop) == ["c-1", "c-1"]

    # Another model answers in the same chat; the thoughts of the first are not for it.
    shop.env["HITL_MODEL"] = NEW
    kill_and_start(shop)
    claude.will(asks(3), ends(3))
    assert shop.person("requester").post(f"/chats/{chat}/messages/", text="and charge c-3").status in {204, 302}
    shop.wait_for_turn(chat, "suspended")
    assert shop.person("approver").decide(request_of(shop, chat), verdict="approve").status == 302
    shop.wait_for_turn(chat, "completed")

    assert charges(shop) == ["c-1", "c-1", "c-3"]
    assert [request.body["model"] for request in claude.requests] == [OLD] * 4 + [NEW] * 2
    assert claude.refused == []


def alice_branches(shop: Site, checkpoint: str) -> int:
    alice = shop.person("requester")
    (token,) = set(re.findall(r'name="token" value="([0-9a-f]+)"', alice.get(f"/chats/checkpoints/{checkpoint}/").text))
    sent = alice.post(f"/chats/checkpoints/{checkpoint}/branch/", token=token)
    assert sent.status == 302, sent.text
    return int(sent.headers["location"].strip("/").split("/")[-1])
