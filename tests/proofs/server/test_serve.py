"""`manage.py serve` as a process: its port, its shutdown, and fifty people deciding at once."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.processes.server import Page, Person, Server, environment, until
from tests.support.root import ROOT
from tests.support.services import real_processes  # noqa: F401

pytestmark = [pytest.mark.server, pytest.mark.usefixtures("real_processes")]

AT_ONCE = 50


def test_a_port_in_use_is_reported_in_one_line(server):
    command = [sys.executable, "manage.py", "serve", "--port", str(server.port)]
    env = environment(server.database)
    second = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120)
    line = f"CommandError: Cannot listen on port {server.port} of 127.0.0.1: it is in use or not permitted. "
    line += "Choose another port with --port.\n"
    said = second.stderr.splitlines(keepends=True)
    assert (second.returncode, second.stdout, said[-1]) == (1, "", line)
    assert "(hitlsite.W006) Another process serves this SQLite database: " in second.stderr
    page = server.person("requester").get("/")
    assert (page.status, "server" in page.headers) == (200, False)


def click(person: Person, request: str, start: threading.Barrier, fields: dict[str, object]) -> Page:
    start.wait()
    return person.decide(request, **fields)


def fifty_clicks(server: Server, request: str, choices: list[dict[str, object]]) -> list[Page]:
    """Two people, each in many tabs, press contrary buttons of one request at the same moment."""
    people = [server.person("approver"), server.person("admin")]
    start = threading.Barrier(AT_ONCE)
    with ThreadPoolExecutor(AT_ONCE) as tabs:
        clicks = [
            tabs.submit(click, people[index % 2], request, start, choices[index % len(choices)] | {"comment": index})
            for index in range(AT_ONCE)
        ]
        return [done.result() for done in clicks]


def winner_of(server: Server, request: str) -> tuple[str, str, str, str]:
    (found,) = server.rows(
        "SELECT verdict, by_name, comment, edited_input FROM approvals_decision WHERE request_id = ?",
        request.replace("-", ""),
    )
    return found


def refusals(pages: list[Page]) -> Counter[str]:
    texts = [page.text for page in pages if page.status == 409]
    return Counter(re.search(r"This request was ([a-z ]+ by \w+)\.", text)[1] for text in texts)


def test_fifty_concurrent_approvals_with_different_amounts_pay_one_refund(server):
    chat, request = server.person("requester").pause("approve refund")
    choices = [{"verdict": "edit", "input.amount": 1000 + n, "input.orderId": "A-1001"} for n in range(AT_ONCE)]
    pages = fifty_clicks(server, request, choices)

    assert Counter(page.status for page in pages) == {302: 1, 409: AT_ONCE - 1}
    _, name, comment, edited = winner_of(server, request)
    assert pages[int(comment)].status == 302
    assert refusals(pages) == {f"approved with changes just now by {name}": AT_ONCE - 1}
    server.wait_for_turn(chat, "completed")
    ((state, attempt, output),) = server.rows(
        "SELECT state, attempt, output FROM chats_toolcall WHERE chat_id = ?", chat
    )
    assert (state, attempt) == ("succeeded", 1)
    assert json.loads(output)["executions"] == 1
    assert json.loads(output)["amount"] == json.loads(edited)["amount"] == 1000 + int(comment)


def test_fifty_concurrent_decisions_have_one_winner_whom_the_others_learn(server):
    chat, request = server.person("requester").pause("approve refund")
    pages = fifty_clicks(server, request, [{"verdict": "approve"}, {"verdict": "reject"}])

    assert Counter(page.status for page in pages) == {302: 1, 409: AT_ONCE - 1}
    verdict, name, comment, _ = winner_of(server, request)
    assert (verdict, name) == [("approve", "approver"), ("reject", "admin")][int(comment) % 2]
    assert refusals(pages) == {f"{'approved' if verdict == 'approve' else 'rejected'} just now by {name}": AT_ONCE - 1}
    server.wait_for_turn(chat, "completed")
    ended_as = {"approve": ("succeeded", 1), "reject": ("denied", 0)}
    assert server.rows("SELECT state, attempt FROM chats_toolcall WHERE chat_id = ?", chat) == [ended_as[verdict]]


def test_on_sigterm_short_responses_finish_and_long_turns_are_handed_over(tmp_path):
    agents = "chats.agent.demo.support,tests.support.processes.patient_agent.patient"
    # The rest of the short one takes a quarter of a second on a quick machine.
    longer = "from chats.engine.jobs import Jobs; Jobs.drain.__defaults__ = (15.0,)"
    # The long one would take ten minutes.
    with Server(tmp_path, prepare=longer, HITL_AGENTS=agents, WORD_SECONDS="40") as server:
        alice = server.person("requester")
        short, long = alice.start_chat("slow"), alice.start_chat("count", agent="patient")
        said = (
            "SELECT coalesce(max(seq), 0) FROM chats_turnevent JOIN chats_turn t ON t.id = turn_id WHERE t.chat_id = ?"
        )
        until(lambda: server.value(said, long) > 0, "the long answer has begun")
        # A few words are left, for which there is time even where everything takes long.
        until(lambda: server.value(said, short) > 30, "the short answer is about to end")
        assert server.stop() == 0
        assert server.turn(short) == "completed"
        assert server.rows("SELECT state, lease_owner FROM chats_turn WHERE chat_id = ?", long) == [("queued", "")]

        server.start(WORD_SECONDS="0.01")
        server.wait_for_turn(long, "completed")
        assert server.rows("SELECT kind FROM chats_turncheckpoint WHERE chat_pk = ?", long) == [("final",)]
        assert alice.get(f"/chats/{long}/").text.count("fifteen sixteen") == 1
