"""Hidden values are shown to those with the permission, one at a time, and on record; edits keep hidden values."""

from __future__ import annotations

import json

import pytest
from django.test import Client

from approvals.models import ApprovalRequest, AuditEntry, Decision
from approvals.states import Kind, Verdict
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.desk.votes import both, group, make_voted, vote
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob, make_person, mallory

pytestmark = pytest.mark.django_db

SECRET = {"user": "carol", "password": "hunter2-and-more", "pin": 1234, "note": f"use ghp_{'a1B2' * 10}"}
MASK = "⟨••• hidden: password, 16 to 31 characters⟩"


def dora():
    """Return a decider with the right to show hidden values."""
    return make_person("dora", "decide_approvalrequest", "view_approvalrequest", "reveal_secrets")


def show(client: Client, request: ApprovalRequest, pointer: str, **headers: str):
    return client.post(f"{request.get_absolute_url()}secret/", {"pointer": pointer}, headers=headers)


def test_a_value_is_shown_in_place_of_its_button_and_on_a_page_of_its_own():
    request, person = make_request(alice(), input=SECRET), dora()
    client = browser(person)
    page = client.get(request.get_absolute_url())
    buttons = parse(page.text).find("button", name="pointer")
    assert [button.attributes["value"] for button in buttons] == ["/input/password", "/input/pin", "/input/note"]
    assert {button.attributes["form"] for button in buttons} == {f"secrets-{request.pk}"}
    assert MASK in page.text
    shown = show(client, request, "/input/password", **{"HX-Request": "true"})
    assert parse(shown.text).text.strip() == "hunter2-and-more"
    assert shown.headers["Cache-Control"] == "private, no-store"
    whole = show(client, request, "/input/pin")
    assert parse(whole.text).find("pre", class_="secret-value")[0].text == "1234"
    entries = AuditEntry.objects.filter(event="request.secret_shown").order_by("pk")
    assert [(entry.actor_name, entry.data) for entry in entries] == [
        ("dora", {"pointer": "/input/password"}),
        ("dora", {"pointer": "/input/pin"}),
    ]


def test_while_people_vote_on_another_input_the_value_of_that_one_is_shown():
    person, other = dora(), bob()
    request = make_voted(alice(), both(group(votes=2)), input=SECRET)
    vote(request, other, Verdict.EDIT, edited_input=SECRET | {"password": "hunter3-and-more"})
    assert parse(show(browser(person), request, "/input/password").text).find("pre")[0].text == "hunter3-and-more"
    vote(request, other, Verdict.EDIT, edited_input=SECRET)
    assert parse(show(browser(person), request, "/input/password").text).find("pre")[0].text == "hunter2-and-more"


def test_without_the_permission_nothing_is_shown_or_recorded():
    request = make_request(alice(), input=SECRET)
    decider = browser(bob())
    assert 'name="pointer"' not in decider.get(request.get_absolute_url()).text
    assert show(decider, request, "/input/password").status_code == 403
    assert show(browser(mallory()), request, "/input/password").status_code == 404
    assert show(browser(dora()), request, "/input/user").status_code == 404
    assert not AuditEntry.objects.filter(event="request.secret_shown").exists()


def test_what_no_row_shows_is_listed():
    request = make_request(
        alice(), message=f"use ghp_{'a1B2' * 10}", said_before=[{"role": "user", "text": SECRET["note"]}]
    )
    page = parse(browser(dora()).get(request.get_absolute_url()).text)
    assert [button.attributes["value"] for button in page.find("button", name="pointer")] == [
        "/message",
        "/said_before/0/text",
    ]


def edited(client: Client, request: ApprovalRequest, **fields: str):
    sent = {"verdict": "edit", "digest": request.input_digest, **fields}
    return client.post(f"{request.get_absolute_url()}decide/", sent)


def test_an_edit_with_empty_secret_fields_keeps_the_secrets():
    request, client = make_request(alice(), input=SECRET), browser(bob())
    inputs = parse(client.get(request.get_absolute_url()).text).find("input")
    fields = {field.attributes.get("name"): field for field in inputs}
    kinds = {
        name: (fields[f"input.{name}"].attributes["type"], fields[f"input.{name}"].attributes["value"])
        for name in SECRET
    }
    assert kinds == {
        "user": ("text", "carol"),
        "password": ("password", ""),
        "pin": ("password", ""),
        "note": ("text", "use ⟨••• hidden: GitHub token, ending in a1B2⟩"),
    }
    note = kinds["note"][1]
    answer = edited(
        client, request, **{"input.user": "dave", "input.password": "", "input.pin": "", "input.note": note}
    )
    assert answer.status_code == 302
    assert Decision.objects.get().edited_input == SECRET | {"user": "dave"}


