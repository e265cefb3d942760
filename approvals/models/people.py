"""The ready-made roles, invitations, changes that wait for an administrator, and which sessions belong to whom."""

from __future__ import annotations

from datetime import timedelta
from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.db.json_field import ExactJSONField
from approvals.models.keys import MAX_ACTOR_NAME

User = settings.AUTH_USER_MODEL


class RoleName(models.TextChoices):
    """The roles that every installation has."""

    REQUESTER = "requester", _("Requester")
    APPROVER = "approver", _("Approver")
    AUDITOR = "auditor", _("Auditor")
    ADMINISTRATOR = "administrator", _("Administrator")


#: What each role may do, for people; a requester can do what everyone can.
ROLE_DESCRIPTIONS = {
    RoleName.REQUESTER: _("Starts chats, and sees and answers their own requests."),
    RoleName.APPROVER: _("Sees every request, and approves, rejects and answers them."),
    RoleName.AUDITOR: _("Sees every request and the audit log, and decides nothing."),
    RoleName.ADMINISTRATOR: _("Manages people, API keys, webhooks and tools, and sees everything. Does not decide."),
}
#: The permissions of each role, in the app `approvals`.
ROLE_PERMISSIONS: dict[str, tuple[str, ...]] = {
    RoleName.REQUESTER: (),
    RoleName.APPROVER: ("decide_approvalrequest", "view_approvalrequest"),
    RoleName.AUDITOR: ("view_approvalrequest", "view_auditentry"),
    RoleName.ADMINISTRATOR: ("administer", "view_approvalrequest", "view_auditentry"),
}


class Right(models.TextChoices):
    """Permissions of the app `approvals` that no role has; administrators give them to single people."""

    IGNORE_SCOPES = "ignore_scopes", _("See and decide without scopes")
    REVEAL_SECRETS = "reveal_secrets", _("Show hidden values")
    BREAK_GLASS = "break_glass", _("Decide alone what several people have to")


#: What each additional right adds to the roles of a person, for people.
RIGHT_DESCRIPTIONS = {
    Right.IGNORE_SCOPES: _("Approver scopes do not limit what the roles of this person allow."),
    Right.REVEAL_SECRETS: _("Shows secrets of the requests that this person sees. Each time is on record."),
    Right.BREAK_GLASS: _("Breaks the glass in an emergency, with a message. Everyone concerned is told at once."),
}


class Role(models.Model):
    """Which group is the role of this name. All other groups are teams."""

    name = models.CharField(max_length=16, choices=RoleName, unique=True)
    group = models.OneToOneField(Group, on_delete=models.CASCADE, related_name="role")

    def __str__(self) -> str:
        return str(RoleName(self.name).label)


class Invitation(models.Model):
    """An invitation that was not accepted yet. Its link works until it expires; a new one replaces it."""

    person = models.OneToOneField(User, on_delete=models.CASCADE, primary_key=True, related_name="invitation")
    #: Part of what the link is signed with, so that sending it again makes the previous link invalid.
    sent_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    invited_by = models.CharField(max_length=MAX_ACTOR_NAME)
    #: Whether it was mailed; else an administrator was shown the link.
    mailed = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"{self.person}: {self.sent_at}"

    @property
    def expired(self) -> bool:
        return self.expires_at <= timezone.now()


class PendingChange(models.Model):
    """A change that one administrator requested, and another one has to confirm.

    What it says depends on its kind (`approvals.administration.changes.nouns`).
    """

    class Kind(models.TextChoices):
        ROLES = "roles", _("Roles")
        EMAIL = "email", _("Email address")
        LINK = "password_link", _("Link to set a password")
        RIGHTS = "rights", _("Additional rights")
        ROLE_TAKEN = "role_taken", _("Role taken away")
        TEAMS = "teams", _("Teams")
        KEY = "key", _("API key")
        KEY_LISTS = "key_lists", _("Lists of an API key")
        TOOL = "tool", _("Settings of a tool")
        PRIORITIES = "priorities", _("Priorities")
        SCOPE = "scope", _("Approver scope")
        POLICY = "policy", _("Policy")

    #: How long it can be confirmed.
    VALID_FOR: ClassVar = timedelta(days=7)

    #: Whose access it changes; null if it is about no single person.
    person = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=16, choices=Kind)
    #: Which tool, scope, key or version of the policy it is about; empty for those of which a person has one.
    subject = models.CharField(max_length=120, default="", db_default="")
    #: What is to become, as its kind writes it; null for a link, and for a deletion.
    value = ExactJSONField(null=True)
    #: What it replaces, as that was when it was requested; null if nothing, or if it only adds something.
    before = ExactJSONField(null=True)
    requested_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    requested_at = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["person", "kind", "subject"], name="one_pending_change_of_each"),
            models.UniqueConstraint(
                fields=["kind", "subject"], name="one_pending_change_of_no_one", condition=Q(person=None)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind}: {self.person or self.subject}"

    @property
    def expired(self) -> bool:
        return self.requested_at <= timezone.now() - self.VALID_FOR


class PersonSession(models.Model):
    """Whose session this is: Django's own row does not say it where a query could find it."""

    session_key = models.CharField(max_length=40, unique=True)
    person = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False)
    started_at = models.DateTimeField(default=timezone.now)
    #: When it was last used, to within some minutes; null if it was not used since this column exists.
    last_active_at = models.DateTimeField(null=True)
    address = models.CharField(max_length=45, blank=True)
    #: What the browser says of itself, as it was sent.
    browser = models.CharField(max_length=300, blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["person", "-started_at"], name="person_session_newest")]

    def __str__(self) -> str:
        return f"{self.person}: {self.started_at}"
