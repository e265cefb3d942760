"""Comments on a request: the rights to write and read them, and their display."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from approvals import actions
from approvals.access.assignees import LAPSES
from approvals.exceptions import Invalid, NotAllowed, NotFound
from approvals.models import ApprovalRequest, AuditEntry
from approvals.models.comments import MAX_TEXT, RequestComment
from approvals.shown import notes
from approvals.states import Door, Kind, Verdict
from tests.support.desk.pressing import HTMX, browser
from tests.support.desk.requests import decide, events, make_request, stored
from tests.support.markup import forms, inline_code, parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def say(request: ApprovalRequest, by: User, text: str) -> RequestComment:
    return actions.comment(request.pk, by=by, via=Door.DASHBOARD, text=text)


def said(html: str) -> list[str]:
    return [one.words for one in parse(html).find("li", class_="internal-note")]


def test_requester_assignee_and_deciders_comment_auditors_read_and_others_see_nothing():
    owner, by, assignee = alice(), bob(), make_person("nina")
    request = make_request(owner, Kind.QUESTION, assigned_to=assignee)
    for person in (owner, by, assignee):
        say(request, person, f"I am {person.username}.")
    with pytest.raises(NotAllowed, match="can read these notes"):
        say(request, auditor := carol(), "Me too.")
    with pytest.raises(NotFound):
        say(request, stranger := mallory(), "Me too.")
    shown = browser(auditor).get(request.get_absolute_url()).text
    assert [words.split(" ")[0] for words in said(shown)] == ["nina", "bob", "alice"]
    assert forms(shown, "comments/") == []
    assert browser(stranger).get(request.get_absolute_url()).status_code == 404
    entry = AuditEntry.objects.filter(event="request.commented").first()
    first = RequestComment.objects.first()
    assert (entry.actor_name, entry.data) == ("alice", {"comment_id": first.pk, "text": "I am alice."})


def test_people_can_comment_after_a_request_has_ended():
    request, by = make_request(alice()), bob()
    decide(request, by, Verdict.APPROVE)
    say(request, by, "It was right.")
    assert events(request) == ["request.created", "request.decided", "request.commented"]


def test_a_comment_prolongs_the_claim_of_its_author():
    request, by, other = make_request(alice()), bob(), make_person("dora", "decide_approvalrequest")
    actions.claim(request.pk, by=by, via=Door.DASHBOARD)
    nearly = timezone.now() - LAPSES + timedelta(minutes=1)
    ApprovalRequest.objects.filter(pk=request.pk).update(claimed_at=nearly)
    say(request, other, "Are you?")
    assert stored(request).claimed_at == nearly
    say(request, by, "I am.")
    assert stored(request).claimed_at > nearly


@pytest.mark.parametrize(
    ("text", "words"), [("  \n ", "is empty"), ("x" * (MAX_TEXT + 1), "is longer than 5,000 characters")]
)
def test_an_empty_or_too_long_comment_is_refused_and_stays_in_the_form(text, words):
    request, by = make_request(alice()), bob()
    with pytest.raises(Invalid) as refused:
        say(request, by, text)
    assert refused.value.errors == {"text": words}
    for headers in ({}, HTMX):
        answer = browser(by).post(f"{request.get_absolute_url()}comments/", {"text": text}, headers=headers)
        (form,) = forms(answer.text, "comments/")
        assert (answer.status_code, form.fields["text"]) == (422, text)
        assert words in answer.text
    assert RequestComment.objects.count() == 0


def test_a_comment_is_stored_as_written_and_shown_as_safe_markdown():
    request, by = make_request(alice()), bob()
    text = "**Look**: <script>alert(1)</script> [here](javascript:alert(1)) ![x](https://evil.example/x.png)\x00"
    answer = browser(by).post(f"{request.get_absolute_url()}comments/", {"text": text})
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{request.get_absolute_url()}#notes")
    page = browser(by).get(request.get_absolute_url()).text
    (comment,) = parse(page).find("li", class_="internal-note")
    assert [one.words for one in comment.find("strong")] == ["Look"]
    assert [comment.find(tag) for tag in ("script", "img")] == [[], []]
    assert inline_code(page) == []
    assert RequestComment.objects.get().text == text.replace("\x00", "\ufffd")


def test_a_long_thread_is_paged_newest_first(monkeypatch):
    monkeypatch.setattr(notes, "PAGE", 3)
    request, by = make_request(alice()), bob()
    for number in range(8):
        say(request, by, f"No. {number}")
    client, address, seen = browser(by), request.get_absolute_url(), []
    while address:
        page = client.get(address).text
        seen.append([words[-1] for words in said(page)])
        earlier = [link for link in parse(page).find("a", class_="button") if link.words == "Earlier notes"]
        address = earlier[0].attributes["href"] if earlier else ""
    assert seen == [["7", "6", "5"], ["4", "3", "2"], ["1", "0"]]


@pytest.mark.parametrize("before", ["", "x", "-1", "1" * 30, "٣", "\x00"])
def test_an_unknown_page_of_a_thread_is_no_error(before):
    request = make_request(alice())
    assert browser(bob()).get(request.get_absolute_url(), {"before": before}).status_code == 200
