"""The Python client without a network: repeats, refusals, and how fields are serialized."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pausepoint
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pausepoint.calls import ToolCall, same_input
from pausepoint.desk import asking, requests, transport
from pausepoint.desk.outcomes import outcome_of
from pausepoint.desk.transport import Call, ConnectionLost, Flow, Pause, Response

from approvals.api.requests import NewRequest

PENDING = {"id": "r1", "status": "pending", "url": "https://desk/requests/r1/"}
MADE = {"verdict": "edit", "by": "bob", "comment": "half", "answer": None}
APPROVED = {
    "id": "r1",
    "status": "approved",
    "decision": {**MADE, "approved_input": {"amount": 60}, "approved_digest": "sha256:1"},
}
EXPIRED = {
    "id": "r1",
    "status": "expired",
    "decision": {
        **MADE,
        "verdict": "expire",
        "by": None,
        "answer": "M",
        "approved_input": None,
        "approved_digest": None,
    },
}


def said(document: Any, status: int = 200) -> Response:
    return Response(status, json.dumps(document).encode())


def carry_out(talk: Flow[Any], heard: Sequence[Any]) -> tuple[Any, list[Call], list[Pause]]:
    """Answer the flow's calls with `heard`, one by one; return its result, its calls and its pauses."""
    left, calls, pauses, last = list(heard), [], [], None
    while True:
        try:
            step = talk.send(last)
        except StopIteration as done:
            assert left == []
            return done.value, calls, pauses
        if isinstance(step, Pause):
            pauses.append(step)
            last = None
        else:
            calls.append(step)
            last = left.pop(0)


def asked_by(title: str = "Pay?", key: str = "", **asked: Any) -> dict[str, Any]:
    """The one call that asking makes."""
    _, (call,), _ = carry_out(asking.ask(60, title, key, asked), [said(PENDING, 201)])
    return call


failures = st.lists(
    st.one_of(
        st.just(ConnectionLost("gone")),
        st.sampled_from(sorted(transport.PASSING)).map(lambda n: Response(n, b"<html>")),
    ),
    max_size=8,
)


@given(failures)
def test_the_same_request_is_sent_until_it_is_answered(lost):
    talk = asking.await_human(1000, "Pay?", "", None, {"input": {"amount": 120}})
    outcome, calls, pauses = carry_out(talk, [*lost, said(PENDING, 201), *lost, said(PENDING), said(APPROVED)])
    posts, gets = calls[: len(lost) + 1], calls[len(lost) + 1 :]
    assert posts == [posts[0]] * len(posts)
    assert len(posts[0].headers["Idempotency-Key"]) == 36
    assert {(call.method, call.path.partition("?")[0], call.content) for call in gets} == {
        ("GET", "/requests/r1", None)
    }
    assert (outcome.input, outcome.digest, outcome.by) == ({"amount": 60}, "sha256:1", "bob")
    assert (outcome.approved, outcome.edited, outcome.timed_out) == (True, True, False)
    assert len(pauses) == 2 * len(lost)
    assert all(0 < pause.seconds <= 1.5 * transport.LONGEST_PAUSE for pause in pauses)


def test_pauses_grow_and_respect_retry_after():
    busy = Response(429, b"", retry_after=7)
    _, _, pauses = carry_out(
        requests.end_workflow(1000, "w", "completed"), [busy, *[ConnectionLost("gone")] * 7, said({})]
    )
    seconds = [pause.seconds for pause in pauses]
    assert seconds[0] == 7
    assert seconds[-1] > 5 * 0.25


@pytest.mark.parametrize(
    ("heard", "words"), [(ConnectionLost("ConnectError"), "ConnectError"), (Response(503, b""), "it answered 503")]
)
def test_a_desk_that_stays_away_is_reported_as_unreachable(monkeypatch, heard, words):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(transport.time, "monotonic", lambda: next(clock))
    with pytest.raises(pausepoint.Unreachable, match=words):
        carry_out(requests.end_workflow(20, "w", "completed"), [heard] * 50)


