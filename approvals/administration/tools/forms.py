"""The form of a tool's settings; key fields and prepared answers are one per line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.text import Truncator
from django.utils.translation import gettext_lazy as _

from approvals.actions.checking import MAX_COMMENT
from approvals.administration.forms import lines_in
from approvals.db.json_pointer import pointer_to
from approvals.forms.number_fields import WholeNumberField
from approvals.models import ToolSettings
from approvals.policy.grants import MOST_USES
from approvals.states import Control, Priority, Width

MAX_FIELDS = 12
MAX_SECRETS = 50
MAX_ANSWERS = 20
MAX_POINTER = 200
#: Maximum lifetimes of grants, in seconds.
LENGTHS = {
    "": _("90 days"),
    "3600": _("1 hour"),
    "28800": _("8 hours"),
    "86400": _("1 day"),
    "604800": _("7 days"),
    "2592000": _("30 days"),
}
#: How many fields of the last request are suggested.
OFFERED = 40


class ToolForm(forms.Form):
    """Display and decision settings of one tool."""

    key_fields = forms.CharField(
        label=_("Key fields"),
        required=False,
        widget=forms.Textarea(
            attrs={"rows": 4, "spellcheck": "false", "class": "json"}
        ),
        help_text=_(
            "JSON pointers into the input, one per line, such as /amount or /customer/name. Shown in lists. "
            "The first number among them is the amount in the audit log."
        ),
    )
    secret_fields = forms.CharField(
        label=_("Secret fields"),
        required=False,
        widget=forms.Textarea(
            attrs={"rows": 3, "spellcheck": "false", "class": "json"}
        ),
        help_text=_(
            "Field names, such as iban, or JSON pointers, such as /card/number or /users/*/pin, one per line."
            " People do not see their values. Applies to new requests."
        ),
    )
    min_priority = forms.ChoiceField(
        label=_("Priority at least"),
        required=False,
        choices=[("", _("As requested by the agent")), *Priority.choices],
        help_text=_("Applies to new requests."),
    )
    control = forms.ChoiceField(
        label=_("Who decides"),
        required=False,
        choices=[("", _("Anyone who may decide")), *Control.choices],
        help_text=_(
            "Confirm: requesters may approve their own agent's calls, even without the right to decide. "
            "Two-person rule: someone else must decide. Applies to new requests."
        ),
    )
    reason_required = forms.BooleanField(
        label=_("A rejection needs a message"), required=False
    )
    prepared_answers = forms.CharField(
        label=_("Prepared messages to the agent"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("One per line. People can choose one when they decide."),
    )

    no_grants = forms.BooleanField(
        label=_("Ask each time: no grants"),
        required=False,
        help_text=_("Existing grants beyond these limits end."),
    )
    grant_width = forms.TypedChoiceField(
        label=_("Broadest grant allowed"),
        required=False,
        choices=[
            ("", _("Any input (for tools such as shells: this exact input)")),
            *Width.choices,
        ],
        coerce=int,
        empty_value=None,
    )
    grant_seconds = forms.TypedChoiceField(
        label=_("Maximum duration of a grant"),
        required=False,
        choices=list(LENGTHS.items()),
        coerce=int,
        empty_value=None,
    )
    grant_uses = WholeNumberField(
        label=_("Maximum uses of a grant"),
        required=False,
        min_value=1,
        max_value=MOST_USES,
    )

    @classmethod
    def of(cls, stored: ToolSettings) -> ToolForm:
        """Return the form filled in from stored settings."""
        return cls(
            initial={
                "key_fields": "\n".join(stored.key_fields),
                "secret_fields": "\n".join(stored.secret_fields or ()),
                "min_priority": stored.min_priority,
                "reason_required": stored.reason_required,
                "control": stored.control,
                "prepared_answers": "\n".join(stored.prepared_answers),
                "no_grants": stored.no_grants,
                "grant_width": stored.grant_width,
                "grant_seconds": stored.grant_seconds,
                "grant_uses": stored.grant_uses,
            }
        )

    def clean_key_fields(self) -> list[str]:
        pointers = lines_in(self.cleaned_data["key_fields"])
        for pointer in pointers:
            if not pointer.startswith("/") or len(pointer) > MAX_POINTER:
                message = _(
                    "“%(pointer)s” is not a JSON pointer. Write it like /amount or /customer/name."
                )
                raise ValidationError(
                    message, params={"pointer": Truncator(pointer).chars(60)}
                )
        if len(pointers) > MAX_FIELDS:
            raise ValidationError(
                _("Choose at most %(limit)s key fields."), params={"limit": MAX_FIELDS}
            )
        return pointers

    def clean_secret_fields(self) -> list[str]:
        names = lines_in(self.cleaned_data["secret_fields"])
        if len(names) > MAX_SECRETS:
            raise ValidationError(
                _("Name at most %(limit)s secret fields."),
                params={"limit": MAX_SECRETS},
            )
        if any(len(name) > MAX_POINTER for name in names):
            message = _("A name or JSON pointer has at most %(limit)s characters.")
            raise ValidationError(message, params={"limit": MAX_POINTER})
        return names

    def clean_prepared_answers(self) -> list[str]:
        answers = lines_in(self.cleaned_data["prepared_answers"])
        if len(answers) > MAX_ANSWERS:
            raise ValidationError(
                _("Write at most %(limit)s messages."), params={"limit": MAX_ANSWERS}
            )
        if any(len(text) > MAX_COMMENT for text in answers):
            message = _("A message has at most %(limit)s characters.")
            raise ValidationError(message, params={"limit": MAX_COMMENT})
        return answers


class PrioritiesForm(forms.Form):
    """The priorities whose rejections need a message."""

    priorities = forms.MultipleChoiceField(
        label=_("A rejection needs a message for these priorities"),
        required=False,
        choices=Priority.choices,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Applies to approvals for every tool, wherever people decide them."
        ),
    )


def pointers(value: Any) -> list[tuple[str, str]]:
    """Return JSON pointers to the first scalar fields of an input, each with its value."""
    pairs: list[tuple[str, str]] = []
    for pointer, leaf in _leaves(value, ""):
        if len(pairs) == OFFERED:
            break
        if len(pointer) <= MAX_POINTER:
            pairs.append((pointer, Truncator(str(leaf)).chars(80)))
    return pairs


def _leaves(value: Any, pointer: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, pointer + pointer_to(name))
    elif isinstance(value, list):
        for number, inner in enumerate(value[:3]):
            yield from _leaves(inner, f"{pointer}/{number}")
    elif pointer:
        yield pointer, value
