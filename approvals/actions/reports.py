"""Save and delete reports: named filters of the audit page."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.exceptions import Invalid, NotFound
from approvals.models import SavedView
from approvals.models.preferences import ListPage
from approvals.runtime.canonical import clean_text

#: The longest name, and how many reports one person can save.
MAX_NAME, MAX_REPORTS = 60, 30


def save_report(owner: User, name: str, query: str, *, shared: bool) -> SavedView:
    """Save a query string that was checked under a name; a report of the same name is replaced. Raise Invalid."""
    name = clean_text(" ".join(name.split()))
    if not name:
        raise Invalid(_("Enter a name for the report."), {"name": _("is empty")})
    if len(name) > MAX_NAME:
        words = _("Enter a name of at most %(limit)d characters.") % {"limit": MAX_NAME}
        raise Invalid(words, {"name": _("is too long")})
    with transaction.atomic():
        # The lock keeps two windows of one person from saving one report too many.
        User.objects.select_for_update().get(pk=owner.pk)
        own = SavedView.objects.filter(owner=owner, page=ListPage.AUDIT)
        if own.exclude(name=name).count() >= MAX_REPORTS:
            raise Invalid(_("You have %(limit)d reports already. Delete one first.") % {"limit": MAX_REPORTS})
        values = {"query": query, "shared": shared}
        report, _new = SavedView.objects.update_or_create(owner=owner, page=ListPage.AUDIT, name=name, defaults=values)
    return report


def delete_report(owner: User, pk: int) -> None:
    """Delete one's own report. Raise NotFound."""
    with transaction.atomic():
        removed, _rows = SavedView.objects.filter(owner=owner, page=ListPage.AUDIT, pk=pk).delete()
    if not removed:
        raise NotFound(_("Report not found. It may have been deleted already."))
