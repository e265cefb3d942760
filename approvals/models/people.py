"""Built-in roles, invitations, changes that need a second administrator, and the owners of sessions."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.fields import ExactJSONField
from approvals.models.keys import MAX_ACTOR_NAME

User = settings.AUTH_USER_MODEL


class RoleName(models.TextChoices):
    """The roles of every installation."""

    REQUESTER = "requester", _("Requester")
    APPROVER = "approver", _("Approver")
    AUDITOR = "auditor", _("Auditor")
    ADMINISTRATOR = "administrator", _("Administrator")


#: Descriptions of the roles; requesters have only the rights of all users.
ROLE_DESCRIPTIONS = {
    RoleName.REQUESTER: _("Starts chats, and sees and answers their own requests."),
    RoleName.APPROVER: _("Sees every request, and approves, rejects and answers them."),
    RoleName.AUDITOR: _("Sees every request and the audit log. Does not decide."),
    RoleName.ADMINISTRATOR: _(
        "Manages people, API keys, webhooks and tools, and sees everything. Does not decide."
    ),
}
#: The permissions of each role, in the app `approvals`.
ROLE_PERMISSIONS: dict[str, tuple[str, ...]] = {
    RoleName.REQUESTER: (),
    RoleName.APPROVER: ("decide_approvalrequest", "view_approvalrequest"),
    RoleName.AUDITOR: ("view_approvalrequest", "view_auditentry"),
    RoleName.ADMINISTRATOR: ("administer", "view_approvalrequest", "view_auditentry"),
}


class Right(models.TextChoices):
    """Permissions of the app `approvals` outside any role; administrators give them to individual people."""

    IGNORE_SCOPES = "ignore_scopes", _("See and decide without scopes")
    REVEAL_SECRETS = "reveal_secrets", _("Show hidden values")
    BREAK_GLASS = "break_glass", _("Decide alone (break-glass access)")


#: Descriptions of the additional rights.
RIGHT_DESCRIPTIONS = {
    Right.IGNORE_SCOPES: _("Approver scopes do not limit this person."),
    Right.REVEAL_SECRETS: _(
        "Shows the secrets in requests that this person sees. Each time is recorded."
    ),
    Right.BREAK_GLASS: _(
        "In an emergency, decides alone what needs several people, with a message. Everyone concerned is "
        "notified at once."
    ),
}


class Role(models.Model):
    """The group that represents a role. All other groups are teams."""

    name = models.CharField(max_length=16, choices=RoleName, unique=True)
    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="role")

    def __str__(self) -> str:
        return str(RoleName(self.name).label)


class Invitation(models.Model):
    """An open invitation. Its link works until it expires; a new one replaces it."""

    person = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="invitation"
    )
    #: Part of the link's signature, so that resending invalidates the previous link.
    sent_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    invited_by = models.CharField(max_length=MAX_ACTOR_NAME)
    #: Whether it was mailed; otherwise an administrator was shown the link.
    mailed = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.person}: {self.sent_at}"

    @property
    def expired(self) -> bool:
        return self.expires_at <= timezone.now()


class PendingChange(models.Model):
    """A change requested by one administrator, which another one has to confirm.

    Its values depend on its kind (`approvals.administration.changes.nouns`).
    """

    class Kind(models.TextChoices):
        ROLES = "roles", _("Roles")
        EMAIL = "email", _("Email address")
        LINK = "password_link", _("Link to set a password")
        FACTORS = "factors", _("Second factors")
        RIGHTS = "rights", _("Additional rights")
        ROLE_TAKEN = "role_taken", _("Role removed")
        TEAMS = "teams", _("Teams")
        KEY = "key", _("API key")
        KEY_LISTS = "key_lists", _("Lists of an API key")
        TOOL = "tool", _("Settings of a tool")
        PRIORITIES = "priorities", _("Priorities")
        SCOPE = "scope", _("Approver scope")
        POLICY = "policy", _("Policy")
        GROUP_MAPPING = "group_mapping", _("Group mapping")
        PROVIDER = "provider", _("Sign-in provider")
        TOKEN_ISSUER = "token_issuer", _("Token issuer")
        TOKEN_MAPPING = "token_mapping", _("Mapping of tokens")
        CHANNEL = "channel", _("Channel for answers")
        RELAY = "relay", _("Relay")
        ENGINE = "engine", _("Engine")

    #: The end of the time to confirm it.
    VALID_FOR: ClassVar = timedelta(days=7)

    #: The person whose access it changes; null if it concerns no single person.
    person = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, related_name="+"
    )
    kind = models.CharField(max_length=16, choices=Kind)
    #: The tool, scope, key or policy version that it changes; empty for kinds that are unique per person.
    subject = models.CharField(max_length=120, default="", db_default="")
    #: The new value, in the format of its kind; null for a link, and for a deletion.
    value = ExactJSONField(null=True)
    #: The value at the time of the request that it replaces; null if it replaces nothing.
    before = ExactJSONField(null=True)
    requested_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    requested_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["person", "kind", "subject"], name="one_pending_change_of_each"
            ),
            models.UniqueConstraint(
                fields=["kind", "subject"],
                name="one_pending_change_of_no_one",
                condition=Q(person=None),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.person or self.subject}"

    @property
    def expired(self) -> bool:
        return self.requested_at <= timezone.now() - self.VALID_FOR


class GroupMapping(models.Model):
    """A value of the group claim of a provider, and the role or team that its people have from each log-in on."""

    issuer = models.CharField(max_length=200)
    value = models.CharField(max_length=254)
    #: The group of a role, or a team.
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="+")
    #: The administrators who requested and confirmed it. It gives nothing to them.
    requested_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    confirmed_by = models.ForeignKey(
        User, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["issuer", "value", "group"],
                name="one_mapping_of_value_and_group",
            )
        ]

    def __str__(self) -> str:
        return f"{self.value}: {self.group}"


class BreakGlassAccount(models.Model):
    """The one account that logs in with a password while only single sign-on is allowed."""

    person = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )

    def __str__(self) -> str:
        return str(self.person)


class PersonSession(models.Model):
    """The owner of a session: Django's own row does not have it in a column."""

    session_key = models.CharField(max_length=40, unique=True)
    person = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="+", db_index=False
    )
    started_at = models.DateTimeField(default=timezone.now)
    #: Last use, to within some minutes; null if it was not used since this column was added.
    last_active_at = models.DateTimeField(null=True)
    address = models.CharField(max_length=45, blank=True)
    #: The browser's User-Agent header.
    browser = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["person", "-started_at"], name="person_session_newest")
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.started_at}"


class KnownNetwork(models.Model):
    """A network from which a person logs in: an IPv4 address or the /64 network of an IPv6 address."""

    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    network = models.CharField(max_length=49)
    last_seen_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["person", "network"], name="one_row_of_person_and_network"
            )
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.network}"


class ProviderSession(models.Model):
    """The session at the OpenID provider with which one of ours began, so that the provider can end it."""

    session = models.OneToOneField(
        PersonSession, on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)
    #: The provider's id of its session; empty if it states none.
    sid = models.CharField(max_length=255, blank=True)

    def __str__(self) -> str:
        return f"{self.subject}: {self.sid}"


class UsedLogOutToken(models.Model):
    """A log-out token of the provider that was used, until it is too old to be used again."""

    digest = models.CharField(max_length=64, primary_key=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.digest
