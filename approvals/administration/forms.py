"""Shared code of the settings forms: a field that suggests names, and the display of refused forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _

from approvals.db.canonical_json import NotCanonical, parse
from approvals.exceptions import Refusal

#: Status of a refused form, which is shown again with its errors.
REFUSED = 422


def combobox(kind: str) -> forms.TextInput:
    """Return a field that suggests names while a person types; see `static/pausepoint/combobox.js`."""
    source = reverse_lazy("approvals:suggested", args=[kind])
    attributes = {
        "data-combobox": "",
        "data-source": source,
        "autocomplete": "off",
        "autocapitalize": "none",
    }
    return forms.TextInput(attrs=attributes)


def several(label: Any, choices: Any) -> forms.MultipleChoiceField:
    """Return an optional field of check boxes."""
    widget = forms.CheckboxSelectMultiple
    return forms.MultipleChoiceField(
        label=label, required=False, choices=choices, widget=widget
    )


def refuse(form: forms.BaseForm, refusal: Refusal) -> None:
    """Add the message of a refused action to the form's errors."""
    form.add_error(None, str(refusal))


def sent(request: HttpRequest) -> QueryDict | None:
    """Return the data of a page's form; None while the page is only shown."""
    return request.POST if request.method == "POST" else None


def query_text(request: HttpRequest, name: str) -> str:
    """Return a parameter of the address for a search: without NULs, and cut."""
    return request.GET.get(name, "").replace("\0", "")[:150].strip()


def form_page(
    request: HttpRequest, template: str, context: Mapping[str, Any]
) -> HttpResponse:
    """Return a page of administration with a `form`, whose errors decide the status."""
    status = REFUSED if context["form"].errors else 200
    template = f"approvals/administration/{template}"
    return render(request, template, context, status=status)


def lines_in(text: str) -> list[str]:
    """Return the distinct non-empty lines of a text, stripped."""
    return list(
        dict.fromkeys(line.strip() for line in text.splitlines() if line.strip())
    )


def json_list_in(text: str) -> list[Any]:
    """Return the JSON list in a text; an empty text gives an empty list. Raise ValidationError, also for a written empty list."""
    if not text.strip():
        return []
    try:
        value = parse(text.strip())
    except NotCanonical as error:
        raise ValidationError(_("This is not valid JSON.")) from error
    if not isinstance(value, list) or not value:
        raise ValidationError(
            _(
                "This must be a JSON list with at least one item. Leave it empty for any value."
            )
        )
    return value
