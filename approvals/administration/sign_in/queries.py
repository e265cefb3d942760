"""Group mappings, as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.auth.models import Group
from django.utils.translation import gettext as _

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
    stored = GroupMapping.objects.select_related("group__role").order_by("value", "pk")
    return [MappingRow(each.pk, each.value, label_of(each.group)) for each in stored]


def label_of(group: Group) -> str:
    """Return the role or team of a group with its name."""
    role = getattr(group, "role", None)
    if role is None:
        return _("team %(name)s") % {"name": visible(group.name)}
    return _("role %(name)s") % {"name": role}
