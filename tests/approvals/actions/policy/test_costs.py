"""The cost of an ask while there are grants; a budget, on every database."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from approvals.access.standing import standing_of
from approvals.administration.tools.actions import store_tool_settings
from approvals.models import ApprovalRequest, Grant
from approvals.queries.policy.grants.ledger import preview
from approvals.states import Audience, Width
from tests.approvals.actions.policy.granting import ask, give, in_an_hour, terms
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def cost(work) -> int:
    with CaptureQueriesContext(connection) as statements:
        work()
    return len(statements)


def test_two_hundred_grants_cost_an_ask_one_statement_and_a_use_two_more():
    asker, decider = alice(), bob()
    before = cost(lambda: ask(asker, {"order": 0}))
    given = give(decider, asker, terms(uses=100), {"order": 1})
    few = [cost(lambda order=order: ask(asker, {"order": order})) for order in (0, 1)]
    made = {field.attname: getattr(given, field.attname) for field in Grant._meta.concrete_fields}
    others = [Grant(**made | {"id": None, "target": f"sha256:{number:064}"}) for number in range(200)]
    for other in others:
        other.pk = Grant._meta.pk.get_default()
    Grant.objects.bulk_create(others)
    many = [cost(lambda order=order: ask(asker, {"order": order})) for order in (0, 1)]
    assert (few[0] - before, few[1] - before, many) == (1, 3, few)


@pytest.mark.parametrize("width", list(Width))
def test_a_preview_counts_what_a_grant_would_have_approved_in_few_statements(width):
    asker, decider = alice(), bob()
    earlier = [ask(asker, {"order": order % 2}) for order in range(6)]
    for request in earlier[:4]:
        ApprovalRequest.objects.filter(pk=request.pk).update(status="rejected" if request is earlier[0] else "approved")
    ask(asker, {"order": 0}, agent="support")
    ask(decider, {"order": 0})
    request = ApprovalRequest.objects.select_related("workflow").get(pk=ask(asker, {"order": 0}).pk)
    found = []
    viewer = standing_of(decider)
    statements = cost(lambda: found.append(preview(viewer, request, terms(width, Audience.AGENT, until=in_an_hour()))))
    [shown] = found
    expected = {Width.INPUT: ([earlier[0]], 2), Width.FIELDS: ([], 0), Width.TOOL: ([earlier[0]], 4)}[width]
    assert ((shown.rejected, shown.count), shown.complete, statements <= 2) == (expected, True, True)


def test_a_preview_of_key_fields_compares_them_and_says_what_it_could_not_read():
    store_tool_settings("refund", {"key_fields": ["/order"]}, by=User.objects.create_superuser("root"))
    asker = alice()
    for value in ({"order": 1, "note": "a"}, {"order": 1.0}, {"order": "1"}, {}):
        earlier = ask(asker, value)
        ApprovalRequest.objects.filter(pk=earlier.pk).update(status="approved")
    request = ApprovalRequest.objects.select_related("workflow").get(pk=ask(asker, {"order": 1}).pk)
    shown = preview(standing_of(asker), request, terms(Width.FIELDS))
    assert (shown.count, shown.complete) == (2, True)
    long = ask(asker, {"order": 1, "note": "x" * 20_000})
    ApprovalRequest.objects.filter(pk=long.pk).update(status="approved")
    shown = preview(standing_of(asker), request, terms(Width.FIELDS))
    assert (shown.count, shown.complete) == (2, False)
