"""Grants over REST: giving them with a decision, listing and revoking; rights."""

from __future__ import annotations

import pytest

from approvals.access.callers import SCOPES
from approvals.models import ApprovalRequest, AuditEntry, Grant
from tests.support.machine import APPROVAL, QUESTION, Machine
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db

TERMS = {"covers": "input", "audience": "agent", "uses": 2}
CALL = APPROVAL | {"agent": "billing"}


@pytest.mark.shows("rest", "grant", "unasked", "told")
def test_equal_calls_run_without_asking_until_the_uses_are_used_up():
    agent, approver = Machine(alice()), Machine(bob())
    first = agent.ask(CALL)
    assert approver.decide(first, "approve", grant=TERMS).body["decision"]["grant"] is None
    [given] = approver.get("/grants").body["items"]
    asked = [agent.ask(CALL) for _ in range(3)]
    assert [request["status"] for request in asked] == ["approved", "approved", "pending"]
    assert asked[1]["decision"] | {"decided_at": None} == {
        "verdict": "approve",
        "by": "API key a machine of bob",
        "decided_for": None,
        "via": "grant",
        "decided_at": None,
        "comment": "",
        "edited_input": None,
        "answer": None,
        "approved_input": APPROVAL["input"],
        "approved_digest": first["input_digest"],
        "digest_salt": None,
        "grant": {"id": given["id"], "use": 2, "uses": 2, "until": None},
        "break_glass": False,
        "rule": None,
        "repeats": None,
        "halted": False,
    }
    ended = agent.get(f"/grants/{given['id']}").body
    assert (ended["used"], ended["ended_why"], ended["ended_by"]) == (2, "used_up", None)
    assert approver.get("/grants").body == {"items": [], "next": None}
    assert [grant["id"] for grant in approver.get("/grants?state=all").body["items"]] == [given["id"]]


def test_a_grant_shows_its_terms():
    agent, approver = Machine(alice()), Machine(bob())
    request = agent.ask(CALL, thread_id="session-1")
    approver.decide(request, "approve", grant=TERMS | {"audience": "thread", "reason": " The cups "})
    [given] = agent.get("/grants?tool=refund&agent=billing").body["items"]
    assert given | {"id": "", "given_at": ""} == {
        "id": "",
        "request_id": request["id"],
        "given_by": "API key a machine of bob",
        "given_at": "",
        "reason": "The cups",
        "tool_name": "refund",
        "covers": "input",
        "fields": None,
        "audience": "thread",
        "agent": "billing",
        "scope": agent.scope,
        "workflow_id": request["workflow_id"],
        "thread_id": "session-1",
        "until": None,
        "uses": 2,
        "used": 0,
        "last_used_at": None,
        "ended_at": None,
        "ended_by": None,
        "ended_why": None,
        "unusable": None,
    }
    assert agent.get("/grants?tool=other").body["items"] == []


@pytest.mark.shows("rest", "conversation")
def test_a_grant_for_a_conversation_covers_no_other():
    agent, approver = Machine(alice()), Machine(bob())
    request = agent.ask(CALL, thread_id="session-1")
    approver.decide(request, "approve", grant=TERMS | {"audience": "thread"})
    threads = ("session-1", "session-2", "")
    assert [agent.ask(CALL, thread_id=thread)["status"] for thread in threads] == ["approved", "pending", "pending"]


def test_a_key_needs_the_scope_grant_to_give_one():
    agent, decider = Machine(alice()), bob()
    request = agent.ask(CALL)
    plain = Machine(decider, tuple(scope for scope in SCOPES if scope != "grant"))
    assert plain.decide(request, "approve", grant=TERMS).refusal == (403, "scope_missing")
    assert ApprovalRequest.objects.get().status == "pending"
    assert plain.decide(request, "approve").status == 200


