"""The comparison of two checkpoints, branching and the export, for people and programs."""

from __future__ import annotations

import json

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.access.callers import ALL, Caller, client_token
from approvals.access.standing import standing_of
from approvals.models import ApprovalRequest, AuditEntry
from approvals.record import audit
from approvals.states import Verdict
from chats import queries
from chats.checkpoints import fold
from chats.models import Chat, TurnCheckpoint
from chats.queries import export
from tests.approvals.actions.test_races import race
from tests.support.chats import agents
from tests.support.chats.branches import branch, checkpoints
from tests.support.chats.turns import converse, decide, folded, only_request, run
from tests.support.machines import Client as ChatClient
from tests.support.machines import Machine, machine
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, mallory
from tests.support.root import ROOT

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def paid(settings):
    """Alice's chat with a payment that Bob approved."""
    settings.HITL_AGENTS = [agents.PATH]
    agents.ran.clear()
    turn = converse(alice(), "pay")
    decide(only_request(turn), bob(), Verdict.APPROVE)
    return run(turn)


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def token_on(client: Client, checkpoint: TurnCheckpoint) -> str:
    (field,) = parse(client.get(f"/chats/checkpoints/{checkpoint.pk}/").text).find("input", name="token")
    return field.attributes["value"]


def test_two_checkpoints_are_compared_side_by_side(paid):
    left, right = checkpoints(paid)
    page = parse(browser(paid.chat.owner).get(f"/chats/{paid.chat_id}/compare/?left={left.pk}&right={right.pk}").text)
    changed, added = page.find("li", class_="pair")
    assert changed.find("p", class_="pair-head")[0].words == "changed pay"
    assert [field.words for field in changed.find("h2")] == ["state", "approval.approved", "output"]
    assert changed.find("del")[0].words == "waiting for approval"
    assert changed.find("ins")[0].words == "done"
    assert added.find("p", class_="pair-head")[0].words == "added text"


@pytest.mark.parametrize(("query", "left", "right"), [("", 0, 1), ("?right={1}", 0, 1), ("?right={0}", 0, 0)])
def test_default_is_the_last_two_or_one_and_its_predecessor(paid, query, left, right):
    made = [str(each.pk) for each in checkpoints(paid)]
    page = parse(browser(paid.chat.owner).get(f"/chats/{paid.chat_id}/compare/{query.format(*made)}").text)
    chosen = [option.attributes["value"] for option in page.find("option") if "selected" in option.attributes]
    assert chosen == [made[left], made[right]]


@pytest.mark.parametrize("choice", ["x", "-1", "0", "999999999999", "9" * 40, "\u0663"])
def test_invalid_checkpoint_cannot_be_compared(paid, choice):
    assert browser(paid.chat.owner).get(f"/chats/{paid.chat_id}/compare/", {"left": choice}).status_code == 404


def test_a_checkpoint_of_another_chat_cannot_be_chosen_either(paid):
    other = converse(bob_again(), "pay")
    address = f"/chats/{paid.chat_id}/compare/?left={checkpoints(other)[0].pk}"
    assert browser(paid.chat.owner).get(address).status_code == 404


def bob_again():
    return ApprovalRequest.objects.first().requested_by.__class__.objects.get(username="bob")


def test_a_chat_without_two_checkpoints_says_so(settings):
    settings.HITL_AGENTS = [agents.PATH]
    chat = Chat.objects.create(owner=alice(), public_id="c", agent="oddball")
    (words,) = parse(browser(chat.owner).get(f"/chats/{chat.pk}/compare/").text).find("p", class_="empty")
    assert words.words.startswith("You need two checkpoints to compare")


