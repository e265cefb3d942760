"""Whoever revokes a key is on record, in the same transaction, once."""

from __future__ import annotations

import pytest
from django.test import Client

from approvals import actions
from approvals.access import permissions
from approvals.models import AuditEntry
from approvals.record import audit
from approvals.states import Door
from tests.support.people import alice, bob, make_person

pytestmark = pytest.mark.django_db


def entries() -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(event="key.revoked").order_by("pk"))


def test_it_is_on_record_who_revoked_whose_key():
    (key, text), admin = permissions.create_key(alice(), name="billing"), bob()
    assert actions.revoke_key(key.pk, by=admin, via=Door.ADMIN) is True
    (entry,) = entries()
    assert (entry.scope, entry.actor_id, entry.actor_name, entry.via) == (f"key:{key.pk}", admin.pk, "bob", "admin")
    assert entry.data == {"name": "billing", "prefix": key.prefix, "user": "alice"}
    assert permissions.find_key(text) is None


def test_a_key_is_revoked_once_and_the_second_time_changes_nothing():
    (key, _), admin = permissions.create_key(alice(), name="billing"), bob()
    assert [actions.revoke_key(key.pk, by=admin, via=Door.ADMIN) for _ in range(2)] == [True, False]
    assert len(entries()) == 1
    assert actions.revoke_key(key.pk + 1, by=admin, via=Door.ADMIN) is False


def test_a_key_stays_good_if_it_cannot_be_recorded(monkeypatch):
    (key, text), admin = permissions.create_key(alice(), name="billing"), bob()
    monkeypatch.setattr(audit, "EVENTS", ())
    with pytest.raises(AssertionError):
        actions.revoke_key(key.pk, by=admin, via=Door.ADMIN)
    assert permissions.find_key(text) is not None


def test_the_admin_s_action_is_on_record_for_each_key():
    root, owner = make_person("root", "view_apikey", "change_apikey"), alice()
    root.is_staff = True
    root.save()
    keys = [permissions.create_key(owner, name=name)[0] for name in ("billing", "triage")]
    browser = Client()
    browser.force_login(root)
    selected = {"action": "revoke", "_selected_action": [key.pk for key in keys]}
    page = browser.post("/admin/approvals/apikey/", selected, follow=True).content.decode()
    assert "2 keys were revoked." in page
    assert [(entry.data["name"], entry.actor_name) for entry in entries()] == [("billing", "root"), ("triage", "root")]
