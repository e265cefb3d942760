"""An @ and a username in an internal note notify that person, if they may see the request, once, as they want."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core import mail

from approvals import actions
from approvals.exceptions import NotAllowed
from approvals.models import ApprovalRequest, AuditEntry, OutboxEvent, Preferences, PushSubscription
from approvals.models.comments import RequestComment
from approvals.states import Channel, Door, Kind, Verdict
from approvals.text.markdown import names_in, to_html
from tests.support.desk.away import away
from tests.support.desk.carrying import carry, with_address
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.desk.scopes import make_scope
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _public(settings):
    settings.HITL_MAIL = True
    settings.PUBLIC_URL = "https://desk.example.org"


def say(request: ApprovalRequest, by: User, text: str) -> RequestComment:
    return actions.comment(request.pk, by=by, via=Door.DASHBOARD, text=text)


def mails() -> list[tuple[str, str]]:
    """Receivers and names of the rows in the outbox."""
    return list(OutboxEvent.objects.filter(channel=Channel.MAIL).values_list("target", "name").order_by("target"))


def people_suggested(client, request: ApprovalRequest, text: str = "") -> list[str]:
    answer = client.get(f"{request.get_absolute_url()}mentions/", {"q": text}).json()
    return [person["label"] for person in answer["people"]]


def test_names_are_found_outside_of_code_links_and_addresses():
    text = (
        "@bob, @carol. and @a.b- or `@code` [@link](https://a.example) x@y.org (@dora) **@emil** @bob @eve@example.org"
    )
    found = names_in(text + "\n\n    @block")
    assert [name for name in ("bob", "carol", "a.b", "dora", "emil", "eve@example.org", "code", "link", "y.org", "block")
            if name in found] == ["bob", "carol", "a.b", "dora", "emil", "eve@example.org"]  # fmt: skip


def test_only_those_who_were_notified_are_marked():
    assert to_html("@bob. @eve@a.org, `@bob` <b>@x</b> bob", ["bob", "eve@a.org"]) == (
        '<p><span class="mention">@bob</span>. <span class="mention">@eve@a.org</span>, <code>@bob</code> '
        "&lt;b&gt;@x&lt;/b&gt; bob</p>\n"
    )
    assert to_html("@bob") == "<p>@bob</p>\n"


def test_a_mention_is_stored_on_record_marked_and_mailed_once():
    owner, by, person = alice(), with_address(bob()), with_address(carol())
    request = make_request(owner, Kind.APPROVAL)
    note = say(request, by, "@carol please look, @carol. And @bob, @nobody, @mallory.")
    assert (note.mentions, mails()) == (["carol"], [(f"mail:{person.pk}", "request.mentioned")])
    entry = AuditEntry.objects.get(event="request.commented")
    assert entry.data["mentions"] == ["carol"]
    page = parse(browser(by).get(request.get_absolute_url()).text)
    assert [each.words for each in page.find("span", class_="mention")] == ["@carol", "@carol"]


def test_a_note_without_mentions_records_nothing_more():
    owner, by = alice(), bob()
    request = make_request(owner, Kind.APPROVAL)
    note = say(request, by, "Mail a@b.org.")
    assert (note.mentions, mails(), "mentions" in AuditEntry.objects.get(event="request.commented").data) == (
        None, [], False,
    )  # fmt: skip


def test_people_who_may_not_see_the_request_or_are_gone_get_nothing():
    owner, by, gone = alice(), bob(), with_address(carol())
    with_address(mallory())
    User.objects.filter(pk=gone.pk).update(is_active=False)
    note = say(make_request(owner, Kind.APPROVAL), by, "@mallory @carol")
    assert (note.mentions, mails()) == (None, [])


def test_the_requester_and_an_assignee_may_be_mentioned():
    owner, by, assignee = with_address(alice()), bob(), with_address(make_person("nina"))
    request = make_request(owner, Kind.QUESTION, assigned_to=assignee)
    assert say(request, by, "@alice @nina").mentions == ["alice", "nina"]
    with pytest.raises(NotAllowed):
        say(request, carol(), "@alice")


def test_a_delegate_may_be_mentioned_while_the_person_is_away_for_whom_they_decide():
    owner, absent, delegate = alice(), bob(), make_person("erin", "decide_approvalrequest")
    make_scope(absent, by=User.objects.create_superuser("root"), tools=["refund"])
    request = make_request(owner, tool_name="refund")
    before = say(request, owner, "@erin @bob").mentions
    away(absent, delegate)
    assert (before, say(request, owner, "@erin @bob").mentions) == (["bob"], ["bob", "erin"])


def test_a_muted_mention_is_stored_and_not_sent():
    owner, by, person = alice(), bob(), with_address(carol())
    Preferences.objects.create(person=person, muted=["mail:mentioned", "push:mentioned"])
    assert say(make_request(owner, Kind.APPROVAL), by, "@carol").mentions == ["carol"]
    assert mails() == []


def test_devices_are_notified_too_and_a_hundred_names_are_bounded():
    owner, by, person = alice(), bob(), carol()
    PushSubscription.objects.create(
        person=person, endpoint="https://push.example.org/1", p256dh="x", auth="y", session_key="z"
    )
    request = make_request(owner, Kind.APPROVAL)
    for number in range(25):
        make_person(f"p{number:02}", "view_approvalrequest")
    assert len(say(request, by, " ".join(f"@p{number:02}" for number in range(25))).mentions) == 20
    say(request, by, "@carol")
    rows = OutboxEvent.objects.exclude(channel=Channel.NOTICE)
    assert list(rows.values_list("channel", "name")) == [("push", "request.mentioned")]


@pytest.mark.django_db(transaction=True)
def test_the_mail_says_who_mentions_one_where_also_after_the_end():
    owner, by = alice(), bob()
    with_address(carol())
    request = make_request(owner, Kind.APPROVAL)
    decide(request, by, Verdict.APPROVE)
    say(request, by, "@carol why?")
    carry()
    (message,) = mail.outbox
    line = f"{request.title} ({request.workflow.agent})"
    assert (message.to, message.subject) == (["carol@example.org"], f"[Pausepoint] bob mentioned you: {line}")
    assert message.body.splitlines() == [
        f"bob mentioned you: {line}", f"https://desk.example.org{request.get_absolute_url()}", "",
        "Replies to this email are not read. Open a link to answer.",
    ]  # fmt: skip


def test_who_sees_everything_is_suggested_all_who_may_see_it_by_username_or_display_name():
    owner, by, person = alice(), bob(), carol()
    mallory()
    User.objects.filter(pk=person.pk).update(first_name="Caroline Smith")
    request, client = make_request(owner, Kind.APPROVAL), browser(by)
    assert people_suggested(client, request) == ["alice", "Caroline Smith (@carol)"]
    assert people_suggested(client, request, "smi") == ["Caroline Smith (@carol)"]
    assert people_suggested(client, request, "x" * 1000) == []


def test_others_are_suggested_only_those_who_have_to_do_with_the_request_and_strangers_no_one():
    owner, by, stranger = alice(), bob(), mallory()
    carol()
    request = make_request(owner, Kind.QUESTION)
    assert people_suggested(browser(owner), request) == []
    say(request, by, "Hello.")
    assert people_suggested(browser(owner), request) == ["bob"]
    assert people_suggested(browser(User.objects.get(username="carol")), request) == []
    assert browser(stranger).get(f"{request.get_absolute_url()}mentions/").status_code == 404
