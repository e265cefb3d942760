"""The form of *Approve for…*: coverage, audience and duration of a grant. It offers only possible terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.utils import timezone
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals.access.usernames import shown_person
from approvals.actions.policy.grants.events import WIDTH_OF, WIDTHS
from approvals.db.canonical_json import clean_text
from approvals.forms.number_fields import WholeNumberField
from approvals.models import ApprovalRequest
from approvals.pages.grants import wording
from approvals.policy import grants
from approvals.policy.grants import (
    LONGEST,
    MAX_REASON,
    MOST_USES,
    GrantCase,
    GrantTerms,
)
from approvals.queries.policy.rules.suggestions import SuggestedGrant
from approvals.states import Audience, Width
from approvals.text.numbers import grouped
from approvals.text.translation import translated

#: Durations on offer in seconds, besides: until midnight, until a time, limited by uses only.
LENGTHS = {
    3_600: gettext_lazy("1 hour"),
    28_800: gettext_lazy("8 hours"),
    604_800: gettext_lazy("7 days"),
}
TODAY = "today"
TIME = "time"
USES = "uses"


class GrantForm(forms.Form):
    """The terms of a grant; unsubmitted, it is bound to an hour for this exact input."""

    field_order = ("covers", "audience", "lasts", "until", "uses", "reason")

    until = forms.DateTimeField(
        label=gettext_lazy("Time"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    uses = WholeNumberField(label=gettext_lazy("Maximum uses"), required=False)
    reason = forms.CharField(
        label=gettext_lazy("Reason, for the record (optional)"),
        required=False,
        max_length=MAX_REASON,
    )

    def __init__(
        self,
        request: ApprovalRequest,
        case: GrantCase,
        now: datetime,
        data: Mapping[str, Any] | None = None,
        suggestion: SuggestedGrant | None = None,
    ) -> None:
        """`case` has the facts about the request, `now` is the database's time. A suggestion lasts as long as possible."""
        self.case = case
        self.now = now
        self.longest = LONGEST
        if case.limits.seconds is not None:
            self.longest = min(LONGEST, timedelta(seconds=case.limits.seconds))
        first = next(iter(grants.audiences(case)), Audience.AGENT)
        start = self._start(first, suggestion) if data is None else data
        super().__init__(start, auto_id=f"grant-{request.pk}-%s")
        self.not_offered: list[str] = []
        self._offer_terms(request, GrantTerms(width=Width.INPUT, audience=first))
        self._offer_ends()
        self.order_fields(self.field_order)

    def _start(
        self, audience: Audience, suggestion: SuggestedGrant | None
    ) -> dict[str, Any]:
        """Return the terms that are chosen at first."""
        lengths = list(self._lengths())
        start: dict[str, Any] = {
            "covers": WIDTHS[Width.INPUT],
            "audience": audience,
            "lasts": lengths[0],
            "uses": self.case.limits.uses or "",
        }
        if suggestion is None:
            return start
        return start | {
            "covers": WIDTHS[suggestion.width],
            "audience": suggestion.audience,
            "lasts": [value for value in lengths if value.isdecimal()][-1],
        }

    def _offer_terms(self, request: ApprovalRequest, terms: GrantTerms) -> None:
        """Offer what may be granted to whom, each with the rest as in `terms`."""
        case = self.case
        widths: dict[str, tuple[Any, str, GrantTerms]] = {
            WIDTHS[each]: (
                each.label,
                wording.what_of(request, each, case.key_fields),
                replace(terms, width=each),
            )
            for each in Width
        }
        person = shown_person(request.requested_by)
        audiences: dict[str, tuple[Any, str, GrantTerms]] = {
            each: (
                each.label,
                wording.for_whom(each, case.agent, person),
                replace(terms, audience=each),
            )
            for each in Audience
        }
        self.fields["covers"] = self._choices(
            "covers", _("What runs without asking"), widths
        )
        self.fields["audience"] = self._choices("audience", _("For whom"), audiences)

    def _offer_ends(self) -> None:
        """Offer the possible ends, in time and number."""
        at_most = _("At most %(limit)s.")
        lengths = {value: capfirst(label) for value, label in self._lengths().items()}
        self.fields["lasts"] = _radio(_("Duration"), lengths)
        longest = translated(grants.length(self.longest))
        self.fields["lasts"].help_text = at_most % {"limit": longest}
        self._name_zone()
        most = min(MOST_USES, self.case.limits.uses or MOST_USES)
        self.fields["uses"].help_text = at_most % {"limit": grouped(most)}
        self.fields["uses"].widget.attrs |= {"min": 1, "max": most}

    def _name_zone(self) -> None:
        """Name the time zone of the entered time. `static/pausepoint/times.js` switches it to that of the reader."""
        zone = timezone.get_current_timezone_name()
        named = format_html("<span data-zone-name>{}</span>", zone)
        self.fields["until"].widget.attrs["data-read-in"] = zone
        self.fields["until"].help_text = format_html(_("In {zone}."), zone=named)

    def _lengths(self) -> dict[str, str]:
        seconds = int(self.longest.total_seconds())
        fitting = {
            str(each): str(label) for each, label in LENGTHS.items() if each <= seconds
        }
        lengths = fitting or {str(seconds): translated(grants.length(self.longest))}
        if self._midnight() - self.now <= self.longest:
            lengths[TODAY] = _("until the end of today")
        lengths[TIME] = _("until…")
        if self.case.limits.seconds is None:
            lengths[USES] = _("after the maximum uses")
        return lengths

    def _midnight(self) -> datetime:
        """The end of today in the reader's time zone."""
        local = timezone.localtime(self.now)
        today = datetime(local.year, local.month, local.day)  # noqa: DTZ001
        return timezone.make_aware(today) + timedelta(days=1)

    def _choices(
        self,
        name: str,
        heading: str,
        choices: Mapping[str, tuple[Any, str, GrantTerms]],
    ) -> forms.ChoiceField:
        """Offer the possible choices, and explain why the others are not."""
        offered: dict[str, str] = {}
        for value, (name_of_it, label, terms) in choices.items():
            problem = grants.problems(terms, self.case, self.now).get(name)
            if problem is None:
                offered[value] = capfirst(label)
            else:
                words = {"choice": name_of_it, "problem": translated(problem)}
                self.not_offered.append(
                    _("“%(choice)s” is not available: it %(problem)s.") % words
                )
        return _radio(heading, offered)

    def clean(self) -> dict[str, Any]:
        sent = super().clean() or {}
        if not self.errors:
            problems = grants.problems(self.terms, self.case, self.now)
            for name, problem in problems.items():
                words = _("This %(problem)s.") % {"problem": translated(problem)}
                self.add_error(name or None, words)
        return sent

    @property
    def terms(self) -> GrantTerms:
        """The submitted terms; the form has no errors, or is being validated."""
        sent = self.cleaned_data
        return GrantTerms(
            width=WIDTH_OF[sent["covers"]],
            audience=Audience(sent["audience"]),
            until=self._until(sent["lasts"], sent["until"]),
            uses=sent["uses"],
            reason=clean_text(sent["reason"].strip()),
        )

    def _until(self, lasts: str, chosen: datetime | None) -> datetime | None:
        if lasts == TIME:
            return chosen
        if lasts == USES:
            return None
        if lasts == TODAY:
            return self._midnight()
        return self.now + timedelta(seconds=int(lasts))


def _radio(label: str, choices: Mapping[str, str]) -> forms.ChoiceField:
    return forms.ChoiceField(
        label=label, choices=list(choices.items()), widget=forms.RadioSelect
    )
