"""Processes that are frozen in a transaction: their rows are passed by, and the server takes their locks from them."""

from __future__ import annotations

import asyncio
import threading
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from django.db import InternalError, OperationalError, connection, transaction
from django.utils import timezone

from approvals import actions as desk
from approvals.actions.policy.duty import reminders
from approvals.actions.policy.votes import recount as vote_recount
from approvals.asking.answers import Answer
from approvals.background import sweep
from approvals.db import pool, transactions
from approvals.db.transactions import PLACES, STUCK, LineTooLong
from approvals.exceptions import AlreadyDecided
from approvals.models import ApprovalRequest, Decision, FollowUp, VoteRecount, Workflow
from approvals.states import Door, Verdict
from chats import actions, doorbell
from chats.actions.locking import Recorded
from chats.agent import events
from chats.engine import runner
from chats.engine import sweep as chat_sweep
from chats.models import Turn
from hitlsite.server import timeouts
from tests.proofs.postgresql.racing import PATIENCE, Act, failures, race, until
from tests.support.chats.claims import claim_turn
from tests.support.chats.scenes import paused
from tests.support.chats.turns import decide, make_chat, only_request, reload, say
from tests.support.desk.requests import PAST, make_request, make_workflow
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

#: As many as a process has threads for the database.
PEERS = pool.THREADS
#: Seconds. A call that waits for no lock takes a fraction of it.
AT_ONCE = 30.0


@contextmanager
def frozen_in(*locks):
    """Processes frozen in a transaction until the end of the block, each holding the lock that one of these takes."""
    thaw, held = threading.Event(), [threading.Event() for _ in locks]

    def stand_still(lock, mine: threading.Event) -> None:
        with transaction.atomic():
            lock()
            mine.set()
            thaw.wait(PATIENCE)

    peers = [Act(lambda lock=lock, mine=mine: stand_still(lock, mine)).begun() for lock, mine in zip(locks, held)]  # noqa: B905
    assert all(mine.wait(PATIENCE) for mine in held)
    try:
        yield
    finally:
        thaw.set()
        assert [peer.ended() for peer in peers] == [None] * len(locks)


def holding(turn: Turn):
    return lambda: Turn.objects.select_for_update(no_key=True).get(pk=turn.pk)


def lapsed() -> Turn:
    """A turn whose runner fell silent."""
    turn = say(make_chat(alice_once()), "hello")
    assert claim_turn(turn.pk, owner="frozen") is not None
    Turn.objects.filter(pk=turn.pk).update(lease_until=timezone.now() - timedelta(minutes=1))
    return turn


def alice_once():
    return (
        alice()
        if not ApprovalRequest.objects.exists() and not Turn.objects.exists()
        else Turn.objects.first().chat.owner
    )


async def within(seconds: float, *works):
    """Return the results of these works, run at once on the process's own threads."""
    async with asyncio.timeout(seconds):
        return await asyncio.gather(*(pool.run(work) for work in works))


def test_four_that_are_frozen_occupy_nobody_who_looks_after_their_turns():
    turns = [lapsed() for _ in range(PEERS)]
    other = say(make_chat(alice_once()), "hello")
    rung: list[int] = []
    doorbell.set_handlers(on_queued=lambda turn_id, below: rung.append(turn_id), on_stop=None)
    try:
        with frozen_in(*map(holding, turns)):
            chat_sweep.wake_stuck_turns()
            assert set(rung) == {turn.pk for turn in (*turns, other)}
            takes = [lambda turn=turn: claim_turn(turn.pk, owner="healthy") for turn in turns]
            # More of them than threads: any waiting one would hold up the free one.
            found = asyncio.run(within(AT_ONCE, *takes, *takes, lambda: claim_turn(other.pk, owner="healthy")))
            assert [each is not None for each in found] == [False] * 2 * PEERS + [True]
    finally:
        doorbell.set_handlers(on_queued=None, on_stop=None)
    assert all(claim_turn(turn.pk, owner="healthy") is not None for turn in turns)


def test_a_turn_that_is_locked_for_a_moment_is_taken_without_the_sweep(monkeypatch):
    turn = say(make_chat(alice()), "hello")
    begin_run, claimed = actions.begin_run, []
    with ExitStack() as frozen:
        frozen.enter_context(frozen_in(holding(turn)))

        def begin_and_thaw(*given, **named):
            claimed.append(begin_run(*given, **named))
            frozen.close()
            return claimed[-1]

        monkeypatch.setattr(actions, "begin_run", begin_and_thaw)
        asyncio.run(runner.advance(turn.pk, asyncio.Event()))
    assert ([found is not None for found in claimed], reload(turn).state) == ([False, True], "completed")


