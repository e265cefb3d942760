"""`manage.py seed_demo`: create the users, conversations and API key of the demo; only with DEBUG."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from typing import Any

from django.apps import apps
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError
from django.db import transaction
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from approvals.administration.first_run import first_question
from approvals.administration.keys.actions import create_key
from approvals.administration.people.actions import give_roles
from approvals.management.refusing import RefusingCommand
from approvals.models.keys import ApiKey
from approvals.models.people import RoleName

if apps.is_installed("chats"):
    from hitlsite.demo.conversations import converse

PASSWORD = "pausepoint"  # noqa: S105 - a demo on your own machine
PEOPLE = {
    "requester": ("chats with the agent and answers its questions", RoleName.REQUESTER, False),
    "approver": ("decides what agents may do", RoleName.APPROVER, False),
    "auditor": ("reads everything, decides nothing, exports the audit log", RoleName.AUDITOR, True),
    "admin": ("may do everything, also in the admin", RoleName.ADMINISTRATOR, True),
}


class Command(RefusingCommand):
    help = gettext_noop("Create missing demo users, conversations and the demo API key. Only works with DEBUG=1.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError(_("Demo accounts have a public password, so they can only be created with DEBUG=1."))
        fresh = not User.objects.filter(username="requester").exists()
        with transaction.atomic():
            people = {name: make_person(name, *PEOPLE[name][1:]) for name in PEOPLE}
            key = make_key(people["requester"])
        # Only with the scripted provider: a real model would cost money and write other texts.
        if fresh and apps.is_installed("chats") and settings.HITL_PROVIDER == "scripted":
            asyncio.run(converse(people["requester"], people["approver"]))
        self.stdout.write(first_steps(key))


def first_steps(key: str) -> str:
    """Say how to log in, and how a program asks its first question; `key` is empty if it was revoked."""
    people = "\n".join(f"  {name:<10} {does}" for name, (does, *_rest) in PEOPLE.items())
    log_in = _("Open %(url)s/ and log in with the password “%(password)s” as:\n%(people)s\n") % {
        "url": settings.PUBLIC_URL,
        "password": PASSWORD,
        "people": people,
    }
    if not key:
        return log_in + _("\nThe API key of the demo was revoked. To make another one: make key USER=requester\n")
    return log_in + _(
        "\nAPI key for programs (user requester):\n  %(key)s\n\nAsk your first question from another terminal:\n"
        "  %(command)s\nIt appears in the Inbox of requester and of approver: %(url)s/requests/\n"
    ) % {"key": key, "command": first_question(key), "url": settings.PUBLIC_URL}


def make_person(name: str, role: RoleName, staff: bool) -> User:
    """Return the demo's user of this name, and create them on first use."""
    person, made = User.objects.get_or_create(
        username=name, defaults={"is_staff": staff, "is_superuser": name == "admin"}
    )
    if made:
        person.set_password(PASSWORD)
        person.save(update_fields=["password"])
        give_roles(person, [role])
    return person


def make_key(person: User) -> str:
    """Return the demo's API key, made on first use; empty if someone has revoked it.

    It is computed from SECRET_KEY: only its hash is stored, and every start of the demo prints the same key.
    """
    secret = hmac.new(settings.SECRET_KEY.encode(), b"pausepoint demo key", hashlib.sha256).hexdigest()
    text = f"pp_{secret[:8]}_{secret[8:]}"
    key = ApiKey.objects.filter(prefix=secret[:8]).first() or create_key(person, name="demo", text=text)[0]
    return text if key.revoked_at is None else ""
