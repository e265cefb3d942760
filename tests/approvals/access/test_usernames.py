"""Nobody new gets a username that passes for that of somebody else, and an old one is marked where it is shown."""

from __future__ import annotations

import io

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command

from approvals.access.usernames import validate_new_username
from approvals.administration.people.actions import add_person
from approvals.exceptions import Conflict
from approvals.states import Verdict
from approvals.text.names import marked_name
from tests.support.desk.pressing import browser
from tests.support.desk.requests import decide, make_request
from tests.support.markup import parse
from tests.support.people import PASSWORD, make_person

pytestmark = pytest.mark.django_db

CYRILLIC_A = "\u0430"
#: Names that read like `approver`, `alice` or `copal`, and why they are refused.
MISLEADING = {
    f"{CYRILLIC_A}pprover": "mixes letters",
    "approv\u0435r": "mixes letters",
    "\u0251pprover": "looks like",
    "\u0441\u043e\u0440\u0430": "looks like an existing one: copa",
    "a1ice": "looks like an existing one: alice",
    "AIice": "looks like an existing one: alice",
}


@pytest.fixture(autouse=True)
def _people():
    for name in ("approver", "copa", "alice"):
        make_person(name)


def test_misleading_names_are_refused_by_the_action_the_form_the_admin_and_the_command():
    root = User.objects.create_superuser("root", password=PASSWORD)
    client = browser(root)
    new = {"password1": "a quite different text", "password2": "a quite different text", "usable_password": "true"}
    for name, reason in MISLEADING.items():
        with pytest.raises(ValidationError) as refused:
            validate_new_username(name)
        assert (name, reason in refused.value.messages[0]) == (name, True)
        with pytest.raises(Conflict):
            add_person(username=name, email="", roles=[], by=root)
        page = client.post("/settings/people/", {"username": name, "roles": []})
        assert (name, page.status_code) == (name, 422)
        assert (name, client.post("/admin/auth/user/add/", {"username": name} | new).status_code) == (name, 200)
        with pytest.raises(CommandError):
            call_command("createsuperuser", interactive=False, username=name, email="", stderr=io.StringIO())
    assert User.objects.count() == 4


def test_a_name_with_an_invisible_character_is_refused_also_if_it_looks_like_no_other():
    with pytest.raises(ValidationError) as refused:
        validate_new_username("pe\u200bter")
    assert refused.value.messages == ["The username contains an invisible character."]


def test_the_refusal_of_a_mixed_name_names_each_letter_of_another_alphabet():
    with pytest.raises(ValidationError) as refused:
        validate_new_username(f"{CYRILLIC_A}pprov\u0435r")
    assert refused.value.messages == [
        "The username mixes letters of different alphabets: "
        f"{CYRILLIC_A} (U+0430, CYRILLIC SMALL LETTER A), \u0435 (U+0435, CYRILLIC SMALL LETTER IE)"
    ]


def test_honest_names_of_any_alphabet_are_accepted():
    root = User.objects.create_superuser("root")
    for name in (
        "bob",
        "bob2",
        "\u0414\u043c\u0438\u0442\u0440\u0438\u0439",
        "J\u00fcrgen",
        "\u5c71\u7530\u592a\u90ce",
        "x@y.org",
    ):
        assert add_person(username=name, email="", roles=[], by=root).username == name


def test_an_old_account_with_a_misleading_name_can_be_changed_and_deactivated():
    old = make_person(f"{CYRILLIC_A}pprover")
    client = browser(User.objects.create_superuser("root"))
    sent = {"username": old.username, "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    assert client.post(f"/admin/auth/user/{old.pk}/change/", sent).status_code == 302
    assert not User.objects.get(pk=old.pk).is_active


def test_an_old_misleading_name_is_marked_wherever_a_decision_says_who_made_it():
    marked = f"{CYRILLIC_A}\u27e8U+0430\u27e9pprover"
    assert (marked_name(f"{CYRILLIC_A}pprover"), marked_name("approver")) == (marked, "approver")
    assert marked_name("J\u00fcrgen") == "J\u00fcrgen"
    old = make_person(
        f"{CYRILLIC_A}pprover", "decide_approvalrequest", "view_approvalrequest", "view_auditentry", "administer"
    )
    request = make_request(User.objects.get(username="alice"), tool_name="refund")
    decide(request, old, Verdict.APPROVE)
    client = browser(old)
    pages = [
        f"/requests/{request.pk}/", "/requests/?status=approved", "/audit/", f"/requests/{request.pk}/record/",
        f"/workflows/{request.workflow_id}/", "/settings/people/", f"/settings/people/{old.pk}/",
    ]  # fmt: skip
    shown = {path: parse(client.get(path).text).find("main")[0].words for path in pages}
    assert {path: marked in words for path, words in shown.items()} == dict.fromkeys(pages, True)
