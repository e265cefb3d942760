"""Every other administrator is mailed that a change waits for one of them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.utils.translation import override

from approvals.models import PendingChange, Preferences
from approvals.outbound import mailing
from tests.approvals.administration.changes.nouns import LOOSER, prepare
from tests.support.desk.ruling import administrator

#: With commits, because the mails leave after them.
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def desk(settings) -> None:
    settings.HITL_MAIL = True
    settings.PUBLIC_URL = "https://desk.example.org"
    prepare()


def with_mail(name: str) -> User:
    person = administrator(name)
    User.objects.filter(pk=person.pk).update(email=f"{name}@example.org")
    return person


def mails() -> list[tuple[str, str, str]]:
    """The recipient, subject and text of each mail about a waiting change."""
    mailing._thread.submit(bool).result()
    found = [(one.to[0], str(one.subject), str(one.body)) for one in mail.outbox]
    return sorted(one for one in found if "/settings/changes/" in one[2])


def test_every_other_administrator_is_told_that_a_change_waits_and_not_what_it_is():
    ann, _dora, gone = with_mail("ann"), with_mail("dora"), with_mail("gone")
    administrator("without-mail")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    LOOSER["tool"](ann)
    text = (
        "ann requested a change that another administrator must confirm (Settings of a tool). Until then, nothing changes.\n\n"
        "Review the change, and confirm or cancel it within 7 days:\n\n"
        "https://desk.example.org/settings/changes/\n\n"
    )
    assert mails() == [("dora@example.org", "[Pausepoint] A change is waiting for another administrator", text)]


def test_several_changes_of_one_administrator_within_some_minutes_are_one_mail(settings):
    ann, dora = with_mail("ann"), with_mail("dora")
    LOOSER["tool"](ann)
    LOOSER["rights"](ann)
    assert [one[0] for one in mails()] == ["dora@example.org"]
    LOOSER["roles"](dora)
    assert [one[0] for one in mails()] == ["ann@example.org", "dora@example.org"]
    for change in PendingChange.objects.all():
        change.requested_at -= timedelta(seconds=settings.HITL_NOTIFY_INTERVAL)
        change.save()
    LOOSER["tool"](ann)
    assert [one[0] for one in mails()] == ["ann@example.org", "dora@example.org", "dora@example.org"]


def test_the_mail_is_in_the_language_of_its_reader():
    ann, dora = with_mail("ann"), with_mail("dora")
    Preferences.objects.create(person=dora, language="de")
    LOOSER["tool"](ann)
    ((_to, _subject, text),) = mails()
    with override("de"):
        assert f"({PendingChange.Kind.TOOL.label})" in text


def test_nobody_is_mailed_without_a_mail_server(settings):
    settings.HITL_MAIL = False
    ann = with_mail("ann")
    with_mail("dora")
    LOOSER["tool"](ann)
    assert (PendingChange.objects.count(), mails()) == (1, [])
