"""What people say about a request: kept for good, and told to whoever has it open."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.access.assignees import claimant
from approvals.actions.deciding import clock_of, locked
from approvals.actions.indexing import add_words
from approvals.actions.publishing import handled
from approvals.exceptions import Invalid, NotAllowed, NotFound
from approvals.models import ApprovalRequest
from approvals.models.actors import Actor
from approvals.models.comments import MAX_TEXT, RequestComment
from approvals.runtime.canonical import clean_text
from approvals.states import Door


def comment(request_id: UUID, *, by: Actor, via: Door, text: str) -> RequestComment:
    """Say something in a request's thread, also when it has ended; who has taken it keeps it for another while.

    NotFound, NotAllowed, Invalid (empty, or longer than MAX_TEXT characters).
    """
    text = clean_text(text.strip())
    with transaction.atomic():
        request = locked(request_id)
        if request is None or not permissions.may_see(by, request):
            raise NotFound
        if not permissions.may_comment(by, request):
            raise NotAllowed(
                _("You can read these comments, but only the owner and people who can decide can add one.")
            )
        if not text or len(text) > MAX_TEXT:
            words = _("is longer than %(most)s characters") % {"most": f"{MAX_TEXT:,}"} if text else _("is empty")
            raise Invalid(_("The comment could not be saved."), {"text": words})
        now = timezone.now()
        said = RequestComment.objects.create(
            request_id=request.pk, by_id=by.pk, by_name=by.get_username(), via=via, text=text, at=now
        )
        changes = {"touched_at": now}
        if request.pending and claimant(request, clock_of(request)) == by.pk:
            changes["claimed_at"] = clock_of(request)
        ApprovalRequest.objects.filter(pk=request.pk).update(**changes)
        add_words(request.pk, text)
        record = {"comment_id": said.pk, "text": text}
        handled("request.commented", request, record=record, actor=by, via=via, comment=said.pk)
    return said
