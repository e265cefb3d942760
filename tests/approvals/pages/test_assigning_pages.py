"""The line with the assignee and the assign form, with and without htmx."""

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
    """Return the text and the buttons of the line with the assignee."""
    (holder,) = parse(html).find("div", class_="assignee")
    words = holder.find("p", class_="assignee-text")
    return words[0].words if words else "", [one.words for one in holder.find("button")]


def lines(request: ApprovalRequest, *people: User) -> list[tuple[str, list[str]]]:
    return [line(browser(person).get(request.get_absolute_url()).text) for person in people]


def take(request: ApprovalRequest, by: User) -> None:
    actions.claim(request.pk, by=by, via=Door.DASHBOARD)


def test_everyone_sees_the_assignee_and_their_own_button():
    owner, by, auditor = alice(), bob(), carol()
    other, request = make_person("dora", "decide_approvalrequest"), make_request(owner)
    assert lines(request, owner, by, auditor) == [
        ("Unassigned", []),
        ("Unassigned", ["Assign to me"]),
        ("Unassigned", []),
    ]
    take(request, by)
    free = "released in 14 minutes"
    assert lines(request, owner, by, other) == [
        (f"Assigned to bob {free}", []),
        (f"Assigned to you {free}", ["Unassign"]),
        (f"Assigned to bob {free}", ["Reassign to me"]),
    ]
    decide(request, other, Verdict.APPROVE)
    assert lines(request, owner, by) == [("", []), ("", [])]


def test_assign_to_me_returns_to_the_same_page():
    request, by = make_request(alice()), bob()
    for address in (request.workflow.get_absolute_url(), request.get_absolute_url()):
        for action, button in (("claim/", "Assign to me"), ("release/", "Unassign")):
            client = browser(by)
            (form,) = forms(client.get(address).text, action)
            answer = press(client, form, button)
            assert (answer.status_code, answer.headers["Location"]) == (302, address)
    assert stored(request).claimed_by is None


def test_htmx_gets_only_the_assignee():
    request, by = make_request(alice()), bob()
    answer = browser(by).post(f"{request.get_absolute_url()}claim/", headers=HTMX)
    (only,) = parse(answer.text).inside
    assert (answer.status_code, only.attributes["id"]) == (200, f"assignee-{request.pk}")
    assert line(answer.text)[1] == ["Unassign"]


def test_reassigning_names_the_assignee_and_the_slower_person_reads_why():
    request, by, other = make_request(alice()), bob(), make_person("dora", "decide_approvalrequest")
    client = browser(other)
    (early,) = forms(client.get(request.workflow.get_absolute_url()).text, "claim/")
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


def test_assignee_who_unassigns_a_request_no_longer_sees_it():
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


def test_htmx_redirects_people_who_lose_access_to_the_dashboard():
    request, to = make_request(alice(), Kind.QUESTION, assigned_to=(by := mallory())), bob()
    data = {"to": to.username, "instead_of": by.username}
    answer = browser(by).post(f"{request.get_absolute_url()}assign/", data, headers=HTMX)
    assert (answer.status_code, answer.headers["HX-Redirect"]) == (200, "/")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("", "An empty name"),
        ("  ", "An empty name"),
        ("nobody-of-that-name", "“nobody-of-that-name”"),
        ("\x00", "“⟨U+0000⟩”"),
        ("x" * 5000, f"“{'x' * 149}…”"),
    ],
)
def test_unknown_username_is_refused(name, shown):
    request, by = make_request(alice()), bob()
    for headers in (HTMX, {}):
        refused = browser(by).post(f"{request.get_absolute_url()}assign/", {"to": name}, headers=headers)
        (alert,) = parse(refused.text).find("div", class_="refusal")
        assert (refused.status_code, alert.words) == (
            422,
            f"This request cannot be assigned to that user. {shown}: no one with that name can answer this request",
        )
    assert stored(request).assigned_to is None


def test_assigning_and_adding_a_note_keep_what_was_typed_in_the_other_form():
    request, by = make_request(alice()), bob()
    make_person("dora", "decide_approvalrequest")
    address = request.get_absolute_url()

    def typed_after(action: str, to: str, note: str) -> tuple[int, str, str]:
        answer = browser(by).post(f"{address}{action}/", {"to": to, "text": note}, headers=HTMX)
        page = parse(answer.text)
        (field,), (area,) = page.find("input", name="to"), page.find("textarea", name="text")
        return answer.status_code, field.attributes["value"], area.words

    assert typed_after("assign", "do", "Half a note") == (422, "do", "Half a note")
    assert typed_after("assign", "dora", "Half a note") == (200, "", "Half a note")
    assert typed_after("comments", "do", "A whole note") == (200, "do", "")
    assert typed_after("comments", "do", "x" * 5001) == (422, "do", "x" * 5001)


def test_concurrent_assignment_names_the_current_assignee():
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
def test_suggested_assignees_are_people_who_can_act(kind, names):
    request, by = make_request(alice(), kind), bob()
    make_person("dora", "decide_approvalrequest")
    User.objects.filter(pk=make_person("gone", "decide_approvalrequest").pk).update(is_active=False)
    page = browser(by).get(request.get_absolute_url()).text
    assert [one.attributes["value"] for one in parse(page).find("option")] == names


@pytest.mark.parametrize("action", ["claim", "release", "assign", "comments"])
def test_forbidden_and_absent_requests_look_the_same(action):
    request, client = make_request(alice()), browser(mallory())
    absent = "/requests/00000000-0000-0000-0000-000000000000/"
    for headers in ({}, HTMX):
        data = {"to": "mallory", "text": "Hello?"}
        answers = [client.post(f"{at}{action}/", data, headers=headers) for at in (request.get_absolute_url(), absent)]
        assert [answer.status_code for answer in answers] == [404, 404]
        assert len({without_tokens(answer.text) for answer in answers}) == 1


@pytest.mark.parametrize("action", ["claim", "release", "assign", "comments"])
def test_form_addresses_need_post_and_a_csrf_token(action):
    request, by = make_request(alice()), bob()
    address = f"{request.get_absolute_url()}{action}/"
    assert browser(by).get(address).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(by)
    assert strict.post(address, {"to": "bob", "text": "Hello?"}).status_code == 403


def test_next_never_leads_to_another_site():
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
