"""The pages of notification rules."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, User

from approvals.models import AuditEntry
from approvals.models.subscriptions import NotificationRule
from tests.approvals.administration.people.test_people import administrator
from tests.support.desk.pressing import browser
from tests.support.people import bob

pytestmark = pytest.mark.django_db


def test_a_notification_rule_is_for_a_person_or_a_team_and_is_on_record(settings):
    settings.HITL_MAIL = True
    bob()
    client = browser(administrator())
    rule = {
        "person": "bob",
        "group": "",
        "route": "mail",
        "shows": "input",
        "min_priority": "high",
        "tool_name": "refund",
        "active": "on",
    }
    assert client.post("/settings/rules/", rule).status_code == 302
    stored = NotificationRule.objects.get()
    assert (stored.person.username, stored.min_priority) == ("bob", "high")
    team = Group.objects.create(name="Payments")
    refused = [rule | {"person": "nobody"}, rule | {"group": str(team.pk)}, rule | {"person": ""}]
    assert [client.post("/settings/rules/", sent).status_code for sent in refused] == [422] * 3
    own = f"/settings/rules/{stored.pk}/"
    NotificationRule.objects.update(tool_name="")
    User.objects.filter(username="bob").update(email="bob@example.org")
    seen = [client, browser(User.objects.get(username="bob"))]
    pages = [one.get(path) for one, path in zip(seen, ("/settings/rules/", "/settings/notifications/"), strict=True)]
    assert [(page.status_code, "all tools" in page.text) for page in pages] == [(200, True)] * 2
    assert client.post(own, rule | {"person": "", "group": str(team.pk)}).status_code == 302
    assert client.post(f"{own}remove/").status_code == 302
    changes = [entry.data["change"] for entry in AuditEntry.objects.filter(event="rule.changed").order_by("pk")]
    assert changes == ["created", "changed", "removed"]
