"""The texts of errors, statuses and outcomes in the current language."""

from __future__ import annotations

from datetime import datetime, timedelta
from http import HTTPStatus

from django.contrib.humanize.templatetags.humanize import naturaltime
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.runtime.translatable import TranslatableError
from approvals.states import Verdict

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

#: What happened to a request that cannot be decided any more.
DECIDED = {
    Verdict.APPROVE: _("This request was approved %(when)s by %(who)s."),
    Verdict.EDIT: _("This request was approved with changes %(when)s by %(who)s."),
    Verdict.REJECT: _("This request was rejected %(when)s by %(who)s."),
    Verdict.RESPOND: _("This request was answered %(when)s by %(who)s."),
    Verdict.CANCEL: _("This request was cancelled %(when)s by %(who)s."),
    Verdict.EXPIRE: _("This request expired %(when)s."),
}


def decided_words(verdict: str, who: str, at: datetime) -> str:
    """Return who decided a request, how and when; without a name it was Pausepoint itself."""
    return str(DECIDED[Verdict(verdict)]) % {"who": who or "Pausepoint", "when": ago(at)}


def ago(moment: datetime) -> str:
    """Return how long ago this was, such as “2 minutes ago”."""
    recent = timezone.now() - moment < timedelta(minutes=1)
    return gettext("just now") if recent else naturaltime(moment)


def title_of(status: HTTPStatus) -> str:
    """Return the title of an error with this status."""
    return str(TITLES.get(status) or gettext(status.phrase))


def translated(error: Exception) -> str:
    """Return the text of an error in the current language."""
    if not isinstance(error, TranslatableError) or not error.text:
        return str(error)
    text = gettext(error.text)
    return text % error.values if error.values else text