def test_a_refusal_is_raised_with_its_code_and_the_fields():
    problem = {"code": "invalid", "detail": "Not like this.", "errors": {"title": "is too long"}}
    with pytest.raises(pausepoint.Refused, match=r"422 invalid: Not like this\. title: is too long\.") as refused:
        carry_out(asking.ask(60, "Pay?", "", {}), [said(problem, 422)])
    assert (refused.value.status, refused.value.code, refused.value.problem) == (422, "invalid", problem)


@pytest.mark.parametrize("answer", [Response(200, b"<html>"), Response(301, b""), said([1]), said("x", 404)])
def test_a_response_of_another_server_is_refused(answer):
    with pytest.raises(pausepoint.Refused, match="not from Pausepoint"):
        carry_out(asking.ask(60, "Pay?", "", {}), [answer])


def test_exactly_the_fields_of_the_api_can_be_given():
    assert set(pausepoint.Asked.__annotations__) | {"title"} == set(NewRequest.model_fields)


def test_fields_are_serialized_as_the_api_expects():
    call = asked_by(
        kind="question",
        options=["S", {"label": "M", "id": "m"}],
        timeout=timedelta(hours=1, microseconds=1),
        deadline=datetime(2026, 11, 21, 12, tzinfo=UTC),
    )
    assert call.body == {
        "kind": "question",
        "title": "Pay?",
        "options": [{"label": "S"}, {"label": "M", "id": "m"}],
        "timeout": 3_600_001,
        "deadline": "2026-11-21T12:00:00+00:00",
    }
    assert asked_by(timeout=5000).body["timeout"] == 5000


def test_a_request_is_identified_by_its_tool_call_or_a_given_or_generated_key():
    assert asked_by(tool_call_id="call-1").headers == {}
    assert asked_by(tool_call_id="call-1", key="k").headers == {"Idempotency-Key": "k"}
    assert asked_by().headers["Idempotency-Key"] != asked_by().headers["Idempotency-Key"]


def test_a_request_that_has_ended_is_not_waited_for():
    outcome, calls, _ = carry_out(asking.await_human(60, "Size?", "k", None, {}), [said(EXPIRED)])
    assert (outcome.status, outcome.answer, outcome.by, outcome.timed_out, len(calls)) == (
        "expired",
        "M",
        None,
        True,
        1,
    )


def test_waiting_ends_after_the_given_time():
    with pytest.raises(pausepoint.StillWaiting, match="https://desk/requests/r1/") as waiting:
        carry_out(asking.wait(60, "r1", 0), [said(PENDING)])
    assert waiting.value.request_id == "r1"


def test_cancelling_twice_succeeds_but_not_after_a_decision():
    gone = {"code": "already_decided", "decision": {"verdict": "cancel"}}
    cancelled = {**EXPIRED, "status": "cancelled"}
    outcome, calls, _ = carry_out(asking.cancel(60, "r1", ""), [said(gone, 409), said(cancelled)])
    assert (outcome.status, [call.method for call in calls]) == ("cancelled", ["POST", "GET"])
    with pytest.raises(pausepoint.Refused):
        carry_out(asking.cancel(60, "r1", ""), [said({**gone, "decision": {"verdict": "approve"}}, 409)])


def test_no_result_is_reported_for_an_unapproved_request():
    outcome = outcome_of(EXPIRED)
    with pytest.raises(ValueError, match="not approved"):
        carry_out(requests.report(60, outcome, {"output": 1}), [])


@pytest.mark.parametrize("kind", [pausepoint.Desk, pausepoint.AsyncDesk])
def test_the_address_of_the_desk_is_required(kind, monkeypatch):
    monkeypatch.delenv("PAUSEPOINT_URL", raising=False)
    monkeypatch.setenv("PAUSEPOINT_KEY", "pp_x")
    with pytest.raises(ValueError, match="PAUSEPOINT_URL"):
        kind()
    with pytest.raises(ValueError, match="begin with https"):
        kind("desk.example.com")
    monkeypatch.setenv("PAUSEPOINT_URL", "https://desk.example.com/")
    assert kind().base == "https://desk.example.com/api/v1"


