"""People choose how they are shown; no display name passes for someone else, and the username always stands beside it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from approvals import actions
from approvals.access.usernames import (
    MAX_DISPLAY_NAME,
    clean_display_name,
    validate_display_name,
    validate_new_username,
)
from approvals.administration.preferences.actions import store_display_name
from approvals.models import AuditEntry
from approvals.states import Door, Kind, Verdict
from approvals.templatetags.desk import TONES, avatar
from approvals.text.names import full_name, initials
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.markup import parse
from tests.support.people import alice, bob, carol, make_person, mallory

pytestmark = pytest.mark.django_db

LOOKALIKE = "This looks like someone else's name. Choose another one."
RESERVED = "This name is reserved. Choose another one."
CHARACTERS = "Use only letters, digits, spaces, and these characters: . , ' -"
#: Names that Mallory may not take while Bob, shown as Bob Miller, exists.
REFUSED = {
    "Bob Miller": LOOKALIKE,
    "bob": LOOKALIKE,
    "BOB": LOOKALIKE,
    "B0b": LOOKALIKE,
    "B.o-b": LOOKALIKE,
    "8ob": LOOKALIKE,
    **dict.fromkeys(["System", "Sy5tem", "the policy", "Pausepoint", "Adm1n", "Administrator", "rule"], RESERVED),
    "bob  miller": LOOKALIKE,
    "Bob Mi1ler": LOOKALIKE,
    "BobMiller": LOOKALIKE,
    "\u0412ob": "The name mixes letters of different alphabets: \u0412 (U+0412, CYRILLIC CAPITAL LETTER VE)",
    "\u0412\u043e\u042c": LOOKALIKE,
    "Rob\u0412ert\u042c": (
        "The name mixes letters of different alphabets: "
        "\u0412 (U+0412, CYRILLIC CAPITAL LETTER VE), \u042c (U+042C, CYRILLIC CAPITAL LETTER SOFT SIGN)"
    ),
    "Bob (@bob)": CHARACTERS,
    "Mal\u202eyrol": CHARACTERS,
    "Mal\u200blory": CHARACTERS,
    "Mal\x07lory": CHARACTERS,
    "\u3164": CHARACTERS,
    "M" + "\u0301" * 4: CHARACTERS,
    "<b>Mallory</b>": CHARACTERS,
    "M 🎉": CHARACTERS,
    "123": "Use at least one letter.",
    "x" * (MAX_DISPLAY_NAME + 1): f"Use at most {MAX_DISPLAY_NAME} characters.",
}


#: Names of those that are no person, and of whole roles, as a person could spell them in English or German.
OF_NO_ONE = [
    "System", "The System", "Policy", "The Policy", "Rule", "The rule", "Grant", "The grant", "Deadline", "The deadline",
    "Pausepoint", "API key", "No one", "Nobody", "Everyone", "Anyone", "Regelwerk", "Das Regelwerk", "Regel",
]  # fmt: skip
ROLES_TOO = [
    "Admin", "Administrator", "Administration", "Superuser", "Staff", "Root", "Support", "Security", "Approver",
    "Auditor", "Requester", "Genehmiger", "Prüfer",
]  # fmt: skip


def named(person: User, name: str) -> User:
    store_display_name(person, name)
    return User.objects.get(pk=person.pk)


def test_names_that_mislead_or_look_like_another_persons_are_refused():
    named(bob(), "Bob Miller")
    person = mallory()
    told = {}
    for name in REFUSED:
        with pytest.raises(ValidationError) as refused:
            validate_display_name(name, person)
        told[name] = refused.value.messages[0]
    assert told == REFUSED


@pytest.mark.parametrize(
    "name", ["Mallory", "mallory", "José Ángel O\u2019Neill-Ruiz Jr.", "李小龙", "Зоя Кац", "أمينة", ""]
)
def test_names_of_all_languages_are_stored_and_ones_own_username_too(name):
    bob()
    assert named(mallory(), name).first_name == name


@pytest.mark.parametrize("name", [*OF_NO_ONE, *ROLES_TOO])
def test_no_one_is_shown_as_a_role_or_as_what_is_no_person(name):
    with pytest.raises(ValidationError, match=RESERVED):
        validate_display_name(name, mallory())


@pytest.mark.parametrize("name", OF_NO_ONE)
def test_no_one_new_logs_in_as_what_is_no_person(name):
    with pytest.raises(ValidationError, match=RESERVED):
        validate_new_username(name.replace(" ", "-"))


@pytest.mark.parametrize(
    ("username", "shown"),
    [("bill", "8i11"), ("eve", "3v3"), ("anna", "4nn4"), ("sam", "5am"), ("tom", "7om"), ("olga", "0lga")],
)
def test_no_one_is_shown_with_digits_that_read_as_the_letters_of_another_name(username, shown):
    make_person(username)
    with pytest.raises(ValidationError, match=LOOKALIKE):
        validate_display_name(shown, mallory())


def test_a_display_name_takes_no_other_username_away():
    named(bob(), "Bob Miller")
    validate_new_username("carol")


def test_a_username_without_letters_is_like_that_of_no_one():
    bob()
    validate_new_username("-")


def test_a_username_that_differs_in_case_alone_is_reported_where_names_have_to_be_unique():
    bob()
    validate_new_username("BOB")


def test_whoever_has_the_username_of_a_role_may_be_shown_as_it():
    assert named(make_person("support"), "Support").first_name == "Support"


def test_a_new_username_must_not_look_like_a_display_name_either():
    named(bob(), "Bob Miller")
    with pytest.raises(ValidationError, match="looks like an existing one: bob"):
        validate_new_username("bobmiller")


def test_a_name_has_the_username_beside_it_and_two_initials():
    assert (full_name("bob", "Bob Miller"), full_name("bob", "")) == ("Bob Miller (@bob)", "bob")
    shown = [
        initials(*names) for names in (("Bob Miller", "bob"), ("Bob van der Miller", "b"), ("", "bob"), ("Bob", "x"))
    ]
    assert shown == ["BM", "BM", "B", "B"]


def test_a_person_has_the_same_colour_everywhere_and_all_colours_are_used():
    def tone(name: str) -> int:
        return int(parse(avatar(name)).find("span")[0].attributes["data-tone"])

    assert [tone(name) for name in ("alice", "bob", "carol")] == [5, 2, 5]
    assert {tone(f"person{number}") for number in range(60)} == set(range(TONES))


def test_a_change_is_on_record_once():
    person = named(bob(), "Bob Miller")
    named(person, "Bob Miller")
    (entry,) = AuditEntry.objects.filter(event="person.changed")
    assert (entry.actor_name, entry.data["before"], entry.data["after"]) == (
        "bob", {"display_name": ""}, {"display_name": "Bob Miller"},
    )  # fmt: skip


def test_pages_show_the_display_name_with_the_username_and_the_record_shows_the_username():
    owner, by = named(alice(), "Alice Jones"), named(bob(), "Bob Miller")
    request = make_request(owner, Kind.APPROVAL)
    actions.comment(request.pk, by=by, via=Door.DASHBOARD, text="Hello.")
    client = browser(by)
    assert "Alice Jones (@alice)" in client.get("/").text
    actions.claim(request.pk, by=by, via=Door.DASHBOARD)
    assert "Bob Miller (@bob)" in browser(carol()).get(request.get_absolute_url()).text
    decide(request, by, Verdict.APPROVE)
    page = parse(client.get(request.get_absolute_url()).text)
    (outcome,) = page.find("div", class_="outcome")
    (note,) = page.find("li", class_="internal-note")
    assert [bold.words for bold in (*outcome.find("b"), *note.find("b"))] == [
        "Approved", "Bob Miller (@bob)", "Bob Miller (@bob)",
    ]  # fmt: skip
    record = client.get(f"{request.get_absolute_url()}record/").text
    assert ("bob" in record, "Bob Miller" in record, "Alice Jones" in record) == (True, False, False)


@pytest.mark.parametrize("text", ["Zo\u00eb Miller", "  Zoe\u0308 \t Miller\n", "Zo\u00eb\u00a0Miller"])
def test_a_display_name_is_kept_with_single_spaces_and_whole_letters(text):
    assert clean_display_name(text) == "Zo\u00eb Miller"


def test_a_display_name_may_be_as_long_as_there_is_room_for_it():
    validate_display_name("x" * MAX_DISPLAY_NAME, bob())
