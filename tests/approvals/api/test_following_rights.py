"""The right to follow events, the events of each follower, and that losing access closes the stream."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from approvals.access import callers
from approvals.access.standing import standing_of
from approvals.administration.keys.actions import create_key
from approvals.api.agentforge import feed, followers
from approvals.api.agentforge.encode import StreamCursor
from approvals.db.pool import run
from approvals.models.keys import ApiKey
from approvals.states import Kind
from tests.support.desk.following import ADDRESS, following
from tests.support.desk.requests import make_request, make_workflow
from tests.support.lines import cookie_of
from tests.support.machines import Machine, machine, served
from tests.support.people import alice, bob, carol, mallory

pytestmark = pytest.mark.django_db(transaction=True)


def token(owner: User, thread: str) -> Machine:
    caller = callers.Caller(
        user=owner, standing=standing_of(owner), scopes=callers.ALL, key=create_key(owner, name="app")[0]
    )
    return Machine(callers.client_token(caller, thread=thread))


def test_each_caller_receives_only_what_they_may_see():
    people = [alice(), bob(), carol(), mallory()]
    owner, decider, _, stranger = people
    hears = [machine(one, "read") for one in people]

    async def story() -> list[int]:
        async with (
            following(hears[0]) as asks,
            following(hears[1]) as decides,
            following(hears[2]) as audits,
            following(hears[3]) as may_not,
        ):
            await run(make_request, owner, Kind.QUESTION)
            await run(make_request, stranger, Kind.QUESTION)
            await run(make_request, decider, Kind.QUESTION, assigned_to=stranger)
            for follower, count in ((asks, 3), (decides, 9), (audits, 9), (may_not, 6)):
                await follower.hear(count)
                assert await follower.nothing()
            return [len(follower.heard) for follower in (asks, decides, audits, may_not)]

    assert served(story) == [3, 9, 9, 6]


def test_a_client_token_receives_only_its_own_thread():
    owner, decider = alice(), bob()
    own = token(decider, "t-1")

    async def story() -> list[str]:
        async with following(own) as follower:
            await run(lambda: make_request(owner, title="Hers", workflow=make_workflow(owner, thread_id="t-1")))
            await run(lambda: make_request(decider, title="Other", workflow=make_workflow(decider, thread_id="t-2")))
            await run(lambda: make_request(decider, title="His", workflow=make_workflow(decider, thread_id="t-1")))
            await follower.hear(2)
            assert await follower.nothing()
            return [heard.data["reason"] for heard in follower.heard if heard.event == "agent_waiting"]

    assert served(story) == ["His"]
    other = own.get(f"{ADDRESS}?thread=t-2")
    assert (other.status, other.code) == (403, "not_allowed")


def ends_key(owner: User) -> None:
    ApiKey.objects.update(revoked_at=timezone.now())


def key_expires(owner: User) -> None:
    ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


def loses_read(owner: User) -> None:
    ApiKey.objects.update(scopes=["ask"])


def is_deactivated(owner: User) -> None:
    User.objects.filter(pk=owner.pk).update(is_active=False)


def reader(owner: User) -> Machine:
    return machine(owner, "read")


def browser_app(owner: User) -> Machine:
    return token(owner, "t-1")


@pytest.mark.parametrize(
    ("made", "end"),
    [
        (reader, ends_key),
        (reader, key_expires),
        (reader, loses_read),
        (reader, is_deactivated),
        (browser_app, ends_key),
        (browser_app, key_expires),
        (browser_app, is_deactivated),
    ],
)
def test_a_follower_who_loses_access_receives_nothing_more_and_is_closed(made, end):
    owner = alice()
    follows = made(owner)

    async def story() -> list[str]:
        async with following(follows) as follower:
            await run(end, owner)
            await run(lambda: make_request(owner, workflow=make_workflow(owner, thread_id="t-1")))
            await follower.close()
            return follower.names

    assert served(story) == []


def test_who_loses_the_right_while_a_page_is_read_is_shown_nothing_of_it(monkeypatch):
    owner, read = alice(), feed.read_page
    _, key = create_key(owner, name="follows", scopes=("read",))
    make_request(owner, Kind.QUESTION)

    def read_and_lose(cursor):
        page = read(cursor)
        is_deactivated(owner)
        return page

    monkeypatch.setattr(feed, "read_page", read_and_lose)
    wish = followers.FollowerState(callers.Credentials(key, None), "", StreamCursor(0, 0))
    assert followers._read_all(None, [wish]) == [None]


def test_a_follower_is_closed_as_soon_as_its_session_ends(monkeypatch):
    # So it is the ring that closes it, and not the next look.
    monkeypatch.setattr(followers, "POLL", 3600.0)
    owner = alice()
    browser = Client()
    browser.force_login(owner)
    cookie = f"sessionid={browser.session.session_key}"

    async def story() -> None:
        async with (
            following(Machine(), cookie=cookie) as follower,
            following(Machine(), cookie=await run(cookie_of, owner)) as other,
        ):
            await run(lambda: browser.post("/logout/"))
            await follower.close()
            await run(make_request, owner)
            assert (follower.names, [one.event for one in await other.hear(2)]) == ([], ["interrupt", "agent_waiting"])

    served(story)


def test_a_follower_is_closed_at_the_next_read_after_its_token_expires(monkeypatch):
    monkeypatch.setattr(followers, "POLL", 0.2)
    owner = alice()
    caller = callers.Caller(user=owner, standing=standing_of(owner), scopes=callers.ALL)
    short = Machine(callers.client_token(caller, thread="t-1", seconds=3600))
    now = timezone.now()

    async def story() -> None:
        async with following(short) as follower:
            assert (follower.status, follower.closed) == (200, False)
            monkeypatch.setattr(callers.timezone, "now", lambda: now + timedelta(hours=2))
            await follower.close()

    served(story)


def test_invalid_threads_and_callers_are_refused():
    owner = alice()
    asker, cannot = machine(owner, "read"), machine(owner, "ask")
    assert [asker.get(f"{ADDRESS}?thread={t}").code for t in ("x" * 201, "%00")] == ["invalid", "invalid"]
    assert (cannot.get(ADDRESS).code, Machine().get(ADDRESS).code) == ("scope_missing", "not_authenticated")
    assert (asker.post(ADDRESS, {}).status, asker.call("HEAD", ADDRESS).text) == (405, "")
