"""`manage.py seed_demo`: create the users, conversations and API key of the demo; only with DEBUG."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
from argparse import ArgumentParser
from collections.abc import Iterable
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
from approvals.management.refusing import RefusingCommand
from approvals.models.keys import ApiKey, text_of
from hitlsite.demo import history
from hitlsite.demo.people import (
    COLLEAGUES,
    PASSWORD,
    PEOPLE,
    DemoPerson,
    here,
    make_person,
)

if apps.is_installed("chats"):
    from hitlsite.demo.conversations import converse


class Command(RefusingCommand):
    help = gettext_noop(
        "Create missing demo users, conversations and the demo API key. Only works with DEBUG=1."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--with-history",
            action="store_true",
            help=_("also create two weeks of requests, rules and decisions"),
        )

    def handle(self, *args: Any, with_history: bool, **options: Any) -> None:
        if not settings.DEBUG:
            raise CommandError(
                _(
                    "Demo accounts have a public password, so they can only be created with DEBUG=1."
                )
            )
        fresh = not User.objects.filter(username="requester").exists()
        with transaction.atomic():
            people = make_people(PEOPLE, named=with_history)
            if fresh and with_history:
                self.stdout.write(_("Creating two weeks of requests and decisions"))
                deciders = make_people(COLLEAGUES[:2], named=True)
                history.tell(people | deciders)
                make_people(COLLEAGUES[2:], named=True)
            key = make_key(people["requester"])
        # Only with the scripted provider: a real model would cost money and write different texts.
        if (
            fresh
            and apps.is_installed("chats")
            and settings.HITL_PROVIDER == "scripted"
        ):
            asyncio.run(
                converse(
                    people["requester"],
                    people["approver"],
                    with_questions=not with_history,
                )
            )
        self.stdout.write(first_steps(key))


def make_people(people: Iterable[DemoPerson], *, named: bool) -> dict[str, User]:
    """Return these people of the demo by username, created on first use; `named`: with their full names."""
    return {
        each.username: make_person(
            each.username, each.role, each.staff, each.name if named else ""
        )
        for each in people
    }


def first_steps(key: str) -> str:
    """Describe how to log in, and how a program asks its first question; `key` is empty if it was revoked."""
    log_in = _(
        "Open %(url)s/ and log in with the password “%(password)s” as:\n%(people)s\n"
    ) % {
        "url": settings.PUBLIC_URL,
        "password": PASSWORD,
        "people": "\n".join(f"  {each.username:<12} {each.does}" for each in here()),
    }
    if not key:
        return log_in + _(
            "\nThe API key of the demo was revoked. To make another one: make key USER=requester\n"
        )
    return log_in + _(
        "\nAPI key for programs (user requester):\n  %(key)s\n\nAsk your first question from another terminal:\n"
        "  %(command)s\nIt appears in the Inbox of requester and of approver: %(url)s/\n"
    ) % {"key": key, "command": first_question(key), "url": settings.PUBLIC_URL}


def make_key(person: User) -> str:
    """Return the demo's API key, created on first use; empty if someone has revoked it.

    It is computed from SECRET_KEY: only its hash is stored, and every start of the demo prints the same key.
    """
    secret = hmac.new(
        settings.SECRET_KEY.encode(), b"pausepoint demo key", hashlib.sha256
    ).hexdigest()
    text = text_of(secret[:8], secret[8:51])
    key = (
        ApiKey.objects.filter(prefix=secret[:8]).first()
        or create_key(person, name="demo", text=text)[0]
    )
    return text if key.revoked_at is None else ""
