"""A grant approves only calls that its giver may decide."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.administration.tools.actions import store_tool_settings
from approvals.models import ApprovalRequest, ApproverScope, Grant
from approvals.states import Control, Width
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.support.desk.scopes import make_scope
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def test_a_grant_covers_nothing_that_scopes_do_not_let_its_giver_decide():
    asker, decider, root = alice(), bob(), User.objects.create_superuser("root")
    make_scope(decider, by=root, limit=200, tools=["refund"])
    given = give(decider, asker, terms(Width.TOOL))
    assert ask(asker, {"amount": 200}).status == "approved"
    waiting = ask(asker, {"amount": 201})
    stored = ApprovalRequest.objects.select_related("workflow").get(pk=waiting.pk)
    workflow = stored.workflow
    assert (stored.status, workflow.state, workflow.open_count, workflow.urgency, workflow.ended_at) == (
        "pending", "suspended", 1, stored.urgency, None,
    )  # fmt: skip
    # Past the actions, which would end the grant.
    ApproverScope.objects.update(limit=0)
    assert ask(asker, {"amount": 1}).status == "pending"
    given.refresh_from_db()
    assert (given.used, given.ended_at) == (1, None)


def test_a_grant_that_people_gave_for_their_own_calls_is_not_used_under_four_eyes():
    decider = bob()
    give(decider, decider, terms(Width.TOOL))
    assert ask(decider).status == "approved"
    store_tool_settings("refund", {"control": Control.FOUR_EYES}, by=User.objects.create_superuser("root"))
    assert (ask(decider).status, Grant.objects.get().used) == ("pending", 1)
