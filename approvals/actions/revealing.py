"""Show a hidden value of a request to one person, on record."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import gettext as _

from approvals.access import permissions
from approvals.asking.secrets import hidden_values
from approvals.exceptions import NotAllowed, NotFound
from approvals.models.actors import Actor
from approvals.queries.requests import get_request_for
from approvals.record import audit
from approvals.states import Door


def reveal_secret(request_id: UUID, pointer: str, *, by: Actor, via: Door) -> Any:
    """Return the value at this pointer, of which something is hidden. NotFound, NotAllowed."""
    request = get_request_for(by, request_id)
    if not permissions.may_reveal(by):
        raise NotAllowed(_("You do not have permission to show hidden values. Ask an administrator for it."))
    hidden = hidden_values(request).get(pointer)
    if hidden is None:
        raise NotFound(_("Nothing is hidden there. Reload the page."))
    with transaction.atomic():
        subject = audit.subject_of(request, request.workflow)
        audit.record("request.secret_shown", subject, data={"pointer": pointer}, actor=by, via=via)
    return hidden.value
