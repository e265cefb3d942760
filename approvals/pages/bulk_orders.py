"""Orders of bulk decisions, as the inbox and the page of the review submit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.actions.checking import MAX_COMMENT
from approvals.db.canonical_json import clean_text
from approvals.exceptions import Invalid
from approvals.forms.unseen_parts import ACCEPTED
from approvals.states import Verdict

MAX_PICKS = 50
BULK_VERDICTS = {Verdict.APPROVE, Verdict.REJECT}


@dataclass(frozen=True, slots=True)
class BulkDecision:
    """A submitted bulk decision: the selected requests with their displayed digests, the verdict and the message.

    `offered` are all requests of the page including those left out. `viewed` are the places that were in view, by the ids of
    their elements; None if the page did not report any. `accepts_unread`: the person was told which parts they have not seen.
    `signed_in_at` is the time of their log-in.
    """

    picks: dict[UUID, str]
    verdict: Verdict
    comment: str
    offered: dict[UUID, str] = field(default_factory=dict)
    viewed: Mapping[str, frozenset[str]] | None = None
    accepts_unread: bool = False
    signed_in_at: datetime | None = None

    @property
    def approves(self) -> bool:
        return self.verdict == Verdict.APPROVE

    def viewed_at(self, *names: str) -> frozenset[str]:
        """Return the places that were in view in any of these parts of the page."""
        return frozenset().union(
            *((self.viewed or {}).get(name, frozenset()) for name in names)
        )


def parse_order(data: QueryDict) -> BulkDecision:
    """Parse the inbox form; similar rows share one field, `picks`. Raise Invalid."""
    picks = _picks([*data.getlist("pick"), *data.get("picks", "").split()])
    if not picks:
        raise Invalid(
            _("Select at least one request first."), {"pick": _("is missing")}
        )
    verdict = data.get("verdict", "")
    if verdict not in BULK_VERDICTS:
        raise Invalid(_("Press one of the buttons."), {"verdict": _("is unknown")})
    comment = clean_text(data.get("comment", "").replace("\r\n", "\n").strip())
    if len(comment) > MAX_COMMENT:
        message = _("The comment is longer than %(limit)d characters.") % {
            "limit": MAX_COMMENT
        }
        raise Invalid(message, {"comment": _("is too long")})
    return BulkDecision(
        picks,
        Verdict(verdict),
        comment,
        offered=_picks(data.getlist("offered")),
        viewed=_viewed(data.getlist("viewed")) if "viewed" in data else None,
        accepts_unread=data.get("unread") == ACCEPTED,
    )


def _picks(sent: Sequence[str]) -> dict[UUID, str]:
    picks: dict[UUID, str] = {}
    for pick in sent:
        name, _colon, digest = pick.partition(":")
        try:
            picks[UUID(name)] = digest
        except ValueError as error:
            raise Invalid(
                _("The list has no such request."), {"pick": _("is not understood")}
            ) from error
    if len(picks) > MAX_PICKS:
        message = _("Select at most %(limit)d requests. You selected %(found)d.")
        raise Invalid(
            message % {"limit": MAX_PICKS, "found": len(picks)},
            {"pick": _("are too many")},
        )
    return picks


def _viewed(sent: Sequence[str]) -> dict[str, frozenset[str]]:
    """Parse a page's report of viewed parts: an id, followed by the places in it that were in view."""
    reports = [report.split() for report in sent]
    return {name: frozenset(places) for name, *places in filter(None, reports)}
