"""The parts of a request that were not in view while its form was shown."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.asking.secrets import shown_content
from approvals.exceptions import UnreadParts
from approvals.forms.shown_calls import shown_input
from approvals.models import ApprovalRequest
from approvals.states import APPROVING, Kind, Verdict
from approvals.text.numbers import grouped
from approvals.text.tables import RAW, HeldPart

#: The value of the field `unread` after the person was warned.
ACCEPTED = "accepted"
#: The place of the edit form, which shows the whole input.
EDIT_FORM = "edit"


def unseen_parts(
    request: ApprovalRequest, verdict: Verdict, data: QueryDict
) -> list[HeldPart]:
    """Return the parts that were not in view while this form was shown.

    A page reports the viewed places, separated by spaces. Without JavaScript none are reported: then the buttons are below all
    unfolded parts, and only folded ones count.
    """
    shown = shown_input(shown_content(request))
    sent = data.get("viewed")
    viewed = {*shown.open_places()} if sent is None else {*sent.split()}
    if EDIT_FORM in viewed or (verdict == Verdict.EDIT and sent is None):
        viewed.add(RAW)
    return list(shown.unseen(viewed))


def check_read(
    request: ApprovalRequest, verdict: Verdict, data: QueryDict
) -> list[HeldPart]:
    """Return the parts of an approved request that were never in view. Raise UnreadParts unless the person was warned."""
    approves = (
        verdict in APPROVING
        and request.kind in {Kind.APPROVAL, Kind.RECOVERY}
        and request.pending
    )
    left = unseen_parts(request, verdict, data) if approves else []
    if left and data.get("unread") != ACCEPTED:
        message = _("You haven't seen %(what)s yet.") % {"what": how_much(left)}
        files = sum(part.files for part in left)
        raise UnreadParts(message, len(left), files)
    return left


def amount_of(left: Sequence[HeldPart]) -> dict[str, int]:
    """Return the size of these parts, as recorded in the audit log."""
    values, characters, files = _totals(left)
    return {"parts": len(left), "values": values, "characters": characters} | (
        {"files": files} if files else {}
    )


def _totals(left: Sequence[HeldPart]) -> tuple[int, int, int]:
    return (
        sum(part.values for part in left),
        sum(part.characters for part in left),
        sum(part.files for part in left),
    )


def how_much(left: Sequence[HeldPart]) -> str:
    """Return the size of these parts in words."""
    values, characters, files = _totals(left)
    amounts = []
    if values:
        words = ngettext("one value", "%(count)s values", values)
        amounts.append(words % {"count": grouped(values)})
    if characters:
        words = ngettext("one character", "%(count)s characters", characters)
        amounts.append(words % {"count": grouped(characters)})
    if files:
        words = ngettext("one file", "%(count)s files", files)
        amounts.append(words % {"count": grouped(files)})
    return _(" and ").join(amounts)