def test_a_secret_can_be_replaced_but_not_moved():
    request, client = make_request(alice(), input=SECRET), browser(bob())
    same = {"input.user": "carol", "input.note": "nothing"}
    mask = {"input.user": MASK, "input.note": "nothing", "input.password": "", "input.pin": ""}
    assert edited(client, request, **mask).status_code == 422
    assert edited(client, request, **same, **{"input.password": "new", "input.pin": "42"}).status_code == 302
    assert Decision.objects.get().edited_input == {"user": "carol", "password": "new", "pin": 42, "note": "nothing"}


def test_an_edit_as_json_keeps_what_is_hidden_and_never_shows_it():
    request, client = make_request(alice(), input=SECRET), browser(bob())
    sent = {
        "verdict": "edit",
        "digest": request.input_digest,
        "input.user": "dave",
        "input.password": "",
        "input.pin": "",
    }
    sent["input.note"] = "typed"
    switched = client.post(f"{request.get_absolute_url()}review/", sent | {"switch": "yes"})
    (text,) = [field.text for field in parse(switched.text).find("textarea", name="input")]
    assert json.loads(text) == SECRET | {
        "user": "dave",
        "password": MASK,
        "pin": "⟨••• hidden: secret value, fewer than 8 characters⟩",
        "note": "typed",
    }
    assert edited(client, request, edit_as="json", input=text).status_code == 302
    assert Decision.objects.get().edited_input == SECRET | {"user": "dave", "note": "typed"}


def test_an_answer_to_a_secret_field_is_typed_unseen_and_only_its_program_reads_it():
    owner = alice()
    program, other = Machine(owner), Machine(bob())
    schema = {"type": "object", "properties": {"code": {"type": "string", "format": "password"}}, "required": ["code"]}
    sent = {"kind": "form", "title": "The code?", "response_schema": schema}
    request = ApprovalRequest.objects.get(pk=program.post("/requests", sent).body["id"])
    (field,) = parse(browser(owner).get(request.get_absolute_url()).text).find("input", name="answer.code")
    assert field.attributes["type"] == "password"
    decide(request, owner, Verdict.RESPOND, answer={"code": "open sesame"})
    mask = "⟨••• hidden: secret value, 8 to 15 characters⟩"
    assert mask in browser(owner).get(request.get_absolute_url()).text
    path = f"/requests/{request.pk}"
    assert program.get(path).body["decision"]["answer"] == {"code": "open sesame"}
    assert other.get(path).body["decision"]["answer"] == {"code": mask}


def test_a_program_that_decides_gets_masks_and_keeps_what_they_hide():
    program, other = Machine(alice()), Machine(bob())
    asked = program.post(
        "/requests", {"kind": "approval", "title": "Log in?", "tool_name": "login", "input": SECRET}
    ).body
    assert asked["input"] == SECRET
    path = f"/requests/{asked['id']}"
    read = other.get(path).body
    assert (read["input"]["password"], read["input_digest"]) == (MASK, asked["input_digest"])
    changed = {"verdict": "edit", "edited_input": read["input"] | {"user": "dave"}}
    moved = {"verdict": "edit", "edited_input": read["input"] | {"user": MASK}}
    assert other.post(f"{path}/decision", moved).status == 422
    assert other.post(f"{path}/decision", changed).body["decision"]["edited_input"]["password"] == MASK
    assert program.get(path).body["decision"]["approved_input"] == SECRET | {"user": "dave"}


def test_earlier_decisions_and_their_difference_hide_the_same(settings):
    owner, decider = alice(), bob()
    past = make_request(owner, tool_name="login", input=SECRET)
    decide(past, decider, Verdict.APPROVE)
    now = make_request(owner, Kind.APPROVAL, tool_name="login", input=SECRET | {"password": "hunter3-and-more"})
    page = parse(browser(decider).get(f"{now.get_absolute_url()}difference/{past.pk}/").text).text
    assert ("changed" in page, "hidden: password" in page, "hunter" in page) == (True, True, False)


def test_a_secret_in_the_name_of_a_member_stays_out_of_the_buttons_below_it():
    token = f"ghp_{'a1B2' * 10}"
    request, client = make_request(alice(), input={token: {"password": "hunter2-and-more"}}), browser(dora())
    page = client.get(request.get_absolute_url()).text
    assert token not in page
    [button] = parse(page).find("button", name="pointer")
    pointer = button.attributes["value"]
    assert parse(show(client, request, pointer).text).find("pre")[0].text == "hunter2-and-more"
    assert token not in AuditEntry.objects.get(event="request.secret_shown").body.split('"input"')[-1]
