"""The files of requests, for programs and pages."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from ninja import Router

from approvals.access.callers import Caller
from approvals.api.rest.operations import operation, problems
from approvals.http import file_response
from approvals.queries.attachments import attachment_for, content_of
from approvals.text.file_types import ENDINGS, download_name

router = Router(tags=["Requests"])

_CONTENT = {
    media_type: {"schema": {"type": "string", "format": "binary"}}
    for media_type in ENDINGS
}


@router.get(
    "/requests/{uuid:request_id}/attachments/{uuid:attachment_id}",
    summary="Read a file of a request",
    openapi_extra=problems(404, 410, 503, ok=_CONTENT),
)
@operation("read")
def read_attachment(
    caller: Caller, request: HttpRequest, request_id: UUID, attachment_id: UUID
) -> HttpResponse:
    """Needs the scope `read`. Returns the bytes, with the type that was found in them. 410 `file_removed` if retention has
    removed them.
    """
    file = attachment_for(caller.standing, request_id, attachment_id)
    name = download_name(file.name, file.media_type)
    return file_response(
        request, file.media_type, name, file.sha256, lambda: content_of(file)
    )
