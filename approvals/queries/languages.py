"""The languages and the time zones in which people read."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from django.conf import settings
from django.utils.translation import get_language_info, override

from approvals.db.many import any_of
from approvals.models import Preferences


def language_of(preferences: Preferences) -> str:
    """Return the code of the language that the person reads."""
    chosen = preferences.language
    return chosen if chosen in settings.HITL_LANGUAGES else settings.LANGUAGE_CODE


def languages_of(ids: Collection[int]) -> dict[int, str]:
    """Return the languages of these people by id, in one statement, or in none where there is only one language."""
    languages = dict.fromkeys(ids, settings.LANGUAGE_CODE)
    if len(settings.HITL_LANGUAGES) > 1:
        chosen = Preferences.objects.filter(person__in=any_of(set(ids), int)).exclude(language="")
        languages |= {preferences.person_id: language_of(preferences) for preferences in chosen.only("language")}
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
    """Return the time zone that the person has chosen, or that of the installation."""
    chosen = preferences.time_zone if preferences is not None else ""
    try:
        return ZoneInfo(chosen or settings.TIME_ZONE)
    except (ZoneInfoNotFoundError, ValueError):
        # It was removed from the time zone data, or the data is missing.
        return ZoneInfo(settings.TIME_ZONE)
