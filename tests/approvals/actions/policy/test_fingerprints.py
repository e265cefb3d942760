"""Equal inputs are found by a digest that only the desk can compute, also after its key has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from approvals.access.standing import standing_of
from approvals.asking.digests import fingerprints_of
from approvals.models import ApprovalRequest, Grant, ToolSettings
from approvals.policy.grants import GrantTerms
from approvals.queries.policy.grants.ledger import preview
from approvals.queries.precedents import precedents_of
from approvals.states import Verdict, Width
from tests.approvals.actions.policy.granting import REFUND, ask, give, terms
from tests.support.desk.files import attachment
from tests.support.desk.requests import decide
from tests.support.desk.ruling import apply_policy
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

HIDDEN = {"order": "4711", "pin": "7316"}
OTHER_PIN = HIDDEN | {"pin": "7317"}


@pytest.fixture
def rotate(settings) -> Callable[..., None]:
    """Give the desk a new key, of which the former one is a fallback unless it is `lost`."""

    def change(*, lost: bool = False) -> None:
        settings.SECRET_KEY_FALLBACKS = [] if lost else [settings.SECRET_KEY]
        settings.SECRET_KEY = "the next key of this desk, long enough"

    return change


def status_of(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.get(pk=request.pk).status


def test_a_grant_of_an_exact_input_covers_it_with_its_hidden_value_and_no_other():
    asker = alice()
    give(bob(), asker, terms(), HIDDEN)
    assert [status_of(ask(asker, value)) for value in (HIDDEN, OTHER_PIN)] == ["approved", "pending"]


@pytest.mark.parametrize(("value", "covered"), [(1, True), (1.0, True), (True, False), ("1", False), (None, False)])
@pytest.mark.parametrize("width", [Width.INPUT, Width.FIELDS])
def test_a_grant_covers_what_is_the_same_json(width, value, covered):
    ToolSettings.objects.create(tool_name="refund", key_fields=["/amount"])
    asker = alice()
    give(bob(), asker, terms(width), {"amount": 1})
    assert status_of(ask(asker, {"amount": value})) == ("approved" if covered else "pending")


def test_a_grant_of_an_input_with_a_file_does_not_cover_the_input_that_lists_the_file():
    agent, approver = Machine(alice()), Machine(bob())
    asked = agent.ask(attachments=[attachment()])
    grant = {"covers": "input", "audience": "key", "uses": 5}
    assert approver.decide(asked, "approve", grant=grant).status == 200
    files = [{name: value for name, value in file.items() if name != "url"} for file in asked["attachments"]]
    listed = {"input": asked["input"], "attachments": files}
    statuses = [
        agent.ask(attachments=[attachment()])["status"],
        agent.ask(input=listed)["status"],
        agent.ask()["status"],
    ]
    assert statuses == ["approved", "pending", "pending"]


@pytest.mark.parametrize("width", [Width.INPUT, Width.FIELDS, Width.TOOL])
@pytest.mark.parametrize("lost", [False, True])
def test_a_grant_is_used_after_the_key_has_changed_as_long_as_the_former_one_is_a_fallback(rotate, width, lost):
    ToolSettings.objects.create(tool_name="refund", key_fields=["/pin"])
    asker = alice()
    give(bob(), asker, terms(width), HIDDEN)
    rotate(lost=lost)
    assert status_of(ask(asker, HIDDEN)) == ("pending" if lost and width != Width.TOOL else "approved")


@pytest.mark.parametrize(("lost", "status"), [(False, "rejected"), (True, "pending")])
def test_an_earlier_rejection_answers_the_same_call_after_the_key_has_changed(rotate, lost, status):
    apply_policy(repeat_rejections=True)
    asker = alice()
    decide(ask(asker, HIDDEN), bob(), Verdict.REJECT, comment="No.")
    rotate(lost=lost)
    assert status_of(ask(asker, HIDDEN)) == status


def test_what_was_approved_since_the_key_changed_counts_more_than_the_rejection_before(rotate, settings):
    apply_policy(repeat_rejections=True)
    asker, approver, former = alice(), bob(), settings.SECRET_KEY
    decide(ask(asker, HIDDEN), approver, Verdict.REJECT, comment="No.")
    rotate(lost=True)
    decide(ask(asker, HIDDEN), approver, Verdict.APPROVE)
    settings.SECRET_KEY_FALLBACKS = [former]
    assert status_of(ask(asker, HIDDEN)) == "pending"


def test_a_request_without_a_fingerprint_equals_none():
    apply_policy(repeat_rejections=True)
    asker = alice()
    rejected = decide(ask(asker), bob(), Verdict.REJECT, comment="No.").request
    ApprovalRequest.objects.filter(pk=rejected.pk).update(input_fingerprint=None)
    again = ask(asker)
    assert status_of(again) == "pending"
    found = precedents_of(standing_of(bob_again()), again)
    assert found is not None
    assert (list(found.listed), found.same) == ([rejected], set())


def bob_again() -> User:
    return User.objects.get(username="bob")


def test_precedents_and_the_preview_of_a_grant_know_equal_inputs_whatever_their_salts(rotate):
    asker, approver = alice(), bob()
    before = decide(ask(asker, HIDDEN), approver, Verdict.APPROVE).request
    other = decide(ask(asker, OTHER_PIN), approver, Verdict.REJECT, comment="Another one.").request
    rotate()
    request = ask(asker, HIDDEN)
    found = precedents_of(standing_of(bob_again()), request)
    assert found is not None
    assert ([past.pk for past in found.listed], found.same) == ([before.pk, other.pk], {before.pk})
    wanted: GrantTerms = terms()
    shown = preview(standing_of(bob_again()), request, wanted)
    assert (shown.count, list(shown.rejected)) == (1, [])


def test_a_fingerprint_is_no_digest_that_anyone_else_could_compute(settings):
    request = ask(alice(), HIDDEN)
    (mine,) = fingerprints_of(request)
    settings.SECRET_KEY = "the key of another desk, long enough"
    (theirs,) = fingerprints_of(request)
    assert len({mine, theirs}) == 2


def test_the_targets_of_grants_are_no_digests_of_key_fields():
    ToolSettings.objects.create(tool_name="refund", key_fields=["/amount"])
    given = give(bob(), alice(), terms(Width.FIELDS), REFUND)
    stored: dict[str, Any] = Grant.objects.values("target", "fields").get(pk=given.pk)
    assert stored["fields"] == ["/amount"]
    assert not stored["target"].startswith("sha256:")
