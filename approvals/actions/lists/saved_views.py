"""Save and delete named filters of a page: views of the inbox, and reports of the audit page."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.db.canonical_json import clean_text
from approvals.exceptions import Invalid, NotFound
from approvals.models import SavedView
from approvals.models.preferences import ListPage
from approvals.text.text import visible_name

MAX_NAME = 60
#: Maximum length of a query string, that of its column. An emoji takes twelve characters.
MAX_QUERY = 2_000
#: Maximum number of a person's views of one page.
MAX_VIEWS = 30


def save_view(
    owner: User, page: ListPage, *, name: str, query: str, shared: bool
) -> SavedView:
    """Save a validated query string under a name, replacing a view of the same name. Raise Invalid."""
    name = visible_name(clean_text(" ".join(name.split()))) if name.strip() else ""
    if not name or len(name) > MAX_NAME:
        error = (
            _("is longer than %(most)s characters") % {"most": MAX_NAME}
            if name
            else _("is empty")
        )
        raise Invalid(
            _("Enter a name of at most %(most)s characters.") % {"most": MAX_NAME},
            {"name": error},
        )
    if len(query) > MAX_QUERY:
        message = _(
            "These filters are too long to save. Shorten the search, or remove a filter."
        )
        raise Invalid(message, {"query": message})
    with transaction.atomic():
        # The lock keeps two windows of one person from saving one too many.
        User.objects.select_for_update().get(pk=owner.pk)
        own = SavedView.objects.filter(owner=owner, page=page)
        if own.exclude(name=name).count() >= MAX_VIEWS:
            message = _(
                "You have already saved %(most)s, which is the maximum. Delete one first."
            ) % {"most": MAX_VIEWS}
            raise Invalid(message, {"name": message})
        stored, _new = SavedView.objects.update_or_create(
            owner=owner,
            page=page,
            name=name,
            defaults={"query": query, "shared": shared},
        )
    return stored


def delete_view(owner: User, page: ListPage, pk: int) -> None:
    """Delete a view of the owner. Raise NotFound."""
    with transaction.atomic():
        removed, _rows = SavedView.objects.filter(
            owner=owner, page=page, pk=pk
        ).delete()
    if not removed:
        raise NotFound(_("Not found. It may already have been deleted."))
