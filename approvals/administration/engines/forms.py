"""The form of an engine."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from approvals.addresses import RefusedAddress, parse_destination
from approvals.administration.engines.actions import COLUMNS
from approvals.engines.kinds import ENGINES
from approvals.models import EngineConnection
from approvals.states import EngineKind


class EngineForm(forms.Form):
    """An engine, whose name stays the same once it is added, and its credential, which is never shown again."""

    name = forms.RegexField(
        r"^[a-z0-9][a-z0-9-]{0,59}\Z",
        label=_("Name"),
        help_text=_("Requests name it, such as prod-temporal. It cannot be changed."),
        error_messages={"invalid": _("Use lower-case letters, digits and hyphens.")},
    )
    kind = forms.ChoiceField(label=_("Engine"), choices=EngineKind.choices)
    url = forms.CharField(
        label=_("Address"),
        max_length=400,
        help_text=_(
            "Of its HTTP API, such as https://temporal.example.org, for Prefect with /api; of your own handler, the whole "
            "address."
        ),
    )
    route = forms.CharField(
        label=_("Address within the engine"),
        required=False,
        max_length=201,
        help_text=_(
            "Temporal: the namespace and the update, such as default/decide. Restate: the service and the handler, such as "
            "Refunds/decide. Empty for others."
        ),
    )
    secret = forms.CharField(
        label=_("Credential"),
        required=False,
        max_length=2000,
        widget=forms.PasswordInput(attrs={"autocomplete": "off"}),
        help_text=_(
            "A key or token that is sent as Authorization: Bearer. For your own handler, the secret (whsec_…) that signs the "
            "decision. Stored encrypted and never shown. Leave it empty to keep the stored one."
        ),
    )
    private = forms.BooleanField(
        label=_("May be in a private network"),
        required=False,
        help_text=_("Then its host may also use http://."),
    )

    def __init__(self, data: Any, row: EngineConnection | None = None) -> None:
        super().__init__(data)
        self.has_secret = row is not None and bool(row.secret)
        if row is not None:
            self.initial = {name: getattr(row, name) for name in COLUMNS}
            self.fields["name"].disabled = True

    def clean_secret(self) -> str:
        secret: str = self.cleaned_data["secret"].strip()
        # Part of a header, which takes nothing else.
        if not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise ValidationError(_("Enter a key or token without spaces."))
        return secret

    def clean(self) -> dict[str, Any]:
        fields = self.cleaned_data
        if url := fields.get("url"):
            try:
                parse_destination(url, allow_private=fields["private"])
            except RefusedAddress as error:
                message = _("This address %(problem)s.")
                refused = ValidationError(message, params={"problem": error})
                self.add_error("url", refused)
        if kind := fields.get("kind"):
            self._check_route(kind, fields.get("route", ""))
            self._check_secret(kind, fields.get("secret"))
        return fields

    def _check_route(self, kind: str, route: str) -> None:
        pattern = ENGINES[kind].route_pattern
        if pattern is None and route:
            self.add_error("route", _("Leave this empty for this engine."))
        elif pattern is not None and not pattern.fullmatch(route):
            words = _("Enter two names with a slash, such as default/decide.")
            self.add_error("route", words)

    def _check_secret(self, kind: str, secret: str | None) -> None:
        if secret is None or (not secret and not self._replaces(kind)):
            return
        if self.has_secret and not secret:
            # The credential must not go to another host than the one that it was entered for.
            words = _("Enter the credential again, because the address has changed.")
            self.add_error("secret", words)
        elif kind == EngineKind.OWN_HANDLER and not _signs(secret):
            words = _("Enter a secret: whsec_ and at least 24 bytes in Base64.")
            self.add_error("secret", words)

    def _replaces(self, kind: str) -> bool:
        """Return whether an empty field leaves no credential that fits: for a new signing handler, or at another address."""
        if not self.has_secret:
            return kind == EngineKind.OWN_HANDLER
        fields = self.cleaned_data
        return any(fields.get(name) != self.initial[name] for name in ("kind", "url"))


def _signs(secret: str) -> bool:
    """Return whether this is a secret of Standard Webhooks: at least 192 bits."""
    try:
        key = b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        return False
    return secret.startswith("whsec_") and len(key) >= 24
