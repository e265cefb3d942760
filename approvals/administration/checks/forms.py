"""The forms of seeded checks: the rate, and a case."""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals.db.canonical_json import NotCanonical, clean_text
from approvals.forms.number_fields import WholeNumberField
from approvals.forms.texts import parse_json
from approvals.models import CheckCase
from approvals.models.attention import FEWEST, MOST
from approvals.text.confusables import tool_name_problem
from approvals.text.translation import translated

MAX_INPUT = 20_000


class RateForm(forms.Form):
    """How often people get a check; empty for never."""

    every = WholeNumberField(
        label=_("Decisions between two checks of a person"),
        required=False,
        min_value=FEWEST,
        max_value=MOST,
        help_text=_("About so many; the number varies, so that no one can count. Empty: seeded checks are off."),
    )


class CaseForm(forms.ModelForm):  # type: ignore[type-arg]  # generic to the type checker only
    """What a check shows, and what is right."""

    input = forms.CharField(
        label=_("Input, as a JSON object"),
        max_length=MAX_INPUT,
        initial="{}",
        widget=forms.Textarea(attrs={"rows": 5, "spellcheck": "false", "class": "json"}),
    )

    class Meta:
        model = CheckCase
        fields = ("title", "tool_name", "agent", "message", "input", "expected", "explanation")
        widgets: ClassVar = {
            "message": forms.Textarea(attrs={"rows": 3}),
            "explanation": forms.Textarea(attrs={"rows": 2}),
        }
        help_texts: ClassVar = {"tool_name": _("Take the name of a real tool. Nothing of it runs.")}

    def clean_tool_name(self) -> str:
        name: str = self.cleaned_data["tool_name"]
        if problem := tool_name_problem(name):
            raise ValidationError(problem)
        return name

    def clean_input(self) -> dict[str, Any]:
        try:
            value = parse_json(self.cleaned_data["input"])
        except NotCanonical as error:
            raise ValidationError(translated(error)) from error
        if not isinstance(value, dict) or not value:
            raise ValidationError(_('Enter a JSON object with at least one member, such as {"amount": 5}.'))
        return value

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        return {name: clean_text(value) if isinstance(value, str) else value for name, value in cleaned.items()}
