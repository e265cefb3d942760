"""Parts of the admin that both apps use: pages that only show, and filters that take a text instead of listing a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

MAX_TEXT = 200

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin  # generic to the type checker only


class OwnFilters(Base):
    """A list that takes its own filters and no other."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """The filters of the list and nothing else: `tool_name__regex=(((` would reach the database as it stands."""
        allowed: set[str] = set()
        filters: Sequence[Any] = self.list_filter
        for shown in filters:
            match shown:
                case str() if self.opts.get_field(shown).is_relation:
                    allowed |= {f"{shown}__id__exact", f"{shown}__isnull"}
                case str():
                    allowed |= {f"{shown}__exact", f"{shown}__isnull"}
                case (str() as field, _):
                    allowed.add(f"{field}__isempty")
                case _:
                    allowed.add(shown.parameter_name)
        return lookup in allowed


class DeskAdmin(OwnFilters):
    """A list of what the desk keeps, which may be long."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50


class ReadOnlyAdmin(DeskAdmin):
    """Shows rows and changes none, whoever asks: they are written by `actions` and nobody else."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TextFilter(admin.ListFilter):
    """A field to type into: rows whose column equals the text."""

    template = "admin/text_filter.html"
    title: StrPromise | str = ""
    parameter_name = ""
    column = ""
    input_type = "search"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        given = params.pop(self.parameter_name, "")
        # Django 5 hands over lists of values, older admins plain ones.
        text = given[-1] if isinstance(given, list) else given
        self.used_parameters[self.parameter_name] = str(text)[:MAX_TEXT].strip()

    @property
    def text(self) -> str:
        return str(self.used_parameters[self.parameter_name])

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """One entry: what the template needs to keep the other filters when this one is used."""
        others = [(name, value) for name, values in self.request.GET.lists() for value in values]
        kept = [(name, value) for name, value in others if name not in {self.parameter_name, "p"}]
        yield {"kept": kept, "query_string": changelist.get_query_string({}, [self.parameter_name])}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.text}) if self.text else queryset


class DayFilter(TextFilter):
    """A day in UTC, `2026-11-21`; `column` is a lookup such as `at__gte`. What is no day filters nothing, and says so."""

    input_type = "date"
    #: Added to the day: a last day is meant to its end.
    shift = timedelta(0)

    @property
    def day(self) -> datetime | None:
        try:
            return datetime.strptime(self.text, "%Y-%m-%d").replace(tzinfo=UTC) + self.shift
        except (ValueError, OverflowError):
            return None

    @property
    def error(self) -> str:
        return _("Enter a date like 2026-11-21.") if self.text and self.day is None else ""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.day}) if self.day is not None else queryset


def text_filter(name: str, label: StrPromise | str, lookup: str) -> type[TextFilter]:
    """A TextFilter on one column."""
    return type("TextFilter", (TextFilter,), {"parameter_name": name, "title": label, "column": lookup})