def test_repeated_press_creates_one_branch(paid):
    first, client = checkpoints(paid)[0], browser(paid.chat.owner)
    sent = {"token": token_on(client, first)}
    answers = [client.post(f"/chats/checkpoints/{first.pk}/branch/", sent) for _ in range(3)]
    made = Chat.objects.get(branched_from=paid.chat)
    assert [(a.status_code, a.headers["Location"]) for a in answers] == [(302, made.get_absolute_url())] * 3
    page = parse(client.get(made.get_absolute_url()).text)
    (note,) = page.find("p", class_="branches")
    assert note.words == "Branch of pay · from this checkpoint"
    back = parse(client.get(paid.chat.get_absolute_url()).text)
    (kin,) = back.find("details", class_="branches")
    assert kin.find("a")[0].attributes["href"] == made.get_absolute_url()


def test_concurrent_presses_create_one_branch(paid):
    first = checkpoints(paid)[0]
    found = race(*(lambda: branch(paid, 0, token="d" * 32).pk for _ in range(6)))
    assert found == [Chat.objects.get(branched_at=first.pk).pk] * 6
    assert ApprovalRequest.objects.count() == 2
    assert AuditEntry.objects.filter(event="chat.branched").count() == 1


def test_two_sessions_of_one_user_get_a_branch_each(paid):
    found = race(*(lambda: branch(paid, 0).pk for _ in range(4)))
    assert sorted(found) == sorted(Chat.objects.filter(branched_from=paid.chat).values_list("pk", flat=True))
    assert len(set(found)) == 4


def test_readers_cannot_branch(paid):
    first = checkpoints(paid)[0]
    for user, status in ((bob_again(), 403), (carol(), 403), (mallory(), 404)):
        client = browser(user)
        page = client.get(f"/chats/checkpoints/{first.pk}/")
        assert "Branch a new chat" not in page.text
        assert client.post(f"/chats/checkpoints/{first.pk}/branch/", {"token": "a" * 32}).status_code == status
    assert browser(paid.chat.owner).post(f"/chats/checkpoints/{first.pk}/branch/").status_code == 422
    assert Chat.objects.count() == 1


def test_branch_without_its_agent_is_refused(paid, settings):
    settings.HITL_AGENTS = [agents.PATIENT]
    first, client = checkpoints(paid)[0], browser(paid.chat.owner)
    refused = client.post(f"/chats/checkpoints/{first.pk}/branch/", {"token": "a" * 32})
    assert (refused.status_code, "No agent is named" in refused.text) == (422, True)


def test_a_chat_client_reads_answers_and_follows_a_branch_like_any_chat(paid):
    made = branch(paid, 0)
    client = ChatClient(machine(paid.chat.owner), made.public_id)
    bobs = machine(bob_again())
    stored = client.read()
    client.messages = stored["messages"]
    (part,) = [part for part in stored["messages"][-1]["parts"] if "toolCallId" in part]
    assert (stored["status"], part["state"]) == ("suspended", "approval-requested")
    assert client.machine.get(f"{client.address}/stream").status == 204
    (waits,) = stored["pending"]
    verdict = {"verdict": "approve"}
    assert bobs.post(f"/api/v1/requests/{waits['requestId']}/decision", verdict).status == 200
    assert agents.ran == [("pay", (5, "Eve"))] * 2 or run(queries.last_turn(made)).state == "completed"
    assert agents.ran == [("pay", (5, "Eve"))] * 2
    done = client.read()
    assert (done["status"], done["messages"][-1]["parts"][-1]["text"]) == ("idle", "It says: paid 5, to Eve")


def exported(who: Machine, path: str) -> dict:
    answer = who.get(path)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    return answer.json


