"""Second factors: each person needs one of their own, if a role of theirs does."""

from __future__ import annotations

from datetime import date

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User

from approvals.access.factors import has_factor, lacking, stopped
from tests.support.people import alice, bob, carol

pytestmark = pytest.mark.django_db


def superusers(*people: User) -> list[int]:
    """Superusers count as administrators."""
    ids = [person.pk for person in people]
    User.objects.filter(pk__in=ids).update(is_superuser=True)
    return ids


def test_a_factor_is_that_of_one_person_and_recovery_codes_are_none(settings):
    settings.SECOND_FACTOR_ROLES = ["administrator"]
    people = superusers(alice(), bob(), carol())
    for person, kind in zip(people, ("totp", "webauthn", "recovery_codes"), strict=True):
        Authenticator.objects.create(user_id=person, type=kind, data={})
    assert [has_factor(person) for person in people] == [True, True, False]
    assert lacking(people) == {people[2]}
    assert lacking(people[:2]) == set()


def test_no_one_needs_a_factor_without_such_a_role_and_no_one_is_stopped_before_its_day(settings):
    settings.SECOND_FACTOR_ROLES = []
    people = superusers(alice())
    assert (lacking(people), stopped(people)) == (set(), set())
    settings.SECOND_FACTOR_ROLES = ["administrator"]
    settings.SECOND_FACTOR_FROM = date(9999, 1, 1)
    assert (lacking(people), stopped(people)) == ({people[0]}, set())
