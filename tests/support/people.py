"""The people of the tests: Alice asks, Bob decides, Carol audits, Mallory may not."""

from __future__ import annotations

import functools

from django.contrib.auth.models import Permission, User

PASSWORD = "correct horse battery staple"


def make_person(name: str, *permissions: str) -> User:
    person = User.objects.create_user(name, password=PASSWORD)
    given = User.user_permissions.through
    given.objects.bulk_create(given(user=person, permission_id=_permission(codename)) for codename in permissions)
    return person


@functools.cache
def _permission(codename: str) -> int:
    """Return the number of a permission. It comes with the migrations, and thousands of tests ask for it."""
    return Permission.objects.get(codename=codename, content_type__app_label="approvals").pk


def alice() -> User:
    return make_person("alice")


def bob() -> User:
    return make_person("bob", "decide_approvalrequest", "view_approvalrequest")


def carol() -> User:
    return make_person("carol", "view_approvalrequest")


def mallory() -> User:
    return make_person("mallory")
