"""Hooks without permission, and bodies of any shape: refused in a problem document, and nothing is stored."""

from __future__ import annotations

import json
import os

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from approvals.access import callers, rate_limits
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.models import ApprovalRequest, AuditEntry
from benchmarks.load.budgets import over
from tests.approvals.hooks import calls
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, CODEX_BASH, ELICITATION, PERMISSION, QUESTION, decide
from tests.support.machine import Machine
from tests.support.people import alice, bob, mallory

NOW, DEFER = "?wait=0", "?wait=defer"
#: How many hostile bodies are sent.
HOSTILE = 60 * int(os.environ.get("ROUNDS", "1"))

pytestmark = pytest.mark.django_db


def test_mallory_can_neither_ask_without_the_scope_nor_read_the_decisions_of_others():
    agent, decider = Machine(alice()), bob()
    agent.post(CLAUDE_CODE + NOW, BASH)
    decide(decider, "approve")
    outsider = mallory()
    assert Machine(outsider, scopes=("read", "decide")).post(CLAUDE_CODE + NOW, BASH).refusal == (403, "scope_missing")
    assert Machine(authorization="Bearer pp_00000000_wrong").post(CLAUDE_CODE, BASH).refusal[0] == 401
    token = callers.client_token(
        callers.Caller(user=agent.key.user, standing=standing_of(agent.key.user), scopes=callers.ALL, key=agent.key),
        thread="t",
    )
    assert Machine(authorization=f"Bearer {token}").post(CLAUDE_CODE, BASH).refusal == (403, "not_allowed")
    # With the same ids she asks for herself: alice's decision is not hers.
    reply = Machine(outsider).post(CLAUDE_CODE + NOW, BASH)
    assert (reply.headers["pausepoint-status"], ApprovalRequest.objects.count()) == ("pending", 2)


def without(body: dict, name: str) -> dict:
    return {key: value for key, value in body.items() if key != name}


WRONG = {
    "hook_event_name": [without(BASH, "hook_event_name"), BASH | {"hook_event_name": "Stop"},
                        BASH | {"hook_event_name": []}],
    "session_id": [without(BASH, "session_id"), BASH | {"session_id": ""}, BASH | {"session_id": "x" * 201}],
    "tool_name": [without(BASH, "tool_name"), BASH | {"tool_name": 7}, BASH | {"tool_name": "B\u0430sh"},
                  BASH | {"tool_name": "x" * 101}],
    "tool_input": [without(BASH, "tool_input"), BASH | {"tool_input": "ls"}, PERMISSION | {"tool_input": None}],
    "tool_use_id": [without(BASH, "tool_use_id"), BASH | {"tool_use_id": {}}],
    "cwd": [BASH | {"cwd": "/" * 5000}, BASH | {"cwd": 3}],
    "body": [BASH | {"tool_input": {"n": 2**60}}, PERMISSION | {"tool_input": {"n": [2**60]}},
             *(call | {name: text} for call in (PERMISSION, ELICITATION) for name in ("session_id", "prompt_id")
               for text in ("\x00", "\ud800")),
             BASH | {"hook_event_name": "PostToolUse", "tool_use_id": "\ud800"}],
    "message": [without(ELICITATION, "message"), ELICITATION | {"message": "x" * 20_001}],
    "mcp_server_name": [without(ELICITATION, "mcp_server_name")],
    "mode": [ELICITATION | {"mode": "voice"}, ELICITATION | {"mode": []}],
    "url": [ELICITATION | {"mode": "url"}],
    "requested_schema": [ELICITATION | {"requested_schema": []}],
    "response_schema": [ELICITATION | {"requested_schema": {"type": "nothing"}}],
    "tool_input.questions": [
        QUESTION | {"tool_input": {}},
        QUESTION | {"tool_input": {"questions": [calls.COLOUR] * 2}},
        QUESTION | {"tool_input": {"questions": [{"question": "?", "options": []}]}},
        QUESTION | {"tool_input": {"questions": [{"question": "?", "options": ["Red"]}]}},
    ],
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_body_is_refused_by_the_name_of_its_member(name):
    agent = Machine(alice())
    for body in WRONG[name]:
        reply = agent.post(CLAUDE_CODE + NOW, body)
        assert (reply.refusal, list(reply.body["errors"])) == ((422, "invalid"), [name]), body
    assert ApprovalRequest.objects.count() == 0


def test_what_an_agent_cannot_express_is_refused():
    agent = Machine(alice())
    refused = [
        (CODEX, CODEX_BASH, DEFER),
        (CLAUDE_CODE, PERMISSION, DEFER),
        (CLAUDE_CODE, ELICITATION, DEFER),
        *((CLAUDE_CODE, BASH, f"?wait={wait}") for wait in ("601", "-1", "soon", "", "nan", "1e3")),
    ]
    for address, body, wait in refused:
        reply = agent.post(address + wait, body)
        assert (reply.refusal, list(reply.body["errors"])) == ((422, "invalid"), ["wait"]), (body, wait)
    for expires in ("0", "2678401", "1.5", "-1", "soon", ""):
        reply = agent.post(f"{CLAUDE_CODE}?expires={expires}", BASH)
        assert (reply.refusal, list(reply.body["errors"])) == ((422, "invalid"), ["expires"]), expires
    reply = agent.post(CODEX, CODEX_BASH | {"hook_event_name": "Elicitation"})
    assert (reply.refusal, ApprovalRequest.objects.count()) == ((422, "invalid"), 0)


def test_other_methods_types_and_sizes_are_refused():
    agent = Machine(alice())
    assert agent.get(CLAUDE_CODE).refusal == (405, "method_not_allowed")
    assert agent.send("POST", CLAUDE_CODE, json.dumps(BASH).encode(), content_type="text/plain").refusal[0] == 415
    large = BASH | {"tool_input": {"command": "x" * 1_000_001}}
    assert agent.post(CLAUDE_CODE + NOW, large).refusal == (413, "too_large")
    many = BASH | {"tool_input": {"list": [0] * 10_001}}
    assert [
        agent.send("POST", CLAUDE_CODE + NOW, body).refusal for body in (b"{", b"[]", json.dumps(many).encode())
    ] == [(400, "bad_body")] * 3
    assert ApprovalRequest.objects.count() == 0


def test_asking_and_refusing_count_against_the_limit_of_the_key_and_no_opinion_does_not(settings, monkeypatch):
    settings.HITL_ASKS_PER_MINUTE = 2
    # Its own: keys of earlier tests had the same number.
    monkeypatch.setattr(rate_limits, "asks", rate_limits.Limit())
    agent = Machine(alice())
    replies = [agent.post(CLAUDE_CODE + NOW, BASH | {"tool_name": "Read"}).status for _ in range(5)]
    replies += [agent.post(CLAUDE_CODE + NOW, BASH).status for _ in range(3)]
    assert replies == [200] * 7 + [429]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=12,
)
REPORT = BASH | {"hook_event_name": "PostToolUse", "tool_response": {"stdout": "out"}}
MEMBERS = sorted({*BASH, "tool_response", "error", *ELICITATION, *calls.CODEX_PERMISSION, "url"})
BODIES = st.sampled_from([BASH, REPORT, PERMISSION, QUESTION, ELICITATION, CODEX_BASH, calls.CODEX_PERMISSION])
CHANGES = st.dictionaries(st.sampled_from(MEMBERS), JSON, min_size=1, max_size=4)