@pytest.mark.parametrize("kind", [pausepoint.Desk, pausepoint.AsyncDesk])
@pytest.mark.parametrize(
    "address",
    [
        "http://desk:80a0",
        "http://desk:99999",
        "http://desk:0",
        "https://",
        "http:///desk",
        "https://desk?a=b",
        "https://desk#a",
        "http://desk\n",
        "http://xn--",
    ],
)
def test_an_address_that_no_call_could_reach_is_refused_at_once(kind, address):
    with pytest.raises(ValueError, match=r"Give one like https://desk\.example\.com:8443\.") as refused:
        kind(address, "pp_x")
    assert str(refused.value).startswith(f"This is not the address of a server: {address!r}")


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8000", "https://[::1]:443/", "http://desk/path/", "https://bücher.de"]
)
def test_other_addresses_are_used_as_they_are(address):
    assert pausepoint.Desk(address, "pp_x").base == f"{address.rstrip('/')}/api/v1"


def test_an_empty_tool_call_id_is_left_out():
    assert len(asked_by(tool_call_id=None).headers["Idempotency-Key"]) == 36
    assert asked_by(tool_call_id="call-1").headers == {}
    # The API takes no empty one.
    unnamed = asked_by(tool_call_id="")
    assert ("tool_call_id" in unnamed.body, len(unnamed.headers["Idempotency-Key"])) == (False, 36)


def test_calls_without_an_id_are_never_taken_for_each_other():
    call = ToolCall("refund", "", {"amount": 120}, thread="order-4711")
    assert (call.key, call.approval()["tool_call_id"], call.question()["tool_call_id"]) == ("", "", "")
    assert ToolCall("refund", "c1", {}, thread="order-4711").key == "order-4711:c1"


def test_an_approved_input_is_the_same_only_as_json():
    assert same_input({"all": True, "n": [1]}, {"n": [1], "all": True})
    assert not same_input({"all": True}, {"all": 1})


@pytest.mark.parametrize("value", ["a\nb", "a\x00", "schlüssel"])
def test_a_value_that_no_header_can_carry_is_refused_at_once(value):
    with pytest.raises(ValueError, match="idempotency_key may contain only printable ASCII"):
        asked_by(key=value)
    with pytest.raises(ValueError, match="key may contain only printable ASCII"):
        pausepoint.Desk("http://desk", value)


def test_an_id_stays_one_segment_of_the_url():
    _, (call,), _ = carry_out(requests.end_workflow(60, "a/../b?c", "completed"), [said({})])
    assert call.path == "/workflows/a%2F..%2Fb%3Fc/end"


def test_who_offers_options_asks_a_question():
    kinds = [
        asked_by().body["kind"],
        asked_by(options=["red", "blue"]).body["kind"],
        asked_by(allow_text=True).body["kind"],
        asked_by(response_schema={"type": "object"}).body["kind"],
        asked_by(kind="form", options=["red"]).body["kind"],
    ]
    assert kinds == ["approval", "question", "question", "approval", "form"]


def test_files_are_sent_in_base64_by_path_or_by_content(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(b"hello")
    files = [path, str(path), {"name": "a.csv", "content": b"x"}, {"name": "b.csv", "content": "eA=="}]
    sent = {"name": "note.txt", "content": "aGVsbG8="}
    expected = [sent, sent, {"name": "a.csv", "content": "eA=="}, {"name": "b.csv", "content": "eA=="}]
    assert asked_by(attachments=files).body["attachments"] == expected


def test_a_file_in_an_answer_is_sent_in_base64(tmp_path):
    path = tmp_path / "note.txt"
    path.write_bytes(b"hello")
    answer = {"scan": path, "note": "paid", "more": {"name": "a.csv", "content": b"x"}, "text": {"content": "eA=="}}
    _, (call,), _ = carry_out(requests.decide(60, "r1", "respond", "", {"answer": answer}), [said(APPROVED)])
    assert call.body["answer"] == {
        "scan": {"name": "note.txt", "content": "aGVsbG8="},
        "note": "paid",
        "more": {"name": "a.csv", "content": "eA=="},
        "text": {"content": "eA=="},
    }
