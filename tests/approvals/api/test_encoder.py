"""AgentForge's event shapes, byte for byte, and the cursors in their ids; without a database."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.api import exchange
from approvals.api.agentforge import encode
from approvals.api.agentforge.encode import StreamCursor, end_events, frames, request_events
from approvals.api.exchange import Asked, Ended
from tests.support.desk.following import Parser

QUESTION = Asked(request_id="r-1", thread_id="t-1", kind="question", title="Which colour?", created_at=1000)
APPROVAL = Asked(
    request_id="r-2", thread_id="t-1", kind="approval", title="Refund?", tool="refund", input={"a": 1}, created_at=2
)
FORM = Asked(request_id="r-3", thread_id="t-1", kind="form", title="Where?", schema={"type": "object"}, created_at=3)
ENTRIES, SHOWN = st.integers(0, 10**18 - 2), st.integers(0, 99)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
ASKED = st.builds(
    Asked,
    request_id=st.uuids().map(str),
    thread_id=st.text(max_size=20),
    kind=st.sampled_from(["question", "approval", "form", "recovery"]),
    title=st.text(min_size=1, max_size=20),
    message=st.text(max_size=20),
    context=JSON,
    input=st.dictionaries(st.text(max_size=5), JSON, max_size=2),
    timeout=st.integers(0, 10**13),
    default=st.none() | st.text(max_size=9),
    suggestions=st.lists(st.text(max_size=9), max_size=3),
    created_at=st.integers(0, 10**13),
)
ENDED = st.builds(
    Ended,
    status=st.sampled_from(["approved", "rejected", "answered", "cancelled", "expired"]),
    has_value=st.booleans(),
    value=JSON,
    text=st.text(max_size=9),
    comment=st.text(max_size=9),
    stopped=st.booleans(),
)


def told(events) -> list[tuple[str, str, dict]]:
    return [(one.event, one.id, dict(one.data)) for one in events]


def test_a_question_is_a_human_request_and_an_interrupt_of_the_same_id():
    request = {
        "id": "r-1",
        "question": "Which colour?",
        "priority": "normal",
        "createdAt": 1000,
        "timeout": 0,
        "status": "pending",
    }
    interrupt = {
        "type": "human_request",
        "id": "r-1",
        "createdAt": 1000,
        "data": request,
        "metadata": {"priority": "normal", "timeout": 0},
    }
    assert told(request_events(QUESTION, first=True)) == [
        ("human_request", "r-1", {"type": "human_request", "request": request, "threadId": "t-1"}),
        ("interrupt", "r-1", {"type": "interrupt", "interrupt": interrupt, "threadId": "t-1"}),
        ("agent_waiting", "", {"type": "agent_waiting", "reason": "Which colour?", "threadId": "t-1"}),
    ]


def test_optional_fields_of_a_question_are_included_only_if_set():
    full = Asked(
        request_id="r",
        thread_id="t",
        kind="question",
        title="Q",
        created_at=1,
        context={"a": 1},
        priority="high",
        timeout=2**31,
        default="",
        suggestions=["x"],
    )
    (human, _) = request_events(full, first=False)
    assert human.data["request"] == {
        "id": "r",
        "question": "Q",
        "context": {"a": 1},
        "priority": "high",
        "createdAt": 1,
        "timeout": 2**31 - 1,
        "defaultResponse": "",
        "suggestions": ["x"],
        "status": "pending",
    }


@pytest.mark.parametrize(
    ("title", "message", "question"),
    [("Q?", "", "Q?"), ("Q?", "More.", "Q?\n\nMore."), ("Long…", "Longer than that", "Longer than that")],
)
def test_the_question_combines_title_and_message(title, message, question):
    asked = Asked(request_id="r", thread_id="t", kind="question", title=title, message=message, created_at=1)
    assert encode.question_of(asked) == question


def test_an_approval_is_an_approval_interrupt_and_a_form_a_custom_one():
    (approval,) = request_events(APPROVAL, first=False)
    assert approval.data["interrupt"] == {
        "type": "approval_required",
        "id": "r-2",
        "createdAt": 2,
        "data": {"action": "refund", "description": "Refund?", "context": {"input": {"a": 1}}},
        "metadata": {"priority": "normal", "timeout": 0},
    }
    (form,) = request_events(FORM, first=False)
    assert (form.data["interrupt"]["type"], form.data["interrupt"]["data"]) == (
        "custom",
        {"kind": "form", "title": "Where?", "message": "", "input": {}, "schema": {"type": "object"}},
    )


def test_an_answer_is_a_response_and_a_resume_with_the_same_text():
    answered = Ended(status="answered", has_value=True, value="blue", text="blue")
    assert told(end_events(QUESTION, answered, last=True)) == [
        (
            "human_response",
            "response-r-1",
            {"type": "human_response", "requestId": "r-1", "response": "blue", "threadId": "t-1"},
        ),
        ("resume", "resume-r-1", {"type": "resume", "interruptId": "r-1", "value": "blue", "threadId": "t-1"}),
        ("agent_resumed", "", {"type": "agent_resumed", "threadId": "t-1"}),
    ]


def test_a_deadline_with_a_default_times_out_and_resumes_with_it():
    asked = Asked(request_id="r", thread_id="t", kind="question", title="Q", created_at=1, default="")
    expired = Ended(status="expired", has_value=True, value="", text="")
    assert told(end_events(asked, expired, last=False)) == [
        (
            "human_timeout",
            "timeout-r",
            {"type": "human_timeout", "requestId": "r", "defaultResponse": "", "threadId": "t"},
        ),
        ("resume", "resume-r", {"type": "resume", "interruptId": "r", "value": "", "threadId": "t"}),
    ]


def test_a_deadline_without_a_default_times_out_with_an_error():
    assert told(end_events(QUESTION, Ended(status="expired"), last=False)) == [
        ("human_timeout", "timeout-r-1", {"type": "human_timeout", "requestId": "r-1", "threadId": "t-1"}),
        (
            "human_error",
            "error-r-1",
            {"type": "human_error", "requestId": "r-1", "error": exchange.UNANSWERED, "threadId": "t-1"},
        ),
    ]


@pytest.mark.parametrize(
    ("asked", "ended", "value"),
    [
        (APPROVAL, Ended(status="approved"), {"approved": True}),
        (APPROVAL, Ended(status="approved", has_value=True, value={"a": 2}), {"approved": True, "input": {"a": 2}}),
        (APPROVAL, Ended(status="rejected", comment="No."), {"approved": False, "comment": "No."}),
        (APPROVAL, Ended(status="expired"), {"approved": False}),
        (FORM, Ended(status="answered", has_value=True, value={"b": 1}), {"b": 1}),
        (FORM, Ended(status="rejected", comment="No."), {"declined": True, "comment": "No."}),
        (QUESTION, Ended(status="rejected"), "The person declined to answer."),
    ],
)
def test_the_agent_resumes_with_the_answer(asked, ended, value):
    (resume,) = [one for one in end_events(asked, ended, last=False) if one.event == "resume"]
    assert resume.data["value"] == value


@pytest.mark.parametrize("asked", [QUESTION, APPROVAL, FORM])
def test_a_cancelled_request_is_an_error_and_a_stopped_agent_does_not_resume(asked):
    ended = Ended(status="cancelled", comment="Stopped.", stopped=True)
    (error,) = end_events(asked, ended, last=True)
    assert (error.event, error.data["error"]) == ("human_error", "The request was cancelled. Stopped.")


def test_a_frame_has_the_event_name_agentforges_id_and_the_cursor():
    events = request_events(QUESTION, first=True)
    assert [frame.split(b"\n")[:2] for frame in frames(41, events)] == [
        [b"id: r-1;41.1", b"event: human_request"],
        [b"id: r-1;41.2", b"event: interrupt"],
        [b"id: 42.0", b"event: agent_waiting"],
    ]
    assert frames(41, events, skip=2) == frames(41, events)[2:]
    assert encode.opening(StreamCursor(42)) == b": connected\nid: 42.0\n\n"


@given(ASKED, ENDED, st.booleans(), st.integers(1, 10**17), st.data())
def test_events_are_parsed_back_wherever_the_bytes_are_cut(asked, ended, last, entry, data):
    events = [*request_events(asked, first=last), *end_events(asked, ended, last=last)]
    stream = b"".join(frames(entry, events))
    parser, heard, start = Parser(), [], 0
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=3)))
    for cut in [*cuts, len(stream)]:
        # A browser joins bytes to characters; the parser of these tests gets whole ones.
        while cut < len(stream) and stream[cut] & 0xC0 == 0x80:
            cut += 1
        heard += parser.feed(stream[start:cut])
        start = max(start, cut)
    assert [(one.event, one.own_id, one.data) for one in heard] == [
        (one.event, one.id, json.loads(json.dumps(one.data))) for one in events
    ]
    assert [one.data["type"] for one in heard] == [one.event for one in heard]
    places = [StreamCursor.of_event(one.id) for one in heard]
    assert places == sorted(set(places))
    assert places[-1] == StreamCursor(entry + 1)
    for place, behind in enumerate(places[:-1], 1):
        assert frames(entry, events, skip=behind.shown) == frames(entry, events)[place:]


@given(ENTRIES, SHOWN)
def test_a_stream_cursor_is_parsed_back_from_its_text(entry, shown):
    assert StreamCursor.of_event(f"response-9b1d-xyz;{StreamCursor(entry, shown)}") == StreamCursor.of_event(
        str(StreamCursor(entry, shown))
    )
    assert StreamCursor.of_event(str(StreamCursor(entry, shown))) == StreamCursor(entry, shown)


@given(st.text(max_size=40) | st.from_regex(r"[\w-]*;?\d*\.?\d*"))
def test_any_text_parses_to_the_cursor_at_its_end_or_to_none(text):
    found = StreamCursor.of_event(text)
    assert found is None or [found.entry, found.shown] == [int(n) for n in text.rpartition(";")[2].split(".")]


@pytest.mark.parametrize(
    "text", ["", "1", "1.", ".1", "-1.0", "1.0\n", "٣.0", "1.0;", "x;1.0;", "1e3.0", "9" * 19 + ".0"]
)
def test_malformed_cursors_parse_to_none(text):
    assert StreamCursor.of_event(text) is None
