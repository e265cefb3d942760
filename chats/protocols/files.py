"""The files of chats, for programs and for the pages, which show them from here."""

from __future__ import annotations

import uuid

from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.http import content_disposition_header, quote_etag

from approvals.access.callers import Caller
from approvals.api.frame import CONFINED, endpoint, reaches
from chats.exceptions import ChatNotFound
from chats.queries.chats import copies_of_file_for


@endpoint("GET", "read", tokens=CONFINED)
def read(request: HttpRequest, caller: Caller, file_id: uuid.UUID) -> HttpResponse:
    """Return a file of a chat that the caller may read."""
    copies = copies_of_file_for(caller.user, file_id)
    file = next((copy for copy in copies if reaches(caller, copy.chat.public_id, owner=copy.chat.owner_id)), None)
    if file is None:
        raise ChatNotFound
    response = HttpResponse(content_type=file.media_type)
    response.headers["ETag"] = quote_etag(file.digest)
    response.headers["Cache-Control"] = "private, no-cache"
    # Nothing in a file may act: its type is the one that we found, and a browser that shows it runs nothing in it.
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox; frame-ancestors 'none'"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    # Pictures are shown, anything else is downloaded.
    is_picture = file.media_type.startswith("image/")
    disposition = content_disposition_header(not is_picture, file.name) or "inline"
    response.headers["Content-Disposition"] = disposition
    answer = get_conditional_response(request, etag=response.headers["ETag"], response=response)
    if answer is response:
        # Only who has no copy of the content is sent it.
        response.content = bytes(file.content)
    return answer or response
