"""The files of chats, for programs and pages."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse

from approvals.access.callers import Caller
from approvals.api.frame import CONFINED, endpoint, reaches
from approvals.http import file_response
from chats.exceptions import ChatNotFound
from chats.queries.chats import copies_of_file_for


@endpoint("GET", "read", tokens=CONFINED)
def read(request: HttpRequest, caller: Caller, file_id: uuid.UUID) -> HttpResponse:
    """Return a file of a chat that the caller may read."""
    copies = copies_of_file_for(caller.standing, file_id)
    file = next(
        (
            copy
            for copy in copies
            if reaches(caller, copy.chat.public_id, owner=copy.chat.owner_id)
        ),
        None,
    )
    if file is None:
        raise ChatNotFound
    return file_response(
        request, file.media_type, file.name, file.digest, lambda: bytes(file.content)
    )
