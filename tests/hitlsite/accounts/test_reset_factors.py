"""`manage.py resetfactors`, for the last administrator who has lost the phone."""

from __future__ import annotations

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client

from approvals.models import AuditEntry
from tests.approvals.administration.people.test_second_administrator import mails
from tests.support.people import PASSWORD

pytestmark = pytest.mark.django_db(transaction=True)


def reset(name: str) -> str:
    out = StringIO()
    call_command("resetfactors", "--user", name, stdout=out)
    return out.getvalue().strip()


def test_the_factors_go_on_record_with_the_sessions_and_the_person_is_told(settings, mailoutbox):
    root = User.objects.create_superuser("root", "root@example.org", PASSWORD)
    client = Client()
    client.post("/login/", {"username": "root", "password": PASSWORD})
    settings.HITL_MAIL = True
    for kind in ("totp", "recovery_codes"):
        Authenticator.objects.create(user=root, type=kind, data={})
    assert reset("root") == "The second factors of root are removed. All their sessions have ended."
    assert (Authenticator.objects.count(), client.get("/").status_code) == (0, 302)
    entry = AuditEntry.objects.latest("pk")
    assert (entry.event, entry.actor_name, entry.via) == ("person.changed", "", "system")
    assert entry.data == {"change": "factors", "user": "root", "user_id": root.pk}
    words = "Someone on the server removed all second factors of your account, and ended your sessions."
    assert mails()[1:] == [("root@example.org", words)]
    with pytest.raises(CommandError, match=r"'root' has no second factor\."):
        reset("root")


@pytest.mark.parametrize("name", ["no-one", "", "ROOT"])
def test_unknown_people_are_refused_in_words(name):
    User.objects.create_superuser("root")
    with pytest.raises(CommandError, match=r"^No user is named "):
        reset(name)
