"""API keys and their texts, which scanners recognize without asking, and the issuers of access tokens that are used instead.

A text is `pp_`, a prefix, `_`, a secret, and a checksum.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import string
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import ClassVar
from zlib import crc32

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from approvals.db.fields import ExactJSONField

User = settings.AUTH_USER_MODEL

MAX_KEY_NAME = 100
#: Actions of a key are recorded as "API key NAME of USER"; a user's name has up to 150 characters.
MAX_ACTOR_NAME = 300
#: Longest values of claims that are read from tokens.
MAX_CLAIM = 254
#: Scopes that are not allowed on a key for someone else: with them, its creator could decide as its user.
NOT_FOR_OTHERS = frozenset({"decide", "grant", "absence"})
#: How long before its expiry the owner of a key is warned.
WARNINGS = (timedelta(days=30), timedelta(days=7))

_ALPHABET = string.ascii_letters + string.digits
#: Characters of a secret: 256 random bits.
_LENGTH = 43
_TEXT = re.compile(
    r"(?P<start>pp_(?P<prefix>[0-9a-f]{8})_[0-9A-Za-z]{43})(?P<checksum>[0-9a-f]{8})"
)


def new_text() -> str:
    """Return the text of a new key."""
    secret = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
    return text_of(secrets.token_hex(4), secret)


def text_of(prefix: str, secret: str) -> str:
    """Return the text of a key with this prefix and secret."""
    start = f"pp_{prefix}_{secret}"
    return f"{start}{_checksum(start)}"


def prefix_in(text: str) -> str | None:
    """Return the prefix of a key's text; None for any other text, which is never looked up."""
    match = _TEXT.fullmatch(text)
    if match is None or match["checksum"] != _checksum(match["start"]):
        return None
    return match["prefix"]


def hash_of(text: str) -> str:
    """Return the stored hash of a key. A fast hash is enough: the secret holds 256 random bits."""
    return hashlib.sha256(text.encode()).hexdigest()


def _checksum(start: str) -> str:
    return f"{crc32(start.encode()):08x}"


def default_expiry() -> datetime:
    return timezone.now() + timedelta(days=settings.HITL_KEY_DAYS)


def next_warning(expires_at: datetime | None, now: datetime) -> datetime | None:
    """Return when to warn of this expiry next; None if not again."""
    moments = [expires_at - before for before in WARNINGS] if expires_at else []
    return next((moment for moment in moments if moment > now), None)


def live() -> Q:
    """Return the condition that a key is valid now, by the clock of the database."""
    lasts = Q(expires_at=None) | Q(expires_at__gt=Now())
    return Q(revoked_at=None, issuer__disabled_at=None) & lasts


class PublishedKeys(models.Model):
    """The public keys (JWK) of an issuer of tokens, as of `fetched_at`."""

    #: The address of the keys; empty if the issuer's discovery document has it.
    keys_url = models.CharField(max_length=500, blank=True)
    keys = ExactJSONField(default=list)
    fetched_at = models.DateTimeField(null=True)
    #: The last fetch for an unknown key, the end of the last fetch, and why it failed.
    tried_at = models.DateTimeField(null=True)
    answered_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=300, blank=True)

    class Meta:
        abstract = True


class TokenIssuer(PublishedKeys):
    """An issuer of access tokens (JWT) for programs. Its mappings to users are keys without a secret."""

    name = models.CharField(max_length=100)
    #: Compared with `iss` exactly.
    issuer = models.CharField(max_length=MAX_CLAIM, unique=True)
    audience = models.CharField(max_length=MAX_CLAIM)
    algorithms = ExactJSONField(default=list)
    #: Whether tokens must name their scopes; otherwise they have all scopes of their mapping.
    scoped = models.BooleanField(default=True)
    #: Whether `typ` may be `JWT` or missing, besides `at+jwt` (RFC 9068).
    any_type = models.BooleanField(default=False)
    #: Whether it may be in a private network and use plain HTTP.
    private = models.BooleanField(default=False)
    disabled_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name


class ApiKey(models.Model):
    """A key with which a program acts for a user, limited to scopes. Only a hash of the secret is stored.

    With an `issuer`, it has no secret: it is used with the tokens of this issuer whose `claim` has this value.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=MAX_KEY_NAME)
    prefix = models.CharField(max_length=12, unique=True)
    secret_hash = models.CharField(max_length=64)
    scopes = ExactJSONField(default=list)
    created_at = models.DateTimeField(default=timezone.now)
    last_used_at = models.DateTimeField(null=True)
    #: The client address of the last use, as the trusted proxies report it.
    last_used_from = models.CharField(max_length=60, default="")
    revoked_at = models.DateTimeField(null=True)
    #: Expiry; null means never.
    expires_at = models.DateTimeField(null=True)
    #: When its owner is next warned of the expiry; null if not again.
    warn_at = models.DateTimeField(null=True)
    #: The networks that it works from, in canonical CIDR form; empty for all.
    ranges = ExactJSONField(default=list)
    #: The coding-agent calls that need a person (`approvals.access.tool_lists`); null means the default.
    tool_lists = ExactJSONField(null=True)
    #: Its creator; null if it was created on the command line, or by someone who no longer exists.
    made_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    #: The ids of the keys that it replaced, oldest first; null if it replaced none.
    replaces = ExactJSONField(null=True)
    issuer = models.ForeignKey(
        TokenIssuer, on_delete=models.PROTECT, null=True, related_name="mappings"
    )
    claim = models.CharField(max_length=20, blank=True)
    claim_value = models.CharField(max_length=MAX_CLAIM, blank=True)

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["issuer", "claim", "claim_value"],
                name="one_mapping_of_claim",
                condition=Q(issuer__isnull=False, revoked_at=None),
            )
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["warn_at"],
                condition=Q(warn_at__isnull=False),
                name="key_warnings",
            )
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def maker_id(self) -> int | None:
        """The id of the person who created it for someone else; None if its user did, or if unknown."""
        return None if self.made_by_id == self.user_id else self.made_by_id

    def works_from(self, address: str) -> bool:
        """Return whether it may be used from this address; an unknown address is in no range."""
        return not self.ranges or (
            bool(address)
            and any(ip_address(address) in ip_network(each) for each in self.ranges)
        )

    @property
    def allowed_scopes(self) -> frozenset[str]:
        """Its scopes, without those not allowed on a key for someone else, which older keys may still list."""
        by_other = self.maker_id is not None or self.issuer_id is not None
        return frozenset(self.scopes) - (NOT_FOR_OTHERS if by_other else frozenset())