@settings(max_examples=HOSTILE, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    body=BODIES,
    changes=CHANGES,
    removed=st.sets(st.sampled_from(MEMBERS), max_size=2),
    address=st.sampled_from([CLAUDE_CODE, CODEX]),
)
def test_no_body_is_an_error_of_the_server(hostile, body, changes, removed, address):  # fmt: skip
    sent = {name: value for name, value in (body | changes).items() if name not in removed}
    before = ApprovalRequest.objects.count()
    reply = hostile.post(address + NOW, sent)
    stored = ApprovalRequest.objects.count() - before
    if reply.status == 200:
        assert set(reply.body) <= {"hookSpecificOutput"}
        assert stored <= 1
    else:
        assert (400 <= reply.status < 500, stored, reply.refusal[0]) == (True, 0, reply.status)


@pytest.fixture
def hostile(settings) -> Machine:
    settings.HITL_ASKS_PER_MINUTE = 0
    return Machine(alice())


def test_a_call_costs_as_many_statements_as_any_other_request():
    agent, decider = Machine(alice()), bob()
    agent.post(CLAUDE_CODE, BASH | {"tool_name": "Read"})  # notes that the key is used, once a minute

    def cost(body: dict) -> int:
        with CaptureQueriesContext(connection) as found:
            agent.post(CLAUDE_CODE + NOW, body)
        return len(found)

    lock = int(connection.vendor == "postgresql")
    asking, again = cost(BASH), cost(BASH)
    decide(decider, "approve")
    costs = {"another tool": cost(BASH | {"tool_name": "Read"}), "ask": asking, "again": again, "decided": cost(BASH)}
    # Within the transaction of a test, each transaction is a savepoint of two statements.
    assert over({"another tool": 1, "ask": 9 + lock, "again": 4 + lock, "decided": 4 + lock}, costs) == {}
    create_key(decider, name="other")
    assert AuditEntry.objects.filter(event="request.created").count() == 1


def test_every_answer_says_that_pausepoint_gave_it():
    agent = Machine(alice())
    bodies = (BASH, BASH | {"tool_name": "Read", "tool_use_id": "toolu_2"}, {}, BASH | {"tool_input": []})
    replies = [agent.post(f"{CLAUDE_CODE}?wait=0", body) for body in bodies]
    replies += [agent.get(CLAUDE_CODE), agent.post(f"{CODEX}?wait=0", CODEX_BASH)]
    assert [reply.status for reply in replies] == [200, 200, 422, 422, 405, 200]
    assert [reply.headers.get("pausepoint-hook") for reply in replies] == ["1"] * len(replies)


@pytest.mark.parametrize(
    "text", ['{"hook_event_name": NaN}', '{"tool_name": "Read", "tool_name": "Bash"}', "[" * 100, "{"]
)
@pytest.mark.parametrize("address", [CLAUDE_CODE, CODEX])
def test_a_body_that_two_programs_could_read_differently_is_refused_in_words(address, text):
    reply = Machine(alice()).send("POST", address, text.encode())
    assert (reply.refusal, reply.body["detail"].startswith("The body could not be read: ")) == ((400, "bad_body"), True)
