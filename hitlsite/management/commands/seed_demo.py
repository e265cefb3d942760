"""`manage.py seed_demo`: the demo's people and a few conversations, once; only with DEBUG."""

from __future__ import annotations

import asyncio
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.core.management import CommandError
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.management.refusing import RefusingCommand

if apps.is_installed("chats"):
    from hitlsite.demo.conversations import converse

PASSWORD = "pausepoint"  # noqa: S105 - a demo on one's own machine
PEOPLE = {
    "requester": ("chats with the agent and answers its questions", (), False),
    "approver": ("decides what agents may do", ("decide_approvalrequest", "view_approvalrequest"), False),
    "auditor": (
        "reads everything, decides nothing, exports the audit log",
        ("view_approvalrequest", "view_auditentry"),
        True,
    ),
    "admin": ("may do everything, in the admin too", (), True),
}


class Command(RefusingCommand):
    help = gettext_noop("Create missing demo accounts and conversations. Only works with DEBUG=1.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError(_("Demo accounts have a public password, so they can only be created with DEBUG=1."))
        fresh = not User.objects.filter(username="requester").exists()
        with transaction.atomic():
            people = {name: make_person(name, *PEOPLE[name][1:]) for name in PEOPLE}
        # Conversations are scripted: a real model would cost money, and say something else.
        if fresh and apps.is_installed("chats") and settings.HITL_PROVIDER == "scripted":
            asyncio.run(converse(people["requester"], people["approver"]))
        self.stdout.write(_("Log in with the password “%(password)s” as:") % {"password": PASSWORD})
        for name, (does, _permissions, _staff) in PEOPLE.items():
            self.stdout.write(f"  {name:<10} {does}")


def make_person(name: str, permissions: tuple[str, ...], staff: bool) -> User:
    """The demo's person of that name, made on first use."""
    person, made = User.objects.get_or_create(
        username=name, defaults={"is_staff": staff, "is_superuser": name == "admin"}
    )
    if made:
        person.set_password(PASSWORD)
        person.save(update_fields=["password"])
        person.user_permissions.set(
            Permission.objects.filter(codename__in=permissions, content_type__app_label="approvals")
        )
    return person
