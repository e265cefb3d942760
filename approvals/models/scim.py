"""People and groups of an identity provider that sends them by SCIM."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Lower
from django.utils import timezone

from approvals.db.fields import ExactJSONField
from approvals.models.keys import MAX_KEY_NAME

User = settings.AUTH_USER_MODEL

#: Of an id or a name at the provider.
MAX_NAME = 254


class ScimPerson(models.Model):
    """What the provider states about a person besides the columns of their account."""

    person = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="scim"
    )
    external_id = models.CharField(max_length=MAX_NAME, blank=True)
    #: Its name, display name and addresses, as SCIM states them.
    attributes = ExactJSONField(default=dict)
    #: Whether SCIM created the account.
    created_here = models.BooleanField(default=False)
    #: Whether SCIM deactivated the person, and not an administrator.
    deactivated_here = models.BooleanField(default=False)
    changed_at = models.DateTimeField(default=timezone.now)
    #: When the provider deleted the person, whose account stays for the record; null if it did not.
    deleted_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["external_id"], name="scim_person_external_id")
        ]

    def __str__(self) -> str:
        return f"{self.person}: {self.external_id}"


class ScimGroup(models.Model):
    """A group of the provider. It gives the roles and teams that its name is mapped to, and nothing else."""

    name = models.CharField(max_length=MAX_NAME)
    external_id = models.CharField(max_length=MAX_NAME, blank=True)
    people: models.ManyToManyField[Any, Any] = models.ManyToManyField(
        User, related_name="scim_groups"
    )
    created_at = models.DateTimeField(default=timezone.now)
    changed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(Lower("name"), name="one_scim_group_of_name")
        ]

    def __str__(self) -> str:
        return self.name


class ScimRefusal(models.Model):
    """A change by SCIM that was refused; only the latest are kept."""

    at = models.DateTimeField(default=timezone.now)
    key_name = models.CharField(max_length=MAX_KEY_NAME)
    method = models.CharField(max_length=10)
    path = models.CharField(max_length=200)
    status = models.PositiveSmallIntegerField()
    detail = models.TextField()

    def __str__(self) -> str:
        return f"{self.method} {self.path}: {self.status}"
