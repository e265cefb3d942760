"""A grant that goes on but would not be used says why: in the ledger, on its page and over REST."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.actions.policy.grants.end import end_due_grants, revoke_grant
from approvals.administration.tools.actions import store_tool_settings
from approvals.models import ApproverScope, Grant
from approvals.queries.policy.grants.unusable import why_unusable
from approvals.states import Control, Door, Priority, Width
from tests.approvals.actions.policy.granting import ask, give, terms
from tests.support.desk.pressing import browser
from tests.support.desk.scopes import again, make_scope
from tests.support.machine import Machine
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

SCOPES = "Not used now: bob may not decide calls like the one it was given with."


@pytest.fixture
def root() -> User:
    return User.objects.create_superuser("root")


def why(grant: Grant) -> str:
    return why_unusable([Grant.objects.get(pk=grant.pk)]).get(grant.pk, "")


def narrow_scopes(limit: int | None) -> None:
    """Change the limit without the actions, which would end the grants of people with fewer rights now."""
    ApproverScope.objects.update(limit=limit)


def test_a_grant_that_is_used_says_nothing(root):
    asker, decider = alice(), bob()
    given = give(decider, asker, terms())
    make_scope(decider, by=root)
    assert (ask(asker).status, why(given)) == ("approved", "")


def test_a_narrowed_scope_is_said_as_long_as_it_is_narrow(root):
    asker, decider = alice(), bob()
    make_scope(decider, by=root)
    given = give(decider, asker, terms())
    narrow_scopes(100)
    assert (ask(asker).status, why(given)) == ("pending", SCOPES)
    narrow_scopes(None)
    assert (ask(asker).status, why(given)) == ("approved", "")


def test_four_eyes_are_said_of_what_people_gave_for_their_own_calls(root):
    asker, decider = alice(), bob()
    own, other = give(decider, decider, terms()), give(decider, asker, terms())
    store_tool_settings("refund", {"control": Control.FOUR_EYES}, by=root)
    assert (ask(decider).status, why(own)) == (
        "pending",
        "Not used now: the two-person rule applies to such calls, and bob is the requester.",
    )
    assert (ask(asker).status, why(other)) == ("approved", "")


def test_settings_of_the_tool_are_said(root):
    asker, decider = alice(), bob()
    store_tool_settings("refund", {"key_fields": ["/amount", "/order"]}, by=root)
    fields, tool = give(decider, asker, terms(Width.FIELDS)), give(decider, asker, terms(Width.TOOL), tool="mail")
    assert (why(fields), why(tool)) == ("", "")
    store_tool_settings("refund", {"key_fields": ["/amount"]}, by=root)
    store_tool_settings("mail", {"min_priority": Priority.CRITICAL}, by=root)
    assert [ask(asker).status, ask(asker, tool="mail", priority=Priority.CRITICAL).status] == ["pending"] * 2
    assert why(fields) == "Not used now: an administrator has changed the key fields of this tool."
    assert why(tool) == "Not used now: requests of this tool are critical, so each one needs a person."


def test_what_has_ended_says_how_it_ended_alone(root):
    given = give(bob(), alice(), terms())
    make_scope(root, by=root)
    revoke_grant(given.pk, by=root, via=Door.DASHBOARD)
    end_due_grants()
    assert why(given) == ""


def test_every_place_that_lists_it_says_so(root):
    asker, decider = alice(), bob()
    make_scope(decider, by=root)
    given = give(decider, asker, terms())
    narrow_scopes(100)
    for address in ("/settings/grants/", f"/settings/grants/{given.pk}/"):
        assert SCOPES in browser(again(asker)).get(address).content.decode()
    program = Machine(asker)
    [listed] = program.get("/grants").body["items"]
    assert listed["unusable"] == program.get(f"/grants/{given.pk}").body["unusable"] == SCOPES


def test_many_grants_cost_as_many_statements_as_one(root, django_assert_max_num_queries):
    asker, decider = alice(), bob()
    make_scope(decider, by=root)
    for number in range(1, 6):
        give(decider, asker, terms(), {"amount": number}, tool=f"tool-{number}")
    narrow_scopes(0)
    grants = list(Grant.objects.all())
    with django_assert_max_num_queries(9):
        assert len(why_unusable(grants)) == 5
