"""Reports of approved calls of coding agents: recorded as their results, or as something else if another input ran."""

from __future__ import annotations

import pytest

from approvals.models import AuditEntry
from approvals.states import Verdict
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, CODEX_BASH, QUESTION, decide, only
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

NOW = "?wait=0"
EDITED = {"command": "ls"}


def ran(call: dict, **changes: object) -> dict:
    return call | {"hook_event_name": "PostToolUse", "tool_response": {"stdout": "out"}} | changes


def failed(call: dict, **changes: object) -> dict:
    return call | {"hook_event_name": "PostToolUseFailure", "error": "Exit code 3"} | changes


def approved(
    call: dict = BASH, address: str = CLAUDE_CODE, verdict: Verdict = Verdict.APPROVE, **said: object
) -> Machine:
    agent, decider = Machine(alice()), bob()
    agent.post(address + NOW, call)
    decide(decider, verdict, **said)
    return agent


def results() -> list[dict]:
    return [entry.data for entry in AuditEntry.objects.filter(event="tool.result")]


def test_a_result_is_recorded_once():
    agent = approved()
    assert [agent.post(CLAUDE_CODE, ran(BASH)).body for _ in range(2)] == [{}, {}]
    (result,) = results()
    assert (result["state"], result["output"], result["executed_digest"]) == (
        "succeeded",
        {"stdout": "out"},
        only().input_digest,
    )
    assert agent.post(CLAUDE_CODE, ran(BASH, tool_response="other")).refusal == (409, "conflict")
    assert len(results()) == 1


def test_a_failure_is_recorded():
    assert approved().post(CLAUDE_CODE, failed(BASH)).body == {}
    assert (results()[0]["state"], results()[0]["error_text"]) == ("failed", "Exit code 3")


def test_codex_reports_text():
    agent = approved(CODEX_BASH, CODEX, Verdict.EDIT, edited_input=EDITED)
    assert agent.post(CODEX, ran(CODEX_BASH, tool_input=EDITED, tool_response="hi\n")).status == 200
    assert results()[0]["output"] == "hi\n"
    assert agent.post(CODEX, failed(CODEX_BASH)).refusal == (422, "invalid")


def test_another_input_than_the_approved_one_is_recorded_as_such():
    agent = approved()
    assert agent.post(CLAUDE_CODE, ran(BASH, tool_input=EDITED)).refusal == (409, "other_input")
    assert ([entry.event for entry in AuditEntry.objects.filter(event__startswith="tool.")], results()) == (
        ["tool.other_input"],
        [],
    )


@pytest.mark.parametrize("output", ["x" * 30_000, {"text": "x" * 30_000}, {"n": 2**60}, None, [], "\u2028"])
def test_outputs_of_any_size_are_recorded_within_bounds(output):
    assert approved().post(CLAUDE_CODE, ran(BASH, tool_response=output)).body == {}
    assert len(str(results()[0]["output"])) <= 20_001


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_text_that_no_database_takes_is_replaced(text):
    assert approved().post(CLAUDE_CODE, ran(BASH, tool_response=text)).body == {}
    assert results()[0]["output"] in {"a\ufffdb", "a?b"}


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"])
def test_errors_with_text_that_no_database_takes_are_recorded(text):
    assert approved().post(CLAUDE_CODE, failed(BASH, error=text)).body == {}
    assert results()[0]["error_text"] in {"a\ufffdb", "a?b"}


def test_nothing_is_recorded_of_calls_that_nobody_has_approved():
    agent, decider = Machine(alice()), bob()
    assert agent.post(CLAUDE_CODE, ran(BASH)).body == {}
    agent.post(CLAUDE_CODE + NOW, BASH)
    assert agent.post(CLAUDE_CODE, ran(BASH)).body == {}
    decide(decider, Verdict.REJECT)
    # Another key of the same person reports nothing about it either.
    assert [one.post(CLAUDE_CODE, failed(BASH)).body for one in (agent, Machine(agent.key.user))] == [{}, {}]
    assert results() == []


def test_an_answered_question_has_no_result():
    agent = approved(QUESTION, verdict=Verdict.RESPOND, answer="Red")
    assert (agent.post(CLAUDE_CODE, ran(QUESTION)).body, results()) == ({}, [])


@pytest.mark.parametrize(("address", "call"), [(CLAUDE_CODE, BASH), (CODEX, CODEX_BASH)])
@pytest.mark.parametrize(
    ("verdict", "said", "told"),
    [
        (Verdict.APPROVE, {}, []),
        (Verdict.APPROVE, {"comment": "Mind the tests."}, ["The person who approved this call says: Mind the tests."]),
        (
            Verdict.EDIT,
            {"edited_input": {"command": "ls -l"}, "comment": "Look first."},
            [
                "A person approved this call with changes, so it ran with a different input than you sent.",
                'It ran with this input: {"command": "ls -l"}',
                "The person who approved this call says: Look first.",
            ],
        ),
    ],
)
def test_the_model_reads_beside_the_result_what_a_person_has_changed_and_said(address, call, verdict, said, told):
    agent = approved(call, address, verdict, **said)
    body = agent.post(
        address, ran(call, **({"tool_input": said["edited_input"]} if "edited_input" in said else {}))
    ).body
    if not told:
        assert body == {}
        return
    (answer,) = body.values()
    assert set(body) == {"hookSpecificOutput"}
    assert set(answer) == {"hookEventName", "additionalContext"}
    assert answer["hookEventName"] == "PostToolUse"
    assert all(words in answer["additionalContext"] for words in told)


def test_a_long_change_is_told_by_the_names_of_what_was_changed():
    edited = {"command": "x" * 5_000, "timeout": 5}
    agent = approved(BASH, CLAUDE_CODE, Verdict.EDIT, edited_input=edited)
    words = agent.post(CLAUDE_CODE, failed(BASH, tool_input=edited)).body["hookSpecificOutput"]["additionalContext"]
    assert words.endswith("Changed: command, description, timeout.")
