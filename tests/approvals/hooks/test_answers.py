"""Hooks of coding agents: each event is asked in its shape and answered in its shape, once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from approvals import actions
from approvals.background.sweep import expire_due_requests
from approvals.models import ApprovalRequest, Workflow
from approvals.pages.cards import About
from approvals.shown.requests import shown_request
from approvals.states import Door, Verdict
from tests.approvals.hooks import calls
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, decide, only
from tests.support.desk.requests import PAST
from tests.support.desk.ruling import apply_policy
from tests.support.machine import Machine, Reply
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

NOW, DEFER = "?wait=0", "?wait=defer"
APPROVE, EDIT, REJECT, RESPOND = Verdict.APPROVE, Verdict.EDIT, Verdict.REJECT, Verdict.RESPOND
EDITED = {"command": "rm -rf build/old", "description": "Clean up"}


def ended(body: dict, verdict: Verdict, address: str = CLAUDE_CODE, **said) -> dict:
    """Return the agent's answer to its call, once decided."""
    agent, decider = Machine(alice()), bob()
    first = agent.post(address + NOW, body)
    decide(decider, verdict, **said)
    again = agent.post(address + NOW, body)
    assert (first.status, again.status, again.replayed, ApprovalRequest.objects.count()) == (200, 200, True, 1)
    assert again.headers["pausepoint-status"] == only().status
    return output(again, body)


def output(reply: Reply, body: dict) -> dict:
    """The answer without its envelope."""
    (name, found), *others = reply.body.items()
    assert (name, found.pop("hookEventName"), others) == ("hookSpecificOutput", body["hook_event_name"], [])
    return found


def test_a_call_becomes_a_request_with_its_directory_and_is_closed_while_it_waits():
    reply = Machine(alice()).post(CLAUDE_CODE + NOW, BASH)
    asked = only()
    assert (asked.kind, asked.title, asked.tool_name, asked.input, asked.context, asked.tool_call_id) == (
        "approval",
        "Run a command in app?",
        "Bash",
        BASH["tool_input"],
        {"directory": "/srv/app"},
        f"{BASH['session_id']}:{BASH['prompt_id']}:toolu_0001",
    )
    workflow = Workflow.objects.get()
    assert (workflow.agent, workflow.thread_id, workflow.source) == ("Claude Code", BASH["session_id"], "api")
    words = f"No one has decided this yet, so it was not run. It is waiting at {asked.public_url}"
    assert output(reply, BASH) == {"permissionDecision": "deny", "permissionDecisionReason": words}
    assert (reply.headers["pausepoint-status"], reply.headers["pausepoint-request"]) == ("pending", asked.public_url)


@pytest.mark.parametrize(
    ("tool", "given", "title"),
    [
        ("Bash", {"command": "ls"}, "Run a command in app?"),
        ("Edit", {"file_path": "/srv/a.py", "old_string": "a", "new_string": "b"}, "Edit a.py?"),
        ("Write", {"file_path": "/srv/a.py", "content": "b"}, "Write a.py?"),
        ("apply_patch", {"command": "*** Begin Patch"}, "Apply a patch?"),
        ("WebFetch", {"url": "https://github.com@evil.example/x"}, "Fetch from evil.example?"),
        ("WebFetch", {"url": "https://evil.example\\@github.com/x"}, "Run WebFetch?"),
        ("mcp__crm__delete", {"id": 7}, "Run mcp__crm__delete?"),
    ],
)
def test_a_title_says_what_the_call_does(tool, given, title):
    Machine(alice()).post(CLAUDE_CODE + NOW, BASH | {"tool_name": tool, "tool_input": given})
    assert only().title == title
    # It is Pausepoint's own, so no page quotes it as the agent's.
    shown = shown_request(only())
    assert not About(shown, shown).quotes_title


@pytest.mark.shows("claude-code", "person")
@pytest.mark.parametrize(
    ("verdict", "said", "heard"),
    [
        (
            APPROVE,
            {},
            {
                "permissionDecision": "allow",
                "permissionDecisionReason": "Approved by bob.",
                "updatedInput": BASH["tool_input"],
            },
        ),
        (
            EDIT,
            {"edited_input": EDITED},
            {"permissionDecision": "allow", "permissionDecisionReason": "Approved by bob.", "updatedInput": EDITED},
        ),
        (
            REJECT,
            {"comment": "Not this folder"},
            {
                "permissionDecision": "deny",
                "permissionDecisionReason": "A person declined this call: Not this folder. Do not repeat it.",
            },
        ),
        (
            REJECT,
            {},
            {
                "permissionDecision": "deny",
                "permissionDecisionReason": "A person declined this call. Do not repeat it.",
            },
        ),
    ],
)
def test_pre_tool_use_of_claude_code_is_answered_in_its_shape(verdict, said, heard):
    assert ended(BASH, verdict, **said) == heard


