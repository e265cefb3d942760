"""Real servers tell: mail leaves, and one that dies between a decision and its webhook loses nothing and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.processes.ports import free_port
from tests.support.processes.server import Server, until
from tests.support.receiver import Receiver, answer, silent
from tests.support.services import real_processes  # noqa: F401

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

ASK = """
from django.contrib.auth.models import User
from approvals import actions
from approvals.administration.keys.actions import create_key
from approvals.actions import create_signing_secret
from approvals.asking.asks import Ask
from approvals.states import Kind
owner = User.objects.get(username="requester")
key, _ = create_key(owner, name="agent")
secret = create_signing_secret(key)
workflow = actions.open_workflow(scope=f"key:{key.pk}", key="run-1", title="A refund", source="api", owner=owner)
ask = Ask(kind=Kind.APPROVAL, title="Refund 4711?", input={"amount": 120}, callback_url=%r)
request = actions.request_approval(workflow, ask, requested_by=owner)
open(%r, "w").write(f"{request.pk} {secret}")
"""


def ask(server: Server, callback_url: str, note: Path) -> tuple[str, str]:
    """A request whose outcome goes to the address: its id, and the secret."""
    server.run(ASK % (callback_url, str(note)))
    request, secret = note.read_text().split()
    return request, secret


def make_due(server: Server) -> None:
    """Let time pass: deliveries claimed by a process that is gone may be tried again."""
    server.rows("UPDATE approvals_outboxevent SET next_attempt_at = '2026-01-01 00:00:00' WHERE delivered_at IS NULL")


def test_a_server_killed_while_it_delivers_sends_the_same_message_again(tmp_path):
    with Receiver(lambda got: silent) as there, Server(tmp_path, HITL_WEBHOOK_ALLOW_PRIVATE="1") as server:
        request, secret = ask(server, there.url(), tmp_path / "asked")
        assert server.person("approver").decide(request, verdict="approve", comment="fine").status == 302
        first = until(lambda: there.got, "the first try")[0]
        server.kill()
        there.behave = lambda got: answer(204)
        make_due(server)
        server.start()
        second = until(lambda: there.got[1:], "the second try")[0]
        sql = "SELECT COUNT(*) FROM approvals_outboxevent WHERE channel = 'webhook' AND delivered_at IS NOT NULL"
        until(lambda: server.value(sql) == 1, "it is noted as delivered")
        assert server.stop() == 0
    assert (first.id, first.body) == (second.id, second.body)
    told = second.told(secret)
    assert (told["data"]["request_id"], told["data"]["decision"]["comment"]) == (request, "fine")
    assert len(there.got) == 2


def test_the_next_server_delivers_a_decision_after_a_crash(tmp_path):
    port = free_port()
    with Server(tmp_path, HITL_WEBHOOK_ALLOW_PRIVATE="1") as server:
        request, secret = ask(server, Receiver(port=port).url(), tmp_path / "asked")
        server.person("approver").decide(request, verdict="reject", comment="no")
        server.kill()
        assert server.value("SELECT COUNT(*) FROM approvals_outboxevent WHERE delivered_at IS NULL") == 1
        with Receiver(port=port) as there:
            make_due(server)
            server.start()
            (got,) = until(lambda: there.got, "the delivery")
            assert got.told(secret)["data"]["decision"]["verdict"] == "reject"
            assert server.stop() == 0


def test_a_silent_receiver_does_not_prevent_stopping(tmp_path):
    # Only the end of the server ends this delivery.
    patient = {
        "prepare": "from approvals import http_post; http_post.SECONDS = 300",
        "HITL_WEBHOOK_ALLOW_PRIVATE": "1",
    }
    with Receiver(lambda got: silent) as there, Server(tmp_path, **patient) as server:
        request, _ = ask(server, there.url(), tmp_path / "asked")
        server.person("approver").decide(request, verdict="approve")
        until(lambda: there.got, "the first try")
        assert server.stop() == 0


RULE = """
from django.contrib.auth.models import User
from approvals.models.subscriptions import NotificationRule
person = User.objects.get(username="approver")
person.email = "bob@example.org"
person.save()
NotificationRule.objects.create(person=person)
"""


def test_a_server_notifies_people_by_mail(tmp_path):
    with Server(tmp_path, PUBLIC_URL="https://desk.example.org") as server:
        server.run(RULE)
        request, _ = ask(server, "https://app.example.org/", tmp_path / "asked")
        link = f"https://desk.example.org/requests/{request}/\n"
        until(lambda: link in server.log.read_text(), "the mail is printed")
        _, subject, printed = server.log.read_text().partition("Subject: [Pausepoint] Refund 4711?")
        assert subject
        assert "To: bob@example.org" in printed
        assert link in printed
        assert "amount" not in printed
        assert server.stop() == 0
