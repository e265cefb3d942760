"""Examples of pending calls, new results and merged answers."""

from __future__ import annotations

import pytest

from chats.history import extract_new_tool_results, merge_incoming, pending_approvals, pending_tool_calls


def part(tool, call_id, state, **fields):
    return {"type": f"tool-{tool}", "toolCallId": call_id, "state": state} | fields


def question(call_id="q1", **fields):
    return part("ask-a-person", call_id, "input-available", input={"q": "Which?"}) | fields


def answered(call_id="q1", output="Blue", **fields):
    return part("ask-a-person", call_id, "output-available", output=output) | fields


def gated(**fields):
    return part("refund", "g1", "approval-requested", input={"eur": 120}, approval={"id": "a1"}) | fields


def responded(call_id="g1", approved=True, **fields):
    return part("refund", call_id, "approval-responded", approval={"id": "a1", "approved": approved}) | fields


def assistant(*parts, message_id="m2"):
    return {"id": message_id, "role": "assistant", "parts": list(parts)}


def user(text="Hello", message_id="m1"):
    return {"id": message_id, "role": "user", "parts": [{"type": "text", "text": text}]}


def ids(rows):
    return [row["toolCallId"] for row in rows]


def test_an_open_question_is_pending_with_its_tool_name_and_message():
    assert pending_tool_calls([user(), assistant({"type": "text", "text": "One moment."}, question())]) == [
        {"toolCallId": "q1", "toolName": "ask-a-person", "messageId": "m2"}
    ]


def test_a_dynamic_tool_is_pending_by_its_tool_name():
    lookup = question(type="dynamic-tool", toolName="mcp_lookup")
    assert [row["toolName"] for row in pending_tool_calls([assistant(lookup)])] == ["mcp_lookup"]


def test_a_later_user_message_does_not_hide_an_open_question():
    assert ids(pending_tool_calls([assistant(question()), user("Are you there?", message_id="m3")])) == ["q1"]


def test_a_later_assistant_message_without_parts_does_not_hide_an_open_question():
    empty = [assistant(message_id="m3"), {"id": "m4", "role": "assistant"}, assistant(message_id="m5") | {"parts": {}}]
    assert ids(pending_tool_calls([assistant(question()), *empty])) == ["q1"]


def test_a_later_assistant_message_with_parts_hides_an_open_question():
    newer = assistant({"type": "text", "text": "Done"}, message_id="m3")
    assert pending_tool_calls([assistant(question()), newer]) == []


def test_a_duplicate_question_is_pending_once():
    assert ids(pending_tool_calls([assistant(question(), question(), question("q2"))])) == ["q1", "q2"]


@pytest.mark.parametrize("state", ["output-available", "output-error", "output-denied"])
def test_a_question_closed_by_another_message_is_not_pending(state):
    assert pending_tool_calls([assistant(question(state=state), message_id="m0"), assistant(question())]) == []


def test_a_preliminary_output_elsewhere_leaves_a_question_pending():
    assert ids(pending_tool_calls([assistant(answered(preliminary=True), question())])) == ["q1"]


@pytest.mark.parametrize(
    "other",
    [
        question(state="input-streaming"),
        question(state=["input-available"]),
        question(providerExecuted=True),
        question(type="tool-"),
        question(type="dynamic-tool"),
        question(type="dynamic-tool", toolName=7),
        question(type="text"),
        question(preliminary=True),
        question(toolCallId=""),
        question(toolCallId={"id": "q1"}),
        None,
    ],
)
def test_a_call_that_cannot_be_answered_is_not_pending(other):
    assert pending_tool_calls([assistant(other)]) == []


def test_a_tool_part_in_a_user_message_is_neither_pending_nor_closing():
    forged = {"id": "m3", "role": "user", "parts": [answered("q1"), question("q2")]}
    assert ids(pending_tool_calls([assistant(question()), forged])) == ["q1"]


def test_a_pending_call_of_a_message_without_a_string_id_names_no_message():
    assert pending_tool_calls([assistant(question(), message_id=["m2"])])[0]["messageId"] is None


def test_a_requested_approval_is_pending_with_its_approval_id_and_is_no_pending_tool_call():
    chain = [user(), assistant(gated(), question()), user("And now?", message_id="m3")]
    assert pending_approvals(chain) == [
        {"toolCallId": "g1", "toolName": "refund", "messageId": "m2", "approvalId": "a1"}
    ]
    assert ids(pending_tool_calls(chain)) == ["q1"]


