"""People's preferences, including language and time zone, and administrators' settings of tools."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import (
    BigAutoField,
    QuerySet,
    Subquery,
    Value,
)
from django.utils.translation import get_language_info, override

from approvals.access.standing import NOBODY, Standing, standing_with, with_standing
from approvals.db.many import any_of
from approvals.db.prepared import Parameter, Prepared, Values
from approvals.models import (
    ApprovalRequest,
    AskAlways,
    Preferences,
    PrioritySettings,
    ToolSettings,
)
from approvals.states import Kind
from approvals.text.names import fold


def preferences_of(user: User | AnonymousUser) -> Preferences:
    """Return a person's preferences; the defaults if they have none or are not logged in."""
    preferences = (
        Preferences.objects.filter(person=user.pk).first() if user.pk else None
    )
    return preferences or Preferences(person_id=user.pk or 0)


@dataclass(frozen=True, slots=True)
class PageState:
    """Data for every page: its reader, and since when and by whom *Ask about everything* is on."""

    standing: Standing
    preferences: Preferences
    asking_since: datetime | None
    asking_by: str | None


def _reader() -> QuerySet[User, User]:
    reader = Parameter("reader", BigAutoField())
    switch = AskAlways.objects.all()
    # Based on the user, so that there is one row even without preferences.
    rows = (
        User.objects.filter(pk=reader)
        .select_related("preferences")
        .annotate(
            asking_since=Subquery(switch.values("since")),
            asking_by=Subquery(switch.values("by_name")),
        )
    )
    return with_standing(rows.only("pk", "preferences"), reader)


#: Data for every page about its reader.
_READER = Prepared(_reader)


def page_state(user: User) -> PageState:
    """Return the data that every page of a person needs, in one statement."""
    row: Any = _READER.first(reader=user.pk)
    if row is None:
        return PageState(NOBODY, Preferences(person_id=user.pk), None, None)
    preferences = getattr(row, "preferences", None) or Preferences(person_id=user.pk)
    return PageState(
        standing_with(row, user.pk), preferences, row.asking_since, row.asking_by
    )


#: The settings of tools by their canonical names.
_SETTINGS: Prepared[ToolSettings] = Prepared(
    lambda: ToolSettings.objects.filter(
        tool_name__in=any_of(Parameter("names", Values()), str)
    )
)


def settings_of_tools(names: Collection[str]) -> dict[str, ToolSettings]:
    """Return the settings of these tools by the given spelling, in one statement; tools without settings are missing."""
    canonical = {name: fold(name) for name in names if name}
    if not canonical:
        return {}
    rows = {row.tool_name: row for row in _SETTINGS.all(names=set(canonical.values()))}
    return {name: rows[key] for name, key in canonical.items() if key in rows}


@dataclass(frozen=True, slots=True)
class ReasonRules:
    """The tools (by canonical name) and the priorities whose rejections need a message."""

    tools: Collection[str] = ()
    priorities: Collection[str] = ()

    def apply_to(self, request: ApprovalRequest) -> bool:
        """Return whether a rejection of this request needs a message."""
        named = (
            fold(request.tool_name) in self.tools or request.priority in self.priorities
        )
        return named and request.kind == Kind.APPROVAL


def reason_rules(tool_names: Collection[str]) -> ReasonRules:
    """Return which of these tools, and which priorities, need a message on rejection, in one statement."""
    tools = ToolSettings.objects.filter(
        tool_name__in=any_of(set(map(fold, tool_names)), str), reason_required=True
    )
    wanted = tools.order_by().values_list(Value("tool"), "tool_name")
    priorities = PrioritySettings.objects.filter(reason_required=True).order_by()
    rules = list(
        wanted.union(priorities.values_list(Value("priority"), "priority"), all=True)
    )
    return ReasonRules(
        {name for kind, name in rules if kind == "tool" and name},
        {name for kind, name in rules if kind == "priority"},
    )


def strict_priorities() -> list[str]:
    """Return the priorities whose rejections need a message."""
    return list(
        PrioritySettings.objects.filter(reason_required=True).values_list(
            "priority", flat=True
        )
    )


def language_of(preferences: Preferences) -> str:
    """Return the code of the person's language."""
    chosen = preferences.language
    return chosen if chosen in settings.HITL_LANGUAGES else settings.LANGUAGE_CODE


def languages_of(ids: Collection[int]) -> dict[int, str]:
    """Return the languages of these people by id, in one statement, or none if there is only one language."""
    languages = dict.fromkeys(ids, settings.LANGUAGE_CODE)
    if len(settings.HITL_LANGUAGES) > 1:
        chosen = Preferences.objects.filter(person__in=any_of(set(ids), int)).exclude(
            language=""
        )
        languages |= {
            preferences.person_id: language_of(preferences)
            for preferences in chosen.only("language")
        }
    return languages


@contextmanager
def in_language_of(person_id: int) -> Iterator[None]:
    """Translate into the language of this person."""
    with override(languages_of([person_id])[person_id]):
        yield


def name_of_language(code: str) -> str:
    """Return the name of a language in that language, or its code if Django does not know it."""
    try:
        return str(get_language_info(code)["name_local"])
    except KeyError:
        return code


def zone_of(preferences: Preferences | None) -> ZoneInfo:
    """Return the person's time zone, or that of the installation."""
    chosen = preferences.time_zone if preferences is not None else ""
    try:
        return ZoneInfo(chosen or settings.TIME_ZONE)
    except (ZoneInfoNotFoundError, ValueError):
        # It was removed from the time zone data, or the data is missing.
        return ZoneInfo(settings.TIME_ZONE)
