"""The maker of a key that writes in someone else's chat counts as a requester of its agent's requests."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals import actions
from approvals.access.permissions import deciders_of
from approvals.administration.keys.actions import create_key
from approvals.asking.answers import Answer
from approvals.exceptions import NotAllowed
from approvals.models import ApprovalRequest, ToolSettings
from approvals.states import Door, Verdict
from chats.models import Chat
from tests.support.machines import Client, Machine
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def ask_with_key_of(maker: User | None, owner: User) -> ApprovalRequest:
    """Return the request of the agent in a chat of `owner`, after a message through a key made by `maker`."""
    _key, text = create_key(owner, name="agent", scopes=("ask", "read"), by=maker)
    Client(Machine(text)).say("approve refund")
    return ApprovalRequest.objects.get()


def test_the_maker_does_not_decide_a_call_that_needs_four_eyes():
    ToolSettings.objects.create(tool_name="issueRefund", control="four_eyes")
    ann, other = make_person("ann", "administer", "decide_approvalrequest"), bob()
    request = ask_with_key_of(ann, alice())
    assert (Chat.objects.get().key_made_by_id, request.key_made_by_id) == (ann.pk, ann.pk)
    assert list(deciders_of(request)) == [other]
    with pytest.raises(NotAllowed, match="two-person rule"):
        actions.decide(request.pk, Answer(Verdict.APPROVE), by=ann, via=Door.DASHBOARD)


def test_a_key_of_ones_own_adds_no_one():
    owner = alice()
    assert ask_with_key_of(owner, owner).key_made_by_id is None
