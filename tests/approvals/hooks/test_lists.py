"""The lists of a key: which calls of coding agents wait for a person, which are left to the agent, and which are refused."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.access.tool_lists import DEFAULT, MAX_PATTERN, MAX_PATTERNS, Ruling, ToolLists, lists_from, matches
from approvals.administration.keys import actions
from approvals.exceptions import Invalid, NotFound
from approvals.models import ApprovalRequest, AuditEntry
from approvals.models.keys import ApiKey
from tests.approvals.hooks.calls import BASH, CLAUDE_CODE, CODEX, CODEX_BASH, ELICITATION, PERMISSION
from tests.support.machine import Machine
from tests.support.people import alice, bob

NOW = "?wait=0"


def agent_with(**lists: tuple[str, ...]) -> Machine:
    agent = Machine(alice())
    actions.change_tool_lists(agent.key.pk, ToolLists(**lists), by=agent.key.user, via="admin")
    return agent


#: Inputs that no request could store.
UNSTORABLE = [{"n": 2**60}, {"text": "a\x00b"}, {"text": "\ud83d"}, {"\ud83d": 1}, {"deep": [[{"n": -(2**60)}]]}]


@pytest.mark.django_db
@pytest.mark.parametrize("given", UNSTORABLE)
def test_a_call_that_is_left_to_the_agent_may_have_an_input_that_cannot_be_stored(given):
    agent = agent_with(gated=("Bash",), allowed=("Read",))
    for tool in ("Read", "InNoList"):
        call = BASH | {"tool_name": tool, "tool_input": given}
        report = call | {"hook_event_name": "PostToolUse", "tool_response": given}
        permission = {name: value for name, value in call.items() if name != "tool_use_id"}
        permission["hook_event_name"] = "PermissionRequest"
        replies = [agent.post(CLAUDE_CODE + NOW, body) for body in (call, permission, report)]
        assert [(reply.status, reply.body) for reply in replies] == [(200, {})] * 3
    assert agent.post(CLAUDE_CODE + NOW, BASH | {"tool_input": given}).refusal == (422, "invalid")
    assert (ApprovalRequest.objects.count(), AuditEntry.objects.filter(event="tool.denied").count()) == (0, 0)


@pytest.mark.django_db
@pytest.mark.parametrize("body", [BASH, PERMISSION])
@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ({"n": 2**60, "password": "s3cret"}, {"n": str(2**60), "password": "s3cret"}),
        ({"text": "a\x00b"}, {"text": "a\ufffdb"}),
        ({"\ud83d": ["\ud83d"]}, {"\ufffd": ["\ufffd"]}),
        (json.loads('{"deep": ' + "[" * 100 + "]" * 100 + "}"), {}),
    ],
)
def test_a_denied_call_whose_input_cannot_be_stored_is_denied_in_words_and_on_record(body, given, recorded):
    agent = agent_with(denied=("Bash",))
    replies = [agent.post(CLAUDE_CODE, body | {"tool_input": given}) for _ in range(2)]
    output = replies[0].body["hookSpecificOutput"]
    said = output.get("permissionDecisionReason") or output["decision"]["message"]
    words = "The tool Bash is not allowed here, so this call was not run. Do not repeat it."
    assert ([reply.status for reply in replies], said) == ([200, 200], words)
    entry = AuditEntry.objects.get(event="tool.denied")
    assert (entry.data["input"], entry.retry_count) == (recorded, 1)


@pytest.mark.parametrize(
    ("pattern", "fits", "fits_not"),
    [
        ("Bash", ["Bash", "bash"], ["BashOutput", "", "Bas"]),
        ("mcp__*", ["mcp__", "mcp__crm__delete"], ["mcp_", "xmcp__"]),
        ("*", ["", "Bash"], []),
        ("a*b*a", ["aba", "axbxa"], ["aa", "ab", "aba "]),
        ("ab*ba", ["abba", "ab-ba"], ["aba"]),
        ("*delete*", ["delete", "mcp__crm__delete_all"], ["remove"]),
        (".*", [".", ".x"], ["x"]),
    ],
)
def test_a_pattern_fits_a_whole_name(pattern, fits, fits_not):
    assert [name for name in [*fits, *fits_not] if matches(pattern, name)] == fits


@given(st.lists(st.sampled_from(["a", "b", "ab", ""]), min_size=1, max_size=6), st.text("ab", max_size=12))
def test_patterns_fit_as_regular_expressions_would(parts, name):
    assert matches("*".join(parts), name) == bool(re.fullmatch(".*".join(parts), name))


@pytest.mark.parametrize(
    ("tool", "ruling"),
    [
        ("Bash", Ruling.GATED),
        ("WebFetch", Ruling.GATED),
        ("mcp__crm__read", Ruling.GATED),
        ("mcp__desk__ask_human", Ruling.GATED),
        ("something new", Ruling.GATED),
        ("Read", Ruling.ALLOWED),
        ("Grep", Ruling.ALLOWED),
    ],
)
def test_by_default_everything_waits_that_does_not_only_read(tool, ruling):
    assert DEFAULT.ruling(tool)[0] == ruling


#: The tools of Claude Code and Codex that read, or start sub-agents, whose calls arrive one by one.
LEFT_TO_THE_AGENT = [
    "Agent", "BashOutput", "EnterPlanMode", "Glob", "Grep", "LS", "ListMcpResourcesTool", "NotebookRead", "Read", "Task",
    "TaskCreate", "TaskGet", "TaskList", "TaskOutput", "TaskUpdate", "TodoRead", "TodoWrite", "ToolSearch",
    "update_plan", "view_image",
]  # fmt: skip


@pytest.mark.parametrize("tool", LEFT_TO_THE_AGENT)
def test_by_default_no_one_is_asked_about_a_tool_that_only_reads(tool):
    assert lists_from(None).ruling(tool) == (Ruling.ALLOWED, tool)
    assert lists_from(None).ruling(f"{tool}2") == (Ruling.GATED, "*")


def test_denied_wins_then_the_closest_pattern_and_of_two_alike_the_gated_one():
    lists = ToolLists(
        gated=("mcp__crm__delete", "Edit"), allowed=("mcp__*", "Edit", "Bash"), denied=("mcp__crm__d*", "B*")
    )
    tools = ("mcp__crm__read", "mcp__crm__delete", "Edit", "Bash", "unlisted")
    assert [lists.ruling(tool) for tool in tools] == [
        (Ruling.ALLOWED, "mcp__*"),
        (Ruling.DENIED, "mcp__crm__d*"),
        (Ruling.GATED, "Edit"),
        (Ruling.DENIED, "B*"),
        (Ruling.ALLOWED, ""),
    ]


def test_the_closest_pattern_is_the_one_that_spells_out_most_of_the_name():
    patterns = ("mcp__*", "*crm__read")
    assert ToolLists(gated=patterns).ruling("mcp__crm__read") == (Ruling.GATED, "*crm__read")
    assert ToolLists(gated=(), allowed=patterns).ruling("mcp__crm__read") == (Ruling.ALLOWED, "*crm__read")
    assert ToolLists(denied=patterns).ruling("mcp__crm__read") == (Ruling.DENIED, "*crm__read")


@pytest.mark.django_db
def test_a_tool_that_is_not_gated_gets_no_opinion_and_leaves_no_trace():
    agent = Machine(alice())
    before = AuditEntry.objects.count()
    for body in (BASH, PERMISSION):
        reply = agent.post(CLAUDE_CODE, body | {"tool_name": "Read"})
        assert (reply.status, reply.body, "pausepoint-status" in reply.headers) == (200, {}, False)
    assert agent.post(CODEX, CODEX_BASH | {"tool_name": "view_image"}).body == {}
    assert (ApprovalRequest.objects.count(), AuditEntry.objects.count()) == (0, before)


@pytest.mark.django_db
@pytest.mark.parametrize("body", [BASH, PERMISSION])
def test_a_denied_tool_is_refused_at_once_and_on_record_once(body):
    agent = agent_with(denied=("Bash",))
    replies = [agent.post(CLAUDE_CODE, body) for _ in range(2)]
    words = "The tool Bash is not allowed here, so this call was not run. Do not repeat it."
    said = {"permissionDecision": "deny", "permissionDecisionReason": words}
    if body is PERMISSION:
        said = {"decision": {"behavior": "deny", "message": words}}
    wanted = {"hookSpecificOutput": {"hookEventName": body["hook_event_name"], **said}}
    assert [(reply.status, reply.body) for reply in replies] == [(200, wanted)] * 2
    entry = AuditEntry.objects.get(event="tool.denied")
    assert (entry.tool_name, entry.agent, entry.thread_id, entry.scope, entry.retry_count) == (
        "Bash",
        "Claude Code",
        BASH["session_id"],
        agent.scope,
        1,
    )
    assert (entry.data["input"], entry.data["pattern"], entry.actor_name) == (
        BASH["tool_input"],
        "Bash",
        "API key a machine of alice",
    )
    assert ApprovalRequest.objects.count() == 0


@pytest.mark.django_db
def test_each_denied_call_under_a_repeated_id_is_on_record_once():
    agent = agent_with(denied=("Bash", "Edit"))
    calls = [BASH, BASH | {"tool_input": {"command": "ls"}}, BASH | {"tool_name": "Edit"}]
    for call in calls * 2:
        agent.post(CLAUDE_CODE, call)
    entries = AuditEntry.objects.filter(event="tool.denied").order_by("pk")
    assert [(entry.tool_name, entry.data["input"], entry.retry_count) for entry in entries] == [
        (call["tool_name"], call["tool_input"], 1) for call in calls
    ]


@pytest.mark.django_db
def test_the_lists_belong_to_one_key_and_elicitations_are_in_none():
    agent = agent_with(gated=(), allowed=("*",))
    other = Machine(agent.key.user)
    assert agent.post(CLAUDE_CODE + NOW, BASH).body == {}
    assert other.post(CLAUDE_CODE + NOW, BASH).body != {}
    agent.post(CLAUDE_CODE + NOW, ELICITATION)
    assert set(ApprovalRequest.objects.values_list("scope", "kind")) == {
        (other.scope, "approval"),
        (agent.scope, "form"),
    }


@pytest.mark.django_db
def test_changed_lists_are_on_record_with_what_was_before():
    key, by = Machine(alice()).key, bob()
    lists = ToolLists(gated=("Bash",), allowed=(), denied=("WebFetch",))
    for _ in range(2):
        assert actions.change_tool_lists(key.pk, lists, by=by, via="dashboard") is None
    entry = AuditEntry.objects.get(event="key.changed")
    assert (entry.data["tool_lists"], entry.data["before"], entry.data["name"], entry.actor_name) == (
        {"gated": ["Bash"], "allowed": [], "denied": ["WebFetch"]},
        DEFAULT.document(),
        "a machine",
        "bob",
    )
    assert lists_from(ApiKey.objects.get().tool_lists) == lists


def test_a_list_may_have_as_many_and_as_long_lines_as_its_bounds_say():
    ToolLists(denied=["x" * MAX_PATTERN] * MAX_PATTERNS).check()
    for name in ("gated", "allowed", "denied"):
        for wrong in (["x"] * (MAX_PATTERNS + 1), ["x" * (MAX_PATTERN + 1)]):
            with pytest.raises(Invalid) as refused:
                ToolLists(**{name: wrong}).check()
            assert list(refused.value.errors) == [name]


@pytest.mark.django_db
def test_lists_out_of_bounds_and_revoked_keys_are_refused():
    key, by = Machine(alice()).key, bob()
    for wrong in (["x y"], [""], ["ä"], ["x" * 101], ["\x00"], [f"a{number}" for number in range(MAX_PATTERNS + 1)]):
        with pytest.raises(Invalid):
            actions.change_tool_lists(key.pk, ToolLists(denied=wrong), by=by, via="dashboard")
    actions.revoke_key(key.pk, by=by, via="dashboard")
    for pk in (key.pk, key.pk + 1):
        with pytest.raises(NotFound):
            actions.change_tool_lists(pk, ToolLists(), by=by, via="dashboard")
    assert ApiKey.objects.get().tool_lists is None
