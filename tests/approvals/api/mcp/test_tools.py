"""The request of each tool, and the caller's result for each decision."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from approvals import actions
from approvals.access import rate_limits
from approvals.access.tool_lists import ToolLists
from approvals.administration.keys.actions import change_tool_lists
from approvals.api.mcp import calls
from approvals.asking.answers import Answer
from approvals.background import sweep
from approvals.models import ApprovalRequest, AuditEntry, Workflow
from approvals.models.keys import ApiKey
from approvals.states import Door, Verdict
from tests.approvals.api.mcp.agent import QUESTION, REFUND, WRITE, Agent, decide, only
from tests.support.people import alice, bob, mallory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_waits(monkeypatch):
    for name in ("WAIT", "ROUND", "PATIENCE"):
        monkeypatch.setattr(calls, name, 0.0)


def expire() -> None:
    ApprovalRequest.objects.update(deadline_at=timezone.now() - timedelta(milliseconds=1))
    sweep.expire_due_requests()


def told(**more: object) -> dict[str, object]:
    return {"request_id": str(only().pk), "url": only().public_url, **more}


PENDING = "No one has decided yet. Do not run it. Call check_request with this request_id."


def test_a_question_is_asked_with_its_options_and_answered():
    agent, decider = Agent(alice()), bob()
    asked = agent.call("ask_human", QUESTION | {"options": ["red", {"label": "blue", "description": "like the sea"}]})
    words = "No one has answered yet. Call check_request with this request_id."
    assert asked.outcome == told(status="pending", message=words)
    stored = only()
    assert (stored.kind, stored.title, stored.allow_text, [one["label"] for one in stored.options]) == (
        "question",
        "Which colour?",
        True,
        ["red", "blue"],
    )
    assert (stored.workflow.source, stored.workflow.origin, stored.agent) == ("mcp", "MCP", "test client")
    decide(decider, Verdict.RESPOND, answer={"selected": ["blue"]})
    answer = {"fieldName": "", "selected": ["blue"], "selectedIndex": 1}
    found = agent.call("check_request", {"request_id": str(stored.pk)})
    assert found.outcome == told(status="answered", answer=answer, by="bob", message="Answered.")
    assert Workflow.objects.get().state == "completed"


def test_a_schema_makes_a_form():
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    Agent(alice()).call("ask_human", {"question": "Which size?\nOf the shirt.", "response_schema": schema})
    stored = only()
    assert (stored.kind, stored.title, stored.message) == ("form", "Which size?", "Which size?\nOf the shirt.")


def test_an_approval_returns_the_input_that_may_run():
    agent, decider = Agent(alice()), bob()
    asked = agent.call("request_approval", REFUND | {"reason": "Never arrived", "risk": "high", "timeout_seconds": 60})
    assert asked.outcome == told(status="pending", message=PENDING)
    stored = only()
    assert (stored.title, stored.tool_name, stored.input, stored.message, stored.priority) == (
        "Run refund?",
        "refund",
        REFUND["input"],
        "Never arrived",
        "high",
    )
    assert stored.deadline_at is not None
    decide(decider, Verdict.APPROVE, comment="And say sorry")
    words = "Approved. Run it with exactly this input, then call report_result."
    found = agent.call("check_request", {"request_id": str(stored.pk)})
    assert found.outcome == told(
        status="approved", input=REFUND["input"], by="bob", comment="And say sorry", message=words
    )


def test_an_action_in_words_is_the_title():
    Agent(alice()).call("request_approval", {"action": "Drop the table of orders", "input": {}})
    assert (only().title, only().tool_name) == ("Drop the table of orders", "")


def test_other_ends_tell_the_model_not_to_run_it():
    agent, decider = Agent(alice()), bob()
    found = {}
    for verdict in (Verdict.EDIT, Verdict.REJECT, Verdict.CANCEL, Verdict.EXPIRE):
        agent.call("request_approval", REFUND | {"timeout_seconds": 3600})
        request = ApprovalRequest.objects.get(status="pending")
        if verdict == Verdict.EXPIRE:
            expire()
        elif verdict == Verdict.CANCEL:
            actions.cancel(request.pk, by=decider, via=Door.DASHBOARD, comment="")
        else:
            edited = {"edited_input": {"order": "4711", "amount": 99}} if verdict == Verdict.EDIT else {}
            actions.decide(request.pk, Answer(verdict, **edited), by=decider, via=Door.DASHBOARD)
        ended = agent.call("check_request", {"request_id": str(request.pk)}).outcome
        found[verdict] = (ended["status"], ended.get("input"), ended["message"])
    assert found == {
        Verdict.EDIT: (
            "approved",
            {"order": "4711", "amount": 99},
            "Approved with changes. Run it with exactly this input, not with the one that you asked for.",
        ),
        Verdict.REJECT: (
            "rejected",
            None,
            "A person rejected this. Do not run it, and do not ask for the same again.",
        ),
        Verdict.CANCEL: ("cancelled", None, "The request was cancelled. Do not run it."),
        Verdict.EXPIRE: ("expired", None, "No one decided before the deadline. Do not run it."),
    }


def test_arguments_that_do_not_fit_are_explained_and_store_nothing():
    agent = Agent(alice())
    found = {
        "extra": agent.call("ask_human", QUESTION | {"colour": 1}),
        "empty": agent.call("ask_human", {"question": ""}),
        "schema": agent.call("ask_human", QUESTION | {"response_schema": {"type": 5}}),
        "options": agent.call("ask_human", QUESTION | {"options": ["x"] * 101}),
        "name": agent.call("request_approval", {"action": "r\u0435fund", "input": {}}),
        "risk": agent.call("request_approval", REFUND | {"risk": "some"}),
        "id": agent.call("check_request", {"request_id": "7"}),
        "title": agent.call("permission", WRITE | {"tool_name": "x" * 101}),
    }
    first = {name: response.result["content"][0]["text"].splitlines()[0] for name, response in found.items()}
    denied = {"behavior": "deny", "message": found["title"].value["message"]}
    assert found["title"].value == denied
    assert denied["message"].splitlines()[0] == "The arguments are invalid."
    del first["title"]
    assert first == dict.fromkeys(first, "The arguments are invalid.") | {
        "schema": "The request is invalid.",
        "name": "The request is invalid.",
    }
    assert found["extra"].refusal == "The arguments are invalid.\ncolour: Extra inputs are not permitted"
    assert not ApprovalRequest.objects.exists()


def test_a_key_without_the_scope_is_told_which_one_it_lacks():
    user = alice()
    reader, asker = Agent(user, "read"), Agent(user, "ask")
    words = "This key or token does not have the scope “%s”. Use one that has it."
    assert reader.call("ask_human", QUESTION).refusal == words % "ask"
    assert asker.call("check_request", {"request_id": str(uuid4())}).refusal == words % "read"
    assert reader.call("permission", WRITE).value == {"behavior": "deny", "message": words % "ask"}
    assert not ApprovalRequest.objects.exists()


def test_absent_requests_and_those_of_others_look_the_same():
    Agent(alice()).call("ask_human", QUESTION)
    stranger = Agent(mallory())
    found = {stranger.call("check_request", {"request_id": str(pk)}).refusal for pk in (only().pk, uuid4())}
    assert found == {"Request not found. It may not exist, or you may not have access."}
    assert stranger.call("report_result", {"request_id": str(only().pk), "output": 1}).refusal in found


def test_the_permission_prompt_allows_what_was_approved_and_denies_the_rest():
    agent, decider = Agent(alice()), bob()
    waiting = agent.call("permission", WRITE)
    assert "structuredContent" not in waiting.result
    words = f"No one has decided yet, so this was not run. The request is waiting at {only().public_url}."
    assert waiting.value == {"behavior": "deny", "message": words}
    assert (only().tool_name, only().tool_call_id, only().input) == ("Write", "toolu_1", {"path": "a.txt"})
    decide(decider, Verdict.EDIT, edited_input={"path": "b.txt"})
    # The same call again, as after a lost connection.
    assert agent.call("permission", WRITE).value == {"behavior": "allow", "updatedInput": {"path": "b.txt"}}


def test_a_permission_expires_before_its_call_ends_so_that_nobody_approves_what_is_gone():
    agent, before = Agent(alice()), timezone.now()
    agent.call("permission", WRITE)
    assert timedelta(seconds=3580) < only().deadline_at - before < timedelta(seconds=3600)
    # Nothing has swept it yet when the wait ends.
    ApprovalRequest.objects.update(deadline_at=timezone.now() - timedelta(milliseconds=1))
    words = "No one decided before the deadline, so this was not run."
    assert agent.call("permission", WRITE).value == {"behavior": "deny", "message": words}
    assert only().status == "expired"


def test_a_rejected_permission_says_why():
    agent, decider = Agent(alice()), bob()
    agent.call("permission", WRITE | {"unknown": 1})
    decide(decider, Verdict.REJECT, comment="Not this folder")
    assert agent.call("permission", WRITE).value == {
        "behavior": "deny",
        "message": "A person rejected this: Not this folder",
    }


def test_asking_counts_against_the_limit_of_the_key(settings, monkeypatch):
    settings.HITL_ASKS_PER_MINUTE = 1
    # Its own: keys of earlier tests had the same number.
    monkeypatch.setattr(rate_limits, "asks", rate_limits.Limit())
    agent = Agent(alice())
    agent.call("ask_human", QUESTION)
    assert agent.call("ask_human", {"question": "Another?"}).refusal.startswith("Too many requests. Try again in ")
    assert ApprovalRequest.objects.count() == 1


def test_a_permission_for_a_tool_that_the_key_denies_is_refused_and_nobody_is_asked():
    agent, admin = Agent(alice()), bob()
    change_tool_lists(ApiKey.objects.get().pk, ToolLists(denied=("wri*",)), by=admin, via=Door.DASHBOARD)
    words = "The tool Write is not allowed here, so this call was not run. Do not repeat it."
    for _ in range(2):
        assert agent.call("permission", WRITE).value == {"behavior": "deny", "message": words}
    entry = AuditEntry.objects.get(event="tool.denied")
    assert (entry.data["pattern"], entry.via, entry.tool_call_id, entry.retry_count) == ("wri*", "mcp", "toolu_1", 1)
    assert not ApprovalRequest.objects.exists()


def test_asking_people_is_allowed_only_by_a_list_that_names_the_tool():
    agent = Agent(alice())
    name = "mcp__desk__ask_human"
    asking = {"tool_name": name, "input": QUESTION, "tool_use_id": "toolu_2"}
    # Any server that an agent calls by this name: only the key's administrator knows whose tool that is.
    assert agent.call("permission", asking).value["behavior"] == "deny"
    assert ApprovalRequest.objects.get().pending
    for allowed, behavior in ((("mcp__desk__*",), "deny"), ((name,), "allow")):
        ApiKey.objects.update(tool_lists=ToolLists(allowed=allowed).document())
        assert (allowed, agent.call("permission", asking).value["behavior"]) == (allowed, behavior)
    ApiKey.objects.update(tool_lists=ToolLists(gated=("*", name), allowed=(name,)).document())
    assert agent.call("permission", asking).value["behavior"] == "deny"


@pytest.mark.parametrize(
    ("tool", "behavior"),
    [
        ("ask_human", "allow"),
        ("check_request", "allow"),
        ("permission", "allow"),
        ("report_result", "allow"),
        ("request_approval", "allow"),
        ("another", "deny"),
    ],
)
def test_only_the_tools_of_pausepoint_itself_are_allowed_by_a_list_without_a_person(tool, behavior):
    agent = Agent(alice())
    name = f"mcp__desk__{tool}"
    ApiKey.objects.update(tool_lists=ToolLists(gated=(), allowed=(name,)).document())
    asking = {"tool_name": name, "input": QUESTION, "tool_use_id": "toolu_2"}
    assert agent.call("permission", asking).value["behavior"] == behavior
    assert ApprovalRequest.objects.exists() is (behavior == "deny")


#: Values that no request can store, where they are, and the error for the model.
UNSTORABLE = {
    "a large integer": ({"amount": 2**53}, "input.amount: an integer is larger than 2^53; send it as a string"),
    "a small integer": (
        {"rows": [1, {"id": -(2**60)}]},
        "input.rows.1.id: an integer is larger than 2^53; send it as a string",
    ),
    "NUL": ({"memo": "a\x00b"}, "input.memo: text contains a NUL or an unpaired surrogate"),
    "half of a character": ({"memo": "\ud83d"}, "input.memo: text contains a NUL or an unpaired surrogate"),
    "half of a character in a name": ({"\ud83d": 1}, "input.\ufffd: text contains a NUL or an unpaired surrogate"),
}


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("case", UNSTORABLE)
def test_a_value_that_cannot_be_stored_is_a_result_that_the_model_reads(case, modern):
    given, words = UNSTORABLE[case]
    response = Agent(alice(), modern=modern).call("request_approval", {"action": "refund", "input": given})
    result = {"content": [{"type": "text", "text": f"The arguments are invalid.\n{words}"}], "isError": True}
    assert (response.answer.status, {name: response.result[name] for name in result}) == (200, result)
    assert (response.messages[-1]["id"], ApprovalRequest.objects.count()) == (response.answer.json["id"], 0)


def test_a_report_with_a_value_that_cannot_be_stored_is_told_to_the_model_too():
    report = {"request_id": str(uuid4()), "output": {"id": 2**60}}
    words = "The arguments are invalid.\noutput.id: an integer is larger than 2^53; send it as a string"
    assert Agent(alice()).call("report_result", report).result["content"][0]["text"] == words


def test_a_permission_with_a_value_that_cannot_be_stored_is_denied_in_words():
    call = WRITE | {"input": {"n": 2**60}}
    message = "The arguments are invalid.\ninput.n: an integer is larger than 2^53; send it as a string"
    assert Agent(alice()).call("permission", call).value == {"behavior": "deny", "message": message}


def test_a_value_beside_the_arguments_that_cannot_be_stored_is_told_without_a_place():
    response = Agent(alice()).call("ask_human", QUESTION, meta={"trace": 2**60})
    assert response.result["content"][0]["text"] == (
        "The body could not be read: an integer is larger than 2^53; send it as a string."
    )


def test_an_unknown_tool_stays_an_error_of_the_protocol():
    assert Agent(alice()).call("no_such_tool", {"n": 2**60}).error[1] == -32602


def test_a_large_file_is_not_blamed_for_another_value_that_cannot_be_stored():
    file = {"name": "a.txt", "media_type": "text/plain", "content": "eA==" * 300_000}
    call = {"action": "refund", "input": {"n": 2**60}, "attachments": [file]}
    words = Agent(alice()).call("request_approval", call).refusal
    assert words == "The arguments are invalid.\ninput.n: an integer is larger than 2^53; send it as a string"
