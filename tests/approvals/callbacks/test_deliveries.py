"""A decision reaches its engine once: it is taken, tried again, not taken or unknown, and people learn of it."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals.access.providers import encrypt_secret
from approvals.models import AuditEntry, EngineConnection, OutboxEvent
from approvals.queries.engines import callback_of
from approvals.states import Channel, Verdict
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.carrying import carry, later, make_endpoint
from tests.support.desk.engines import RUN, SECRET, Token, make_engine, make_waiting, serve
from tests.support.desk.requests import FUTURE, decide, stored
from tests.support.desk.ruling import apply_policy
from tests.support.people import alice, bob
from tests.support.receiver import Behaviour, Got, answer, die, document, endless_body

pytestmark = pytest.mark.django_db(transaction=True)

SUCCESS = {"outcome": {"success": ["taken"]}}


def state(request: Any) -> tuple[str, str]:
    shown = callback_of(stored(request))
    assert shown is not None
    return shown.state.value, shown.note


def events() -> list[str]:
    return list(AuditEntry.objects.filter(event__startswith="callback").order_by("pk").values_list("event", flat=True))


def approved(kind: str, url: str, **changes: Any) -> Any:
    request = make_waiting(make_engine(kind, url), alice(), **changes)
    decide(request, bob(), Verdict.APPROVE, comment="Go on.")
    return request


def test_the_decision_travels_with_its_times_and_the_credential():
    with serve(lambda got: document(200, SUCCESS)) as there:
        request = approved("temporal", there.url(""), deadline_at=FUTURE, tool_call_id="call-1")
        carry()
    (got,) = there.got
    assert got.path == "/api/v1/namespaces/default/workflows/run-7/update/decide"
    assert got.headers["authorization"] == f"Bearer {SECRET}"
    sent = got.document["request"]
    assert sent["meta"] == {"updateId": str(request.pk), "identity": "pausepoint"}
    (decision,) = sent["input"]["args"]
    known = {"request_id": str(request.pk), "verdict": "approve", "by": "bob", "status": "approved", "id": "run-7"}
    known |= {"tool_call_id": "call-1", "comment": "Go on.", "workflow_id": request.workflow.key}
    assert {name: decision[name] for name in known} == known
    assert None not in (decision["deadline"], decision["decided_at"])
    assert (state(request), events()) == (("taken", ""), [])


#: By kind: an answer of the engine, then the state and the note of the delivery.
ANSWERS: list[tuple[str, int, Any, str, str]] = [
    ("temporal", 200, {"outcome": {"failure": {"message": "Too late."}}}, "not_taken", "Too late."),
    ("temporal", 404, {"message": "workflow execution already completed"}, "not_taken", "the workflow has ended"),
    ("temporal", 404, {"message": "workflow not found for ID: run-7"}, "waiting", "there is no such workflow"),
    ("temporal", 200, "<html>Log in</html>", "waiting", "answered without the JSON of this engine; check its address"),
    ("temporal", 200, {"stage": "ACCEPTED"}, "waiting", "answered without the JSON of this engine; check its address"),
    ("temporal", 302, "", "waiting", "answered 302; redirects are not followed"),
    ("temporal", 401, {"message": "no"}, "waiting", "refused the credentials (401)"),
    ("temporal", 503, "", "waiting", "answered 503"),
    ("temporal", 400, {"message": "bad update"}, "not_taken", "bad update"),
    ("restate", 200, {"taken": True}, "taken", ""),
    ("restate", 200, "", "taken", ""),
    ("restate", 409, {"message": "promise was already completed"}, "not_taken", "promise was already completed"),
    ("restate", 404, {"message": "service not found"}, "waiting", "service not found"),
    ("own_handler", 200, {"taken": True}, "taken", ""),
    ("own_handler", 200, {}, "waiting", "answered without the JSON of this engine; check its address"),
    ("own_handler", 404, {}, "waiting", "answered 404: it does not wait yet"),
    ("own_handler", 409, {"reason": "The run has ended."}, "not_taken", "The run has ended."),
    ("trigger_dev", 404, {}, "not_taken", "there is no such token"),
    ("prefect", 404, {"detail": "Flow run not found"}, "not_taken", "there is no such flow run"),
]


@pytest.mark.parametrize(("kind", "status", "body", "expected", "note"), ANSWERS)
def test_an_answer_means_what_it_means_in_its_engine(kind, status, body, expected, note):
    secret = "whsec_" + "c2VjcmV0" * 4
    with serve(lambda got: document(status, body)) as there:
        request = make_waiting(make_engine(kind, there.url("")), alice())
        if kind == "own_handler":
            EngineConnection.objects.update(secret=encrypt_secret(secret))
        decide(request, bob(), Verdict.APPROVE)
        carry()
    assert state(request) == (expected, note)
    assert events() == (["callback.not_taken"] if expected == "not_taken" else [])


def test_an_early_decision_is_tried_again_and_given_up_after_some_minutes():
    with serve(lambda got: document(404, {"message": "workflow not found"})) as there:
        request = approved("temporal", there.url(""))
        carry()
        assert state(request)[0] == "waiting"
        OutboxEvent.objects.update(created_at=timezone.now() - timedelta(minutes=6))
        later()
        carry()
    assert (state(request), events()) == (("not_taken", "there is no such workflow"), ["callback.not_taken"])


def test_a_decision_that_was_not_taken_is_told_to_webhooks_too(settings):
    settings.HITL_WEBHOOK_ALLOW_PRIVATE = True
    with (
        serve(lambda got: document(409, {"message": "answered already"})) as there,
        serve(lambda got: answer(204)) as told,
    ):
        make_endpoint(told.url(), events=["callback.not_taken"])
        request = approved("restate", there.url(""))
        carry()
        carry()
    (got,) = told.got
    assert (got.document["type"], got.document["data"]["request_id"]) == ("callback.not_taken", str(request.pk))
    wanted = {"engine": "prod-restate", "id": "run-7", "reason": "answered already"}
    assert got.document["data"]["callback"] == wanted
    assert AuditEntry.objects.get(event="callback.not_taken").data == wanted


def test_a_lost_response_is_repeated_with_the_same_bytes_and_ambiguous_refusals_are_unknown():
    answers: list[Behaviour] = [die, document(409, {"message": "promise was already completed"})]
    with serve(lambda got: answers.pop(0)) as there:
        request = approved("restate", there.url(""))
        carry()
        assert state(request)[0] == "waiting"
        later()
        carry()
    first, second = there.got
    assert (first.body, first.headers["idempotency-key"]) == (second.body, second.headers["idempotency-key"])
    assert state(request) == ("unknown", "the promise is completed, perhaps by this decision")
    assert events() == ["callback.unknown"]


def test_a_process_that_ends_during_a_call_leaves_a_decision_that_may_have_arrived():
    with serve(lambda got: document(409, {})) as there:
        request = approved("restate", there.url(""))
        # Claimed, and never heard of again.
        row = OutboxEvent.objects.get(channel=Channel.ENGINE)
        OutboxEvent.objects.update(attempts=1, uncertain=True)
        assert row.uncertain is None
        carry()
    assert state(request)[0] == "unknown"


def test_a_refused_connection_leaves_no_doubt():
    with serve(lambda got: document(200, {})) as gone:
        url = gone.url("")
    request = approved("restate", url)
    carry()
    assert OutboxEvent.objects.get(channel=Channel.ENGINE).uncertain is False
    assert state(request)[0] == "waiting"


def test_trigger_dev_is_asked_what_counted_because_it_accepts_every_answer():
    token = Token()
    with serve(token) as there:
        request = approved("trigger_dev", there.url(""))
        carry()
        again = make_waiting(EngineConnection.objects.get(), request.requested_by)
        decide(again, User.objects.get(username="bob"), Verdict.REJECT)
        carry()
    assert [got.path.rpartition("/")[2] for got in token.got] == ["complete", "waitpoint_abc123"] * 2
    assert state(request) == ("taken", "")
    assert state(again) == ("not_taken", "the token was completed with another answer")
    assert json.loads(token.output or "")["request_id"] == str(request.pk)


def test_a_token_that_timed_out_takes_no_decision():
    with serve(Token(timed_out=True)) as there:
        request = approved("trigger_dev", there.url(""))
        carry()
    assert state(request) == ("not_taken", "the token has timed out")


def flow(kind: str, pause: str | None) -> dict[str, Any]:
    return {"state": {"type": kind, "state_details": {"pause_key": pause}}}


def test_prefect_is_resumed_at_this_pause_only():
    pauses = ["refund", "next"]
    resumed: list[Any] = []

    def prefect(got: Got) -> Behaviour:
        if got.path.endswith("/resume"):
            resumed.append(json.loads(got.document["run_input"]["decision"]))
            pauses.pop(0)
            # It arrived, but the desk never learns it.
            return die
        if "/input/" in got.path:
            mine = resumed and got.path.endswith("paused-refund-response")
            sent = {"decision": json.dumps(resumed[0])} if mine else {"detail": "Flow run input not found"}
            return document(200 if mine else 404, sent)
        assert got.path == f"/api/flow_runs/{RUN}"
        return document(200, flow("PAUSED", pauses[0]))

    with serve(prefect) as there:
        request = approved("prefect", there.url("/api"))
        carry()
        later()
        carry()
    assert state(request) == ("taken", "")
    assert [each["request_id"] for each in resumed] == [str(request.pk)]


@pytest.mark.parametrize(
    ("run", "expected", "note"),
    [
        (flow("PAUSED", "other"), "waiting", "the flow run does not wait at this pause"),
        (flow("RUNNING", None), "waiting", "the flow run does not wait at this pause"),
        (flow("COMPLETED", None), "not_taken", "the flow run has ended"),
    ],
)
def test_prefect_gets_no_decision_while_it_waits_for_none(run, expected, note):
    def prefect(got: Got) -> Behaviour:
        assert not got.path.endswith("/resume")
        return document(404, {}) if "/input/" in got.path else document(200, run)

    with serve(prefect) as there:
        request = approved("prefect", there.url("/api"))
        carry()
    assert state(request) == (expected, note)


def test_an_endless_response_is_cut_off_and_tried_again():
    with serve(lambda got: endless_body) as there:
        request = approved("temporal", there.url(""))
        carry()
    kind, note = state(request)
    assert (kind, note) == ("waiting", "the response is not HTTP, or incomplete") or "longer than" in note


def test_a_credential_that_an_engine_repeats_stays_out_of_record_and_pages():
    with serve(lambda got: document(400, {"message": f"Bad key {SECRET}"})) as there:
        request = approved("temporal", there.url(""))
        carry()
    assert state(request) == ("not_taken", "Bad key •••")
    assert AuditEntry.objects.get(event="callback.not_taken").data["reason"] == "Bad key •••"


def test_a_private_address_is_never_called_unless_an_administrator_allows_it():
    with serve(lambda got: document(200, SUCCESS)) as there:
        request = make_waiting(make_engine("temporal", there.url(""), private=False), alice())
        decide(request, bob(), Verdict.APPROVE)
        carry()
    assert there.got == []
    assert state(request) == ("waiting", "the address must start with https://")


def test_a_disabled_engine_gets_its_decisions_when_it_is_enabled():
    with serve(lambda got: document(200, SUCCESS)) as there:
        request = approved("temporal", there.url(""))
        EngineConnection.objects.update(disabled_at=timezone.now())
        carry()
        assert state(request) == ("waiting", "the engine is disabled")
        EngineConnection.objects.update(disabled_at=None)
        later()
        carry()
    assert state(request) == ("taken", "")


def test_a_decision_of_a_rule_waits_some_seconds_for_the_engine():
    apply_policy({"name": "Small", "match": {"tools": ["refund"]}, "then": "allow"}, by=administrator())
    with serve(lambda got: document(200, SUCCESS)) as there:
        request = make_waiting(make_engine("temporal", there.url("")), alice(), tool_name="refund")
        assert stored(request).status == "approved"
        carry()
        assert (there.got, state(request)) == ([], ("waiting", ""))
        row = OutboxEvent.objects.get(channel=Channel.ENGINE)
        assert timedelta(seconds=4) < row.next_attempt_at - row.created_at < timedelta(seconds=7)
        later()
        carry()
    assert state(request) == ("taken", "")


def test_a_decision_that_never_arrives_is_given_up_after_days():
    with serve(lambda got: document(503, {})) as there:
        request = approved("temporal", there.url(""))
        OutboxEvent.objects.update(created_at=timezone.now() - timedelta(days=4))
        carry()
    # A gateway's error may come after the decision has arrived.
    assert (state(request), events()) == (("unknown", "answered 503"), ["callback.unknown"])
