"""The form of *Approve for…*: what runs without asking from now on, for whom, and how long. It offers what is possible."""

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
from approvals.actions.policy.publishing import WIDTH_OF, WIDTHS
from approvals.db.canonical_json import clean_text
from approvals.forms.number_fields import WholeNumberField
from approvals.models import ApprovalRequest
from approvals.pages.policy import wording
from approvals.policy import grants
from approvals.policy.grants import LONGEST, MAX_REASON, MOST_USES, Case, GrantTerms
from approvals.queries.policy.suggested import SuggestedGrant
from approvals.states import Audience, Width
from approvals.text.numbers import grouped
from approvals.text.translation import translated

#: The lengths that are offered, in seconds; and besides: until midnight, until a time, by uses alone.
LENGTHS = {3_600: gettext_lazy("1 hour"), 28_800: gettext_lazy("8 hours"), 604_800: gettext_lazy("7 days")}
TODAY, TIME, USES = "today", "time", "uses"


class GrantForm(forms.Form):
    """The terms of a grant; bound to those of an hour for this exact input where nothing was sent."""

    field_order = ("covers", "audience", "lasts", "until", "uses", "reason")

    until = forms.DateTimeField(
        label=gettext_lazy("Time"),
        required=False,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )
    uses = WholeNumberField(label=gettext_lazy("Uses at most"), required=False)
    reason = forms.CharField(
        label=gettext_lazy("Reason, for the record (optional)"), required=False, max_length=MAX_REASON
    )

    def __init__(
        self,
        request: ApprovalRequest,
        case: Case,
        now: datetime,
        data: Mapping[str, Any] | None = None,
        suggestion: SuggestedGrant | None = None,
    ) -> None:
        """`case` is what is known of the request, and `now` the time of the database. A suggestion lasts as long as possible."""
        self.case, self.now = case, now
        limits = case.limits
        self.longest = min(LONGEST, timedelta(seconds=limits.seconds)) if limits.seconds is not None else LONGEST
        first = next(iter(grants.audiences(case)), Audience.AGENT)
        lengths = self._lengths()
        start = {
            "covers": WIDTHS[Width.INPUT],
            "audience": first,
            "lasts": next(iter(lengths)),
            "uses": limits.uses or "",
        }
        if suggestion is not None:
            longest = [value for value in lengths if value.isdecimal()][-1]
            start |= {"covers": WIDTHS[suggestion.width], "audience": suggestion.audience, "lasts": longest}
        super().__init__(start if data is None else data, auto_id=f"grant-{request.pk}-%s")
        self.not_offered: list[str] = []
        terms = GrantTerms(width=Width.INPUT, audience=first)
        self.fields["covers"] = self._choices(
            "covers",
            _("What runs without asking"),
            {
                WIDTHS[each]: (each.label, wording.what_of(request, each, case.key_fields), replace(terms, width=each))
                for each in Width
            },
        )
        person = shown_person(request.requested_by)
        self.fields["audience"] = self._choices(
            "audience",
            _("For whom"),
            {
                each: (each.label, wording.for_whom(each, case.agent, person), replace(terms, audience=each))
                for each in Audience
            },
        )
        self.fields["lasts"] = _radio(_("Until when"), {value: capfirst(label) for value, label in lengths.items()})
        self.fields["lasts"].help_text = _("At most %(limit)s.") % {"limit": translated(grants.length(self.longest))}
        self._name_zone()
        most = min(MOST_USES, limits.uses or MOST_USES)
        self.fields["uses"].help_text = _("At most %(limit)s.") % {"limit": grouped(most)}
        self.fields["uses"].widget.attrs |= {"min": 1, "max": most}
        self.order_fields(self.field_order)

    def _name_zone(self) -> None:
        """Say in which zone the time is read. `static/pausepoint/times.js` has it typed in the zone of the reader."""
        zone = timezone.get_current_timezone_name()
        named = format_html("<span data-zone-name>{}</span>", zone)
        self.fields["until"].widget.attrs["data-read-in"] = zone
        self.fields["until"].help_text = format_html(_("In {zone}."), zone=named)

    def _lengths(self) -> dict[str, str]:
        seconds = int(self.longest.total_seconds())
        fitting = {str(each): str(label) for each, label in LENGTHS.items() if each <= seconds}
        lengths = fitting or {str(seconds): translated(grants.length(self.longest))}
        if self._midnight() - self.now <= self.longest:
            lengths[TODAY] = _("the end of today")
        lengths[TIME] = _("a time")
        return lengths | ({USES: _("all uses are used up")} if self.case.limits.seconds is None else {})

    def _midnight(self) -> datetime:
        """The end of today in the reader's time zone."""
        local = timezone.localtime(self.now)
        return timezone.make_aware(datetime(local.year, local.month, local.day)) + timedelta(days=1)  # noqa: DTZ001

    def _choices(
        self, name: str, heading: str, choices: Mapping[str, tuple[Any, str, GrantTerms]]
    ) -> forms.ChoiceField:
        """Offer the choices that are possible, and say of the others why they are not."""
        offered: dict[str, str] = {}
        for value, (name_of_it, label, terms) in choices.items():
            problem = grants.problems(terms, self.case, self.now).get(name)
            if problem is None:
                offered[value] = capfirst(label)
            else:
                words = {"choice": name_of_it, "problem": translated(problem)}
                self.not_offered.append(_("“%(choice)s” is not offered: it %(problem)s.") % words)
        return _radio(heading, offered)

    def clean(self) -> dict[str, Any]:
        sent = super().clean() or {}
        if not self.errors:
            for name, problem in grants.problems(self.terms, self.case, self.now).items():
                self.add_error(name or None, _("This %(problem)s.") % {"problem": translated(problem)})
        return sent

    @property
    def terms(self) -> GrantTerms:
        """The terms that were sent; the form has no errors, or is being checked."""
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
        return self._midnight() if lasts == TODAY else self.now + timedelta(seconds=int(lasts))


def _radio(label: str, choices: Mapping[str, str]) -> forms.ChoiceField:
    return forms.ChoiceField(label=label, choices=list(choices.items()), widget=forms.RadioSelect)
