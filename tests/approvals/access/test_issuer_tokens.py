"""Access tokens of issuers: who gets in, as whom, with which scopes, and when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals.access.callers import caller_by_token, client_token
from approvals.actions import decide
from approvals.actions.locking import lock_standing
from approvals.api.mcp import calls
from approvals.asking.answers import Answer
from approvals.exceptions import NotAuthenticated
from approvals.models import ApprovalRequest, AuditEntry, TokenIssuer
from approvals.states import Door, Verdict
from tests.approvals.api.mcp.agent import QUESTION, Agent
from tests.approvals.hooks.calls import BASH
from tests.support.desk.ruling import apply_policy
from tests.support.desk.token_issuer import add_issuer, bearer, map_tokens, program, token_of
from tests.support.machine import APPROVAL, Machine
from tests.support.machines import Machine as Caller
from tests.support.openid_provider import Provider
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def issuer(provider) -> TokenIssuer:
    return add_issuer(provider)


@pytest.fixture
def service() -> User:
    return alice()


def test_a_token_asks_as_the_mapped_user_and_shows_its_agent_and_for_whom_it_acts(provider, issuer, service):
    mapping = map_tokens(issuer, service)
    agent = program(provider, sub="dora@example.org", azp="billing")
    asked = agent.ask(agent="what the program says")
    assert (asked["requested_by"], asked["agent"], asked["on_behalf_of"]) == ("alice", "billing", "dora@example.org")
    assert asked["scope"] == f"key:{mapping.pk}"
    assert agent.get(f"/requests/{asked['id']}").body["on_behalf_of"] == "dora@example.org"
    entry = AuditEntry.objects.get(event="request.created")
    assert (entry.actor_name, entry.agent) == ("Token billing agent of alice", "billing")
    assert entry.data["token"] == {"agent": "billing", "on_behalf_of": "dora@example.org"}
    mapping.refresh_from_db()
    assert mapping.last_used_from == "127.0.0.1"


@pytest.mark.parametrize(
    ("claims", "agent", "on_behalf_of"),
    [
        ({}, "billing", ""),
        ({"sub": "dora", "azp": "mailer"}, "mailer", "dora"),
        ({"sub": "dora", "act": {"sub": "planner", "act": {"sub": "older"}}}, "planner", "dora"),
        ({"act": {"sub": 7}}, "billing", ""),
        ({"sub": "dora", "azp": "a" * 120}, "a" * 83 + "…" + "2f3d335432c70b58", "dora"),
    ],
)
def test_the_agent_is_the_actor_or_else_the_client_of_a_token(provider, issuer, service, claims, agent, on_behalf_of):
    map_tokens(issuer, service)
    asked = program(provider, **claims).ask()
    assert (asked["agent"], asked["on_behalf_of"]) == (agent, on_behalf_of)


def test_a_token_never_acts_for_a_person_though_its_user_may(provider, issuer):
    map_tokens(issuer, bob(), scopes=["ask", "read", "decide", "grant", "absence"])
    request = Machine(alice()).ask()
    agent = program(provider)
    acts = [
        (f"/requests/{request['id']}/decision", {"verdict": "approve"}),
        (f"/requests/{request['id']}/claim", {}),
        (f"/grants/{request['id']}/revoke", {}),
        ("/absences", {"until": "2026-12-24T00:00:00Z"}),
    ]
    replies = [agent.post(address, body) for address, body in acts]
    assert [reply.refusal for reply in replies] == 4 * [(403, "person_needed")]
    assert replies[0].body["detail"].startswith("A token of an issuer cannot decide")
    assert ApprovalRequest.objects.get().status == "pending"


@pytest.mark.parametrize(
    ("claims", "scopes"),
    [
        ({"scope": "openid pausepoint:ask read"}, {"ask", "read"}),
        ({"scp": "pausepoint.ask"}, {"ask"}),
        ({"roles": ["read", 5, "audit"]}, {"read"}),
        ({"scope": "openid"}, set()),
        ({}, set()),
    ],
)
def test_a_token_has_the_scopes_that_both_it_and_the_mapping_give(provider, issuer, service, claims, scopes):
    TokenIssuer.objects.update(scoped=True)
    map_tokens(issuer, service)
    caller = caller_by_token(token_of(provider, **claims))
    assert caller is not None
    assert caller.scopes == scopes


def test_of_several_mappings_the_most_specific_claim_applies_even_if_its_user_is_deactivated(provider, issuer, service):
    other = bob()
    map_tokens(issuer, other, "desk", claim="roles")
    map_tokens(issuer, service, "billing", claim="sub")
    token = token_of(provider, roles=["desk"])
    assert caller_by_token(token).user == service
    User.objects.filter(pk=service.pk).update(is_active=False)
    assert caller_by_token(token) is None
    assert caller_by_token(token_of(provider, roles=["desk"], sub="another")).user == other


@pytest.mark.parametrize("ended_by", ["issuer", "mapping", "user"])
def test_a_token_ends_at_the_next_call_and_under_the_lock(provider, issuer, service, ended_by):
    mapping = map_tokens(issuer, service)
    token = token_of(provider)
    actor = caller_by_token(token).actor
    lock_standing(actor)
    rows = {
        "issuer": (TokenIssuer.objects, {"disabled_at": timezone.now()}),
        "mapping": (type(mapping).objects, {"revoked_at": timezone.now()}),
        "user": (User.objects, {"is_active": False}),
    }
    manager, change = rows[ended_by]
    manager.update(**change)
    assert bearer(token).post("/requests", APPROVAL).refusal == (401, "not_authenticated")
    with pytest.raises(NotAuthenticated):
        lock_standing(actor)


def test_a_token_that_expires_while_a_call_waits_decides_nothing(provider, issuer, service):
    map_tokens(issuer, service)
    caller = caller_by_token(token_of(provider, exp=int(timezone.now().timestamp()) - 58))
    assert timedelta(0) < caller.token_until - timezone.now() < timedelta(seconds=3)
    long = caller_by_token(token_of(provider, exp=10**30))
    assert long.token_until.year == 2242


def test_a_token_costs_as_many_statements_as_a_key_and_calls_no_issuer(provider, issuer, service):
    map_tokens(issuer, service)
    token = token_of(provider)
    key = Machine(service)
    agent = bearer(token)
    counts = []
    for machine in (key, agent, key, agent):
        with CaptureQueriesContext(
            connection,
        ) as queries:
            machine.ask()
        counts.append(len(queries))
    assert counts[2] == counts[3]
    assert provider.called == []


def test_calls_on_behalf_of_different_people_are_never_repeats_of_each_other(provider, issuer, service):
    map_tokens(issuer, service)
    dora, eve = (program(provider, sub=name) for name in ("dora", "eve"))
    first = dora.post("/requests", APPROVAL, idempotency_key="one")
    assert dora.post("/requests", APPROVAL, idempotency_key="one").body["id"] == first.body["id"]
    assert eve.post("/requests", APPROVAL, idempotency_key="one").refusal == (409, "conflict")


@pytest.mark.django_db(transaction=True)
def test_tokens_work_for_mcp_hooks_and_ask_human_and_name_the_agent_except_in_hooks(
    provider, issuer, service, monkeypatch
):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)
    map_tokens(issuer, service)
    agent = Agent(service)
    agent.machine = Caller(token_of(provider, sub="dora"))
    agent.call("ask_human", QUESTION)
    machine = program(provider, sub="eve")
    assert machine.post("/hooks/claude-code?wait=0", BASH).status == 200
    assert machine.post("/ask-human", QUESTION).status == 202
    asked = ApprovalRequest.objects.order_by("created_at").values_list("workflow__source", "agent", "on_behalf_of")
    assert list(asked) == [("mcp", "billing", "dora"), ("api", "Claude Code", "eve"), ("ask-human", "billing", "eve")]
    agent.machine = Caller(token_of(provider, sub="dora", aud="other"))
    assert agent.call("ask_human", QUESTION).answer.status == 401


def test_an_agent_cannot_ask_in_the_workflow_of_another_one(provider, issuer, service):
    map_tokens(issuer, service)
    program(provider, azp="planner").ask(workflow_id="run-1")
    other = program(provider, azp="mailer").post("/requests", APPROVAL | {"workflow_id": "run-1"})
    assert other.refusal == (409, "conflict")


def test_rules_match_whom_an_agent_acts_for(provider, issuer, service):
    map_tokens(issuer, service)
    lists = {"match": {"on_behalf_of": ["*@evil.example"]}, "name": "By list", "then": "deny", "message": "No."}
    condition = {
        "when": 'on_behalf_of == "mallory" && agent == "billing"',
        "name": "By condition",
        "then": "deny",
        "message": "No.",
    }
    apply_policy(lists, condition)
    rules = {name: program(provider, sub=name).ask()["rule"] for name in ("a@evil.example", "mallory", "dora")}
    assert [rule and rule["name"] for rule in rules.values()] == ["By list", "By condition", None]
    assert Machine(service).ask()["rule"] is None


def test_each_agent_has_a_rate_limit_of_its_own(provider, issuer, service, settings):
    settings.HITL_ASKS_PER_MINUTE = 1
    map_tokens(issuer, service)
    planner, mailer = (program(provider, azp=name) for name in ("planner", "mailer"))
    assert [planner.post("/requests", APPROVAL).status for _ in range(2)] == [201, 429]
    assert mailer.post("/requests", APPROVAL).status == 201


def test_a_client_token_ends_with_the_token_that_created_it(provider, issuer, service):
    map_tokens(issuer, service)
    token = token_of(provider, sub="dora")
    maker = caller_by_token(token)
    made = client_token(maker, thread="c-1")
    confined = caller_by_token(made)
    assert confined.token_until == maker.token_until
    assert confined.actor.bearer == maker.bearer
    TokenIssuer.objects.update(disabled_at=timezone.now())
    assert caller_by_token(made) is None


def test_a_person_decides_what_a_token_asked(provider, issuer, service):
    map_tokens(issuer, service)
    agent = program(provider)
    asked = agent.ask()
    decide(asked["id"], Answer(Verdict.APPROVE), by=bob(), via=Door.REST)
    assert agent.get(f"/requests/{asked['id']}").body["decision"]["verdict"] == "approve"
    assert (
        agent.post(f"/requests/{asked['id']}/result", {"output": "done", "input_digest": asked["input_digest"]}).status
        == 201
    )
