"""`manage.py rotatesecrets`: stored secrets change to the current SECRET_KEY, whenever it is run and interrupted."""

from __future__ import annotations

from io import StringIO

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialApp
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from approvals.access.providers import SALT
from approvals.actions.upkeep.rotating import outdated_secrets
from approvals.administration.changes.queries import shown_digest
from approvals.administration.sign_in.actions import save_provider
from approvals.asking.resume_states import decrypt_state, encrypt_state
from approvals.crypto import encryption
from approvals.models import PendingChange
from approvals.models.resuming import ResumeState
from hitlsite.accounts.factor_forms import FactorAdapter
from tests.approvals.administration.people.test_people import administrator
from tests.support import people
from tests.support.desk.pressing import browser
from tests.support.desk.requests import make_request
from tests.support.markup import parse
from tests.support.openid_provider import add

pytestmark = pytest.mark.django_db
OLD, NEW = "the old key " * 4, "the new key " * 4
TOTP_SECRET = "JBSWY3DPEHPK3PXP"


@pytest.fixture(autouse=True)
def new_key(settings):
    """A key of yesterday with secrets of every kind, and today's key."""
    settings.SECRET_KEY = OLD
    alice = people.alice()
    bob = people.bob()
    for user in (alice, bob):
        TOTP.activate(user, TOTP_SECRET)
        RecoveryCodes.activate(user)
    Authenticator.objects.create(user=bob, type="webauthn", data={"name": "Phone", "credential": {}})
    for slug in ("one", "two"):
        add(f"https://{slug}.example.org", slug=slug)
    ann = administrator("ann")
    administrator("dora")
    fields = {"name": "Three", "slug": "three", "issuer": "https://three.example.org", "client_id": "desk"}
    save_provider({**fields, "secret": "a third", "link_by_email": False, "private": False}, add=True, by=ann)
    request = make_request(alice)
    ResumeState.objects.create(request=request, sealed=encrypt_state("a state"))
    ResumeState.objects.create(request=make_request(alice), sealed="")
    settings.SECRET_KEY = NEW
    settings.SECRET_KEY_FALLBACKS = [OLD]


#: Two apps and sets of codes, two providers, a change and a state.
ROWS = 8


def rotate() -> str:
    output = StringIO()
    call_command("rotatesecrets", stdout=output)
    return output.getvalue().strip()


def secrets_read() -> list[str]:
    """All secrets, as the current keys read them."""
    of_providers = [app.settings["secret"] for app in SocialApp.objects.order_by("key")]
    of_providers += [change.value["secret"] for change in PendingChange.objects.all()]
    adapter = FactorAdapter()
    return [
        *(adapter.decrypt(each.data["secret"]) for each in Authenticator.objects.filter(type="totp")),
        *(encryption(SALT).decrypt(each).decode() for each in of_providers),
        *(decrypt_state(each.sealed) for each in ResumeState.objects.exclude(sealed="")),
    ]


def line_of_system_page() -> str:
    words = parse(browser(User.objects.get(username="ann")).get("/settings/system/").text).find("main")[0].words
    return words[words.index("Former SECRET_KEYs") :].partition(" Off:")[0]


def test_all_secrets_are_read_without_the_former_key_afterwards(settings):
    assert line_of_system_page().startswith(
        f"Former SECRET_KEYs Rows with secrets that need one: {ROWS} Run manage.py rotatesecrets."
    )
    codes = [RecoveryCodes(each).get_unused_codes() for each in Authenticator.objects.filter(type="recovery_codes")]
    shown = shown_digest(PendingChange.objects.get())
    assert rotate() == "SECRET_KEY can read all stored secrets."
    assert line_of_system_page().startswith("Former SECRET_KEYs No stored secret needs one")
    settings.SECRET_KEY_FALLBACKS = []
    secret = "a secret of the client"
    assert secrets_read() == [TOTP_SECRET, TOTP_SECRET, secret, secret, "a third", "a state"]
    recovery = Authenticator.objects.filter(type="recovery_codes")
    assert [RecoveryCodes(each).get_unused_codes() for each in recovery] == codes
    assert Authenticator.objects.get(type="webauthn").data == {"name": "Phone", "credential": {}}
    # Another administrator reads the change again before they confirm it.
    assert shown_digest(PendingChange.objects.get()) != shown


def test_without_former_keys_the_system_page_has_no_line(settings):
    settings.SECRET_KEY_FALLBACKS = []
    page = browser(User.objects.get(username="ann")).get("/settings/system/")
    assert "Former SECRET_KEYs" not in parse(page.text).words


def test_a_second_run_changes_nothing():
    rotate()
    before = [list(model.objects.order_by("pk").values()) for model in (Authenticator, SocialApp, PendingChange)]
    rotate()
    assert [
        list(model.objects.order_by("pk").values()) for model in (Authenticator, SocialApp, PendingChange)
    ] == before


@pytest.mark.skipif(connection.vendor != "sqlite", reason="the trigger is SQLite's")
def test_a_run_that_is_interrupted_is_repeated(settings):
    table = SocialApp._meta.db_table
    last = SocialApp.objects.order_by("pk").last()
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE TRIGGER full BEFORE UPDATE ON {table} WHEN OLD.id = {last.pk} "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    with pytest.raises(DatabaseError):
        rotate()
    assert len(outdated_secrets()) < ROWS
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER full")
    assert len(secrets_read()) == 6
    rotate()
    settings.SECRET_KEY_FALLBACKS = []
    assert len(secrets_read()) == 6


def test_secrets_that_no_key_reads_are_counted_and_stop_no_others(settings):
    lost = SocialApp.objects.earliest("pk")
    lost.settings["secret"] = "gAAAAA no token"
    lost.save()
    with pytest.raises(CommandError, match=r"^1 rows have secrets that no key can read\. Add the key"):
        rotate()
    lost.delete()
    settings.SECRET_KEY_FALLBACKS = []
    assert len(secrets_read()) == 5


def test_a_row_with_several_former_keys_and_a_new_one_is_left_as_it_is(settings):
    settings.SECRET_KEY_FALLBACKS = ["another " * 6, OLD]
    add("https://four.example.org", slug="four")
    new = SocialApp.objects.get(key="four").settings["secret"]
    rotate()
    assert SocialApp.objects.get(key="four").settings["secret"] == new
    settings.SECRET_KEY_FALLBACKS = []
    assert len(secrets_read()) == 7
