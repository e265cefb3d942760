"""Group mappings, as people read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _

from approvals.administration.people.queries import roles_by_group
from approvals.models import GroupMapping
from approvals.text.text import visible


@dataclass(frozen=True, slots=True)
class MappingRow:
    """A mapping with the label of the role or team that it gives."""

    pk: int
    value: str
    gives: str


def mappings() -> Sequence[MappingRow]:
    """Return all mappings, ordered by value."""
    roles = roles_by_group()
    stored = GroupMapping.objects.select_related("group").order_by("value", "pk")
    return [
        MappingRow(each.pk, each.value, label_of(each.group, roles)) for each in stored
    ]


def label_of(group: Group, roles: Mapping[int, str]) -> str:
    """Return the role or team of a group with its name; `roles` are the labels of roles by group id."""
    if group.pk in roles:
        return _("role %(name)s") % {"name": roles[group.pk]}
    return _("team %(name)s") % {"name": visible(group.name)}
