"""The admin of votes, with their voters, requests and seats."""

from __future__ import annotations

from django.contrib import admin
from django.utils.translation import gettext_lazy as _

from approvals.admin.base import ReadOnlyAdmin, text_filter
from approvals.models import Vote
from approvals.text.names import marked_name


@admin.register(Vote)
class VoteAdmin(ReadOnlyAdmin):
    """Shows votes as they are now. The audit log and its export have every change of them (`request.voted`)."""

    list_display = (
        "request",
        "person_name",
        "seat",
        "verdict",
        "stage_number",
        "counted",
        "via",
        "voted_at",
    )
    list_filter = (
        "verdict",
        "counted",
        text_filter("person", _("person"), "person_name"),
        text_filter("for", _("for"), "for_name"),
    )
    list_select_related = ("request",)
    ordering = ("-pk",)
    readonly_fields = ("request",)  # read-only fields are shown only if they are listed

    @admin.display(description=_("seat"))
    def seat(self, vote: Vote) -> str:
        """Return the owner of the seat: the absent person, if a delegate voted."""
        return marked_name(vote.for_name or vote.person_name)

    @admin.display(description=_("stage"), ordering="stage")
    def stage_number(self, vote: Vote) -> int:
        """Return the stage, counted from 1 as everywhere."""
        return vote.stage + 1
