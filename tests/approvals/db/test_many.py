"""Many values are compared through one parameter; also none, and of either kind."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db


def names(**lookup) -> set[str]:
    return set(User.objects.filter(**lookup).values_list("username", flat=True))


def test_rows_with_any_of_the_values_are_found():
    owner, _ = alice(), bob()
    assert names(pk__in=any_of({owner.pk, 0}, int)) == {"alice"}
    assert names(username__in=any_of(["bob", "o'hara"], str)) == {"bob"}


def test_no_values_find_nothing():
    alice()
    assert (names(pk__in=any_of([], int)), names(username__in=any_of([], str))) == (set(), set())


def test_a_prepared_query_takes_other_values_each_time():
    owner, other = alice(), bob()
    query: Prepared[str] = Prepared(
        lambda: User.objects.filter(
            pk__in=any_of(Parameter("ids", Values()), int), username__in=any_of(Parameter("names", Values()), str)
        ).values_list("username", flat=True)
    )
    assert query.all(ids=[owner.pk, 0], names=["alice", "o'hara"]) == ["alice"]
    assert query.all(ids=[owner.pk, other.pk], names={"bob"}) == ["bob"]
    assert query.all(ids=[], names=["alice"]) == []
