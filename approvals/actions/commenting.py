"""Add comments to requests, and show them on open pages."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.actions.lists.snoozing import end_snoozes
from approvals.actions.locking import lock_visible_request
from approvals.actions.publishing import publish_handling
from approvals.actions.rows import added_words
from approvals.db.canonical_json import clean_text
from approvals.db.prepared_writes import write_together
from approvals.exceptions import Invalid, NotAllowed
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.models.comments import MAX_TEXT, RequestComment
from approvals.outbound.mentions import notify_mentioned
from approvals.queries.comments import mentioned_in
from approvals.states import Door
from approvals.text.numbers import grouped


def comment(request_id: UUID, *, by: Actor, via: Door, text: str) -> RequestComment:
    """Add a comment to a request, even after its end, and notify the people it mentions; prolong a claim of its author.

    Raise NotFound, NotAllowed or Invalid (empty, or longer than MAX_TEXT characters).
    """
    text = clean_text(text.strip())
    with transaction.atomic():
        locked = lock_visible_request(request_id, by)
        request = locked.request
        if not permissions.may_comment(locked.standing, request):
            raise NotAllowed(
                _(
                    "You can read these notes, but only the requester and people who can decide can add one."
                )
            )
        if not text or len(text) > MAX_TEXT:
            error = (
                _("is longer than %(most)s characters") % {"most": grouped(MAX_TEXT)}
                if text
                else _("is empty")
            )
            raise Invalid(_("The note could not be saved."), {"text": error})
        now = timezone.now()
        mentioned = mentioned_in(text, request, by)
        names = [person.get_username() for person in mentioned]
        author = {"by_id": by.pk, "by_name": by.get_username(), "via": via}
        stored = RequestComment.objects.create(
            request_id=request.pk, **author, text=text, mentions=names or None, at=now
        )
        changes = {"touched_at": now}
        if request.pending and locked.claimed_by_id == by.pk:
            changes["claimed_at"] = locked.now
        ApprovalRequest.objects.filter(pk=request.pk).update(**changes)
        write_together(added_words(request.pk, text))
        end_snoozes(request, by=by)
        record = {"comment_id": stored.pk, "text": text} | (
            {"mentions": names} if names else {}
        )
        people = [person.pk for person in mentioned]
        publish_handling(
            "request.commented",
            request,
            record=record,
            actor=by,
            via=via,
            people=people,
            comment=stored.pk,
        )
        if mentioned:
            notify_mentioned(request, mentioned, by=by.get_username())
    return stored
