"""A real server on PostgreSQL: waiting turns outlive it, and go on once."""

from __future__ import annotations

import pytest

from tests.support.processes.server import Server
from tests.support.services import postgresql, real_processes  # noqa: F401

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes", "postgresql")]


def test_a_pause_outlives_the_server_and_goes_on_once_on_postgresql(tmp_path):
    with Server(tmp_path, database="postgresql", HITL_DISPATCH="here") as server:
        alice, bob = server.person("requester"), server.person("approver")
        chat, request = alice.pause("approve refund")
        asked = server.rows("SELECT id, status FROM approvals_approvalrequest WHERE id = ?", request)
        assert asked == [(request.replace("-", ""), "pending")]
        assert server.stop() == 0
        server.start()
        assert server.turn(chat) == "suspended"
        assert bob.decide(request, verdict="approve", comment="100 % right?").status == 302
        server.wait_for_turn(chat, "completed")
        assert server.rows("SELECT state, attempt FROM chats_toolcall WHERE chat_id = ?", chat) == [("succeeded", 1)]
        said = "SELECT verdict, by_name FROM approvals_decision WHERE comment LIKE '100 %' AND request_id = ?"
        assert server.rows(said, request) == [("approve", "approver")]
        results = "SELECT count(*) FROM approvals_auditentry WHERE event = 'tool.result' AND scope = ?"
        assert server.value(results, f"chat:{chat}") == 1


def test_each_server_has_a_database_of_its_own_and_one_beside_it_has_the_same(tmp_path):
    (tmp_path / "other").mkdir()
    one = Server(tmp_path, database="postgresql")
    beside, other = Server(tmp_path, beside=one), Server(tmp_path / "other", database="postgresql")
    try:
        assert one.rows("UPDATE auth_user SET first_name = ? WHERE username = 'admin'", "Ada") == []
        names = [
            server.value("SELECT first_name FROM auth_user WHERE username = 'admin'") for server in (beside, other)
        ]
        assert names == ["Ada", ""]
    finally:
        for server in (one, other):
            server.database.drop()
