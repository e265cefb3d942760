"""`pausepoint hook` and its answer to an agent: one that the agent would not obey blocks the call."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pausepoint.hook.command import MARK, WORDS, Blocked, _read

STOP = {"continue": False, "stopReason": "Do nothing more."}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["allow", "deny", "halt", "accept", "approve"]),
    lambda values: st.lists(values, max_size=2) | st.dictionaries(st.text(max_size=4), values, max_size=2),
    max_leaves=4,
)


def read(answer: dict[str, Any], event: str = "PreToolUse", agent: str = "claude-code") -> dict[str, Any]:
    return _read(httpx.Response(200, json=answer, headers={MARK: "1"}), event, agent)


def said(word: Any, event: str = "PreToolUse") -> dict[str, Any]:
    output = {
        "PreToolUse": {"permissionDecision": word},
        "PermissionRequest": {"decision": {"behavior": word}},
        "Elicitation": {"action": word},
        "UserPromptSubmit": {},
    }[event]
    more = {"decision": word, "reason": "A call waits."} if event == "UserPromptSubmit" else {}
    return {"hookSpecificOutput": {"hookEventName": event, **output}} | more


@pytest.mark.parametrize("event", WORDS)
def test_the_words_of_each_event_are_passed_on_and_no_others(event):
    for word in WORDS[event]:
        assert read(said(word, event), event) == said(word, event)
    for word in ("halt", "approve", "ask", "", None, True, ["deny"]):
        with pytest.raises(Blocked, match="Update the command"):
            read(said(word, event), event)


def test_claude_code_is_told_to_stop_beside_a_denial_only():
    assert read(said("deny") | STOP) == said("deny") | STOP
    for word in ("allow", "defer"):
        with pytest.raises(Blocked):
            read(said(word) | STOP)


@pytest.mark.parametrize("word", WORDS["PreToolUse"])
def test_codex_gets_no_member_that_it_does_not_know(word):
    with pytest.raises(Blocked):
        read(said(word) | STOP, agent="codex")
    assert read(said(word), agent="codex") == said(word)


@given(
    st.dictionaries(st.sampled_from(["hookEventName", "permissionDecision", "decision", "action"]), json_values),
    st.dictionaries(st.sampled_from(["continue", "stopReason", "decision", "systemMessage"]), json_values),
    st.sampled_from(["claude-code", "codex"]),
    st.sampled_from(sorted(WORDS)),
)
def test_whatever_the_server_says_a_call_runs_only_for_a_word_that_allows_it(output, more, agent, event):
    whole = {"hookSpecificOutput": {"hookEventName": event} | output} | more
    try:
        answer = read(whole, event, agent)
    except Blocked:
        return
    word = word_of(answer, event)
    assert (answer, word in WORDS[event]) == (whole, True)
    assert not more or (agent, word) == ("claude-code", "deny")


@pytest.mark.parametrize("event", WORDS)
def test_a_member_that_an_agent_may_not_know_blocks_the_call(event):
    more = said(WORDS[event][0], event)
    more["hookSpecificOutput"]["audit"] = "yes"
    with pytest.raises(Blocked, match="Update the command"):
        read(more, event)


def word_of(answer: dict[str, Any], event: str) -> Any:
    output = answer["hookSpecificOutput"]
    if event == "PermissionRequest":
        return output["decision"]["behavior"]
    return output["action" if event == "Elicitation" else "permissionDecision"]
