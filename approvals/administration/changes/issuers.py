"""Changes of the issuers of tokens, and of the mappings of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals.administration.changes.noun import Noun
from approvals.administration.changes.people import OfPerson, name_of, person_of
from approvals.administration.issuers import actions
from approvals.exceptions import Conflict
from approvals.models import PendingChange, TokenIssuer
from approvals.policy.policy_text import difference, write_text
from approvals.text.text import visible


class TokenIssuers(Noun):
    replaces = True

    def words(self, change: PendingChange) -> str:
        words = {
            "name": visible(change.value["name"]),
            "issuer": visible(change.value["issuer"]),
        }
        return _("Accept tokens of %(name)s (%(issuer)s), like this:") % words

    def lines(self, change: PendingChange) -> Sequence[str]:
        before = change.before
        return difference(
            write_text(before) if before else "", write_text(change.value)
        )

    def now(self, change: PendingChange) -> Any:
        return actions.described_issuer(change.value["issuer"])

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:token-issuers")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        actions.write_issuer(change.value, by=by)


class TokenMappings(OfPerson):
    def words(self, change: PendingChange) -> str:
        issuer = TokenIssuer.objects.filter(pk=change.value["issuer"]).first()
        words = {
            "issuer": visible(issuer.issuer) if issuer else "",
            "claim": change.value["claim"],
            "value": visible(change.value["value"]),
            "name": name_of(change),
            "scopes": ", ".join(change.value["scopes"]),
        }
        return (
            _(
                "Let tokens of %(issuer)s in which %(claim)s is “%(value)s” act for %(name)s with these scopes: %(scopes)s"
            )
            % words
        )

    def address(self, change: PendingChange) -> str:
        return reverse("approvals:token-issuers")

    def carry_out(self, change: PendingChange, *, by: User) -> None:
        user = person_of(change)
        if not user.is_active:
            raise Conflict(_("This person is deactivated. Activate them first."))
        actions.write_mapping(change.value, user, made_by=change.requested_by, by=by)