def test_the_sweep_passes_what_is_locked_and_does_the_rest():
    owner, decider = alice(), bob()
    late = [make_request(owner, deadline_at=PAST) for _ in range(2)]
    stuck = [paused(make_chat(owner)) for _ in range(2)]
    for turn in stuck:
        decide(only_request(turn), decider, Verdict.APPROVE)
    Turn.objects.update(state="suspended")

    def workflow() -> None:
        Workflow.objects.select_for_update().get(pk=late[0].workflow_id)

    def look() -> None:
        sweep.expire_due_requests()
        chat_sweep.resume_answered_turns()

    with frozen_in(workflow, holding(stuck[0])):
        asyncio.run(within(AT_ONCE, look))
        statuses = [ApprovalRequest.objects.get(pk=request.pk).status for request in late]
        assert (statuses, [reload(turn).state for turn in stuck]) == (["pending", "expired"], ["suspended", "queued"])
    look()
    assert (ApprovalRequest.objects.get(pk=late[0].pk).status, reload(stuck[0]).state) == ("expired", "queued")


def test_a_turn_that_stays_locked_while_its_request_is_decided_is_left_to_the_sweep_in_one_line(caplog):
    turn, decider = paused(make_chat(alice())), bob()
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '100ms'")
        with frozen_in(holding(turn)):
            decide(only_request(turn), decider, Verdict.APPROVE)
        cursor.execute("RESET lock_timeout")
    assert [(record.levelname, record.exc_info) for record in caplog.records] == [("WARNING", None)]
    assert reload(turn).state == "suspended"
    chat_sweep.resume_answered_turns()
    assert reload(turn).state == "queued"


def test_reminders_of_a_workflow_that_stays_locked_hold_up_no_others():
    owner, past = alice(), timezone.now() - timedelta(days=1)
    busy = make_workflow(owner)
    held = [make_request(owner, workflow=busy, tool_call_id=None) for _ in range(112)]
    other = make_request(owner)
    terms = {"reminders": [60]}
    ApprovalRequest.objects.update(terms=terms, created_at=past)
    FollowUp.objects.bulk_create(FollowUp(request=request, due_at=past) for request in held)
    FollowUp.objects.create(request=other, due_at=past + timedelta(hours=1))
    with frozen_in(lambda: Workflow.objects.select_for_update().get(pk=busy.pk)):
        asyncio.run(within(AT_ONCE, reminders.carry_out_follow_ups))
        assert FollowUp.objects.count() == len(held)
    reminders.carry_out_follow_ups()
    assert FollowUp.objects.count() == 0


def test_votes_are_counted_by_one_process_and_the_others_leave_it_to_that_one():
    recount = VoteRecount.objects.create()
    # It has begun.
    VoteRecount.objects.update(answers=[recount.pk])
    with frozen_in(lambda: VoteRecount.objects.select_for_update().get()):
        asyncio.run(within(AT_ONCE, vote_recount.recount_votes))
        assert VoteRecount.objects.count() == 1
    vote_recount.recount_votes()
    assert VoteRecount.objects.count() == 0


def test_a_workflow_that_stays_locked_occupies_few_threads_and_refuses_the_others():
    owner, decider = alice(), bob()
    large = make_workflow(owner)
    requests = [make_request(owner, workflow=large, tool_call_id=None) for _ in range(15)]

    def deciding(request: ApprovalRequest):
        return lambda: desk.decide(request.pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)

    def cancelling(request: ApprovalRequest):
        return lambda: desk.cancel(request.pk, by=owner, via=Door.REST)

    with frozen_in(lambda: Workflow.objects.select_for_update().get(pk=large.pk)):
        acts = [Act(deciding(request)).begun() for request in requests[:14]]
        acts += [Act(cancelling(request)).begun() for request in requests[:14]]
        until(lambda: sum(act.is_alive() for act in acts) == PLACES, "most were refused")
        late = Act(deciding(requests[14])).begun()
        assert isinstance(late.ended(), LineTooLong)
        refused = [act.result for act in acts if not act.is_alive()]
        assert [(type(error), pool.is_locked(error)) for error in refused] == [(LineTooLong, True)] * (28 - PLACES)
    assert failures([act.ended() for act in acts if act.result is None], AlreadyDecided) == []
    assert deciding(requests[14])().decision.by_id == decider.pk


