"""Webhooks are signed, in order, at least once, with only the data that the subscriber may see."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions, http_post
from approvals.db.canonical_json import utc
from approvals.exceptions import Invalid
from approvals.models import OutboxEvent
from approvals.models.keys import ApiKey
from approvals.states import Kind, Verdict
from tests.support.database import rolled_back
from tests.support.desk.carrying import carry, later, make_endpoint, make_key, states, workflow_of
from tests.support.desk.requests import PAST, REFUND, cancel, decide, make_ask, make_request, make_workflow
from tests.support.people import alice, bob
from tests.support.processes.server import until
from tests.support.receiver import Got, Receiver, answer, die, silent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _local(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True


def names(got: list[Got]) -> list[str]:
    return [post.body.decode().split('"')[3] for post in got]


def test_an_endpoint_gets_events_without_comments():
    owner = alice()
    with Receiver() as there:
        _, secret = make_endpoint(there.url())
        request = make_request(owner, workflow=make_workflow(owner, key="run-7"))
        decide(request, bob(), Verdict.EDIT, edited_input={"amount": 99}, comment="Only the half of it.")
        carry()
        created, decided = (got.told(secret) for got in there.got)
    assert (created["type"], created["sequence"], created["workflow"]) == ("request.created", 1, "key:1:run-7")
    assert (decided["type"], decided["sequence"], decided["workflow"]) == ("request.decided", 2, "key:1:run-7")
    assert set(decided) == {"type", "id", "timestamp", "workflow", "sequence", "data"}
    assert decided["data"] == {
        "request_id": str(request.pk),
        "run_id": "run-7",
        "kind": "approval",
        "status": "approved",
        "title": "May I?",
        "tool_name": "",
        "tool_call_id": None,
        "thread_id": "",
        "agent": "support",
        "created_at": created["data"]["created_at"],
        "by": "bob",
        "via": "dashboard",
        "verdict": "edit",
    }
    assert [got.id for got in there.got] == [created["id"], decided["id"]]
    assert states() == [("request.created", True, False, ""), ("request.decided", True, False, "")]


def test_an_endpoint_with_payload_gets_inputs_and_comments():
    with Receiver() as there:
        _, secret = make_endpoint(there.url(), include_payload=True)
        request = make_request(alice(), Kind.QUESTION, message="Which one?", allow_text=True)
        decide(request, bob(), Verdict.RESPOND, answer={"text": "the blue one"}, comment="Sure.")
        carry()
        created, decided = (got.told(secret)["data"] for got in there.got)
    assert created["request"] == decided["request"] == {"message": "Which one?", "input": REFUND}
    assert "decision" not in created
    assert (decided["decision"]["answer"], decided["decision"]["comment"]) == ({"text": "the blue one"}, "Sure.")


ENDS = {
    "request.decided": lambda request: decide(request, bob(), Verdict.APPROVE, comment="Go on."),
    "request.cancelled": lambda request: cancel(request, bob(), comment="Not needed."),
    "request.expired": lambda request: actions.expire(request.pk),
}


@pytest.mark.parametrize("end", ENDS)
def test_the_callback_address_gets_the_end_with_the_whole_decision(end):
    with Receiver() as there:
        key, secret = make_key(alice())
        due = {"deadline_at": PAST} if end == "request.expired" else {}
        request = make_request(key.user, workflow=workflow_of(key), callback_url=there.url("/done?run=1"), **due)
        carry()
        assert there.got == []
        decision = ENDS[end](request)
        carry()
        (got,) = there.got
        told = got.told(secret)
    stored = type(request).objects.get(pk=request.pk).decision
    assert (got.path, told["type"], told["data"]["request_id"]) == ("/done?run=1", end, str(request.pk))
    assert decision is not False
    assert told["data"]["decision"] == {
        "request_id": str(request.pk),
        "verdict": stored.verdict,
        "by": stored.by_name or None,
        "via": stored.via,
        "decided_at": utc(stored.decided_at),
        "comment": stored.comment,
        "answer": None,
        "edited_input": None,
        "approved_digest": stored.approved_digest,
        "digest_salt": None,
    }


def test_an_endpoint_gets_its_selected_events_and_none_while_inactive():
    request = make_request(alice())
    with Receiver() as there:
        make_endpoint(there.url("/decided"), events=["request.decided"])
        make_endpoint(there.url("/off"), active=False)
        make_endpoint(there.url("/cancelled"), events=["request.cancelled"])
        decide(request, bob(), Verdict.APPROVE)
        carry()
        assert [(got.path, name) for got, name in zip(there.got, names(there.got), strict=True)] == [
            ("/decided", "request.decided")
        ]


@pytest.mark.parametrize("ended", ["the key is revoked", "its user is switched off"])
def test_nothing_is_sent_for_a_revoked_key(ended):
    with Receiver() as there:
        key, _ = make_key(alice())
        request = make_request(key.user, workflow=workflow_of(key), callback_url=there.url())
        if ended == "the key is revoked":
            ApiKey.objects.update(revoked_at=timezone.now())
        else:
            User.objects.filter(pk=key.user_id).update(is_active=False)
        decide(request, bob(), Verdict.APPROVE)
        carry()
        assert there.got == []
    words = "the request's API key was revoked, or its user is no longer active"
    assert states() == [("request.decided", False, True, words)]


def test_a_callback_without_a_key_is_given_up_with_an_error():
    with Receiver() as there:
        workflow = make_workflow(alice(), scope="chat:1")
        decide(make_request(workflow.owner, workflow=workflow, callback_url=there.url()), bob(), Verdict.APPROVE)
        carry()
        assert there.got == []
    assert states() == [
        ("request.decided", False, True, "the request was not made with an API key, so there is no secret to sign with")
    ]


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1/", "http://169.254.169.254/", "https://10.1.2.3/", "ftp://a.example/"]
)
def test_a_callback_address_that_may_not_be_called_is_refused_when_it_is_asked(settings, url):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = False
    with pytest.raises(Invalid) as refused:
        make_ask(callback_url=url).check()
    assert list(refused.value.errors) == ["callback_url"]


def test_a_name_that_resolves_to_a_private_address_is_refused_when_it_is_called(settings):
    key, _ = make_key(alice())
    request = make_request(key.user, workflow=workflow_of(key), callback_url="https://localhost/")
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = False
    decide(request, bob(), Verdict.APPROVE)
    carry()
    ((name, delivered, dead, error),) = states()
    assert (name, delivered, dead) == ("request.decided", False, False)
    assert error in {f"the address points to {at}, which is in a private network" for at in ("127.0.0.1", "::1")}


def test_an_event_that_is_rolled_back_is_not_sent():
    with Receiver() as there:
        make_endpoint(there.url())
        request, decider = make_request(alice()), bob()
        carry()
        with rolled_back():
            decide(request, decider, Verdict.APPROVE)
        carry()
        assert names(there.got) == ["request.created"]


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (answer(500), "answered 500"),
        (answer(302, "Location: http://169.254.169.254/"), "answered 302; redirects are not followed"),
        (die, "the connection was closed before a response arrived"),
        (silent, "no response within 0.2 s"),
    ],
    ids=["500", "redirect", "dying", "silent"],
)
def test_a_failed_delivery_is_tried_again_with_the_same_id_and_body(monkeypatch, behaviour, error):
    with Receiver() as there:
        there.behave = lambda got: behaviour
        make_endpoint(there.url())
        make_request(alice())
        for tries, wait in enumerate((1, 2, 4), 1):
            with monkeypatch.context() as patience:
                patience.setattr(http_post, "SECONDS", 0.2 if behaviour is silent else 60)
                began = timezone.now()
                carry()
            until(lambda tries=tries: len(there.got) == tries, "what was sent arrives")
            row = OutboxEvent.objects.get()
            assert began <= row.next_attempt_at - timedelta(seconds=wait) <= timezone.now()
            assert row.last_error == error
            later()
        there.behave = lambda got: answer(204)
        carry()
    assert len({(got.id, got.body) for got in there.got}) == 1
    assert len(there.got) == 4
    assert states() == [("request.created", True, False, "")]


def test_a_delivery_is_given_up_after_three_days_and_the_next_goes_out():
    with Receiver(lambda got: answer(503)) as there:
        make_endpoint(there.url())
        request = make_request(alice())
        carry()
        decide(request, bob(), Verdict.APPROVE)
        OutboxEvent.objects.filter(name="request.created").update(
            created_at=timezone.now() - timedelta(days=3, hours=1)
        )
        later()
        carry()
        assert states()[0] == ("request.created", False, True, "answered 503")
        there.behave = lambda got: answer(200)
        later()
        carry()
    assert states()[1] == ("request.decided", True, False, "")


def test_each_target_gets_the_events_of_a_workflow_in_order_whatever_fails():
    """Three workflows, two targets; each delivery fails at its first or its second attempt."""
    failures = Counter()

    def moody(got: Got):
        failures[got.id, got.path] += 1
        return answer(500) if failures[got.id, got.path] == 1 + (len(there.got) % 2) else answer(200)

    owner, decider = alice(), bob()
    with Receiver(moody) as there:
        secrets = {f"/{name}": make_endpoint(there.url(f"/{name}"))[1] for name in ("one", "two")}
        for number in range(3):
            workflow = make_workflow(owner, key=f"run-{number}")
            for _ in range(2):
                decide(make_request(owner, workflow=workflow), decider, Verdict.APPROVE)
        for _ in range(20):
            carry()
            later()
    assert {done for _, done, _, _ in states()} == {True}
    seen: dict[tuple[str, str], list[int]] = {}
    for got in there.got:
        told = got.told(secrets[got.path])
        seen.setdefault((got.path, told["workflow"]), []).append(told["sequence"])
    assert {key: list(dict.fromkeys(numbers)) for key, numbers in seen.items()} == {
        (path, f"key:1:run-{number}"): [1, 2, 3, 4] for path in secrets for number in range(3)
    }
    assert all(numbers == sorted(numbers) for numbers in seen.values())


def test_an_endpoint_that_is_deleted_or_deactivated_meanwhile_gets_nothing():
    with Receiver() as there:
        (off, _), (gone, _) = make_endpoint(there.url()), make_endpoint(there.url())
        make_request(alice())
        off.active = False
        off.save()
        gone.delete()
        carry()
        assert there.got == []
    assert [error for *_, error in states()] == ["the endpoint is not active", "the endpoint was deleted"]
