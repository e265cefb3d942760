"""What a page asks for before it takes a decision: that it was seen as it is and whole, and the name where much is at stake."""

from __future__ import annotations

from collections.abc import Sequence

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.exceptions import Invalid, Unread
from approvals.models import ApprovalRequest
from approvals.runtime.json_tables import RAW_CONTEXT, Fold, context_rows, folds, rows
from approvals.states import Kind, Priority, Verdict

APPROVING = frozenset({Verdict.APPROVE, Verdict.EDIT})
#: What the field `unread` says once its person was asked.
ACCEPTED = "accepted"


def name_to_type(request: ApprovalRequest) -> str:
    """What a person types to approve a critical request: its tool, or its title where there is none; else empty."""
    critical = request.priority == Priority.CRITICAL and request.kind in {Kind.APPROVAL, Kind.RECOVERY}
    return " ".join((request.tool_name or request.title).split()) if critical else ""


def shown_digest(data: QueryDict) -> str:
    """The digest of the input that a form stood beside. Invalid if it has none."""
    found = data.get("digest", "")
    if not found:
        words = _("This form does not say what it showed, so nothing was decided. Reload the page and try again.")
        raise Invalid(words, {"digest": _("is missing")})
    return found


def check_typed_name(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> None:
    """Invalid, naming the field, where a critical request is approved without its name."""
    wanted = name_to_type(request)
    if not wanted or verdict not in APPROVING or not request.pending:
        return
    if " ".join(data.get("typed_name", "").split()) != wanted:
        words = _("This request is critical. To approve it, type “%(name)s”.") % {"name": wanted}
        raise Invalid(words, {"typed_name": _("is not “%(name)s”") % {"name": wanted}})


def folded_parts(request: ApprovalRequest) -> list[Fold]:
    """What of an input and its context a card does not show until it is opened."""
    return [*folds(rows(request.input, "input")), *folds(context_rows(request.context), RAW_CONTEXT)]


def check_read(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> None:
    """Unread, saying how much, where something is approved of which parts were never opened; once accepted, nothing."""
    approves = verdict in APPROVING and request.kind in {Kind.APPROVAL, Kind.RECOVERY} and request.pending
    if not approves or data.get("unread") == ACCEPTED:
        return
    opened = frozenset(data.getlist("opened"))
    if left := [fold for fold in folded_parts(request) if fold.place not in opened]:
        words = ngettext(
            "%(count)s folded part was never opened: %(what)s. Open it, or press once more to approve it unread.",
            "%(count)s folded parts were never opened: %(what)s. Open them, or press once more to approve them unread.",
            len(left),
        )
        raise Unread(words % {"count": len(left), "what": how_much(left)})


def how_much(left: Sequence[Fold]) -> str:
    """How much is in these folded parts, in words."""
    values, characters = sum(fold.values for fold in left), sum(fold.characters for fold in left)
    found = [
        ngettext("%(count)s value", "%(count)s values", values) % {"count": f"{values:,}"} if values else "",
        ngettext("%(count)s character", "%(count)s characters", characters) % {"count": f"{characters:,}"}
        if characters
        else "",
    ]
    return _(" and ").join(filter(None, found))
