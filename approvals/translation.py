"""The texts of errors and statuses in the current language."""

from __future__ import annotations

from http import HTTPStatus

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.translatable import TranslatableError

#: The titles of error pages and problem documents: HTTP's own phrases.
TITLES = {
    HTTPStatus.BAD_REQUEST: _("Bad Request"),
    HTTPStatus.UNAUTHORIZED: _("Unauthorized"),
    HTTPStatus.FORBIDDEN: _("Forbidden"),
    HTTPStatus.NOT_FOUND: _("Not Found"),
    HTTPStatus.METHOD_NOT_ALLOWED: _("Method Not Allowed"),
    HTTPStatus.CONFLICT: _("Conflict"),
    HTTPStatus.GONE: _("Gone"),
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: _("Unsupported Media Type"),
    HTTPStatus.TOO_MANY_REQUESTS: _("Too Many Requests"),
    HTTPStatus.INTERNAL_SERVER_ERROR: _("Internal Server Error"),
    HTTPStatus.SERVICE_UNAVAILABLE: _("Service Unavailable"),
}


def title_of(status: HTTPStatus) -> str:
    """Return the title of an error with this status."""
    return str(TITLES.get(status) or gettext(status.phrase))


def translated(error: Exception) -> str:
    """Return the text of an error in the current language."""
    if not isinstance(error, TranslatableError) or not error.text:
        return str(error)
    text = gettext(error.text)
    return text % error.values if error.values else text
