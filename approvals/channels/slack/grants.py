"""*Approve for…* in two dialogs: the first asks for the terms, as its page does; the second states them in full, and approves."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

from django import forms
from django.http import QueryDict
from django.utils import timezone
from django.utils.html import strip_tags
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.access.standing import Standing
from approvals.asking.answers import ABSENT
from approvals.channels.content import MAX_PART
from approvals.channels.grants import stored_terms
from approvals.channels.slack import modals
from approvals.channels.slack.elements import section
from approvals.forms.fields import FormControl, Offer, Widget
from approvals.json_types import JsonDict, JsonMapping
from approvals.models import ApprovalRequest, Preferences
from approvals.pages.grants.forms import GrantForm
from approvals.pages.grants.panel import SENT, Granting, granting_of
from approvals.policy.grants import GrantTerms
from approvals.queries.preferences import zone_of


def in_zone_of(person_id: int) -> AbstractContextManager[None]:
    """Read and show times in the time zone of this person, as their pages do."""
    return timezone.override(
        zone_of(Preferences.objects.filter(person=person_id).first())
    )


def terms_dialog(
    viewer: Standing, request: ApprovalRequest, about: JsonDict
) -> JsonDict | None:
    """Return the dialog for the terms; None if this person can give no grant with the request."""
    form = granting_of(viewer, request).form
    if form is None or not all(
        field.choices
        for field in form.fields.values()
        if isinstance(field, forms.ChoiceField)
    ):
        return None
    inputs = [
        modals.input_block(
            control, modals.block_of(number), form.data.get(control.path[0]) or ABSENT
        )
        for number, control in enumerate(_controls(form))
    ]
    return modals.dialog(
        "grant", _("Approve for…"), _("Next"), about, [modals.name_of(request), *inputs]
    )


def confirmation(
    viewer: Standing, request: ApprovalRequest, state: JsonMapping, about: JsonDict
) -> JsonDict | None:
    """Return the dialog that states the submitted terms, or the errors of their fields, as an answer to the submission.

    None if this person can give no grant with the request any more.
    """
    offered = granting_of(viewer, request).form
    controls = [] if offered is None else _controls(offered)
    granting = granting_of(viewer, request, _submitted(controls, state))
    if not controls or granting.form is None:
        return None
    names = [control.path[0] for control in controls]
    errors = {
        modals.block_of(names.index(name) if name in names else 0): modals.error_text(
            " ".join(map(str, texts))
        )
        for name, texts in granting.form.errors.items()
    }
    if len(granting.sentence) > MAX_PART:
        errors[modals.block_of(0)] = _("This is too long for Slack. Open the request.")
    if errors:
        return {"response_action": "errors", "errors": errors}
    view = _statement(request, granting, granting.form.terms, about)
    return {"response_action": "update", "view": view}


def _statement(
    request: ApprovalRequest, granting: Granting, terms: GrantTerms, about: JsonDict
) -> JsonDict:
    words = [*_warnings(granting), granting.sentence]
    return modals.dialog(
        "give",
        _("Approve for…"),
        _("Approve and grant"),
        about | {"terms": stored_terms(terms)},
        [
            modals.name_of(request),
            *(section(text) for text in words),
            modals.message_block(),
        ],
    )


def _warnings(granting: Granting) -> Sequence[str]:
    """Return the warnings of the page beside the meaning of the terms."""
    rejected = 0 if granting.preview is None else len(granting.preview.rejected)
    waiting = len(granting.waiting.requests)
    warnings = []
    if rejected:
        words = ngettext(
            "%(counter)s request that this would have approved in the last 30 days was rejected.",
            "%(counter)s requests that this would have approved in the last 30 days were rejected.",
            rejected,
        )
        warnings.append(words % {"counter": rejected})
    if waiting:
        words = ngettext(
            "%(number)s waiting request is covered, too. It is not approved by this.",
            "%(number)s waiting requests are covered, too. They are not approved by this.",
            waiting,
        )
        warnings.append(words % {"number": waiting})
    if granting.stopped:
        warnings.append(
            _(
                "“Ask about everything” is on. Grants do not apply until someone turns it off."
            )
        )
    return warnings


def _controls(form: GrantForm) -> list[FormControl]:
    return [_control(name, field) for name, field in form.fields.items()]


def _control(name: str, field: Any) -> FormControl:
    choices: Any = field.choices if isinstance(field, forms.ChoiceField) else ()
    moment = isinstance(field, forms.DateTimeField)
    return FormControl(
        widget=Widget.CHOICE if choices else Widget.LINE,
        label=str(field.label),
        path=(name,),
        # A picker of Slack shows the time zone of its reader.
        help="" if moment else strip_tags(str(field.help_text)),
        required=field.required,
        input_type="datetime-local" if moment else "text",
        offers=tuple(Offer(str(label), str(value)) for value, label in choices),
    )


def _submitted(controls: Sequence[FormControl], state: JsonMapping) -> QueryDict:
    """Return a submitted dialog as the page's form would send it."""
    data = QueryDict(mutable=True)
    data[SENT] = "yes"
    for number, control in enumerate(controls):
        [text] = modals.texts_of(state.get(modals.block_of(number)))[:1] or [""]
        if control.offers:
            offered = {str(at): each.value for at, each in enumerate(control.offers)}
            text = offered.get(text, "")
        elif control.input_type == "datetime-local" and text:
            text = f"{text}Z"
        data[control.path[0]] = text
    return data
