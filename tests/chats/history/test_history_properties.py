"""Properties that hold for every chain and every incoming message, however malformed."""

from __future__ import annotations

from copy import deepcopy

from hypothesis import given
from hypothesis import strategies as st

from chats.history import extract_new_tool_results, merge_incoming, pending_approvals, pending_tool_calls

CLOSED = ("output-available", "output-error", "output-denied")
ANSWER_FIELDS = ("state", "output", "errorText", "approval")
STATES = ("input-streaming", "input-available", "approval-requested", "approval-responded", *CLOSED)
OPEN = ("input-available", "approval-requested")
ANSWERED = ("output-available", "output-error", "approval-responded")

leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)


def tool_parts(*states):
    approval = {"id": st.sampled_from(["a1", "a1", "a2"]), "approved": st.booleans()}
    required = {
        "type": st.sampled_from([*["tool-ask", "tool-pay-out", "dynamic-tool"] * 2, "tool-"]),
        "toolCallId": st.sampled_from(["c1", "c2", "c3", "c4", "c5"]),
        "state": st.sampled_from(states),
        "toolName": st.just("lookup"),
        "approval": st.fixed_dictionaries(approval, optional={"reason": st.just("Why not")}),
        "output": leaves,
        "preliminary": st.sampled_from([False] * 15 + [True]),
        "providerExecuted": st.sampled_from([False] * 15 + [True]),
    }
    return st.fixed_dictionaries(required, optional={"input": leaves, "errorText": st.text(max_size=5)})


def messages(*states):
    fields = {
        "id": st.sampled_from(["m1", "m2", "m3"]),
        "role": st.sampled_from(["assistant"] * 9 + ["user"]),
        "parts": st.lists(tool_parts(*states), min_size=1, max_size=3),
    }
    return st.fixed_dictionaries(fields)


answers = tool_parts(*ANSWERED)


@st.composite
def conversations(draw):
    """Draw a chain and an incoming message that usually answers its calls, both spoiled in places."""
    chain = draw(st.lists(messages(*STATES, *OPEN * 8), min_size=1, max_size=2))
    incoming = draw(messages(*STATES, *ANSWERED))
    if draw(st.integers(0, 3)):
        asked = draw(st.sampled_from(chain))
        parts = [draw(answers) | {"toolCallId": call_id} for call_id, _ in calls(asked)]
        incoming = {"id": asked["id"], "role": "assistant", "parts": [*parts, *incoming["parts"]]}
    return draw(spoiled((chain, incoming)))


@st.composite
def spoiled(draw, value):
    for holder, key in draw(st.lists(st.sampled_from(list(places(value))), max_size=2)):
        if isinstance(holder, dict) and draw(st.booleans()):
            holder.pop(key, None)
        else:
            holder[key] = draw(anything)
    return value


def places(value):
    """Return every (holder, key) inside a value that could be replaced."""
    holds = value if isinstance(value, dict | list | tuple) else []
    inner = list(holds.items() if isinstance(holds, dict) else enumerate(holds))
    for key, held in inner:
        if not isinstance(value, tuple):
            yield value, key
        yield from places(held)


chains = conversations().map(lambda conversation: conversation[0])


def calls(message):
    """Return (call id, part) of each tool part of a message."""
    if not isinstance(message, dict) or message.get("role") != "assistant":
        return []
    found = message.get("parts") if isinstance(message.get("parts"), list) else []
    tools = [part for part in found if isinstance(part, dict) and is_tool(part.get("type"))]
    return [(part["toolCallId"], part) for part in tools if isinstance(part.get("toolCallId"), str)]


def is_tool(kind):
    return isinstance(kind, str) and (kind == "dynamic-tool" or kind.startswith("tool-"))


def all_calls(chain):
    return [call for message in chain for call in calls(message)]


def is_closed(part):
    return part.get("state") in CLOSED and not (
        part.get("state") == "output-available" and part.get("preliminary") is True
    )


def pairs(chain, merged):
    """Yield every part before and after; check that no part was added or removed."""
    assert len(chain) == len(merged)
    for before, after in zip(chain, merged, strict=True):
        if not isinstance(before, dict) or not isinstance(before.get("parts"), list):
            assert after == before
            continue
        assert {**after, "parts": None} == {**before, "parts": None}
        yield from zip(before["parts"], after["parts"], strict=True)


def answer_to(row, **fields):
    part = {"type": "tool-x", "toolCallId": row["toolCallId"]} | fields
    return {"id": row["messageId"], "role": "assistant", "parts": [part]}


@given(conversations() | st.tuples(anything, anything))
def test_nothing_raises_and_nothing_is_mutated(conversation):
    chain, incoming = conversation
    before = deepcopy(conversation)
    pending_tool_calls(chain)
    pending_approvals(chain)
    extract_new_tool_results(chain, incoming)
    assert isinstance(merge_incoming(chain, incoming), list)
    assert conversation == before