@pytest.mark.parametrize(
    ("verdict", "said", "heard"),
    [
        (APPROVE, {}, {"behavior": "allow", "updatedInput": BASH["tool_input"]}),
        (EDIT, {"edited_input": EDITED}, {"behavior": "allow", "updatedInput": EDITED}),
        (
            REJECT,
            {"comment": "No!"},
            {"behavior": "deny", "message": "A person declined this call: No! Do not repeat it."},
        ),
    ],
)
def test_a_permission_request_of_claude_code_is_answered_in_its_shape(verdict, said, heard):
    assert ended(calls.PERMISSION, verdict, **said) == {"decision": heard}


PLAN = {
    "hook_event_name": "PreToolUse",
    "session_id": "s-1",
    "prompt_id": "p-1",
    "cwd": "/srv/shop",
    "tool_name": "ExitPlanMode",
    "tool_use_id": "toolu_1",
    "tool_input": {"plan": "1. write w\n2. run the tests"},
}


PLAN_PERMISSION = {name: value for name, value in PLAN.items() if name != "tool_use_id"} | {
    "hook_event_name": "PermissionRequest"
}


def test_a_plan_that_is_approved_unchanged_comes_back_with_the_plan_because_claude_code_asks_again_otherwise():
    assert ended(PLAN, APPROVE) == {
        "permissionDecision": "allow",
        "permissionDecisionReason": "Approved by bob.",
        "updatedInput": PLAN["tool_input"],
    }


def test_a_permission_for_a_plan_comes_with_the_plan():
    assert ended(PLAN_PERMISSION, APPROVE) == {"decision": {"behavior": "allow", "updatedInput": PLAN["tool_input"]}}


def test_a_tool_without_any_input_is_approved_with_an_empty_one():
    assert ended(BASH | {"tool_name": "mcp__crm__sync", "tool_input": {}}, APPROVE)["updatedInput"] == {}


def test_a_permission_request_of_codex_is_approved_without_an_input_which_it_would_not_take():
    assert ended(calls.CODEX_PERMISSION, APPROVE, CODEX) == {"decision": {"behavior": "allow"}}


@pytest.mark.shows("codex", "person")
def test_codex_gets_the_input_back_with_every_approval_because_it_takes_none_without():
    heard = ended(calls.CODEX_BASH, APPROVE, CODEX)
    assert heard == {
        "permissionDecision": "allow",
        "permissionDecisionReason": "Approved by bob.",
        "updatedInput": {"command": "rm -rf build"},
    }
    assert Workflow.objects.get().agent == "Codex"


def test_codex_cannot_take_a_changed_input_in_a_permission_request_so_its_model_is_told_the_change():
    edited = {"command": "ls"}
    assert ended(calls.CODEX_PERMISSION, EDIT, CODEX, edited_input=edited) == {
        "decision": {
            "behavior": "deny",
            "message": "A person approved this call only with changes, which Codex cannot make itself. "
            'Call the tool with this input: {"command": "ls"}',
        }
    }


def test_nothing_of_a_deferred_call_waits_and_the_resumed_call_gets_the_stored_decision():
    agent, decider = Machine(alice()), bob()
    first, second = (output(agent.post(CLAUDE_CODE + DEFER, BASH), BASH) for _ in range(2))
    assert (first["permissionDecision"], first) == ("defer", second)
    decide(decider, EDIT, edited_input=EDITED)
    resumed = {name: value for name, value in BASH.items() if name != "prompt_id"} | {"permission_mode": "plan"}
    heard = output(agent.post(CLAUDE_CODE + DEFER, resumed), resumed)
    assert (heard["permissionDecision"], heard["updatedInput"], ApprovalRequest.objects.count()) == ("allow", EDITED, 1)


def test_a_call_that_is_cancelled_is_denied_in_words():
    agent = Machine(alice())
    agent.post(CLAUDE_CODE + NOW, BASH)
    actions.cancel(only().pk, by=agent.key.user, via=Door.DASHBOARD, comment="Never mind")
    heard = output(agent.post(CLAUDE_CODE + NOW, BASH), BASH)
    assert heard["permissionDecisionReason"] == "This call was cancelled: Never mind. Do not repeat it."


