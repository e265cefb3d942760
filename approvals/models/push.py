"""Browsers that notify people."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone


class PushSubscription(models.Model):
    """One browser of a person, which its push service reaches at `endpoint` (RFC 8030).

    `p256dh` and `auth` are the browser's keys (RFC 8291), in base64url. `session` is the subscribing one: when it ends, so do
    notifications.
    """

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="push_subscriptions",
    )
    endpoint = models.CharField(max_length=500, unique=True)
    p256dh = models.CharField(max_length=100)
    auth = models.CharField(max_length=40)
    browser = models.CharField(max_length=300, blank=True)
    session_key = models.CharField(max_length=40)
    created_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.person}: {self.browser}"
