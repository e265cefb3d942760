"""Base classes of the admin for both apps: read-only pages, and filters with a text field instead of a list of values."""

from __future__ import annotations

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
from approvals.text.secret_shapes import says_secret
from approvals.text.secrets import masked

MAX_TEXT = 200

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

    Base = admin.ModelAdmin[Any]
else:
    Base = admin.ModelAdmin  # generic to the type checker only


class OnRecord(Base):
    """Record every change in the audit log: Django's own list of changes can be edited and deleted."""

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

    def _record(
        self, request: HttpRequest, row: Any, change: str, message: Any
    ) -> None:
        by: Any = request.user
        if isinstance(message, str):
            # The message of an action.
            fields = [message]
        else:
            fields = [
                name
                for part in message
                for name in part.get("changed", {}).get("fields", ())
            ]
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
    """Write rows with the product's actions, which record each change."""

    #: Actions: one changes the row with an id, or creates one for None, and returns it; the other removes the row with an id.
    store: ClassVar[Callable[..., Any]]
    remove: ClassVar[Callable[..., None]]

    def save_model(
        self, request: HttpRequest, obj: Any, form: Any, change: bool
    ) -> None:
        obj.pk = self.store(
            obj.pk, form.cleaned_data, by=request.user, via=Door.ADMIN
        ).pk

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self.remove(obj.pk, by=request.user, via=Door.ADMIN)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)


def _is_limited(request: HttpRequest) -> bool:
    return cast(SignedIn, request).standing.is_limited


class ReadOnlyAdmin(DeskAdmin):
    """Show rows read-only, even to superusers: only `actions` writes them.

    It shows all rows, so people limited by approver scopes see none.
    """

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and not _is_limited(request)

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) and not _is_limited(request)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """Return what people see of a row, as Django's admin reads it."""
        row = super().get_object(request, object_id, from_field)
        return row and self.shown(row)

    def shown(self, row: Any) -> Any:
        """Return a row that is not stored and has what people see of this one, and of the rows that it names."""
        fields = self.opts.concrete_fields
        shown = self.model(
            **{field.attname: self.shown_value(row, field.attname) for field in fields}
        )
        for field in fields:
            named = getattr(row, field.name) if field.is_relation else None
            if named is not None:
                setattr(shown, field.name, _named(named))
        return shown

    def shown_value(self, row: Any, name: str) -> Any:
        """Return what people see of a column."""
        value = getattr(row, name)
        return (
            masked(value)
            if isinstance(
                self.opts.get_field(name), models.JSONField | models.TextField
            )
            else value
        )

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


def _named(row: Any) -> Any:
    """Return a row that is not stored and has what can be shown of a row that another one names: its short columns."""
    short = (
        field
        for field in row._meta.concrete_fields
        if not isinstance(field, models.JSONField | models.TextField)
    )
    names = [field.attname for field in short if not says_secret(field.attname)]
    return type(row)(**{name: masked(getattr(row, name)) for name in names})


class TextFilter(admin.ListFilter):
    """A filter with a text field, for rows whose column equals the text."""

    template = "admin/text_filter.html"
    title: StrPromise | str = ""
    parameter_name = ""
    column = ""
    input_type = "search"

    def __init__(
        self, request: HttpRequest, params: dict[str, Any], model: Any, model_admin: Any
    ) -> None:
        super().__init__(request, params, model, model_admin)
        *_, text = params.pop(self.parameter_name, [""])
        self.used_parameters[self.parameter_name] = text[:MAX_TEXT].strip()

    @property
    def text(self) -> str:
        return str(self.used_parameters[self.parameter_name])

    def has_output(self) -> bool:
        return True

    def expected_parameters(self) -> list[str | None]:
        return [self.parameter_name]

    def choices(self, changelist: ChangeList) -> Iterator[Any]:
        """Yield one entry, with the template's data for keeping the other filters."""
        others = [
            (name, value)
            for name, values in self.request.GET.lists()
            for value in values
        ]
        kept = [
            (name, value)
            for name, value in others
            if name not in {self.parameter_name, "p"}
        ]
        yield {
            "kept": kept,
            "query_string": changelist.get_query_string({}, [self.parameter_name]),
        }

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
            return (
                datetime.strptime(self.text, "%Y-%m-%d").replace(tzinfo=UTC)
                + self.shift
            )
        except (ValueError, OverflowError):
            return None

    @property
    def error(self) -> str:
        return (
            _("Enter a date like 2026-11-21.") if self.text and self.day is None else ""
        )

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return (
            queryset.filter(**{self.column: self.day})
            if self.day is not None
            else queryset
        )


def text_filter(name: str, label: StrPromise | str, lookup: str) -> type[TextFilter]:
    """Return a TextFilter on one column."""
    return type(
        "TextFilter",
        (TextFilter,),
        {"parameter_name": name, "title": label, "column": lookup},
    )
