"""Checks before a page accepts a decision: the input was shown as it is and in full, and critical requests are confirmed."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.access.permissions import wants_typed_name
from approvals.exceptions import Invalid, UnreadParts
from approvals.forms.shown_calls import shown_input
from approvals.models import ApprovalRequest
from approvals.states import Kind, Priority, Verdict
from approvals.text.numbers import grouped
from approvals.text.tables import RAW, Part

APPROVING = frozenset({Verdict.APPROVE, Verdict.EDIT})
#: The value of the field `unread` after the person was warned.
ACCEPTED = "accepted"
#: The place of the fields of an edit, which show the whole input.
EDIT_FORM = "edit"


def name_to_type(request: ApprovalRequest) -> str:
    """Return what a person types to approve a request: its tool or else its title. Empty if nothing has to be typed."""
    typed = wants_typed_name(request) and request.kind in {Kind.APPROVAL, Kind.RECOVERY}
    return " ".join((request.tool_name or request.title).split()) if typed else ""


def shown_digest(data: QueryDict) -> str:
    """Return the digest of the input that the form was shown with. Raise Invalid if it has none."""
    digest = data.get("digest", "")
    if not digest:
        message = _("This form does not say what it showed, so nothing was decided. Reload the page and try again.")
        raise Invalid(message, {"digest": _("is missing")})
    return digest


def check_typed_name(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> None:
    """Raise Invalid if a critical request is approved without typing its name."""
    wanted = name_to_type(request)
    if not wanted or verdict not in APPROVING or not request.pending:
        return
    if " ".join(data.get("typed_name", "").split()) != wanted:
        message = _("This request is critical. To approve it, type “%(name)s”.")
        if request.priority != Priority.CRITICAL:
            message = _("To approve this request, type “%(name)s”.")
        message %= {"name": wanted}
        raise Invalid(message, {"typed_name": _("is not “%(name)s”") % {"name": wanted}})


def folded_parts(request: ApprovalRequest) -> list[Part]:
    """Return the parts of the input and the context that a card shows only when they are opened."""
    shown = shown_input(request)
    return list(shown.unseen(shown.open_places()))


def unseen_parts(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> list[Part]:
    """Return the parts that were not in view while this form was shown.

    A page reports the places that were, which are separated by spaces. Without JavaScript none are reported: then the buttons
    stand below everything that is not folded, and only what is folded counts.
    """
    shown = shown_input(request)
    viewed = {*data.get("viewed", "").split()} if "viewed" in data else {*shown.open_places()}
    if EDIT_FORM in viewed or (verdict == Verdict.EDIT and "viewed" not in data):
        viewed.add(RAW)
    return list(shown.unseen(viewed))


def unseen(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> list[Part]:
    """Return the parts that a person approves without having seen them."""
    approves = verdict in APPROVING and request.kind in {Kind.APPROVAL, Kind.RECOVERY} and request.pending
    return unseen_parts(request, verdict, data) if approves else []


def check_read(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> None:
    """Raise UnreadParts if a person approves something of which parts were never in view, unless they were warned."""
    if data.get("unread") == ACCEPTED:
        return
    if left := unseen(request, verdict, data):
        message = _("You have not seen all of it: %(what)s. Look at the rest, or press again to approve it unseen.")
        raise UnreadParts(message % {"what": how_much(left)})


def amount_of(left: Sequence[Part]) -> dict[str, int]:
    """Return how much these parts hold, as the audit log keeps it; empty if there are none."""
    if not left:
        return {}
    values, characters, files = _totals(left)
    return {"parts": len(left), "values": values, "characters": characters} | ({"files": files} if files else {})


def _totals(left: Sequence[Part]) -> tuple[int, int, int]:
    return sum(part.values for part in left), sum(part.characters for part in left), sum(part.files for part in left)


def how_much(left: Sequence[Part]) -> str:
    """Return how much is in these parts, in words."""
    values, characters, files = _totals(left)
    amounts = [
        ngettext("%(count)s value", "%(count)s values", values) % {"count": grouped(values)} if values else "",
        ngettext("%(count)s character", "%(count)s characters", characters) % {"count": grouped(characters)}
        if characters
        else "",
        ngettext("%(count)s file", "%(count)s files", files) % {"count": grouped(files)} if files else "",
    ]
    return _(" and ").join(filter(None, amounts))
