"""Each person reads pages, pushes and mails in the language that they have chosen."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.core import mail
from django.test import Client
from django.utils.translation import gettext

from approvals.live.batching import BatchCache
from approvals.models import Preferences
from approvals.pages.consumers import _rendered
from approvals.queries.preferences import languages_of
from tests.support.desk.carrying import carry, tell, with_address
from tests.support.desk.requests import make_request
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

CHOSEN = {"theme": "system", "density": "comfortable", "hold_seconds": "0"}


def logged_in(person) -> Client:
    client = Client()
    client.force_login(person)
    return client


def choose(client: Client, language: str):
    return client.post("/settings/display/", CHOSEN | {"language": language}, follow=True)


def test_pausepoint_ships_in_english_and_german():
    assert settings.HITL_LANGUAGES == ["en", "de"]


def test_each_person_reads_pages_in_their_own_language():
    one, other = logged_in(alice()), logged_in(bob())
    saved = choose(one, "de")
    assert ("Ihre Einstellungen sind gespeichert." in saved.text, '<html lang="de"' in saved.text) == (True, True)
    found, unchanged = one.get("/", follow=True), other.get("/", follow=True)
    assert (found.headers["Content-Language"], "Eingang" in found.text, "words.js?de" in found.text) == (
        "de",
        True,
        True,
    )
    assert ("Eingang" in unchanged.text, '<html lang="en"' in unchanged.text) == (False, True)
    assert '<html lang="en"' in Client().get("/login/").text
    # Back to the language of the installation.
    assert '<html lang="en"' in choose(one, "").text


def test_pushes_are_in_the_language_of_each_page():
    one, other = logged_in(alice()), logged_in(bob())
    choose(one, "de")

    def render(user, shared: BatchCache) -> str:
        return shared.once("words", lambda: gettext("Inbox"))

    keys = [client.session.session_key for client in (one, other)]
    assert _rendered((render, ()), keys) == ["Eingang", "Inbox"]


@pytest.mark.django_db(transaction=True)
def test_mails_are_in_the_language_of_their_reader(settings):
    settings.PUBLIC_URL = "https://desk.example.org"
    tell(reader := with_address(bob()))
    choose(logged_in(reader), "de")
    owner = alice()
    for _ in range(2):
        make_request(owner)
    carry()
    assert [message.subject for message in mail.outbox] == ["[Pausepoint] 2 Anfragen warten"]


def test_a_language_that_is_not_offered_is_refused_and_one_that_was_removed_does_no_harm(settings):
    person = alice()
    client = logged_in(person)
    assert choose(client, "fr").status_code == 422
    choose(client, "de")
    settings.HITL_LANGUAGES = ["en", "it"]
    assert languages_of([person.pk]) == {person.pk: "en"}
    assert '<html lang="en"' in logged_in(person).get("/settings/display/").text


def test_with_one_language_there_is_no_choice_and_no_statement(django_assert_num_queries, settings):
    settings.HITL_LANGUAGES = ["en"]
    person = alice()
    Preferences.objects.create(person=person, language="de")
    page = logged_in(person).get("/settings/display/")
    assert ('name="language"' in page.text, ">English</span>" in page.text) == (False, True)
    with django_assert_num_queries(0):
        assert languages_of([person.pk]) == {person.pk: "en"}