@pytest.mark.parametrize("approval", [None, {}, {"id": ""}, {"id": 7}, "a1", ["a1"]])
def test_an_approval_without_a_usable_id_is_not_pending(approval):
    assert pending_approvals([assistant(gated(approval=approval))]) == []


def test_an_approval_that_was_given_elsewhere_is_not_pending():
    assert pending_approvals([assistant(responded(), message_id="m0"), assistant(gated())]) == []


def test_a_result_has_the_name_and_input_of_the_stored_call():
    incoming = assistant(answered(type="dynamic-tool", toolName="other", input={"q": "made up"}))
    assert extract_new_tool_results([user(), assistant(question())], incoming) == [
        {"toolCallId": "q1", "toolName": "ask-a-person", "input": {"q": "Which?"}, "output": "Blue"}
    ]


def test_a_message_unknown_to_the_chain_returns_all_its_results():
    lookup = answered("d1", None, type="dynamic-tool", toolName="lookup", input={"n": 1})
    failed = part("pay", "p1", "output-error", errorText="No funds")
    assert extract_new_tool_results([], assistant(lookup, failed)) == [
        {"toolCallId": "d1", "toolName": "lookup", "input": {"n": 1}, "output": None},
        {"toolCallId": "p1", "toolName": "pay", "input": None, "errorText": "No funds"},
    ]


def test_a_message_sent_again_returns_nothing():
    message = assistant(answered(), answered("q2", state="output-error"))
    assert extract_new_tool_results([message], message) == []


def test_a_call_is_identified_by_its_call_id_alone():
    assert extract_new_tool_results([assistant(answered())], assistant(answered(output="Red"), message_id="m9")) == []


@pytest.mark.parametrize("state", ["output-available", "output-error", "output-denied"])
def test_a_closed_call_has_no_new_result(state):
    closed = part("ask-a-person", "q1", state)
    assert extract_new_tool_results([assistant(closed)], assistant(answered())) == []


def test_only_an_output_can_be_preliminary():
    failed = part("ask-a-person", "q1", "output-error", preliminary=True)
    assert extract_new_tool_results([assistant(failed)], assistant(answered())) == []


@pytest.mark.parametrize("text", [None, 7, {"message": "x"}])
def test_an_error_without_text_has_an_empty_text(text):
    [row] = extract_new_tool_results([], assistant(answered(state="output-error", errorText=text)))
    assert row["errorText"] == ""


@pytest.mark.parametrize("output", [None, False, 0, "", [], {}])
def test_an_empty_output_is_a_result(output):
    [row] = extract_new_tool_results([], assistant(answered(output=output)))
    assert row["output"] == output


@pytest.mark.parametrize(
    "other",
    [
        answered(preliminary=True),
        part("ask-a-person", "q1", "output-available"),
        answered(state="output-denied"),
        answered(type="tool-"),
        answered(type="dynamic-tool"),
        answered(toolCallId=None),
    ],
)
def test_a_part_without_a_final_result_is_not_returned(other):
    assert extract_new_tool_results([], assistant(other)) == []


def test_a_final_output_is_new_after_a_preliminary_one():
    chain = [assistant(answered(preliminary=True))]
    assert ids(extract_new_tool_results(chain, assistant(answered()))) == ["q1"]


def test_of_two_stored_parts_the_answered_one_counts():
    torn = assistant(question(state="input-streaming", input={"q": "Wh"}), message_id="m0")
    [row] = extract_new_tool_results([torn, assistant(question())], assistant(answered()))
    assert row["input"] == {"q": "Which?"}


@pytest.mark.parametrize("stored", [gated(), responded(), responded(approved=False)])
@pytest.mark.parametrize("message_id", ["m2", "m9"])
def test_an_output_does_not_answer_a_call_that_needs_approval(stored, message_id):
    incoming = assistant(answered("g1", "refunded"), message_id=message_id)
    assert extract_new_tool_results([assistant(stored)], incoming) == []
    assert merge_incoming([assistant(stored)], incoming) == [assistant(stored)]


def test_a_client_cannot_answer_a_provider_executed_call():
    chain = [assistant(question(providerExecuted=True))]
    assert extract_new_tool_results(chain, assistant(answered())) == []
    assert merge_incoming(chain, assistant(answered())) == chain


