"""The people and groups that SCIM sees, as its documents, and what administrators see of SCIM."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, QuerySet, TextField
from django.db.models.functions import Cast
from django.utils.translation import gettext as _

from approvals.access.callers import SCIM
from approvals.administration.people.queries import roles_by_group
from approvals.db.canonical_json import canonical
from approvals.exceptions import NotFound
from approvals.json_types import JsonDict
from approvals.models import ApiKey, GroupMapping, ScimGroup, ScimRefusal
from approvals.models.keys import live

SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:"
#: The first letter of the id of a person, and of a group: a group's id as a member must not name a person.
PERSON = "p"
GROUP = "g"
#: Of a document of a group with many people.
MAX_DOCUMENT = 8_000_000
#: Groups that the page lists.
MAX_GROUPS = 200


def number_in(text: str | None, letter: str) -> int:
    """Return the number in an id. Raise NotFound."""
    digits = (text or "").removeprefix(letter)
    if digits == text or not (
        digits.isascii() and digits.isdigit() and len(digits) < 19
    ):
        raise NotFound(_("There is nothing with this id."))
    return int(digits)


def seen_people() -> QuerySet[User]:
    """Return everyone whom the provider did not delete."""
    return User.objects.exclude(scim__deleted_at__isnull=False).order_by("pk")


def seen_person(person_id: int) -> User:
    """Return a person. Raise NotFound."""
    person = seen_people().filter(pk=person_id).first()
    if person is None:
        raise NotFound(_("Person not found."))
    return person


def seen_group(group_id: int) -> ScimGroup:
    """Return a group. Raise NotFound."""
    group = ScimGroup.objects.filter(pk=group_id).first()
    if group is None:
        raise NotFound(_("Group not found."))
    return group


def person_documents(people: QuerySet[User]) -> Iterator[JsonDict]:
    """Return people in the form of SCIM."""
    return (_person(person) for person in people.select_related("scim"))


def _person(person: User) -> JsonDict:
    row = getattr(person, "scim", None)
    document: JsonDict = {
        "schemas": [f"{SCHEMA}User"],
        "id": f"{PERSON}{person.pk}",
        "userName": person.username,
        "active": person.is_active,
    }
    addresses = []
    if row is not None:
        stated = dict(row.attributes)
        addresses = stated.pop("emails", [])
        document |= stated
        if row.external_id:
            document["externalId"] = row.external_id
    if emails := _with_primary(addresses, person.email):
        document["emails"] = emails
    changed = row.changed_at if row else person.date_joined
    return _versioned(document, "User", person.date_joined, changed)


def primary_of(emails: Iterable[JsonDict]) -> JsonDict:
    """Return the primary address, or else the first one; empty if there is none."""
    first = sorted(emails, key=lambda each: not each.get("primary"))
    return first[0] if first else {}


def _with_primary(emails: list[JsonDict], address: str) -> list[JsonDict]:
    """Return addresses of which the primary one is that of the account, which others may have changed."""
    primary = primary_of(emails)
    if not primary:
        return [{"value": address, "type": "work", "primary": True}] if address else []
    if not address:
        return [each for each in emails if each is not primary]
    return [{**each, "value": address} if each is primary else each for each in emails]


def group_documents(groups: QuerySet[ScimGroup]) -> Iterator[JsonDict]:
    """Return groups in the form of SCIM."""
    return (_group(group) for group in groups.prefetch_related("people"))


def _group(group: ScimGroup) -> JsonDict:
    members = sorted(person.pk for person in group.people.all())
    document: JsonDict = {
        "schemas": [f"{SCHEMA}Group"],
        "id": f"{GROUP}{group.pk}",
        "displayName": group.name,
    }
    if group.external_id:
        document["externalId"] = group.external_id
    if members:
        document["members"] = [
            {"value": f"{PERSON}{pk}", "$ref": f"Users/{PERSON}{pk}"} for pk in members
        ]
    return _versioned(document, "Group", group.created_at, group.changed_at)


def _versioned(document: JsonDict, kind: str, created: Any, changed: Any) -> JsonDict:
    digest = hashlib.sha256(canonical(document, max_bytes=MAX_DOCUMENT)).hexdigest()
    meta = {
        "resourceType": kind,
        "created": created,
        "lastModified": changed,
        "version": f'W/"{digest[:20]}"',
    }
    return {**document, "meta": meta}


def scim_keys() -> list[ApiKey]:
    """Return the valid keys for SCIM, newest first."""
    rows = ApiKey.objects.alias(listed=Cast("scopes", TextField()))
    rows = rows.filter(live(), listed__contains=f'"{SCIM}"').select_related("user")
    return list(rows.order_by("-pk"))


def refusals() -> QuerySet[ScimRefusal]:
    """Return the latest refused changes, newest first."""
    return ScimRefusal.objects.order_by("-pk")


def counts() -> dict[str, int]:
    """Return the numbers of people whom SCIM knows, active and not, and of groups."""
    known = seen_people().exclude(scim=None)
    return {
        "active": known.filter(is_active=True).count(),
        "inactive": known.filter(is_active=False).count(),
        "groups": ScimGroup.objects.count(),
    }


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group of the provider, the number of its people, and the names of the roles and teams that it gives."""

    name: str
    size: int
    gives: Sequence[str]


def groups_with_effects() -> list[GroupRow]:
    """Return the groups by name, at most MAX_GROUPS."""
    groups = ScimGroup.objects.annotate(size=Count("people")).order_by("name")
    mappings = GroupMapping.objects.filter(issuer=SCIM).select_related("group")
    roles = roles_by_group()
    gives: dict[str, list[str]] = {}
    for each in mappings.order_by("group__name"):
        name = roles.get(each.group_id, each.group.name)
        gives.setdefault(each.value, []).append(name)
    return [
        GroupRow(each.name, each.size, gives.get(each.name, ()))
        for each in groups[:MAX_GROUPS]
    ]
