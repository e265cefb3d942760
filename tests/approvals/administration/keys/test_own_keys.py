"""People create, rotate and revoke keys of their own, within the scopes of the settings; never someone else's."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest
from django.core import mail
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from approvals.access.callers import SCOPES
from approvals.administration.keys.actions import NewKey, create_key, make_key, rotate_key
from approvals.administration.keys.forms import MAX_DAYS
from approvals.exceptions import NotAllowed
from approvals.models import AuditEntry
from approvals.models.keys import ApiKey
from approvals.outbound import mailing
from approvals.states import Door
from hitlsite import env
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.days import day_in
from tests.support.desk.pressing import browser
from tests.support.machine import Machine
from tests.support.markup import parse
from tests.support.people import alice, bob

pytestmark = pytest.mark.django_db

SENT = {"name": "my agent", "scopes": ["ask", "read"]}


@dataclass(frozen=True)
class Keys:
    """A key of Alice and one of Bob, and the browser of Alice."""

    own: ApiKey
    other: ApiKey
    client: Client


@pytest.fixture
def keys() -> Keys:
    owner = alice()
    own, _text = create_key(owner, name="hers")
    other, _text = create_key(bob(), name="his")
    return Keys(own, other, browser(owner))


def test_a_person_sees_their_own_keys_alone_creates_rotates_and_revokes_them(keys):
    page = keys.client.get("/settings/keys/").text
    assert [row.words for row in parse(page).find("a", class_="row-title")] == ["hers"]
    assert "his" not in [row.words for row in parse(keys.client.get("/settings/keys/?q=bob").text).find("a")]
    made = keys.client.post("/settings/keys/", SENT | {"last_day": day_in(30), "user": "bob"})
    text = parse(made.text).find("pre")[0].words
    new = ApiKey.objects.latest("pk")
    assert (new.user.username, new.made_by, new.scopes) == ("alice", new.user, ["ask", "read"])
    asked = Machine(authorization=f"Bearer {text}").ask()
    assert asked["status"] == "pending"
    rotated = keys.client.post(f"/settings/keys/{new.pk}/rotate/", {"overlap": "0", "last_day": day_in(30)})
    assert (rotated.status_code, ApiKey.objects.filter(replaces=[new.pk]).count()) == (200, 1)
    assert keys.client.post(f"/settings/keys/{keys.own.pk}/revoke/").status_code == 302
    entry = AuditEntry.objects.get(event="key.revoked")
    assert (entry.actor_name, entry.data["name"]) == ("alice", "hers")


@pytest.mark.parametrize("do", ["", "rotate/", "revoke/"])
def test_the_key_of_someone_else_does_not_exist_for_a_person(keys, do):
    address = f"/settings/keys/{keys.other.pk}/{do}"
    sent = {"overlap": "0", "last_day": day_in(30)}
    statuses = [keys.client.post(address, sent).status_code]
    if do != "revoke/":
        statuses.append(keys.client.get(address).status_code)
    keys.other.refresh_from_db()
    assert (set(statuses), keys.other.revoked_at, ApiKey.objects.count()) == ({404}, None, 2)


def test_a_person_does_not_change_the_lists_of_their_key(keys):
    page = keys.client.get(f"/settings/keys/{keys.own.pk}/")
    sent = {"gated": "", "allowed": "*", "denied": ""}
    changed = keys.client.post(f"/settings/keys/{keys.own.pk}/", sent)
    assert (page.status_code, len(parse(page.text).find("textarea")), changed.status_code) == (200, 0, 404)
    assert ApiKey.objects.get(pk=keys.own.pk).tool_lists is None


def test_only_the_scopes_of_the_settings_are_offered_and_accepted(keys, settings):
    settings.HITL_OWN_KEY_SCOPES = ["read"]
    page = parse(keys.client.get("/settings/keys/").text)
    refused = keys.client.post("/settings/keys/", SENT | {"last_day": day_in(30)})
    offered = [field.attributes["value"] for field in page.find("input", name="scopes")]
    assert (offered, refused.status_code, ApiKey.objects.count()) == (["read"], 422, 2)
    with pytest.raises(NotAllowed, match=r"with these scopes: ask\. Ask an administrator"):
        make_key(NewKey(user=keys.own.user, name="x", scopes=["ask", "read"]), by=keys.own.user, via=Door.DASHBOARD)
    with pytest.raises(NotAllowed, match="with these scopes: ask"):
        rotate_key(keys.own.pk, by=keys.own.user, via=Door.DASHBOARD)
    sent = {"overlap": "0", "last_day": day_in(30)}
    rotated = keys.client.post(f"/settings/keys/{keys.own.pk}/rotate/", sent)
    assert (rotated.status_code, "Ask an administrator." in rotated.text) == (422, True)


def test_without_scopes_in_the_settings_a_person_only_revokes_theirs(keys, settings):
    settings.HITL_OWN_KEY_SCOPES = []
    page = keys.client.get("/settings/keys/")
    assert "Administrators create keys for your programs." in page.text
    assert parse(page.text).find("input", name="name") == []
    assert keys.client.post("/settings/keys/", SENT | {"last_day": day_in(30)}).status_code == 422
    assert keys.client.post(f"/settings/keys/{keys.own.pk}/revoke/").status_code == 302


def test_a_key_of_ones_own_does_no_more_than_its_person(settings):
    settings.HITL_OWN_KEY_SCOPES = ["ask", "read", "decide", "audit"]
    client = browser(alice())
    made = client.post("/settings/keys/", {"name": "x", "scopes": ["decide", "audit", "read"], "last_day": day_in(9)})
    own = Machine(authorization=f"Bearer {parse(made.text).find('pre')[0].words}")
    asked = Machine(bob()).ask()
    replies = [own.get("/audit"), own.get(f"/requests/{asked['id']}"), own.decide(asked, "approve")]
    assert [reply.status for reply in replies] == [403, 404, 404]


def test_administrators_create_keys_of_their_own_with_any_scope():
    dora = administrator()
    key, _text = make_key(NewKey(user=dora, name="x", scopes=["audit", "decide"]), by=dora, via=Door.DASHBOARD)
    assert key.scopes == ["audit", "decide"]


def test_a_new_key_needs_a_fresh_log_in_where_administration_does(settings, keys):
    settings.HITL_FRESH_SIGN_IN_FOR = ["administration"]
    shown = keys.client.get("/settings/keys/")
    made = keys.client.post("/settings/keys/", SENT | {"last_day": day_in(30)})
    assert (shown.status_code, made.status_code, ApiKey.objects.count()) == (302, 403, 2)


def test_a_person_is_told_of_a_key_that_was_created_in_their_name_in_case_it_was_not_them(
    keys, settings, django_capture_on_commit_callbacks
):
    settings.HITL_MAIL = True
    owner = keys.own.user
    owner.email = "alice@example.org"
    owner.save()
    with django_capture_on_commit_callbacks(execute=True):
        make_key(NewKey(user=owner, name="agent"), by=owner, via=Door.DASHBOARD)
    mailing._thread.submit(bool).result()
    assert [(one.to, str(one.body).splitlines()[0]) for one in mail.outbox] == [
        (["alice@example.org"], "You created an API key: agent (ask, read).")
    ]


def test_the_list_says_which_keys_expire_soon(keys):
    ApiKey.objects.filter(pk=keys.own.pk).update(expires_at=timezone.now() + timedelta(days=29))
    page = parse(keys.client.get("/settings/keys/").text)
    assert [badge.words for badge in page.find("span", class_="badge")] == ["Expires soon"]


def test_the_settings_know_the_scopes_and_the_longest_lifetime_and_none_is_an_empty_list(monkeypatch):
    assert (sorted(env.KEY_SCOPES), env.KEY_DAYS) == (sorted(SCOPES), MAX_DAYS)
    found = {}
    for value in ("", "none", "read,decide"):
        monkeypatch.setenv("HITL_OWN_KEY_SCOPES", value)
        found[value] = env.choices("HITL_OWN_KEY_SCOPES", env.KEY_SCOPES, default=("ask", "read"))
    assert found == {"": ["ask", "read"], "none": [], "read,decide": ["read", "decide"]}
    monkeypatch.setenv("HITL_OWN_KEY_SCOPES", "read,none")
    with pytest.raises(ImproperlyConfigured, match="contains none"):
        env.choices("HITL_OWN_KEY_SCOPES", env.KEY_SCOPES, default=("ask", "read"))