def test_a_row_that_is_released_again_and_again_refuses_nobody(monkeypatch):
    owner, decider = alice(), bob()
    large = make_workflow(owner)
    requests = [make_request(owner, workflow=large, tool_call_id=None) for _ in range(5 * PLACES)]
    # Each of them holds the row for half of the limit, regardless of the machine's load.
    holds = []
    monkeypatch.setattr(transactions, "monotonic", lambda: sum(holds))

    def decide_slowly(request: ApprovalRequest) -> None:
        with transaction.atomic():
            desk.decide(request.pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)
            holds.append(STUCK / 2)

    outcomes = race(*[lambda request=request: decide_slowly(request) for request in requests])
    assert failures(outcomes) == []
    assert Decision.objects.filter(verdict="approve").count() == 5 * PLACES


@pytest.fixture
def limits(monkeypatch):
    """The connections of this process keep to these limits."""

    def keep_to(given: timeouts.ServerTimeouts) -> None:
        monkeypatch.setitem(connection.settings_dict, "OPTIONS", dict(connection.settings_dict["OPTIONS"]))
        timeouts.apply_limits(given)

    yield keep_to
    monkeypatch.undo()
    connection.close()
    connection.close_pool()


def test_a_process_that_was_frozen_in_a_transaction_has_lost_its_locks_and_can_write_nothing(limits):
    turn = lapsed()
    limits(
        timeouts.ServerTimeouts(
            statement_timeout=30_000, lock_timeout=30_000, idle_in_transaction_session_timeout=3_000
        )
    )
    standing, taken = threading.Event(), threading.Event()

    def freeze() -> None:
        with transaction.atomic():
            holding(turn)()
            Turn.objects.filter(pk=turn.pk).update(error="from beyond")
            standing.set()
            taken.wait(PATIENCE)

    peer = Act(freeze).begun()
    assert standing.wait(PATIENCE)
    # It waits for the lock, and gets it before the other thaws.
    assert holding_at_last(turn) == ""
    taken.set()
    error = peer.ended()
    assert isinstance(error, pool.AWAY)
    assert isinstance(error, InternalError | OperationalError)
    assert reload(turn).error == ""


def holding_at_last(turn: Turn) -> str:
    with transaction.atomic():
        return holding(turn)().error


def test_work_that_finds_a_row_locked_leaves_its_thread_to_others_and_is_done_in_the_end(limits, monkeypatch):
    monkeypatch.setattr(pool, "RETRY", 0.1)
    turns = [say(make_chat(alice_once()), "hello") for _ in range(PEERS)]
    claims = [claim_turn(turn.pk, owner="healthy")[0] for turn in turns]
    limits(timeouts.ServerTimeouts(statement_timeout=30_000, lock_timeout=200, idle_in_transaction_session_timeout=0))

    async def story() -> None:
        with frozen_in(*map(holding, turns)):
            piece = [Recorded(1, 0, events.StepStarted(0))]
            writing = [asyncio.create_task(pool.run(actions.store_progress, claim, piece)) for claim in claims]
            await asyncio.sleep(0)
            # All threads work for the locked ones, and yet there is room.
            assert await within(AT_ONCE, Turn.objects.count) == [PEERS]
            assert not any(task.done() for task in writing)
        await asyncio.wait_for(asyncio.gather(*writing), PATIENCE)

    asyncio.run(story())
    assert [turn.events.count() for turn in turns] == [1] * PEERS


def test_people_are_told_to_try_again_when_a_lock_takes_too_long(limits):
    request, decider = make_request(alice()), bob()
    limits(timeouts.ServerTimeouts(statement_timeout=30_000, lock_timeout=200, idle_in_transaction_session_timeout=0))

    def workflow() -> None:
        Workflow.objects.select_for_update().get(pk=request.workflow_id)

    with frozen_in(workflow), pytest.raises(pool.AWAY, match="lock timeout"):
        desk.decide(request.pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD)
    assert (
        desk.decide(request.pk, Answer(Verdict.APPROVE), by=decider, via=Door.DASHBOARD).decision.verdict == "approve"
    )
