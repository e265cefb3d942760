"""The people of the tests: Alice asks, Bob decides, Carol audits, Mallory may not."""

from __future__ import annotations

from django.contrib.auth.models import Permission, User

PASSWORD = "correct horse battery staple"


def make_person(name: str, *permissions: str) -> User:
    person = User.objects.create_user(name, password=PASSWORD)
    found = Permission.objects.filter(codename__in=permissions, content_type__app_label="approvals")
    assert found.count() == len(permissions)
    person.user_permissions.set(found)
    return User.objects.get(pk=person.pk)


def alice() -> User:
    return make_person("alice")


def bob() -> User:
    return make_person("bob", "decide_approvalrequest", "view_approvalrequest")


def carol() -> User:
    return make_person("carol", "view_approvalrequest")


def mallory() -> User:
    return make_person("mallory")
