"""A secret in the reason of a grant, an absence or a policy leaves the desk as little as on its pages."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from approvals.actions.policy import ask_about_everything, revoke_grant
from approvals.actions.policy.absence import Away, set_absence
from approvals.administration.webhooks.actions import store_endpoint
from approvals.models import AuditEntry, Grant, OutboxEvent
from approvals.record import audit
from approvals.states import Door, Width
from tests.approvals.actions.policy.granting import approve, ask, terms
from tests.support.desk.ruling import apply_policy
from tests.support.machine import Machine
from tests.support.people import alice, make_person

pytestmark = pytest.mark.django_db

SECRET = "ghp_" + "Ab1" * 12
REASON = f"They sent {SECRET}."


def test_reasons_are_masked_over_rest_in_events_and_in_exports():
    both = make_person("bob", "decide_approvalrequest", "view_approvalrequest", "administer", "view_auditentry")
    events = ["grant.given", "grant.revoked", "grant.stopped"]
    endpoint = {"name": "Ours", "url": "https://hooks.example.com/", "include_payload": False, "active": True}
    store_endpoint(None, endpoint | {"events": events}, by=both, via=Door.DASHBOARD)
    asker = alice()
    approve(ask(asker), both, terms(Width.TOOL, uses=3, reason=REASON))
    grant = Grant.objects.get()
    set_absence(both, Away(until=timezone.now() + timedelta(days=1), reason=REASON), by=both, via=Door.DASHBOARD)
    apply_policy(repeat_rejections=True, reason=REASON)
    revoke_grant(grant.pk, reason=REASON, by=both, via=Door.DASHBOARD)
    ask_about_everything(on=True, reason=REASON, by=both, via=Door.DASHBOARD)
    program = Machine(both)
    shown = {
        address: json.dumps(program.get(address).body)
        for address in (f"/grants/{grant.pk}", "/grants?state=all", "/absences", "/policy")
    }
    shown |= {row.name: json.dumps(row.payload) for row in OutboxEvent.objects.all()}
    shown["export"] = " ".join(" ".join(audit.csv_cells(entry)) for entry in AuditEntry.objects.all())
    assert {"grant.given", "grant.revoked", "grant.stopped"} <= shown.keys()
    assert [where for where, text in shown.items() if SECRET in text] == []
    assert [where for where, text in shown.items() if "They sent" not in text] == []
