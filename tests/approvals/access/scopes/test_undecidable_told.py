"""Administrators are told once of a request that no one may decide: when it is asked, or when a later change makes it so."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.utils import timezone

from approvals import actions
from approvals.actions.policy import undecidable
from approvals.administration.people.actions.people import set_active
from approvals.administration.scopes.actions import delete_scope
from approvals.asking.asks import Ask
from approvals.models import ApprovalRequest, AuditEntry, OutboxEvent, Preferences, PushSubscription, ScopeWalk
from approvals.outbound import push
from approvals.states import Door, Kind, Verdict
from tests.approvals.actions.test_races import race
from tests.support.desk.carrying import carry, make_endpoint, sent, with_address
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, events, make_request, make_workflow, stored
from tests.support.desk.scopes import make_scope
from tests.support.machine import APPROVAL, Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)

REPLIES = "Replies to this email are not read. Open a link to answer."
SUBJECT = "[Pausepoint] No one may decide a request: Refund order 4711? (billing)"
TOLD = "request.undecidable"
REFUND = APPROVAL | {"title": "Refund order 4711?", "tool_name": "refund", "agent": "billing"}


@pytest.fixture
def root(settings) -> User:
    """A superuser, who is an administrator too, and gets mail."""
    settings.HITL_MAIL, settings.PUBLIC_URL = True, "https://desk.example.org"
    return with_address(User.objects.create_superuser("root"))


@pytest.fixture
def decider(root) -> User:
    """The only decider, limited by scopes to the tool `payroll`."""
    person = bob()
    make_scope(person, by=root, tools=["payroll"])
    return person


def check() -> int:
    """Check the pending requests, like the sweep; return how often administrators have been told."""
    undecidable.check_waiting_requests()
    return AuditEntry.objects.filter(event=TOLD).count()


def asked(agent: Machine, **changes: object) -> ApprovalRequest:
    return ApprovalRequest.objects.get(pk=agent.ask(REFUND, **changes)["id"])


def test_who_asks_for_what_no_one_may_decide_has_administrators_told_once(decider, root):
    agent, endpoint = Machine(alice()), make_endpoint("https://example.org/hook")[0]
    first, again = (agent.post("/requests", REFUND, idempotency_key="1") for _ in range(2))
    assert (first.status, again.status, check()) == (201, 200, 1)
    request = ApprovalRequest.objects.get()
    carry()
    assert sent() == [(["root@example.org"], SUBJECT)]
    [message] = mail.outbox
    assert message.body.splitlines() == [SUBJECT.removeprefix("[Pausepoint] "), request.public_url, "", REPLIES]
    entry = AuditEntry.objects.get(event=TOLD)
    assert (entry.actor_name, entry.via, entry.data) == ("", "system", {"why": first.body["warnings"][0]})
    hook = OutboxEvent.objects.get(name=TOLD, target=f"endpoint:{endpoint.pk}")
    assert hook.payload["request_id"] == str(request.pk)


def test_what_someone_may_decide_and_questions_tell_no_one(decider, root):
    agent = Machine(alice())
    asked(agent, tool_name="payroll")
    asked(agent, kind="question", tool_name="", input={})
    assert (check(), OutboxEvent.objects.filter(channel="mail").count()) == (0, 0)


def test_a_request_of_a_chat_tells_them_too(decider):
    ask = Ask(kind=Kind.APPROVAL, title="Refund?", tool_name="refund")
    owner = alice()
    request = actions.request_approval(make_workflow(owner), ask, requested_by=owner)
    assert events(request) == ["request.created", TOLD]


def test_a_request_that_the_installation_refuses_tells_no_one(decider, settings):
    settings.HITL_REFUSE_UNDECIDABLE = True
    assert Machine(alice()).post("/requests", {"kind": "approval", "title": "?", "tool_name": "refund"}).status == 422
    assert (check(), OutboxEvent.objects.count()) == (0, 0)


def test_an_administrator_who_may_not_see_the_request_reads_no_title(decider, root):
    limited = with_address(make_person("adam", "administer", "view_approvalrequest"))
    asked(Machine(alice()))
    carry()
    [message] = [each for each in mail.outbox if each.to == [limited.email]]
    assert message.subject == "[Pausepoint] No one may decide a request"
    assert message.body.splitlines() == [
        "No one may decide a request", "https://desk.example.org/settings/scopes/", "", REPLIES,
    ]  # fmt: skip


def test_devices_are_told_and_who_has_muted_it_or_sleeps_is_not_told_now(decider, root):
    device = PushSubscription.objects.create(
        person=root, endpoint="https://push.example.org/1", p256dh="x", auth="y", session_key="z"
    )
    Preferences.objects.create(person=root, muted=["mail:undecidable"])
    now = timezone.localtime()
    sleeper = with_address(make_person("adam", "administer"))
    quiet = {"quiet_from": (now - timedelta(hours=1)).time(), "quiet_until": (now + timedelta(hours=1)).time()}
    Preferences.objects.create(person=sleeper, **quiet)
    request = asked(Machine(alice()))
    rows = OutboxEvent.objects.filter(name="request.no_one_may_decide").order_by("channel")
    assert list(rows.values_list("channel", "target")) == [
        ("mail", f"mail:{sleeper.pk}"),
        ("push", f"push:{device.pk}"),
    ]
    assert [row.next_attempt_at > timezone.now() for row in rows] == [True, False]
    mention = push.messages.Mention(request, "", push.messages.UNDECIDABLE)
    assert push._message([], [mention]) == {
        "title": "No one may decide a request", "body": "Refund order 4711?",
        "url": request.get_absolute_url(), "tag": f"undecidable-{request.pk}",
    }  # fmt: skip
    hidden = push._message([], [mention._replace(hidden=True)] * 2)
    assert (hidden["title"], hidden["body"]) == ("2 requests no one may decide", "Check the approver scopes.")


def test_a_request_that_was_decided_meanwhile_is_in_no_mail(decider, root):
    request = asked(Machine(alice()))
    decide(request, root, Verdict.APPROVE)
    carry()
    assert sent() == []


def test_a_later_change_of_scopes_tells_once_for_each_request_that_waits_and_again_after_it_was_mended(root):
    person, owner = bob(), alice()
    waiting = [make_request(owner, tool_name="refund") for _ in range(2)]
    make_request(owner, tool_name="payroll")
    make_request(owner, Kind.QUESTION)
    make_scope(person, by=root, tools=["payroll"])
    assert [check(), check()] == [2, 2]
    assert {stored(request).undecidable_since is not None for request in waiting} == {True}
    mended = make_scope(person, by=root, tools=["refund"])
    assert check() == 2
    assert {stored(request).undecidable_since for request in waiting} == {None}
    delete_scope(mended.pk, by=root, via=Door.DASHBOARD)
    assert check() == 4


def test_a_decider_who_is_deactivated_leaves_what_waits_to_no_one(root):
    person, owner = bob(), alice()
    make_scope(person, by=root, tools=["refund"])
    request = make_request(owner, tool_name="refund")
    assert check() == 0
    set_active(person.pk, active=False, by=root)
    assert (check(), events(request)) == (1, ["request.created", TOLD])


def test_two_sweeps_at_once_tell_once(root):
    person, owner = bob(), alice()
    waiting = [make_request(owner, tool_name="refund") for _ in range(4)]
    make_scope(person, by=root, tools=["payroll"])
    results = race(*([undecidable.check_waiting_requests] * 4))
    assert [result for result in results if isinstance(result, Exception)] == []
    check()
    assert [events(request).count(TOLD) for request in waiting] == [1] * 4


def test_a_check_goes_on_where_it_was_and_a_later_change_begins_anew(root, monkeypatch):
    monkeypatch.setattr(undecidable, "BATCH", 2)
    person, owner = bob(), alice()
    for _ in range(5):
        make_request(owner, tool_name="refund")
    make_scope(person, by=root, tools=["payroll"])
    walk = undecidable.due_checks().get()
    batch = undecidable._after(None, None)
    undecidable._mark(walk, batch)
    reread = undecidable.due_checks().get()
    assert (reread.checked_created_at, reread.checked_id) == (batch[1].created_at, batch[1].pk)
    assert len(undecidable._after(reread.checked_created_at, reread.checked_id)) == 2
    undecidable.ask_for_check()
    # Transactions under way don't see the change.
    undecidable._mark(reread, [])
    assert (check(), undecidable.due_checks().exists()) == (5, False)
    walk = ScopeWalk.objects.get()
    assert walk.checks == walk.checks_done


def test_nothing_is_checked_before_all_that_waits_was_compared(root, monkeypatch):
    person, owner = bob(), alice()
    make_request(owner, tool_name="refund")
    make_scope(person, by=root, tools=["refund"])
    ApprovalRequest.objects.update(scoped_upto=None, scope_set=None)
    assert (undecidable.due_checks().exists(), check()) == (False, 0)


def test_only_administrators_choose_whether_they_are_told(root):
    words = "No one may decide a request"
    pages = [browser(each).get("/settings/notifications/").text for each in (root, alice())]
    assert [words in page for page in pages] == [True, False]