def test_a_call_that_is_waited_for_expires_so_that_nobody_approves_what_is_gone():
    agent, longer = Machine(alice()), BASH | {"tool_use_id": "toolu_0002"}
    before = timezone.now()
    agent.post(CLAUDE_CODE + NOW, BASH)
    agent.post(f"{CLAUDE_CODE}{NOW}&expires=3600", longer)
    lived = [one.deadline_at - before for one in ApprovalRequest.objects.order_by("deadline_at")]
    assert [found // timedelta(minutes=1) for found in lived] == [9, 60]
    ApprovalRequest.objects.update(deadline_at=PAST)
    expire_due_requests()
    heard = output(agent.post(CLAUDE_CODE + NOW, BASH), BASH)
    assert heard["permissionDecisionReason"] == "No one decided in time, so this call was not run."


@pytest.mark.parametrize(("body", "wait"), [(BASH, DEFER), (calls.PERMISSION, NOW), (calls.ELICITATION, NOW)])
def test_a_call_that_can_be_asked_about_again_has_no_deadline(body, wait):
    Machine(alice()).post(CLAUDE_CODE + wait, body)
    assert only().deadline_at is None


def test_a_question_is_asked_with_its_options_and_answered_in_the_input():
    heard = ended(calls.QUESTION, RESPOND, answer={"selected": ["Red"]})
    asked = only()
    assert (asked.kind, asked.title, asked.allow_text, [one["label"] for one in asked.options]) == (
        "question",
        "Which colour?",
        True,
        ["Red", "Blue"],
    )
    assert heard["updatedInput"] == {"questions": [calls.COLOUR], "answers": {"Which colour?": "Red"}}


def test_several_questions_become_one_form():
    body = calls.QUESTION | {"tool_input": {"questions": [calls.COLOUR, calls.SIZES]}}
    heard = ended(body, RESPOND, answer={"question1": "Blue", "question2": ["S", "L"]})
    asked = only()
    assert (asked.kind, asked.title) == ("form", "Which colour? · Which sizes?")
    explained = [field.get("description") for field in asked.response_schema["properties"].values()]
    assert explained == ["Red: like a rose · Blue: like the sea", None]
    assert heard["updatedInput"]["answers"] == {"Which colour?": "Blue", "Which sizes?": "S, L"}


def test_a_declined_question_is_told_to_the_model():
    heard = ended(calls.QUESTION, REJECT, comment="Ask the designer")
    assert heard["permissionDecisionReason"] == "A person declined to answer: Ask the designer."


@pytest.mark.parametrize(
    ("verdict", "said", "heard"),
    [
        (RESPOND, {"answer": {"colour": "red"}}, {"action": "accept", "content": {"colour": "red"}}),
        (REJECT, {"comment": "No"}, {"action": "decline"}),
    ],
)
def test_an_elicitation_becomes_a_form_with_its_schema(verdict, said, heard):
    assert ended(calls.ELICITATION, verdict, **said) == heard
    asked = only()
    assert (asked.kind, asked.title, asked.response_schema, asked.context) == (
        "form",
        "Which colour do you like?",
        calls.ELICITATION["requested_schema"],
        {"directory": "/srv/app", "server": "colours"},
    )


@pytest.mark.parametrize(("verdict", "action"), [(APPROVE, "accept"), (REJECT, "decline")])
def test_an_elicitation_with_an_address_is_an_approval_of_opening_it(verdict, action):
    body = calls.ELICITATION | {"mode": "url", "url": "https://bank.example.org/consent"}
    del body["requested_schema"]
    assert ended(body, verdict) == {"action": action}
    assert (only().kind, only().input) == ("approval", {"url": "https://bank.example.org/consent"})


def test_an_elicitation_that_nobody_has_answered_is_cancelled():
    reply = Machine(alice()).post(CLAUDE_CODE + NOW, calls.ELICITATION)
    assert output(reply, calls.ELICITATION) == {"action": "cancel"}


def test_calls_without_an_id_are_known_by_prompt_tool_and_input():
    agent = Machine(alice())
    others = [
        {},
        {"permission_mode": "plan", "permission_suggestions": [{"type": "addRules"}]},  # the same call
        {"prompt_id": "another"},
        {"session_id": "another"},
        {"tool_name": "PowerShell"},
        {"tool_input": {"command": "ls"}},
        {"cwd": "/srv/other"},
    ]
    for other in others:
        agent.post(CLAUDE_CODE + NOW, calls.PERMISSION | other)
    assert ApprovalRequest.objects.count() == len(others) - 1


def test_long_ids_are_kept_apart_too():
    agent = Machine(alice())
    for number in range(2):
        agent.post(CLAUDE_CODE + NOW, BASH | {"session_id": "s" * 200, "tool_use_id": f"{'t' * 199}{number}"})
    assert ApprovalRequest.objects.count() == 2


@pytest.mark.parametrize("address", [CLAUDE_CODE, CODEX])
def test_at_a_deadline_that_stops_the_run_only_claude_code_is_told_to_stop_beside_the_refusal(address):
    apply_policy({"name": "Stop", "then": "ask", "ask": {"deadline": {"after": 600, "then": "halt"}}})
    agent = Machine(alice())
    agent.post(address + NOW, BASH)
    ApprovalRequest.objects.update(deadline_at=PAST)
    expire_due_requests()
    words = "No one decided in time, so the policy stops the run. Do nothing more."
    body = agent.post(address + NOW, BASH).body
    stops = {"continue": False, "stopReason": words} if address == CLAUDE_CODE else {}
    refusal = {"permissionDecision": "deny", "permissionDecisionReason": words}
    assert body == {"hookSpecificOutput": {"hookEventName": "PreToolUse", **refusal}} | stops
