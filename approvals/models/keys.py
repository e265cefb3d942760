"""Store API keys."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils import timezone

from approvals.db.json_field import ExactJSONField

User = settings.AUTH_USER_MODEL

MAX_KEY_NAME = 100
#: What a key does is recorded as "API key NAME of USER"; a user's name has up to 150 characters.
MAX_ACTOR_NAME = 300


class ApiKey(models.Model):
    """A key with which a program acts for a user, limited to scopes. Only a hash of the secret is stored."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=MAX_KEY_NAME)
    prefix = models.CharField(max_length=12, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = ExactJSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    #: When it stops working by itself; null means never.
    expires_at = models.DateTimeField(null=True)
    #: Which calls of coding agents wait for a person (`approvals.access.tool_lists`); null means the default.
    tool_lists = ExactJSONField(null=True)
    #: The rights of its user, where `access.keys.find_key` has annotated them.
    decides: bool = False
    views: bool = False
    #: Whether approver scopes limit its user.
    limited: bool = False
    #: Whether its user stands in for someone who is away.
    stands_in: bool = False

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"