def test_the_first_of_duplicate_results_wins_on_both_sides():
    chain, incoming = [assistant(question())], assistant(answered(), answered(output="Red"))
    assert [row["output"] for row in extract_new_tool_results(chain, incoming)] == ["Blue"]
    assert merge_incoming(chain, incoming)[0]["parts"][0]["output"] == "Blue"


@pytest.mark.parametrize("role", ["user", "system", None, ["assistant"]])
def test_only_an_assistant_message_has_results(role):
    incoming = assistant(answered()) | {"role": role}
    assert extract_new_tool_results([assistant(question())], incoming) == []
    assert merge_incoming([assistant(question())], incoming) == [assistant(question())]


def test_an_answer_reaches_its_call_and_changes_nothing_else():
    text = {"type": "text", "text": "I need to know."}
    forged = answered(type="tool-other", input={"q": "made up"}, title="!", approval={"id": "x"})
    chain = [user(), assistant(text, question(), question("q2"))]
    merged = merge_incoming(chain, assistant({"type": "text", "text": "Forged"}, forged) | {"metadata": 1})
    closed = question(state="output-available", output="Blue")
    assert merged == [user(), assistant(text, closed, question("q2"))]


def test_an_error_closes_a_question_too():
    merged = merge_incoming([assistant(question(output="stale"))], assistant(answered(state="output-error")))
    assert merged == [assistant(question(state="output-error", errorText=""))]


@pytest.mark.parametrize("approved", [True, False])
def test_an_approval_reaches_its_call_and_keeps_only_what_is_known(approved):
    given = {"id": "a1", "approved": approved, "reason": "Fine by me", "signature": "forged"}
    merged = merge_incoming([assistant(gated())], assistant(responded(approval=given)))
    kept = {"id": "a1", "approved": approved, "reason": "Fine by me"}
    assert merged == [assistant(gated(state="approval-responded", approval=kept))]


@pytest.mark.parametrize("reason", [None, 7, ["Fine"]])
def test_a_reason_that_is_not_text_is_dropped(reason):
    given = {"id": "a1", "approved": True}
    [merged] = merge_incoming([assistant(gated())], assistant(responded(approval=given | {"reason": reason})))
    assert merged["parts"][0]["approval"] == given


@pytest.mark.parametrize(("approval_id", "approved"), [("a2", True), (None, True), ("a1", 1), ("a1", None)])
def test_an_approval_with_another_id_or_without_a_boolean_changes_nothing(approval_id, approved):
    chain = [assistant(gated())]
    assert merge_incoming(chain, assistant(responded(approval={"id": approval_id, "approved": approved}))) == chain


@pytest.mark.parametrize("stored", [question(), question(approval={"id": "a1"}), answered()])
def test_an_approval_does_not_answer_a_call_that_asked_for_none(stored):
    assert merge_incoming([assistant(stored)], assistant(responded("q1"))) == [assistant(stored)]


def test_the_first_decision_stays():
    chain = merge_incoming([assistant(gated())], assistant(responded(approved=False)))
    assert merge_incoming(chain, assistant(responded(approved=True))) == chain


@pytest.mark.parametrize("stored", [answered(output="Red"), answered(preliminary=True), {"type": "tool-x"}])
def test_a_part_that_is_not_open_stays_as_it_is(stored):
    assert merge_incoming([assistant(stored)], assistant(answered())) == [assistant(stored)]


def test_a_message_with_another_id_is_not_appended_and_answers_nothing():
    chain = [user(), assistant(question())]
    assert merge_incoming(chain, assistant(answered(), message_id="m9")) == chain
    assert merge_incoming(chain, user("Edited")) == chain


def test_two_messages_without_an_id_are_not_the_same_message():
    chain = [assistant(question(), message_id=None)]
    assert merge_incoming(chain, assistant(answered(), message_id=None)) == chain


def test_an_assistant_message_does_not_change_a_stored_user_message_of_its_id():
    chain = [{"id": "m2", "role": "user", "parts": [question()]}]
    assert merge_incoming(chain, assistant(answered())) == chain


@pytest.mark.parametrize("chain", [None, 7, {}, [None, 7, [], {}, {"role": "assistant", "parts": 7}]])
def test_an_invalid_chain_has_no_pending_calls_and_raises_nothing(chain):
    assert pending_tool_calls(chain) == []
    assert pending_approvals(chain) == []
    for incoming in (None, 7, [], {}, assistant(None, {}, [[]], responded(approval="a1"))):
        assert extract_new_tool_results(chain, incoming) == []
        assert merge_incoming(chain, incoming) == (chain if isinstance(chain, list) else [])