@pytest.mark.parametrize(
    ("ask", "said", "errors"),
    [
        (CALL, {"grant": TERMS | {"uses": None}}, {"grant.until"}),
        (CALL, {"grant": TERMS | {"uses": 0}}, {"grant.uses"}),
        (CALL, {"grant": TERMS | {"uses": 10_001}}, {"grant.uses"}),
        (CALL, {"grant": TERMS | {"until": "2020-01-01T00:00:00Z"}}, {"grant.until"}),
        (CALL, {"grant": TERMS | {"until": "2999-01-01T00:00:00Z"}}, {"grant.until"}),
        (CALL, {"grant": TERMS | {"covers": "all"}}, {"grant.covers"}),
        (CALL, {"grant": TERMS | {"covers": "fields"}}, {"grant.covers"}),
        (CALL, {"grant": TERMS | {"audience": "workflow"}}, {"grant.audience"}),
        (CALL, {"grant": TERMS | {"audience": "thread"}}, {"grant.audience"}),
        (CALL, {"grant": TERMS | {"who": "me"}}, {"grant.who"}),
        (APPROVAL, {"grant": TERMS}, {"grant.audience"}),
        (CALL | {"tool_name": "run_command"}, {"grant": TERMS | {"covers": "tool"}}, {"grant.covers"}),
        (CALL | {"tool_name": ""}, {"grant": TERMS}, {"grant"}),
        (QUESTION, {"verdict": "respond", "answer": "M", "grant": TERMS}, {"grant"}),
        (CALL, {"verdict": "reject", "grant": TERMS}, {"grant"}),
        (CALL, {"verdict": "edit", "edited_input": {"amount": 1}, "grant": TERMS}, {"grant"}),
    ],
)
def test_what_may_not_be_granted_is_refused_and_nothing_is_decided(ask, said, errors):
    agent, approver = Machine(alice()), Machine(bob())
    reply = approver.decide(agent.ask(ask), **{"verdict": "approve"} | said)
    assert (reply.refusal, set(reply.body["errors"])) == ((422, "invalid"), errors)
    assert (ApprovalRequest.objects.get().status, Grant.objects.count()) == ("pending", 0)


def test_a_decision_that_is_repeated_gives_one_grant():
    agent, approver = Machine(alice()), Machine(bob())
    request = agent.ask(CALL)
    replies = [approver.decide(request, "approve", grant=TERMS) for _ in range(2)]
    assert ([reply.replayed for reply in replies], Grant.objects.count()) == ([False, True], 1)


@pytest.mark.shows("rest", "revoke")
def test_grants_are_seen_and_revoked_by_whom_they_concern():
    agent, approver = Machine(alice()), Machine(bob())
    grants = []
    for number in range(4):
        approver.decide(agent.ask(CALL, input={"amount": number}), "approve", grant=TERMS)
        grants.append(f"/grants/{Grant.objects.latest('given_at').pk}")
    auditor, stranger = Machine(carol()), Machine(mallory())
    decider = Machine(make_person("dan", "decide_approvalrequest"))
    assert [caller.get(grants[0]).status for caller in (agent, approver, auditor, decider)] == [200] * 4
    assert stranger.get(grants[0]).refusal == stranger.post(f"{grants[0]}/revoke").refusal == (404, "not_found")
    assert (stranger.get("/grants?state=all").body["items"], len(auditor.get("/grants").body["items"])) == ([], 4)
    assert auditor.post(f"{grants[0]}/revoke").refusal == (403, "not_allowed")
    reader = Machine(decider.key.user, ("read", "decide"))
    assert reader.post(f"{grants[0]}/revoke").refusal == (403, "scope_missing")
    for caller, grant in zip((agent, approver, decider), grants, strict=False):
        reply = caller.post(f"{grant}/revoke")
        assert (reply.status, reply.body["ended_why"]) == (200, "revoked")
        assert reply.body["ended_by"] == f"API key a machine of {caller.key.user.username}"
        # Again, it stays as it is.
        assert caller.post(f"{grant}/revoke").body == reply.body
    assert [agent.ask(CALL, input={"amount": number})["status"] for number in range(4)] == [
        *("pending", "pending", "pending"),
        "approved",
    ]


def test_the_reason_of_a_revocation_is_on_record():
    agent, approver = Machine(alice()), Machine(bob())
    approver.decide(agent.ask(CALL), "approve", grant=TERMS)
    [given] = approver.get("/grants").body["items"]
    too_long = approver.post(f"/grants/{given['id']}/revoke", {"reason": "x" * 1_001})
    assert (too_long.refusal, set(too_long.body["errors"])) == ((422, "invalid"), {"reason"})
    assert approver.post(f"/grants/{given['id']}/revoke", {"reason": " The campaign is over. "}).status == 200
    assert AuditEntry.objects.get(event="grant.revoked").data["reason"] == "The campaign is over."


def test_grants_are_listed_by_page():
    agent, approver = Machine(alice()), Machine(bob())
    for number in range(3):
        approver.decide(agent.ask(CALL, input={"amount": number}), "approve", grant=TERMS)
    first = agent.get("/grants?limit=2").body
    rest = agent.get(f"/grants?limit=2&cursor={first['next'].replace('+', '%2B')}").body
    newest = [str(pk) for pk in Grant.objects.order_by("-given_at").values_list("pk", flat=True)]
    assert ([grant["id"] for grant in first["items"] + rest["items"]], rest["next"]) == (newest, None)
    assert agent.get("/grants?cursor=x").refusal == (422, "invalid")


def test_a_key_cannot_grant_what_a_key_of_the_same_user_has_asked():
    agent = Machine(bob())
    reply = agent.decide(agent.ask(CALL), "approve", grant=TERMS)
    assert (reply.refusal, Grant.objects.count()) == ((403, "asked_by_own_key"), 0)
