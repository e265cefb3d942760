"""What a page asks for before it takes a decision: that it was seen as it is, and the name where much is at stake."""

from __future__ import annotations

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.exceptions import Invalid
from approvals.models import ApprovalRequest
from approvals.states import Kind, Priority, Verdict

NEEDS_NAME = frozenset({Verdict.APPROVE, Verdict.EDIT})


def name_to_type(request: ApprovalRequest) -> str:
    """What a person types to approve a critical request: its tool, or its title where there is none; else empty."""
    critical = request.priority == Priority.CRITICAL and request.kind in {Kind.APPROVAL, Kind.RECOVERY}
    return " ".join((request.tool_name or request.title).split()) if critical else ""


def shown_digest(data: QueryDict) -> str:
    """The digest of the input that a form stood beside. Invalid if it has none."""
    found = data.get("digest", "")
    if not found:
        words = _("This form does not say what it showed, so nothing was decided. Reload the page, and press there.")
        raise Invalid(words, {"digest": _("is missing")})
    return found


def check_typed_name(request: ApprovalRequest, verdict: Verdict, data: QueryDict) -> None:
    """Invalid, naming the field, where a critical request is approved without its name."""
    wanted = name_to_type(request)
    if not wanted or verdict not in NEEDS_NAME or not request.pending:
        return
    if " ".join(data.get("typed_name", "").split()) != wanted:
        words = _("This is critical: to approve it, type “%(name)s” first.") % {"name": wanted}
        raise Invalid(words, {"typed_name": _("is not “%(name)s”") % {"name": wanted}})
