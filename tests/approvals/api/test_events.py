"""GET /api/v1/events: which events arrive, when, and how a stream continues after a disconnect."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import actions
from approvals.api.agentforge import feed, followers
from approvals.db import pool
from approvals.db.pool import run
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict
from tests.support.desk.following import ADDRESS, following
from tests.support.desk.requests import PAST, decide, make_request, make_workflow
from tests.support.machines import machine, served
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db(transaction=True)

#: Seconds between reads of the record, for tests in which only a ring may wake the follower.
NEVER = 3600.0
ASKED, ANSWERED = ["human_request", "interrupt", "agent_waiting"], ["human_response", "resume", "agent_resumed"]


def answer(request: ApprovalRequest, by: User, text: str = "blue") -> None:
    decide(request, by, Verdict.RESPOND, answer=text)


def test_a_question_and_its_answer_are_received_at_once(monkeypatch):
    monkeypatch.setattr(followers, "POLL", NEVER)
    owner, decider = alice(), bob()
    asker = machine(owner, "read")

    async def story() -> None:
        async with following(asker) as follower:
            assert (follower.status, follower.headers["content-type"]) == (200, "text/event-stream")
            assert (follower.headers["cache-control"], follower.headers["x-accel-buffering"]) == ("no-cache", "no")
            assert await follower.nothing()
            request = await run(make_request, owner, Kind.QUESTION)
            await follower.hear(3)
            await run(answer, request, decider)
            heard = await follower.hear(6)
            assert follower.names == ASKED + ANSWERED
            assert [one.own_id for one in heard] == [
                str(request.pk),
                str(request.pk),
                "",
                f"response-{request.pk}",
                f"resume-{request.pk}",
                "",
            ]
            assert {one.data["threadId"] for one in heard} == {request.workflow.key}
            assert heard[0].data["request"]["createdAt"] == round(request.created_at.timestamp() * 1000)

    served(story)


def test_a_stream_continues_after_any_of_its_ids_without_gap_or_repeat():
    owner, decider = alice(), bob()
    asker = machine(owner, "read")

    def happen() -> None:
        workflow = make_workflow(owner)
        first, second = (make_request(owner, Kind.QUESTION, workflow=workflow) for _ in range(2))
        make_request(decider, Kind.QUESTION)
        answer(first, decider)
        make_request(owner, deadline_at=PAST)
        answer(second, decider)
        actions.expire(ApprovalRequest.objects.get(deadline_at=PAST).pk)

    async def story() -> None:
        async with following(asker) as whole:
            start = whole.parser.last_id
            await run(happen)
            heard = await whole.hear(15)
        assert [one.event for one in heard] == [
            *ASKED,
            "human_request",
            "interrupt",
            "human_response",
            "resume",
            "interrupt",
            "agent_waiting",
            *ANSWERED,
            "human_timeout",
            "resume",
            "agent_resumed",
        ]
        for place, last in enumerate([start, *(one.id for one in heard)]):
            async with following(asker, last=last) as again:
                assert await again.hear(len(heard) - place) == heard[place:]
                assert place not in {0, 15} or await again.nothing()

    served(story)


def test_a_new_follower_receives_earlier_events_only_if_it_asks_for_them():
    owner = alice()
    make_request(owner, Kind.QUESTION)
    asker = machine(owner, "read")

    async def story() -> list[list[str]]:
        async with following(asker) as now, following(asker, "?after=0.0") as ever:
            await ever.hear(3)
            assert await now.nothing()
            return [now.names, ever.names]

    assert served(story) == [[], ASKED]


def test_following_one_thread_excludes_the_others():
    owner = alice()
    asker = machine(owner, "read")

    async def story() -> list[set[str]]:
        async with following(asker, "?thread=t-1") as one, following(asker, "?thread=run-7") as by_key:
            await run(lambda: make_request(owner, workflow=make_workflow(owner, thread_id="t-1")))
            await run(lambda: make_request(owner, workflow=make_workflow(owner, thread_id="t-2")))
            await run(lambda: make_request(owner, workflow=make_workflow(owner, key="run-7")))
            for follower in (one, by_key):
                await follower.hear(2)
                assert await follower.nothing()
            return [{heard.data["threadId"] for heard in follower.heard} for follower in (one, by_key)]

    assert served(story) == [{"t-1"}, {"run-7"}]


def test_fifty_followers_hold_no_thread_and_receive_every_event():
    owner, decider = alice(), bob()
    asker = machine(owner, "read")

    async def story() -> None:
        before = len(threading.enumerate())
        async with contextlib.AsyncExitStack() as stack:
            followers = [await stack.enter_async_context(following(asker)) for _ in range(50)]
            request = await run(make_request, owner, Kind.QUESTION)
            await run(answer, request, decider)
            for follower in followers:
                assert [one.event for one in await follower.hear(6)] == ASKED + ANSWERED
            assert len(threading.enumerate()) <= before + pool.THREADS

    served(story)


@pytest.mark.parametrize("last", ["nonsense", "1", "-1.0", "x" * 500, "1.0;", "999999.0"])
def test_a_foreign_cursor_is_refused(last):
    asker = machine(alice(), "read")
    for answer in (asker.get(ADDRESS, headers={"last-event-id": last}), asker.get(f"{ADDRESS}?after={last}")):
        assert (answer.status, answer.code, list(answer.json["errors"])) == (422, "invalid", ["Last-Event-ID"])


def test_a_stopped_request_is_reported_and_its_agent_does_not_resume():
    owner = alice()
    asker = machine(owner, "read")

    async def story() -> list[str]:
        async with following(asker) as follower:
            request = await run(make_request, owner)
            await run(actions.cancel_requests, [request.pk], by=owner, via=Door.STOP, comment="Stopped.")
            await follower.hear(3)
            assert await follower.nothing()
            return follower.names

    assert served(story) == ["interrupt", "agent_waiting", "human_error"]


def test_an_expired_request_is_reported():
    owner = alice()
    asker = machine(owner, "read")

    async def story() -> None:
        async with following(asker) as follower:
            soon = timezone.now() + timedelta(milliseconds=50)
            chosen = {"fieldName": "", "selected": ["a", "b"], "selectedIndex": [0, 1]}
            request = await run(lambda: make_request(owner, Kind.QUESTION, deadline_at=soon, default_response=chosen))
            await follower.hear(3)
            assert follower.heard[0].data["request"]["defaultResponse"] == "a, b"
            await asyncio.sleep(0.1)
            assert await run(actions.expire, request.pk)
            timeout, resume, _ = (await follower.hear(6))[3:]
            assert (timeout.event, timeout.data["defaultResponse"], resume.data["value"]) == (
                "human_timeout",
                "a, b",
                "a, b",
            )

    served(story)


def test_a_page_of_events_costs_the_same_number_of_queries_whatever_is_on_it():
    owner = alice()
    costs = []
    for how_many in (2, 30):
        place = feed.start_cursor("")
        for _ in range(how_many):
            make_request(owner, Kind.QUESTION, workflow=make_workflow(owner))
        with CaptureQueriesContext(connection) as found:
            page = feed.read_page(place)
            frames, rest = feed.FrameCache().frames(page.entries)
        assert (len(frames), rest) == (3 * how_many, None)
        costs.append(len(found.captured_queries))
    assert costs[0] == costs[1] <= 4


def test_a_read_loads_only_receivable_entries_and_a_bounded_amount(monkeypatch):
    monkeypatch.setattr(feed, "LOADED", 5000)
    owner, place, encoder = alice(), feed.start_cursor(""), feed.FrameCache()
    large = [make_request(owner, Kind.QUESTION, context={"text": "x" * 2000}) for _ in range(5)]
    page = feed.read_page(place)
    heard = page.entries[1:]
    told = []
    while heard:
        with CaptureQueriesContext(connection) as found:
            frames, rest = encoder.frames(heard)
        told.append((len(frames), len(found.captured_queries)))
        heard = [entry for entry in heard if rest is not None and entry.pk >= rest.entry]
    assert told == [(6, 1), (6, 1)]
    with CaptureQueriesContext(connection) as found:
        again, _ = encoder.frames(page.entries[3:])
    assert (len(again), len(found.captured_queries)) == (6, 0)
    assert str(large[0].pk).encode() not in b"".join(again)


def test_an_entry_says_how_many_requests_wait_after_it():
    owner = alice()
    place, workflow = feed.start_cursor(""), make_workflow(owner)
    for _ in range(3):
        make_request(owner, Kind.QUESTION, workflow=workflow)
    assert [entry.waiting for entry in feed.read_page(place).entries] == [1, 2, 3]
