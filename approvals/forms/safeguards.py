"""Checks before a page accepts a decision: the input was shown as it is and in full, and critical requests are confirmed."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.exceptions import Invalid, UnreadParts
from approvals.forms.shown_calls import shown_input
from approvals.models import ApprovalRequest
from approvals.runtime.json_tables import Fold, branches
from approvals.states import Kind, Priority, Verdict

APPROVING = frozenset({Verdict.APPROVE, Verdict.EDIT})
#: The value of the field `unread` after the person was warned.
ACCEPTED = "accepted"


def name_to_type(request: ApprovalRequest) -> str:
    """Return what a person types to approve a critical request: its tool or else its title. Empty if it is not critical."""
    critical = request.priority == Priority.CRITICAL and request.kind in {Kind.APPROVAL, Kind.RECOVERY}
    return " ".join((request.tool_name or request.title).split()) if critical else ""


def shown_digest(data: QueryDict) -> str:
    """Return the digest of the input that the form was shown with. Raise Invalid if it has none."""
    found = data.get("digest", "")
    if not found:
        words = _("This form does not say what it showed, so nothing was decided. Reload the page and try again.")
        raise Invalid(words, {"digest": _("is missing")})
    return found


def check_typed_name(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> None:
    """Raise Invalid if a critical request is approved without typing its name."""
    wanted = name_to_type(request)
    if not wanted or verdict not in APPROVING or not request.pending:
        return
    if " ".join(data.get("typed_name", "").split()) != wanted:
        words = _("This request is critical. To approve it, type “%(name)s”.") % {"name": wanted}
        raise Invalid(words, {"typed_name": _("is not “%(name)s”") % {"name": wanted}})


def collapsed_parts(request: ApprovalRequest) -> list[Fold]:
    """Return the parts of the input and the context that a card shows only when they are opened."""
    return list(shown_input(request).folds())


def unseen_parts(request: ApprovalRequest, data: QueryDict) -> list[Fold]:
    """Return the parts that were collapsed while this form was shown: by Pausepoint, or by the person's browser."""
    opened, closed = frozenset(data.getlist("opened")), frozenset(data.getlist("closed"))
    found = [part for part in collapsed_parts(request) if part.place not in opened]
    if closed:
        found += branches(shown_input(request).tables, closed)
    return found


def unseen(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> list[Fold]:
    """Return the parts that a person approves without having seen them."""
    approves = verdict in APPROVING and request.kind in {Kind.APPROVAL, Kind.RECOVERY} and request.pending
    return unseen_parts(request, data) if approves else []


def check_read(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> None:
    """Raise UnreadParts if a person approves something with collapsed parts that they never opened, unless they were warned."""
    if data.get("unread") == ACCEPTED:
        return
    if left := unseen(request, verdict, data):
        words = ngettext(
            "%(count)s collapsed part was never opened: %(what)s. Open it, or press again to approve it unseen.",
            "%(count)s collapsed parts were never opened: %(what)s. Open them, or press again to approve them unseen.",
            len(left),
        )
        raise UnreadParts(words % {"count": len(left), "what": how_much(left)})


def amount_of(left: Sequence[Fold]) -> dict[str, int]:
    """Return how much these parts hold, as the audit log keeps it; empty if there are none."""
    if not left:
        return {}
    values, characters = sum(fold.values for fold in left), sum(fold.characters for fold in left)
    return {"parts": len(left), "values": values, "characters": characters}


def how_much(left: Sequence[Fold]) -> str:
    """Return how much is in these collapsed parts, in words."""
    values, characters = sum(fold.values for fold in left), sum(fold.characters for fold in left)
    found = [
        ngettext("%(count)s value", "%(count)s values", values) % {"count": f"{values:,}"} if values else "",
        ngettext("%(count)s character", "%(count)s characters", characters) % {"count": f"{characters:,}"}
        if characters
        else "",
    ]
    return _(" and ").join(filter(None, found))
