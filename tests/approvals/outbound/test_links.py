"""Links in mails: a page to confirm one verdict, for one person; opening it decides nothing."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals.models import Decision
from approvals.outbound.links import confirm_link
from approvals.states import Kind, Priority, Verdict
from tests.support.desk.requests import decide, make_request
from tests.support.markup import forms, parse
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db


def browser(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def address_of(request, person, verdict=Verdict.APPROVE) -> str:
    return (
        confirm_link(request, person, verdict)
        .removeprefix("http://127.0.0.1:8000")
        .removeprefix("http://localhost:8000")
    )


@pytest.mark.parametrize("verdict", [Verdict.APPROVE, Verdict.REJECT])
def test_a_link_opens_a_page_whose_button_sends_its_verdict(verdict):
    asked, decider = make_request(alice()), bob()
    client = browser(decider)
    page = client.get(address_of(asked, decider, verdict))
    assert (page.status_code, Decision.objects.count()) == (200, 0)
    (form,) = forms(page.text, "/decide/")
    sent = client.post(form.action, form.fields | {"verdict": verdict, "comment": "From my phone."})
    decision = Decision.objects.get()
    assert (sent.status_code, sent.headers["Location"]) == (302, f"/requests/{asked.pk}/")
    assert (decision.verdict, decision.comment, decision.by_name) == (verdict, "From my phone.", "bob")


def test_a_link_asks_for_a_log_in_first():
    address = address_of(make_request(alice()), bob())
    answer = Client().get(address)
    assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (302, "/login/")


def test_a_link_works_for_nobody_else_and_for_no_other_request_or_verdict():
    asker, decider, other = alice(), bob(), carol()
    asked, second = make_request(asker), make_request(asker, title="Another?")
    address = address_of(asked, decider)
    tokens = {
        "of somebody else": address_of(asked, other),
        "of another request": address.replace(str(asked.pk), str(second.pk)),
        "with another verdict": address.replace("/approve:", "/reject:"),
        "without a signature": f"/requests/{asked.pk}/confirm/approve/",
    }
    statuses = {name: browser(decider).get(found).status_code for name, found in tokens.items()}
    assert statuses == dict.fromkeys(tokens, 404)
    assert (browser(asker).get(address).status_code, Decision.objects.count()) == (404, 0)


def test_a_link_to_a_decided_request_shows_the_request():
    asked, decider = make_request(alice()), bob()
    decide(asked, decider, Verdict.REJECT)
    answer = browser(decider).get(address_of(asked, decider))
    assert (answer.status_code, answer.headers["Location"]) == (302, f"/requests/{asked.pk}/")


def test_a_critical_request_is_approved_by_typing_its_name_there_too():
    asked, decider = make_request(alice(), Kind.APPROVAL, priority=Priority.CRITICAL), bob()
    client = browser(decider)
    (form,) = forms(client.get(address_of(asked, decider)).text, "/decide/")
    sent = client.post(form.action, form.fields | {"verdict": "approve"})
    assert (sent.status_code, Decision.objects.count()) == (422, 0)
    assert "critical" in parse(sent.text).find("div", class_="refusal")[0].words