def test_export_contains_everything_and_its_checkpoints_fold(paid):
    found = exported(machine(paid.chat.owner, "read"), f"/api/chats/{paid.chat_id}/export")
    assert (found["format"], found["version"], found["chat"]["chat"]) == ("pausepoint.chat", 2, paid.chat_id)
    assert {name: len(rows) for name, rows in found.items() if isinstance(rows, list)} == {
        **{"sub_agents": 0, "messages": 2, "files": 0, "turns": 1, "steps": 2, "tool_calls": 1, "checkpoints": 2},
        **{"requests": 1, "audit": 3, "branches": 0},
    }
    made = [type("Row", (), row) for row in found["checkpoints"]]
    assert [fold(made[: place + 1]) for place in range(2)] == folded(paid)
    (asked,) = found["requests"]
    assert (asked["decision"]["by"], asked["decision"]["verdict"], asked["status"]) == ("bob", "approve", "approved")
    entries = AuditEntry.objects.exclude(event="key.created").order_by("id")
    assert found["audit"] == [audit.export_row(entry) for entry in entries]


def test_the_document_is_described_field_by_field(paid):
    found = exported(machine(paid.chat.owner, "read"), f"/api/chats/{paid.chat_id}/export")
    text = (ROOT / "docs/reference/chat-export.md").read_text()
    rows = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    assert [name.strip(" `") for cell in rows for name in cell.split(",")] == list(found)


def test_export_of_a_branch_contains_earlier_requests(paid):
    made = branch(paid, 1)
    found = exported(machine(paid.chat.owner, "read"), f"/api/chat/{made.public_id}/export")
    assert [row["scope"] for row in found["requests"]] == [paid.chat.scope]
    assert found["chat"]["branched_from"] == {"chat": paid.chat_id, "checkpoint": checkpoints(paid)[1].pk}
    assert [row["event"] for row in found["audit"]] == ["chat.branched"]
    origin = exported(machine(paid.chat.owner, "read"), f"/api/chats/{paid.chat_id}/export")
    assert [row["chat"] for row in origin["branches"]] == [made.pk]


def test_only_readers_of_a_chat_may_export_it(paid):
    address, own = f"/api/chats/{paid.chat_id}/export", f"/api/chat/{paid.chat.public_id}/export"
    auditor = carol()
    seen = {
        who: [machine(user, "read").get(path).status for path in (address, own)]
        for who, user in (("alice", paid.chat.owner), ("carol", auditor), ("mallory", mallory()))
    }
    assert seen == {"alice": [200, 200], "carol": [200, 404], "mallory": [404, 404]}
    assert machine(paid.chat.owner, "ask").get(address).status == 403
    assert Machine().get(address).status == 401
    assert machine(paid.chat.owner, "read").get("/api/chats/999/export").status == 404
    assert machine(paid.chat.owner, "read").call("HEAD", address).text == ""


def test_a_client_token_is_good_for_the_export_of_its_chat_only(paid):
    theirs = Chat.objects.create(owner=bob_again(), public_id=paid.chat.public_id, agent="oddball")
    mine = Machine(
        client_token(
            Caller(user=paid.chat.owner, standing=standing_of(paid.chat.owner), scopes=ALL), thread=paid.chat.public_id
        )
    )
    bobs = Machine(
        client_token(
            Caller(user=bob_again(), standing=standing_of(bob_again()), scopes=ALL), thread=paid.chat.public_id
        )
    )
    assert mine.get(f"/api/chats/{paid.chat_id}/export").status == 200
    assert bobs.get(f"/api/chats/{theirs.pk}/export").status == 200
    assert bobs.get(f"/api/chats/{paid.chat_id}/export").status == 404


def test_the_export_reads_few_rows_at_a_time(paid):
    AuditEntry.objects.bulk_create(
        AuditEntry(
            at=paid.created_at,
            event="tool.result",
            scope=paid.chat.scope,
            body='{"data": {}}',
            last_seen_at=paid.created_at,
        )
        for _ in range(5 * export.PAGE)
    )
    section = next(one for one in export.sections(paid.chat) if one.name == "audit")
    with CaptureQueriesContext(connection) as found:
        more, _, text = export._piece(section, None, None)
    assert (more, len(found), len(json.loads(f"[{text}]"))) == (False, 6, 5 * export.PAGE + 3)
    assert all(f"LIMIT {export.PAGE}" in query["sql"] for query in found)
