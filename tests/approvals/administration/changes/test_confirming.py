"""A second administrator confirms the change on their page, and nothing else."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import Group, User

from approvals.administration.changes.actions import ShownOtherwise
from approvals.administration.changes.queries import shown_digest
from approvals.administration.keys.actions import NewKey, make_key
from approvals.administration.people.actions import change_person
from approvals.administration.scopes.actions import ScopeTerms, store_scope
from approvals.administration.tools.actions import store_tool_settings
from approvals.exceptions import Conflict, NotAllowed
from approvals.models import ApproverScope, AuditEntry, PendingChange, ToolSettings
from approvals.models.keys import ApiKey
from approvals.states import Door
from tests.approvals.administration.changes.nouns import LOOSER, link, person, prepare, state
from tests.support.desk.pressing import browser
from tests.support.desk.ruling import administrator
from tests.support.desk.scopes import again
from tests.support.desk.waiting_changes import confirm, waiting_change
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def prepared() -> None:
    prepare()


@pytest.fixture
def ann() -> User:
    return administrator("ann")


@pytest.fixture
def dora() -> User:
    return administrator("dora")


def _email(person_id: int, address: str, by: User) -> None:
    change_person(person_id, email=address, roles=["approver"], rights=None, team_ids=[], by=by)


#: The first request, the one that replaces it under the open page, and how to find the second.
SWAPS = {
    "roles": (LOOSER["roles"], lambda by: _roles(by, ["approver", "administrator"])),
    "rights": (LOOSER["rights"], lambda by: _rights(by, ["reveal_secrets", "ignore_scopes"])),
    "tool": (LOOSER["tool"], lambda by: store_tool_settings("wire", {"control": "confirm"}, by=by)),
}


def _roles(by: User, roles: list[str]) -> None:
    change_person(person("eve").pk, email="", roles=roles, team_ids=[], by=by)


def _rights(by: User, rights: list[str]) -> None:
    change_person(person("eve").pk, email="", roles=[], rights=rights, team_ids=[], by=by)


@pytest.mark.parametrize("kind", SWAPS)
def test_a_change_that_was_swapped_under_the_open_page_is_refused_and_shown_anew(kind, ann, dora):
    requested, swapped = SWAPS[kind]
    requested(ann)
    client = browser(dora)
    page = client.get("/settings/changes/").text
    sent = {"do": "confirm", "shown": re.search(r'name="shown" value="([^"]+)"', page)[1]}
    before = state()
    swapped(ann)
    refused = client.post(f"/settings/changes/{waiting_change().pk}/", sent)
    assert (refused.status_code, state()) == (409, before)
    shown = parse(refused.text)
    assert "This change is different from what you were shown. Nothing was confirmed." in shown.words
    (field,) = shown.find("input", name="shown")
    again_sent = {"do": "confirm", "shown": field.attributes["value"]}
    assert client.post(f"/settings/changes/{waiting_change().pk}/", again_sent).status_code == 302
    assert state() != before


def test_the_address_of_an_approver_that_was_swapped_is_not_confirmed(ann, dora):
    target = person("bob")
    target.groups.add(Group.objects.get(name="Approver"))
    _email(target.pk, "bob@example.org", ann)
    shown = shown_digest(waiting_change())
    _email(target.pk, "ann@evil.example", ann)
    with pytest.raises(ShownOtherwise):
        confirm(waiting_change(), dora, shown=shown)
    assert person("bob").email == ""


def test_an_account_that_was_changed_meanwhile_is_shown_anew(ann, dora):
    person("bob").groups.add(Group.objects.get(name="Approver"))
    link(ann)
    shown = shown_digest(waiting_change())
    User.objects.filter(username="bob").update(email="ann@evil.example")
    with pytest.raises(ShownOtherwise):
        confirm(waiting_change(), dora, shown=shown)


@pytest.mark.parametrize("kind", LOOSER)
def test_a_form_that_says_nothing_of_what_was_shown_confirms_nothing(kind, ann, dora):
    LOOSER[kind](ann)
    before = state()
    answer = browser(dora).post(f"/settings/changes/{waiting_change().pk}/", {"do": "confirm"})
    assert (answer.status_code, state(), PendingChange.objects.count()) == (409, before, 1)


#: Made stricter by another administrator while a change waits, which would otherwise undo it.
MEANWHILE = {
    "tool": lambda: ToolSettings.objects.update(control="four_eyes", min_priority="critical"),
    "scope": lambda: ApproverScope.objects.update(limit=5),
    "key_lists": lambda: ApiKey.objects.update(tool_lists={"gated": ["*"], "allowed": [], "denied": ["Bash"]}),
}


@pytest.mark.parametrize("kind", MEANWHILE)
def test_what_was_changed_meanwhile_is_not_overwritten(kind, ann, dora):
    LOOSER[kind](ann)
    MEANWHILE[kind]()
    before = state()
    with pytest.raises(Conflict, match="Someone has changed what this would replace"):
        confirm(waiting_change(), dora)
    assert state() == before


@pytest.mark.parametrize("kind", LOOSER)
def test_every_step_is_on_record_with_both_administrators(kind, ann, dora):
    LOOSER[kind](ann)
    confirm(waiting_change(), dora)
    steps = AuditEntry.objects.filter(
        event__in=("change.waiting", "person.changed", "policy.proposed", "policy.applied")
    )
    names = [entry.actor_name for entry in steps.order_by("pk") if entry.data.get("change") or "policy" in entry.event]
    assert names[-2:] == ["ann", "dora"]
    assert "secret_hash" not in "".join(AuditEntry.objects.values_list("body", flat=True))


def test_a_key_for_someone_else_works_once_it_is_confirmed_and_only_its_maker_saw_it(ann, dora):
    made, text = make_key(NewKey(user=person("kim"), name="agent"), by=ann, via=Door.DASHBOARD)
    machine = Machine(authorization=f"Bearer {text}")
    assert machine.get("/requests").status == 401
    page = browser(dora).get("/settings/keys/").text
    assert (text in page, f"pp_{made.subject}" in page) == (False, True)
    confirm(waiting_change(), dora)
    assert machine.get("/requests").status == 200
    key = ApiKey.objects.get(prefix=made.subject)
    assert (key.made_by, key.maker_id) == (ann, ann.pk)


LIMITED = {
    "a scope of their own": (LOOSER["scope"], "You cannot change your own scopes."),
    "four eyes of a tool": (LOOSER["tool"], "you cannot turn off the two-person rule for a tool"),
    "the key field of their limit": (
        lambda by: store_tool_settings("wire", {"key_fields": ["/cents_fee"]}, by=by),
        "One of your scopes has a limit that is compared with the key fields of this tool.",
    ),
}


@pytest.mark.parametrize("what", LIMITED)
def test_nobody_loosens_what_limits_themselves_as_the_first_or_as_the_second(what, ann, dora):
    make, words = LIMITED[what]
    hal = make_person("hal", "administer", "decide_approvalrequest")
    ApproverScope.objects.get().people.set([person("bob"), hal])
    if what == "a scope of their own":
        make = _wider_scope
    with pytest.raises(NotAllowed, match=words):
        make(again(hal))
    make(ann)
    with pytest.raises(NotAllowed, match=words):
        confirm(waiting_change(), again(hal))
    confirm(waiting_change(), dora)


def _wider_scope(by: User) -> None:
    stored = ApproverScope.objects.get()
    people = list(stored.people.all())
    terms = ScopeTerms(name="Small", match=stored.match, may="decide", limit=9_000.0, people=people)
    store_scope(stored.pk, terms, by=by, via=Door.DASHBOARD)


def test_nothing_over_rest_writes_rules_tools_scopes_or_keys(ann):
    writes = {
        path
        for path, methods in browser(ann).get("/api/v1/openapi.json").json()["paths"].items()
        for method in methods
        if method != "get" and re.search(r"/(policy|scopes|tools|keys|people|teams)\b", path)
    }
    assert writes == {"/api/v1/policy/evaluate"}
