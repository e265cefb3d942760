"""Save and delete named views of the inbox."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction
from django.http import QueryDict
from django.utils.translation import gettext as _

from approvals.exceptions import Invalid, NotFound
from approvals.models import SavedView
from approvals.queries.filters import filters_from
from approvals.runtime.canonical import clean_text
from approvals.runtime.text import visible_name

MAX_NAME = 60
#: So many views one person can save.
MAX_VIEWS = 30


def save_view(owner: User, *, name: str, query: str, shared: bool) -> SavedView:
    """Save the filters of a query string under a name; a view of the same name is replaced. Raise Invalid."""
    name = visible_name(clean_text(" ".join(name.split()))) if name.strip() else ""
    if not name or len(name) > MAX_NAME:
        words = _("is longer than %(most)s characters") % {"most": MAX_NAME} if name else _("is empty")
        raise Invalid(_("The view could not be saved."), {"name": words})
    stored = filters_from(QueryDict(query.removeprefix("?"))).at(None).query
    with transaction.atomic():
        # The lock keeps two windows of one person from saving one view too many.
        User.objects.select_for_update().get(pk=owner.pk)
        own = SavedView.objects.filter(owner=owner)
        if not own.filter(name=name).exists() and own.count() >= MAX_VIEWS:
            words = _("You have %(most)s views already. Delete one of them first.") % {"most": MAX_VIEWS}
            raise Invalid(words, {"name": words})
        view, _new = SavedView.objects.update_or_create(
            owner=owner, name=name, defaults={"query": stored, "shared": shared}
        )
    return view


def delete_view(owner: User, pk: int) -> None:
    """Delete one's own view. Raise NotFound."""
    with transaction.atomic():
        removed, _rows = SavedView.objects.filter(owner=owner, pk=pk).delete()
    if not removed:
        raise NotFound(_("View not found. It may have been deleted already."))
