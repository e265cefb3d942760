"""The first decision wins among concurrent ones, in threads with connections of their own."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from approvals import actions
from approvals.exceptions import AlreadyDecided, Expired, Refusal
from approvals.models import ApprovalRequest, AuditEntry, Decision, RequestAttachment
from approvals.models.attachments import path_of
from approvals.record import audit
from approvals.states import Kind, Verdict
from tests.support.desk.files import TEXT, attachment, folder
from tests.support.desk.requests import PAST, cancel, decide, events, make_request, make_workflow, stored, waits
from tests.support.people import alice, bob, make_person

__all__ = ["folder"]
pytestmark = pytest.mark.django_db(transaction=True)


def race(*acts: Callable[[], Any]) -> list[Any]:
    """Run each act in a thread with its own connection; return what each returned or raised."""
    start, found = threading.Barrier(len(acts)), [None] * len(acts)

    def run(place: int) -> None:
        connection.ensure_connection()
        start.wait()
        try:
            found[place] = acts[place]()
        except Exception as error:
            found[place] = error
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(place,)) for place in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_of_twenty_concurrent_verdicts_one_is_recorded_and_named_to_the_others():
    request = make_request(alice())
    people = [make_person(f"decider{place}", "decide_approvalrequest") for place in range(20)]
    verdicts = [Verdict.APPROVE, Verdict.REJECT, Verdict.EDIT, Verdict.REJECT] * 5
    said = [{"edited_input": {"amount": place}} if v == Verdict.EDIT else {} for place, v in enumerate(verdicts)]
    found = race(
        *(
            lambda p=person, v=verdict, s=words: decide(request, p, v, **s)
            for person, verdict, words in zip(people, verdicts, said, strict=True)
        )
    )
    decision = Decision.objects.get()
    (winner,) = [place for place, result in enumerate(found) if isinstance(result, actions.Outcome)]
    losers = found[:winner] + found[winner + 1 :]
    assert (found[winner].decision, found[winner].replayed) == (decision, False)
    assert (decision.by_id, decision.verdict) == (people[winner].pk, verdicts[winner].value)
    assert {(type(loser), loser.decision, f"by decider{winner}." in str(loser)) for loser in losers} == {
        (AlreadyDecided, decision, True)
    }
    assert stored(request).status == ("rejected" if verdicts[winner] == Verdict.REJECT else "approved")
    assert events(request) == ["request.created", "request.decided"]
    assert waits(request.workflow) == ("running", 0, None, False)


def test_eight_concurrent_equal_decisions_of_one_person_decide_once_and_are_replayed():
    request, decider = make_request(alice()), bob()
    found = race(*([lambda: decide(request, decider, Verdict.APPROVE)] * 8))
    assert Counter(outcome.replayed for outcome in found) == {False: 1, True: 7}
    assert {outcome.decision for outcome in found} == {Decision.objects.get()}
    assert events(request) == ["request.created", "request.decided"]


@pytest.mark.parametrize("overdue", [True, False])
def test_a_concurrent_decision_cancellation_and_expiry_leave_one_decision(overdue):
    owner, decider = alice(), bob()
    requests = [make_request(owner, **({"deadline_at": PAST} if overdue else {})) for _ in range(6)]
    for request in requests:
        ends = [
            lambda r=request: decide(r, decider, Verdict.APPROVE),
            lambda r=request: cancel(r, owner),
            lambda r=request: actions.expire(r.pk),
        ]
        found = race(*ends, *ends)
        decision = Decision.objects.get(request_id=request.pk)
        refusals = [result for result in found if isinstance(result, Refusal)]
        assert {refusal.decision for refusal in refusals} <= {decision}
        assert {type(refusal) for refusal in refusals} <= {AlreadyDecided, Expired}
        assert [result for result in found if isinstance(result, Exception) and result not in refusals] == []
        wins = [result for result in found if result is True or getattr(result, "replayed", None) is False]
        # An overdue decision commits the expiry and is then refused, so there may be no winner.
        assert len(wins) == 1 or (len(wins), decision.verdict) == (0, "expire")
        assert decision.verdict in ({"cancel", "expire"} if overdue else {"approve", "cancel"})
        event = {"approve": "decided", "cancel": "cancelled", "expire": "expired"}[decision.verdict]
        assert events(request) == ["request.created", f"request.{event}"]
        assert waits(request.workflow) == ("running", 0, None, False)


def test_two_concurrent_ends_in_a_workflow_are_both_counted():
    owner, decider = alice(), bob()
    for _ in range(5):
        workflow = make_workflow(owner)
        pair = [make_request(owner, workflow=workflow) for _ in range(2)]
        race(*(lambda r=request: decide(r, decider, Verdict.REJECT) for request in pair))
        assert waits(workflow) == ("running", 0, None, False)


def test_eight_concurrent_equal_asks_create_one_request():
    owner = alice()
    workflow = make_workflow(owner)
    found = race(*([lambda: make_request(owner, Kind.QUESTION, workflow=workflow, tool_call_id="call-1")] * 8))
    assert found == [ApprovalRequest.objects.get()] * 8
    assert (waits(workflow), events(found[0])) == (("suspended", 1, 2, True), ["request.created"])


def test_eight_concurrent_equal_results_are_one_row_with_seven_repeats():
    call = audit.Subject(scope="chat:1", tool_call_id="call-1")
    found = race(*([lambda: audit.record_once("tool.result", call, data={}, actor=None, via="system")] * 8))
    assert Counter(found) == {True: 1, False: 7}
    assert AuditEntry.objects.values_list("retry_count").get() == (7,)


FILE_FORM = {"type": "object", "properties": {"invoice": {"type": "string", "format": "file"}}}


@pytest.mark.parametrize("equal", [True, False], ids=["the same file", "files of their own"])
def test_of_concurrent_answers_with_files_one_is_kept_with_its_file(folder, equal):
    request = make_request(alice(), Kind.FORM, response_schema=FILE_FORM)
    people = [make_person(f"decider{place}", "decide_approvalrequest") for place in range(6)]
    contents = [TEXT if equal else TEXT + bytes([65 + place]) for place in range(6)]
    found = race(
        *(
            lambda p=person, c=content: decide(
                request, p, Verdict.RESPOND, answer={"invoice": attachment(c, "note.txt")}
            )
            for person, content in zip(people, contents, strict=True)
        )
    )
    (winner,) = [place for place, result in enumerate(found) if isinstance(result, actions.Outcome)]
    assert {type(result) for place, result in enumerate(found) if place != winner} == {AlreadyDecided}
    file = Decision.objects.get().answer["invoice"]
    assert file["sha256"] == hashlib.sha256(contents[winner]).hexdigest()
    # Nothing is left of the others, neither a file nor its row.
    row = RequestAttachment.objects.get()
    assert (str(row.pk), row.request_id, row.erase_at) == (file["id"], request.pk, None)
    (path,) = [path for path in folder.rglob("*") if path.is_file()]
    assert (path.name, path.read_bytes()) == (path_of(row.pk).rpartition("/")[2], contents[winner])
