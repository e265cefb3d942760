"""For tests of webhooks and notices: deliver everything that is due, and let time pass by changing rows."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.models import Group, User
from django.core import mail
from django.utils import timezone

from approvals.actions import create_signing_secret
from approvals.actions.callbacks import deliveries
from approvals.administration.keys.actions import create_key
from approvals.models import OutboxEvent, Workflow
from approvals.models.keys import ApiKey
from approvals.models.subscriptions import LastNotice, NotificationRule, WebhookEndpoint
from approvals.outbound import notifications, outbox, webhooks
from approvals.outbound.delivery_lanes import DeliveryLanes
from approvals.outbound.outbox import EVENTS
from approvals.states import Channel
from tests.support.desk.requests import make_workflow


def carry(lanes: DeliveryLanes | None = None) -> None:
    """Deliver everything that is due now, and wait for all of it to end."""
    lanes = lanes or DeliveryLanes(webhooks.due_jobs, notifications.due_jobs, deliveries.due_jobs)
    notifications.spread_due_notices()
    first = outbox.head_events(Channel.WEBHOOK) | outbox.head_events(Channel.ENGINE)
    untried = first.filter(attempts=0)
    while True:
        lanes.deliver_due()
        assert lanes.idle(60)
        # On a loaded machine a round may be over before the first of a stream has arrived, and the next one waits for it.
        if not untried.filter(next_attempt_at__lte=timezone.now()).exclude(lane__in=lanes._shut()).exists():
            return


def later(wait: timedelta = timedelta(days=1)) -> None:
    """Let time pass, so that waiting deliveries are due."""
    OutboxEvent.objects.filter(delivered_at=None).update(next_attempt_at=timezone.now() - timedelta(seconds=1))
    for last in LastNotice.objects.all():
        LastNotice.objects.filter(pk=last.pk).update(at=last.at - wait)


def make_endpoint(url: str, **changes: object) -> tuple[WebhookEndpoint, str]:
    """Return an endpoint that receives all events, and its secret."""
    endpoint = WebhookEndpoint.objects.create(**{"name": "billing", "url": url, "events": list(EVENTS)} | changes)
    return endpoint, create_signing_secret(endpoint)


def make_key(user: User) -> tuple[ApiKey, str]:
    """An API key, and the secret that signs its webhooks."""
    key, _ = create_key(user, name="agent")
    return key, create_signing_secret(key)


def workflow_of(key: ApiKey, name: str = "run-1") -> Workflow:
    return make_workflow(key.user, scope=f"key:{key.pk}", key=name)


def states() -> list[tuple[str, bool, bool, str]]:
    """Name, delivered, given up and error of each row, in order."""
    rows = OutboxEvent.objects.order_by("pk")
    return [(row.name, row.delivered_at is not None, row.dead_at is not None, row.last_error) for row in rows]


def with_address(person: User) -> User:
    person.email = f"{person.username}@example.org"
    person.save()
    return person


def group_of(*people: User) -> Group:
    group = Group.objects.create(name="support")
    group.user_set.set(people)
    return group


def tell(who: User | Group, **changes: object) -> NotificationRule:
    audience = {"group": who} if isinstance(who, Group) else {"person": who}
    return NotificationRule.objects.create(**audience | changes)


def sent() -> list[tuple[list[str], str]]:
    return [(message.to, message.subject) for message in mail.outbox]
