"""Base classes of the admin for both apps: read-only pages, and filters with a text field instead of a list of values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, cast

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db import models
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext as _

from approvals.administration.people.actions import record_admin_change
from approvals.http import SignedIn, refusals_as_pages
from approvals.states import Door
from approvals.text.secrets import masked

MAX_TEXT = 200

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin  # generic to the type checker only


class OnRecord(Base):
    """Puts every change on record in the audit log: Django's own list of changes can be edited and deleted."""

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._record(request, obj, "added", message)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        self._record(request, obj, "changed", message)
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        for row in queryset:
            self._record(request, row, "removed", [])
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, row: Any, change: str, message: Any) -> None:
        by: Any = request.user
        if isinstance(message, str):
            # Of an action, in words.
            fields = [message]
        else:
            fields = [name for part in message for name in part.get("changed", {}).get("fields", ())]
        record_admin_change(row, change, fields, by=by)


class OwnFilters(Base):
    """A list that accepts only its own filters."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        """Allow only the filters of the list: others, such as `tool_name__regex=(((`, would reach the database unchecked."""
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
    """A list that may be long, so it neither counts all rows nor shows facets. Refusals of actions are pages."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_per_page = 50

    def changelist_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return refusals_as_pages(super().changelist_view)(request, *args, **kwargs)

    def changeform_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return refusals_as_pages(super().changeform_view)(request, *args, **kwargs)

    def delete_view(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        return refusals_as_pages(super().delete_view)(request, *args, **kwargs)


class RecordedAdmin(DeskAdmin):
    """Writes rows with the actions of the product, which put each change on record."""

    #: Actions: changes the row with an id, or makes one for None, and returns it; removes the row with an id.
    store: ClassVar[Callable[..., Any]]
    remove: ClassVar[Callable[..., None]]

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        obj.pk = self.store(obj.pk, form.cleaned_data, by=request.user, via=Door.ADMIN).pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.remove(obj.pk, by=request.user, via=Door.ADMIN)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


def _is_limited(request: HttpRequest) -> bool:
    return cast(SignedIn, request).standing.is_limited


class ReadOnlyAdmin(DeskAdmin):
    """Shows rows without changing them, also to superusers: only `actions` writes them.

    It shows all rows, so nothing to people whom approver scopes limit.
    """

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and not _is_limited(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) and not _is_limited(request)

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return a copy of the row with its secrets masked."""
        row = copy.copy(super().get_object(request, object_id, from_field))
        for field in self.opts.concrete_fields if row is not None else ():
            if isinstance(field, models.JSONField | models.TextField):
                setattr(row, field.attname, masked(getattr(row, field.attname)))
        return row

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


class TextFilter(admin.ListFilter):
    """A filter with a text field, for rows whose column equals the text."""

    template = "admin/text_filter.html"
    title: StrPromise | str = ""
    parameter_name = ""
    column = ""
    input_type = "search"

    def __init__(self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any) -> None:
        super().__init__(request, params, model, model_admin)
        values = params.pop(self.parameter_name, "")
        # Since Django 5 the parameters are lists of values.
        text = values[-1] if isinstance(values, list) else values
        self.used_parameters[self.parameter_name] = str(text)[:MAX_TEXT].strip()

    @property
    def text(self) -> str:
        return str(self.used_parameters[self.parameter_name])

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield one entry, with what the template needs to keep the other filters."""
        others = [(name, value) for name, values in self.request.GET.lists() for value in values]
        kept = [(name, value) for name, value in others if name not in {self.parameter_name, "p"}]
        yield {"kept": kept, "query_string": changelist.get_query_string({}, [self.parameter_name])}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(**{self.column: self.text}) if self.text else queryset


class DayFilter(TextFilter):
    """A filter by a day in UTC, such as `2026-11-21`; `column` is a lookup such as `at__gte`.

    An invalid day does not filter, and shows an error.
    """

    input_type = "date"
    #: Added to the day, so that a last day is included.
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
    """Return a TextFilter on one column."""
    return type("TextFilter", (TextFilter,), {"parameter_name": name, "title": label, "column": lookup})
