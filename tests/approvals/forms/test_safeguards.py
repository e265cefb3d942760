"""Decisions are bound to the page's content, and critical requests need their name."""

from __future__ import annotations

import pytest

from approvals import actions
from approvals.asking.answers import Answer
from approvals.exceptions import Changed, CriticalElsewhere
from approvals.models import Decision
from approvals.states import Door, Kind, Priority, Verdict
from tests.support.desk.pressing import HTMX, at, browser, decision, press, refused, seen
from tests.support.desk.requests import decide, events, make_request, stored
from tests.support.machine import Machine
from tests.support.markup import forms, parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

OTHER = "sha256:" + "0" * 64


@pytest.fixture
def refund(db):
    return make_request(alice(), input={"amount": 250})


@pytest.fixture
def critical(db):
    return make_request(alice(), input={"amount": 250}, tool_name="issueRefund", priority=Priority.CRITICAL)


def test_request_that_changed_after_it_was_shown_is_not_decided(refund):
    with pytest.raises(Changed) as found:
        decide(refund, bob(), Verdict.APPROVE, shown_digest=OTHER)
    assert (found.value.status, found.value.code) == (409, "changed")
    assert found.value.members() == {"input_digest": refund.input_digest}
    assert (stored(refund).status, events(refund)) == ("pending", ["request.created"])


def test_unchanged_request_is_decided_with_or_without_a_digest(refund):
    by = bob()
    assert not decide(refund, by, Verdict.APPROVE, shown_digest=refund.input_digest).replayed
    assert decide(refund, by, Verdict.APPROVE).replayed
    # It is decided, so the digest no longer matters.
    assert decide(refund, by, Verdict.APPROVE, shown_digest=OTHER).replayed


def test_every_form_of_a_card_sends_the_digest(refund):
    page = browser(bob()).get(refund.get_absolute_url()).text
    found = [*forms(page, "decide/"), *forms(page, "review/")]
    assert len(found) == 2
    assert {form.fields["digest"] for form in found} == {refund.input_digest}


def test_form_without_a_digest_is_refused(refund):
    words = refused(refund, bob(), {"verdict": "approve", "digest": ""}, 422)
    assert words.startswith("This form is incomplete, so nothing was decided. Reload the page")
    assert stored(refund).status == "pending"


def test_form_with_another_digest_is_refused(refund):
    words = refused(refund, bob(), {"verdict": "approve", "digest": OTHER}, 409)
    assert (
        words
        == "This request has changed since you loaded the page, so nothing was decided. Read it again, then decide."
    )
    assert stored(refund).status == "pending"


def test_api_client_may_send_a_digest():
    machine = Machine(bob())
    asked = Machine(alice()).ask()
    refusal = machine.decide(asked, "approve", input_digest=OTHER)
    assert (refusal.refusal, refusal.body["input_digest"]) == ((409, "changed"), asked["input_digest"])
    assert machine.decide(asked, "approve", input_digest="what I saw").refusal == (422, "invalid")
    assert machine.decide(asked, "approve", input_digest=asked["input_digest"]).status == 200


@pytest.mark.parametrize("typed", ["", "issuerefund", "issueRefun", "yes"])
@pytest.mark.parametrize("verdict", ["approve", "edit"])
def test_critical_request_is_not_approved_without_typing_its_name(critical, verdict, typed):
    data = {"verdict": verdict, "typed_name": typed, "input.amount": "1", "comment": "Mine."}
    words = refused(critical, bob(), data, 422, comment="Mine.")
    assert words.startswith("This request is critical. To approve it, type “issueRefund”.")
    assert stored(critical).status == "pending"


def test_error_is_shown_at_the_field(critical):
    answer = browser(bob()).post(
        at(critical), seen(critical) | {"verdict": "approve", "typed_name": "no"}, headers=HTMX
    )
    field = parse(answer.text).find("input", name="typed_name")[-1].attributes
    (words,) = [one.words for one in parse(answer.text).find(id=field["aria-describedby"])]
    assert (field["value"], field["aria-invalid"], words) == ("no", "true", "Type exactly this: issueRefund")


@pytest.mark.parametrize("typed", ["issueRefund", "  issueRefund "])
def test_typed_name_approves_once(critical, typed):
    client = browser(bob())
    (form,) = forms(client.get(critical.get_absolute_url()).text, "decide/")
    assert [press(client, form, "Approve", typed_name=typed).status_code for _ in range(2)] == [302, 302]
    assert (decision(critical)[0], Decision.objects.count()) == ("approve", 1)


def test_rejecting_does_not_need_the_name(critical):
    client = browser(bob())
    (form,) = forms(client.get(critical.get_absolute_url()).text, "decide/")
    assert press(client, form, "Reject").status_code == 302
    assert decision(critical)[0] == "reject"


def test_title_is_typed_if_there_is_no_tool():
    asked = make_request(alice(), title="Delete  everything?", priority=Priority.CRITICAL)
    client = browser(bob())
    (form,) = forms(client.get(asked.get_absolute_url()).text, "decide/")
    assert press(client, form, "Approve", typed_name="Delete everything?").status_code == 302


@pytest.mark.parametrize(("kind", "asks"), [("question", False), ("form", False), ("recovery", True)])
def test_name_is_required_only_if_a_call_would_run(kind, asks):
    asked = make_request(alice(), Kind(kind), tool_name="pay", priority=Priority.CRITICAL, allow_text=True)
    page = browser(bob()).get(asked.get_absolute_url()).text
    assert bool(parse(page).find("input", name="typed_name")) is asks


def test_other_endpoints_refer_to_the_page_instead_of_asking_for_the_name(critical):
    with pytest.raises(CriticalElsewhere, match=critical.public_url):
        actions.decide(critical.pk, Answer(Verdict.APPROVE), by=bob(), via=Door.REST)
    assert stored(critical).status == "pending"
