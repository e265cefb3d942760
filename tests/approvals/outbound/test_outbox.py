"""Events for handlers: at least once, in order per workflow."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from approvals import actions
from approvals.administration.webhooks.actions import resend_events
from approvals.asking.answers import Answer
from approvals.asking.asks import Ask
from approvals.models import OutboxEvent
from approvals.outbound import outbox, person_mails
from approvals.states import Channel, Door, Kind, Verdict
from chats.actions import stop_turn
from tests.support import people
from tests.support.chats.turns import converse, only_request, run
from tests.support.database import rolled_back

taken: list[tuple[str, str]] = []
failing: set[str] = set()


def note(event: outbox.Event) -> None:
    """A handler that stores its events, and fails on demand."""
    if event.stream in failing:
        raise RuntimeError("the search index is down")
    taken.append((event.stream, event.name))


HANDLER = f"{__name__}.note"
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _listening(settings):
    settings.HITL_EVENT_HANDLERS = [HANDLER]
    taken.clear()
    failing.clear()


def deliver() -> None:
    """Deliver until nothing is due."""
    while True:
        before = len(taken)
        outbox.deliver_due()
        if len(taken) == before:
            return


def ask(owner, key, title="May I?"):
    workflow = actions.open_workflow(scope="key:1", key=key, title=title, source="api", owner=owner)
    return actions.request_approval(workflow, Ask(kind=Kind.APPROVAL, title=title), requested_by=owner)


def make_due() -> None:
    OutboxEvent.objects.filter(delivered_at=None).update(next_attempt_at=timezone.now() - timedelta(seconds=1))


def test_the_events_of_a_refund_come_in_order():
    turn = converse(people.alice(), "approve refund")
    actions.decide(only_request(turn).pk, Answer(Verdict.APPROVE, comment="fine"), by=people.bob(), via=Door.DASHBOARD)
    run(turn)
    deliver()
    names = ["request.created", "turn.suspended", "request.decided", "tool.result", "turn.completed"]
    assert [name for _, name in taken] == names
    decided = OutboxEvent.objects.get(name="request.decided")
    assert (decided.payload["by"], decided.payload["verdict"], decided.payload["comment"]) == ("bob", "approve", "fine")
    completed = OutboxEvent.objects.get(name="turn.completed").payload
    assert (completed["finish_reason"], completed["stopped"], completed["state"]) == ("stop", False, "completed")
    assert completed["usage"]["output_tokens"] > 0


def test_the_event_of_a_stopped_turn_says_that_it_was_stopped():
    turn = converse(people.alice(), "ask")
    stop_turn(turn.chat, by=turn.chat.owner, via=Door.CHAT)
    deliver()
    assert [name for _, name in taken] == [
        "request.created",
        "turn.suspended",
        "request.cancelled",
        "tool.result",
        "turn.completed",
    ]
    assert OutboxEvent.objects.get(name="turn.completed").payload["stopped"] is True


def test_without_handlers_no_event_is_written(settings):
    settings.HITL_EVENT_HANDLERS = []
    ask(people.alice(), "run-1")
    assert OutboxEvent.objects.count() == 0


def test_an_event_of_a_rolled_back_action_is_never_sent():
    alice = people.alice()
    with rolled_back():
        ask(alice, "run-1")
    deliver()
    assert taken == []


def test_a_failing_handler_is_called_again_with_longer_delays():
    request = ask(people.alice(), "run-1")
    failing.add("key:1:run-1")
    for wait in (1, 2, 4, 8):
        make_due()
        began = timezone.now()
        outbox.deliver_due()
        row = OutboxEvent.objects.get()
        assert began <= row.next_attempt_at - timedelta(seconds=wait) <= timezone.now()
    assert (row.attempts, row.last_error) == (4, "RuntimeError: the search index is down")
    failing.clear()
    make_due()
    deliver()
    row.refresh_from_db()
    assert taken == [("key:1:run-1", "request.created")]
    assert row.delivered_at is not None
    assert row.payload["request_id"] == str(request.pk)


def test_a_failing_event_delays_later_ones_of_its_workflow_only():
    alice, bob = people.alice(), people.bob()
    first = ask(alice, "run-1")
    failing.add("key:1:run-1")
    outbox.deliver_due()
    actions.decide(first.pk, Answer(Verdict.REJECT), by=bob, via=Door.DASHBOARD)
    ask(alice, "run-2")
    deliver()
    assert taken == [("key:1:run-2", "request.created")]
    failing.clear()
    make_due()
    deliver()
    assert taken[1:] == [("key:1:run-1", "request.created"), ("key:1:run-1", "request.decided")]


def test_an_event_is_given_up_after_three_days_and_the_next_is_delivered():
    alice, bob = people.alice(), people.bob()
    request = ask(alice, "run-1")
    OutboxEvent.objects.update(created_at=timezone.now() - timedelta(days=4))
    failing.add("key:1:run-1")
    outbox.deliver_due()
    assert OutboxEvent.objects.get().dead_at is not None
    failing.clear()
    actions.decide(request.pk, Answer(Verdict.APPROVE), by=bob, via=Door.DASHBOARD)
    deliver()
    assert taken == [("key:1:run-1", "request.decided")]


def test_an_event_that_another_process_has_claimed_is_not_delivered_twice():
    ask(people.alice(), "run-1")
    row = OutboxEvent.objects.get()
    assert [outbox.claim_event(OutboxEvent.objects.get(pk=row.pk)), outbox.claim_event(row)] == [True, False]


def test_a_crash_after_the_delivery_sends_the_same_id_again():
    ask(people.alice(), "run-1")
    row = OutboxEvent.objects.get()
    # The row that a process leaves when it is killed after the handler has returned: claimed, not delivered.
    assert outbox.claim_event(row)
    make_due()
    deliver()
    assert OutboxEvent.objects.get().event_id == row.event_id
    assert (taken, OutboxEvent.objects.get().attempts) == ([("key:1:run-1", "request.created")], 2)


def test_events_behind_a_failing_one_are_due_when_it_is():
    alice, bob = people.alice(), people.bob()
    first = ask(alice, "run-1")
    actions.decide(first.pk, Answer(Verdict.REJECT), by=bob, via=Door.DASHBOARD)
    failing.add("key:1:run-1")
    outbox.deliver_due()
    head, behind = OutboxEvent.objects.order_by("pk")
    assert (head.attempts, behind.attempts, behind.next_attempt_at) == (1, 0, head.next_attempt_at)
    # The next search for due events looks at none of them.
    assert not outbox.due_events(Now(), Channel.HANDLER).exists()
    ask(alice, "run-2")
    deliver()
    assert taken == [("key:1:run-2", "request.created")]


@pytest.mark.parametrize("how", ["delivered", "sent again and delivered", "given up", "given up after days"])
def test_events_are_due_at_once_when_the_one_before_them_ends(how):
    alice, bob = people.alice(), people.bob()
    request = ask(alice, "run-1")
    actions.decide(request.pk, Answer(Verdict.REJECT), by=bob, via=Door.DASHBOARD)
    failing.add("key:1:run-1")
    for _ in range(2):
        make_due()
        outbox.deliver_due()
    head, behind = OutboxEvent.objects.order_by("pk")
    assert behind.next_attempt_at == head.next_attempt_at > timezone.now()
    if how == "given up":
        outbox.give_up(head, "the endpoint was deleted")
    elif how == "given up after days":
        # Only this one is due, as after its claim has ended.
        changes = {
            "created_at": timezone.now() - timedelta(days=4),
            "next_attempt_at": timezone.now() - timedelta(seconds=1),
        }
        OutboxEvent.objects.filter(pk=head.pk).update(**changes)
        outbox.deliver_due()
    failing.clear()
    if how == "sent again and delivered":
        resend_events(OutboxEvent.objects.filter(pk=head.pk), by=bob)
    elif how == "delivered":
        OutboxEvent.objects.filter(pk=head.pk).update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    deliver()
    ended = "given up" in how
    names = [] if ended else ["request.created"]
    assert [name for _, name in taken] == [*names, "request.decided"]
    head.refresh_from_db()
    assert (head.dead_at is not None, head.delivered_at is not None) == (ended, not ended)


def test_a_failure_that_is_recorded_after_the_delivery_puts_nothing_off():
    alice, bob = people.alice(), people.bob()
    request = ask(alice, "run-1")
    actions.decide(request.pk, Answer(Verdict.REJECT), by=bob, via=Door.DASHBOARD)
    slow = OutboxEvent.objects.earliest("pk")
    assert outbox.claim_event(slow)
    make_due()
    other = OutboxEvent.objects.earliest("pk")
    assert outbox.claim_event(other)
    outbox.mark_delivered(slow)
    outbox.record_failure(other, "the search index is down")
    deliver()
    assert [name for _, name in taken] == ["request.decided"]


def test_a_failure_puts_off_no_event_of_others_and_none_that_was_tried(settings):
    alice, bob = people.alice(), people.bob()
    settings.HITL_EVENT_HANDLERS = [HANDLER, f"{__name__}.deliver"]
    request = ask(alice, "run-1")
    actions.decide(request.pk, Answer(Verdict.REJECT), by=bob, via=Door.DASHBOARD)
    ask(alice, "run-2")
    mine = OutboxEvent.objects.filter(target=HANDLER, stream="key:1:run-1")
    OutboxEvent.objects.filter(pk=mine.latest("pk").pk).update(attempts=1)
    before = dict(OutboxEvent.objects.values_list("pk", "next_attempt_at"))
    head = mine.earliest("pk")
    assert outbox.claim_event(head)
    outbox.record_failure(head, "down")
    after = dict(OutboxEvent.objects.values_list("pk", "next_attempt_at"))
    assert {pk for pk, at in after.items() if at != before[pk]} == {head.pk}


def test_a_mail_that_fails_does_not_bring_forward_what_waits_for_the_end_of_quiet_hours():
    alice = people.alice()
    request = ask(alice, "run-1")
    alice.email = "alice@example.org"
    for _ in range(2):
        person_mails.notify_person("request.assigned", request, alice)
    failed, waiting = OutboxEvent.objects.filter(channel=Channel.MAIL).order_by("pk")
    until = timezone.now() + timedelta(hours=9)
    OutboxEvent.objects.filter(pk=waiting.pk).update(next_attempt_at=until)
    failed.attempts = 3
    outbox.record_failure(failed, "the mail server is down")
    outbox.mark_delivered(failed)
    waiting.refresh_from_db()
    assert waiting.next_attempt_at == until
