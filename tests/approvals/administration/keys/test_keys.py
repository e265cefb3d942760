"""Making and revoking a key is recorded once, in the same transaction."""

from __future__ import annotations

import pytest
from django.core.management import call_command
from django.test import Client

from approvals.access.callers import find_key
from approvals.administration.keys import actions
from approvals.db.canonical_json import utc
from approvals.models import ApiKey, AuditEntry
from approvals.record import audit
from approvals.states import Door
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def entries(event: str) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(event=event).order_by("pk"))


def test_a_new_key_is_on_record_without_its_secret():
    key, text = actions.create_key(alice(), name="billing", scopes=("ask",))
    (entry,) = entries("key.created")
    assert (entry.scope, entry.actor_id, entry.via, entry.at) == (f"key:{key.pk}", None, "system", key.created_at)
    assert entry.data == {
        "name": "billing",
        "prefix": key.prefix,
        "user": "alice",
        "scopes": ["ask"],
        "ranges": [],
        "expires_at": utc(key.expires_at),
    }
    assert text.removeprefix(f"pp_{key.prefix}_") not in entry.body


def test_the_command_records_the_key_that_it_makes():
    alice()
    call_command("createkey", "--user", "alice", "--name", "billing")
    assert [entry.data["prefix"] for entry in entries("key.created")] == [ApiKey.objects.get().prefix]


def test_revoking_a_key_records_who_revoked_whose_key():
    (key, text), admin = actions.create_key(alice(), name="billing"), bob()
    assert actions.revoke_key(key.pk, by=admin, via=Door.ADMIN) is True
    (entry,) = entries("key.revoked")
    assert (entry.scope, entry.actor_id, entry.actor_name, entry.via) == (f"key:{key.pk}", admin.pk, "bob", "admin")
    assert entry.data == {"name": "billing", "prefix": key.prefix, "user": "alice"}
    assert find_key(text) is None


def test_revoking_a_key_again_changes_nothing():
    (key, _), admin = actions.create_key(alice(), name="billing"), bob()
    assert [actions.revoke_key(key.pk, by=admin, via=Door.ADMIN) for _ in range(2)] == [True, False]
    assert len(entries("key.revoked")) == 1
    assert actions.revoke_key(key.pk + 1, by=admin, via=Door.ADMIN) is False


def test_a_key_is_not_made_if_that_cannot_be_recorded(monkeypatch):
    monkeypatch.setattr(audit, "EVENTS", ())
    with pytest.raises(AssertionError):
        actions.create_key(alice(), name="billing")
    assert not ApiKey.objects.exists()


def test_a_key_is_not_revoked_if_that_cannot_be_recorded(monkeypatch):
    (key, text), admin = actions.create_key(alice(), name="billing"), bob()
    monkeypatch.setattr(audit, "EVENTS", ())
    with pytest.raises(AssertionError):
        actions.revoke_key(key.pk, by=admin, via=Door.ADMIN)
    assert find_key(text) is not None


@pytest.fixture
def root() -> Client:
    """A superuser's browser."""
    person = make_person("root")
    person.is_staff = person.is_superuser = True
    person.save()
    browser = Client()
    browser.force_login(person)
    return browser


def test_revoking_in_the_admin_records_each_key(root):
    owner = alice()
    keys = [actions.create_key(owner, name=name)[0] for name in ("billing", "triage")]
    selected = {"action": "revoke", "_selected_action": [key.pk for key in keys]}
    page = root.post("/admin/approvals/apikey/", selected, follow=True).content.decode()
    assert "2 keys were revoked." in page
    revoked = [(entry.data["name"], entry.actor_name) for entry in entries("key.revoked")]
    assert revoked == [("billing", "root"), ("triage", "root")]


@pytest.mark.parametrize("row", ["auth/user/{user}", "approvals/apikey/{key}"])
def test_the_admin_deletes_no_key_and_no_user_with_keys(root, row):
    key, text = actions.create_key(alice(), name="billing")
    address = f"/admin/{row.format(user=key.user_id, key=key.pk)}/delete/"
    assert root.post(address, {"post": "yes"}).status_code == 403
    page = address.removesuffix(f"{row.rpartition('/')[2].format(user=key.user_id, key=key.pk)}/delete/")
    root.post(page, {"action": "delete_selected", "_selected_action": [address.split("/")[-3]], "post": "yes"})
    assert find_key(text) is not None
