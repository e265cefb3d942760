"""Texts of errors, statuses and outcomes in the current language."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.states import Verdict
from approvals.text.names import marked_name
from approvals.text.numbers import grouped
from approvals.text.times import relative_time
from approvals.text.translatable import Count, Sentence, TranslatableError, gettext_noop

#: Titles of error pages and problem documents, from HTTP's reason phrases; some differ between Python versions.
TITLES = (
    gettext_noop("Bad Request"),
    gettext_noop("Unauthorized"),
    gettext_noop("Forbidden"),
    gettext_noop("Not Found"),
    gettext_noop("Method Not Allowed"),
    gettext_noop("Conflict"),
    gettext_noop("Gone"),
    gettext_noop("Request Entity Too Large"),
    gettext_noop("Content Too Large"),
    gettext_noop("Unsupported Media Type"),
    gettext_noop("Unprocessable Entity"),
    gettext_noop("Unprocessable Content"),
    gettext_noop("Too Many Requests"),
    gettext_noop("Internal Server Error"),
    gettext_noop("Service Unavailable"),
)
#: Outcomes of a request that can no longer be decided.
DECIDED = {
    Verdict.APPROVE: _("This request was approved %(when)s by %(who)s."),
    Verdict.EDIT: _("This request was approved with changes %(when)s by %(who)s."),
    Verdict.REJECT: _("This request was rejected %(when)s by %(who)s."),
    Verdict.RESPOND: _("This request was answered %(when)s by %(who)s."),
    Verdict.CANCEL: _("This request was cancelled %(when)s by %(who)s."),
    Verdict.EXPIRE: _("This request expired %(when)s."),
}


def quoted(text: str) -> str:
    """Return a text in the quotation marks of the current language."""
    return gettext("“%(text)s”") % {"text": text}


def in_one_line(names: Iterable[str]) -> str:
    """Return names as in a sentence: “Ada, Bob and Carol”."""
    *first, last = names
    return gettext(" and ").join([", ".join(first), last]) if first else last


def decided_words(verdict: str, who: str, at: datetime) -> str:
    """Return how, when and by whom a request was decided; an empty name stands for Pausepoint itself."""
    return str(DECIDED[Verdict(verdict)]) % {
        "who": marked_name(who) or "Pausepoint",
        "when": ago(at),
    }


def ago(moment: datetime) -> str:
    """Return how long ago a moment was, such as “2 minutes ago”."""
    recent = timezone.now() - moment < timedelta(minutes=1)
    return gettext("just now") if recent else relative_time(moment)


def title_of(status: HTTPStatus) -> str:
    """Return the title of an error with this status."""
    return gettext(status.phrase)


def translated(error: Exception | Sentence) -> str:
    """Return the text of an error or a sentence in the current language."""
    if not isinstance(error, TranslatableError | Sentence) or not error.text:
        return str(error)
    text = gettext(error.text)
    values = {name: _for_reader(value) for name, value in error.values.items()}
    return text % values if values else text


def _for_reader(value: Any) -> Any:
    """Return the value of a placeholder in the current language."""
    if isinstance(value, Sentence):
        return translated(value)
    return grouped(int(value)) if isinstance(value, Count) else value