@given(chains)
def test_a_pending_call_is_open_on_the_chain_once_and_closed_nowhere(chain):
    for rows, state in [
        (pending_tool_calls(chain), "input-available"),
        (pending_approvals(chain), "approval-requested"),
    ]:
        found = [row["toolCallId"] for row in rows]
        assert len(found) == len(set(found))
        assert set(found) <= {call_id for call_id, part in all_calls(chain) if part.get("state") == state}
        assert not set(found) & {call_id for call_id, part in all_calls(chain) if is_closed(part)}


@given(chains)
def test_no_call_waits_for_an_output_and_an_approval_at_once(chain):
    questions = {row["toolCallId"] for row in pending_tool_calls(chain)}
    assert not questions & {row["toolCallId"] for row in pending_approvals(chain)}


@given(conversations())
def test_a_result_is_new_unique_named_and_has_one_outcome(conversation):
    chain, incoming = conversation
    rows = extract_new_tool_results(chain, incoming)
    found = [row["toolCallId"] for row in rows]
    assert len(found) == len(set(found))
    assert not set(found) & {call_id for call_id, part in all_calls(chain) if is_closed(part)}
    for row in rows:
        assert row["toolName"]
        assert "input" in row
        assert ("output" in row) != ("errorText" in row)


@given(conversations())
def test_a_call_that_needs_approval_never_takes_an_output(conversation):
    chain, incoming = conversation
    gated = {call_id for call_id, part in all_calls(chain) if part.get("state") in STATES[2:4]}
    assert not gated & {row["toolCallId"] for row in extract_new_tool_results(chain, incoming)}
    for before, after in pairs(chain, merge_incoming(chain, incoming)):
        if before != after and before["toolCallId"] in gated:
            assert after["state"] == "approval-responded"
            assert after["approval"]["id"] == before["approval"]["id"]


@given(conversations())
def test_only_open_calls_of_the_same_message_change_and_only_in_their_answer(conversation):
    chain, incoming = conversation
    merged = merge_incoming(chain, incoming)
    for before, after in zip(chain, merged, strict=True):
        assert before == after or (before["role"], before["id"]) == ("assistant", incoming.get("id"))
    for before, after in pairs(chain, merged):
        if before != after:
            steps = {"input-available": CLOSED[:2], "approval-requested": ("approval-responded",)}
            assert after["state"] in steps[before["state"]]
            assert {k: v for k, v in before.items() if k not in ANSWER_FIELDS} == {
                k: v for k, v in after.items() if k not in ANSWER_FIELDS
            }


@given(conversations())
def test_merging_twice_is_merging_once(conversation):
    chain, incoming = conversation
    merged = merge_incoming(chain, incoming)
    assert merge_incoming(merged, incoming) == merged


@given(conversations(), answers)
def test_a_closed_call_is_never_changed_by_what_comes_later(conversation, late):
    chain, incoming = conversation
    merged = merge_incoming(chain, incoming)
    again = {**incoming, "parts": [late | {"toolCallId": call_id} for call_id, _ in calls(incoming)]}
    for before, after in pairs(merged, merge_incoming(merged, again)):
        assert before == after or not is_closed(before)


@given(conversations())
def test_what_was_merged_into_an_open_call_is_not_new_any_more(conversation):
    chain, incoming = conversation
    named = [m for m in chain if isinstance(m, dict) and isinstance(m.get("id"), str)]
    known = all_calls([m for m in named if m["id"] == incoming.get("id")])
    still_open = {call_id for call_id, part in known if part.get("state") in OPEN}
    again = extract_new_tool_results(merge_incoming(chain, incoming), incoming)
    assert not still_open & {row["toolCallId"] for row in again}


@given(conversations())
def test_every_output_that_is_merged_was_reported_as_new(conversation):
    chain, incoming = conversation
    rows = {row["toolCallId"]: row for row in extract_new_tool_results(chain, incoming)}
    for before, after in pairs(chain, merge_incoming(chain, incoming)):
        if before != after and after["state"] != "approval-responded":
            row = rows[after["toolCallId"]]
            assert row["input"] == before.get("input")
            assert (row.get("output"), row.get("errorText")) == (after.get("output"), after.get("errorText"))


@given(chains, anything)
def test_every_pending_call_can_be_answered(chain, output):
    for row in pending_tool_calls(chain):
        if row["messageId"] is None:
            continue
        incoming = answer_to(row, state="output-available", output=output)
        [result] = extract_new_tool_results(chain, incoming)
        assert (result["toolCallId"], result["output"]) == (row["toolCallId"], output)
        left = {r["toolCallId"] for r in pending_tool_calls(merge_incoming(chain, incoming))}
        assert row["toolCallId"] not in left


@given(chains, st.booleans())
def test_every_pending_approval_can_be_decided(chain, approved):
    # Only one message: of two messages with the same id, the first one's request counts.
    for row in pending_approvals(chain[-1:]):
        if row["messageId"] is None:
            continue
        approval = {"id": row["approvalId"], "approved": approved}
        merged = merge_incoming(chain[-1:], answer_to(row, state="approval-responded", approval=approval))
        assert approval in [part.get("approval") for c, part in calls(merged[0]) if c == row["toolCallId"]]
        assert row["toolCallId"] not in {r["toolCallId"] for r in pending_approvals(merged)}
