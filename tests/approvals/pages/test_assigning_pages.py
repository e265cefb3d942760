"""The line that says who is on a request and the form that hands it over, as people press them: with htmx and without."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from approvals import actions
from approvals.models import ApprovalRequest
from approvals.states import Door, Kind, Verdict
from tests.support.desk.pressing import HTMX, browser, press
from tests.support.desk.requests import decide, make_request, stored
from tests.support.markup import aside, forms, inline_code, parse, without_tokens
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db


def line(html: str) -> tuple[str, list[str]]:
    """What is said about who is on it, and the buttons beside it."""
    (holder,) = parse(html).find("div", class_="assignee")
    words = holder.find("p", class_="assignee-text")
    return words[0].words if words else "", [one.words for one in holder.find("button")]


def lines(request: ApprovalRequest, *people: User) -> list[tuple[str, list[str]]]:
    return [line(browser(person).get(request.get_absolute_url()).text) for person in people]


def take(request: ApprovalRequest, by: User) -> None:
    actions.claim(request.pk, by=by, via=Door.DASHBOARD)


def test_everybody_who_sees_a_request_sees_who_is_on_it_and_gets_their_own_button():
    owner, by, auditor = alice(), bob(), carol()
    other, request = make_person("dora", "decide_approvalrequest"), make_request(owner)
    assert lines(request, owner, by, auditor) == [
        ("Unassigned", []),
        ("Unassigned", ["Assign to me"]),
        ("Unassigned", []),
    ]
    take(request, by)
    free = "unassigned again 14 minutes from now"
    assert lines(request, owner, by, other) == [
        (f"Assigned to bob {free}", []),
        (f"Assigned to you {free}", ["Unassign"]),
        (f"Assigned to bob {free}", ["Reassign to me"]),
    ]
    decide(request, other, Verdict.APPROVE)
    assert lines(request, owner, by) == [("", []), ("", [])]


def test_the_button_takes_it_and_leads_back_to_the_page_where_it_was_pressed():
    request, by = make_request(alice()), bob()
    for address in ("/", request.workflow.get_absolute_url(), request.get_absolute_url()):
        for action, button in (("claim/", "Assign to me"), ("release/", "Unassign")):
            client = browser(by)
            (form,) = forms(client.get(address).text, action)
            answer = press(client, form, button)
            assert (answer.status_code, answer.headers["Location"]) == (302, address)
    assert stored(request).claimed_by is None


def test_htmx_gets_the_line_alone():
    request, by = make_request(alice()), bob()
    answer = browser(by).post(f"{request.get_absolute_url()}claim/", headers=HTMX)
    (only,) = parse(answer.text).inside
    assert (answer.status_code, only.attributes["id"]) == (200, f"assignee-{request.pk}")
    assert line(answer.text)[1] == ["Unassign"]


def test_taking_over_names_from_whom_and_who_was_slower_reads_why():
    request, by, other = make_request(alice()), bob(), make_person("dora", "decide_approvalrequest")
    client = browser(other)
    (early,) = forms(client.get("/").text, "claim/")
    take(request, by)
    for headers in (HTMX, {}):
        refused = client.post(early.action, early.fields, headers=headers)
        assert refused.status_code == 409
        assert [one.words for one in parse(refused.text).find("p", class_="refusal")] == [
            "This request is assigned to bob. To take over, assign it to yourself."
        ]
        assert line(refused.text)[1] == ["Reassign to me"]
    (form,) = forms(refused.text, "claim/")
    press(client, form, "Reassign to me")
    assert stored(request).claimed_name == "dora"


def test_bob_hands_a_question_to_mallory_who_hands_it_back_and_sees_it_no_more():
    request, by, to = make_request(alice(), Kind.QUESTION), bob(), mallory()
    client, theirs = browser(by), browser(to)
    assert theirs.get(request.get_absolute_url()).status_code == 404
    (form,) = forms(client.get(request.get_absolute_url()).text, "assign/")
    assert press(client, form, "Assign", to="mallory").headers["Location"] == f"{request.get_absolute_url()}#notes"
    page = theirs.get(request.get_absolute_url()).text
    assert line(page) == ("Assigned to you", ["Start working on it"])
    assert parse(page).find("option") == []
    (form,) = forms(page, "assign/")
    left = press(theirs, form, "Unassign")
    assert (left.status_code, left.headers["Location"]) == (302, "/")
    assert "Unassigned. You can no longer see this request." in theirs.get("/").text
    assert theirs.get(request.get_absolute_url()).status_code == 404


def test_htmx_takes_who_sees_it_no_more_to_the_desk():
    request, to = make_request(alice(), Kind.QUESTION, assigned_to=(by := mallory())), bob()
    data = {"to": to.username, "instead_of": by.username}
    answer = browser(by).post(f"{request.get_absolute_url()}assign/", data, headers=HTMX)
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, "/")


@pytest.mark.parametrize("name", ["", "  ", "nobody-of-that-name", "\x00", "x" * 5000])
def test_a_name_that_nobody_has_is_refused_in_words_that_help(name):
    request, by = make_request(alice()), bob()
    for headers in (HTMX, {}):
        refused = browser(by).post(f"{request.get_absolute_url()}assign/", {"to": name}, headers=headers)
        (alert,) = parse(refused.text).find("div", class_="refusal")
        assert (refused.status_code, alert.words) == (
            422,
            "This request cannot be assigned to that user. to is not the name of a user who can answer this request",
        )
    assert stored(request).assigned_to is None


def test_who_was_slower_at_handing_over_reads_who_has_it():
    request, by, to = make_request(alice(), Kind.QUESTION), bob(), mallory()
    actions.assign(request.pk, by=by, via=Door.DASHBOARD, to=to)
    refused = browser(by).post(f"{request.get_absolute_url()}assign/", {"to": "bob"}, headers=HTMX)
    (alert,) = parse(refused.text).find("div", class_="refusal")
    assert (refused.status_code, alert.words) == (
        409,
        "The assignee has changed: this request is now assigned to mallory.",
    )


@pytest.mark.parametrize(
    ("kind", "names"), [(Kind.QUESTION, ["alice", "bob", "dora"]), (Kind.APPROVAL, ["bob", "dora"])]
)
def test_people_to_hand_it_to_are_offered_as_far_as_they_can_be_asked(kind, names):
    request, by = make_request(alice(), kind), bob()
    make_person("dora", "decide_approvalrequest")
    User.objects.filter(pk=make_person("gone", "decide_approvalrequest").pk).update(is_active=False)
    page = browser(by).get(request.get_absolute_url()).text
    assert [one.attributes["value"] for one in parse(page).find("option")] == names


@pytest.mark.parametrize("action", ["claim", "release", "assign", "comments"])
def test_to_mallory_what_is_not_hers_looks_like_what_is_not_there(action):
    request, client = make_request(alice()), browser(mallory())
    absent = "/requests/00000000-0000-0000-0000-000000000000/"
    for headers in ({}, HTMX):
        data = {"to": "mallory", "text": "Hello?"}
        answers = [client.post(f"{at}{action}/", data, headers=headers) for at in (request.get_absolute_url(), absent)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert len({without_tokens(answer.text) for answer in answers}) == 1


@pytest.mark.parametrize("action", ["claim", "release", "assign", "comments"])
def test_addresses_of_forms_are_no_pages_and_ask_for_a_token(action):
    request, by = make_request(alice()), bob()
    address = f"{request.get_absolute_url()}{action}/"
    assert browser(by).get(address).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(by)
    assert strict.post(address, {"to": "bob", "text": "Hello?"}).status_code == 403


def test_the_way_back_leads_to_no_other_site():
    request, by = make_request(alice()), bob()
    answer = browser(by).post(f"{request.get_absolute_url()}claim/", {"next": "https://evil.example/"})
    assert answer.headers["Location"] == request.get_absolute_url()


def test_a_name_full_of_markup_is_shown_as_it_is():
    request = make_request(alice())
    nasty = make_person("<script>alert(1)</script>&\"'", "decide_approvalrequest")
    take(request, nasty)
    actions.assign(request.pk, by=nasty, via=Door.DASHBOARD, to=nasty)
    page = browser(bob()).get(request.get_absolute_url()).text
    assert inline_code(page) == []
    said, buttons = line(page)
    assert (said.startswith(f"Assigned to {nasty.username} "), buttons) == (True, ["Reassign to me"])
    assert len(aside(parse(page))) == 4
