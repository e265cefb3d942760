"""A server that stops, or dies, in the middle: waiting turns still wait, and running ones go on, once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.processes.patient_agent import WORDS
from tests.support.processes.server import Server, until
from tests.support.services import real_processes  # noqa: F401

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

MEANWHILE = """
from django.contrib.auth.models import User
from approvals import actions as desk, signals
from approvals.asking.answers import Answer
from approvals.states import Door, Verdict
from chats import actions
from chats.agent.demo import support
alice, bob = User.objects.get(username="requester"), User.objects.get(username="approver")
chat = actions.open_chat(owner=alice, agent=support)
actions.post_message(chat, "hello", by=alice, agent=support, via=Door.CHAT)
desk.decide("{heard}", Answer(Verdict.APPROVE), by=bob, via=Door.DASHBOARD)
assert signals.decided.disconnect(dispatch_uid="chats.on_decided")
desk.decide("{unheard}", Answer(Verdict.APPROVE), by=bob, via=Door.DASHBOARD)
"""


def messages(server: Server, chat: int) -> list[tuple[str, str]]:
    rows = server.rows("SELECT message_id, role FROM chats_message WHERE chat_id = ? ORDER BY position", chat)
    return [(str(message_id), str(role)) for message_id, role in rows]


def assistant_parts(server: Server, chat: int) -> list[dict[str, Any]]:
    stored = server.value("SELECT parts FROM chats_message WHERE chat_id = ? AND role = 'assistant'", chat)
    parts: list[dict[str, Any]] = json.loads(stored)
    return parts


def checkpoints(server: Server, chat: int) -> list[tuple[Any, ...]]:
    return server.rows("SELECT message_id, kind FROM chats_turncheckpoint WHERE chat_pk = ? ORDER BY id", chat)


@pytest.mark.parametrize("end", [Server.stop, Server.kill], ids=["terminated", "killed"])
def test_a_suspended_turn_survives_a_restart_and_continues_the_same_message(tmp_path, end):
    with Server(tmp_path) as server:
        alice, bob = server.person("requester"), server.person("approver")
        (refund, approval), (ask, question) = alice.pause("approve refund"), alice.pause("ask")
        before = {chat: (messages(server, chat), checkpoints(server, chat)) for chat in (refund, ask)}

        end(server)
        server.start()

        assert (server.turn(refund), server.turn(ask)) == ("suspended", "suspended")
        assert f'id="row-{approval}"' in bob.get("/").text
        assert bob.decide(approval, verdict="approve").status == 302
        assert alice.decide(question, verdict="respond", choice=1).status == 302
        for chat in (refund, ask):
            server.wait_for_turn(chat, "completed")
            (asked, said), (partial,) = before[chat]
            assert messages(server, chat) == [asked, said]
            assert checkpoints(server, chat) == [partial, (said[0], "final")]
        (output,) = [part["output"] for part in assistant_parts(server, refund) if "output" in part]
        assert output == {"orderId": "A-1001", "amount": 120, "status": "refunded", "executions": 1}
        assert server.rows("SELECT attempt FROM chats_toolcall WHERE chat_id = ?", refund) == [(1,)]
        assert assistant_parts(server, ask)[-1]["text"] == "Thank you, you chose Express. I will arrange that."


def test_a_suspended_sub_agent_survives_a_restart_and_continues(tmp_path):
    with Server(tmp_path) as server:
        alice, bob = server.person("requester"), server.person("approver")
        chat, approval = alice.pause("approve nested payment")
        server.kill()
        server.start()
        assert server.turn(chat) == "suspended"
        assert bob.decide(approval, verdict="approve").status == 302
        server.wait_for_turn(chat, "completed")
        said = assistant_parts(server, chat)[-1]["text"]
        paid = "status sent, amount 5000.0, recipient ACME Ltd, type transfer"
        assert said == f"The cashier says: The payment to ACME Ltd: {paid}"
        assert server.rows(
            "SELECT name, state, attempt FROM chats_toolcall WHERE name IN ('cashier', 'sendPayment') ORDER BY id"
        ) == [
            ("cashier", "succeeded", 1),
            ("sendPayment", "succeeded", 1),
        ]


def test_a_turn_interrupted_by_a_kill_is_resumed(tmp_path):
    agents = "chats.agent.demo.support,tests.support.processes.patient_agent.patient"
    with Server(tmp_path, HITL_AGENTS=agents, WORD_SECONDS="2") as server:
        alice = server.person("requester")
        chat = alice.start_chat("count", agent="patient")
        streamed = (
            "SELECT coalesce(max(seq), 0) FROM chats_turnevent JOIN chats_turn t ON t.id = turn_id WHERE t.chat_id = ?"
        )
        until(lambda: server.value(streamed, chat) > 3, "a few words are stored")
        server.kill()
        assert (server.turn(chat), len(messages(server, chat))) == ("running", 1)

        server.start(WORD_SECONDS="0.01")
        server.wait_for_turn(chat, "completed")

        assert server.rows("SELECT attempt FROM chats_turn WHERE chat_id = ?", chat) == [(2,)]
        assert [kind for _, kind in checkpoints(server, chat)] == ["final"]
        (said,) = [part["text"] for part in assistant_parts(server, chat) if part["type"] == "text"]
        assert said == WORDS


@pytest.fixture(scope="module")
def nobody_served(tmp_path_factory):
    """A server that was away while Bob decided twice and Alice wrote: the server, and the three chats."""
    with Server(tmp_path_factory.mktemp("away")) as server:
        alice = server.person("requester")
        (heard, first), (unheard, second) = alice.pause("approve refund"), alice.pause("approve refund")
        assert server.stop() == 0
        server.run(MEANWHILE.format(heard=first, unheard=second))
        written = server.value("SELECT max(id) FROM chats_chat")
        assert [server.turn(chat) for chat in (heard, unheard, written)] == ["queued", "suspended", "queued"]
        server.start()
        yield server, heard, unheard, written


def test_a_decision_made_while_no_server_ran_is_carried_out_by_the_next_one(nobody_served):
    server, chat, _, _ = nobody_served
    server.wait_for_turn(chat, "completed")
    assert server.rows("SELECT attempt, state FROM chats_toolcall WHERE chat_id = ?", chat) == [(1, "succeeded")]


def test_a_decision_whose_signal_was_lost_is_found_by_the_sweep(nobody_served):
    server, _, chat, _ = nobody_served
    server.wait_for_turn(chat, "completed")
    assert server.rows("SELECT attempt, state FROM chats_toolcall WHERE chat_id = ?", chat) == [(1, "succeeded")]


def test_a_message_written_while_no_server_ran_is_answered_by_the_next_one(nobody_served):
    server, _, _, chat = nobody_served
    server.wait_for_turn(chat, "completed")
    assert [role for _, role in messages(server, chat)] == ["user", "assistant"]
    assert server.rows("SELECT attempt FROM chats_turn WHERE chat_id = ?", chat) == [(1,)]
