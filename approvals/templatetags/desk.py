"""Template tags: safe Markdown, labels, times that the page keeps up to date, and whether the audit log is protected."""

from __future__ import annotations

import functools
from datetime import UTC, datetime
from uuid import UUID

from django import template
from django.contrib.auth.models import User
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.db import connection
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.access.usernames import shown_person
from approvals.db import append_only
from approvals.forms.code_colours import is_prose, language_of, pieces
from approvals.forms.formatted import in_words
from approvals.models import ApprovalRequest
from approvals.models.comments import RequestComment
from approvals.states import ORIGINS, Door, status_label, verdict_label
from approvals.text.alignment import Budget, Op, text_runs
from approvals.text.confusables import marked_name
from approvals.text.hunks import Hunk, Pair, hunks
from approvals.text.markdown import linked, to_html
from approvals.text.names import full_name, initials, tone
from approvals.text.numbers import grouped
from approvals.text.tables import Row
from approvals.text.text import visible
from approvals.text.times import clock_time, short_time

register = template.Library()

#: Pairs of words to compare for one change; beyond it, the whole text counts as changed.
MAX_WORK = 20_000_000
#: The same for one line of many.
MAX_LINE_WORK = 400_000


@register.filter
def markdown(text: str) -> SafeString:
    return mark_safe(to_html(text))  # noqa: S308 - cleaned by an allow-list


@register.filter
def note_text(note: RequestComment) -> SafeString:
    """Return the text of an internal note, with the people marked whom it notified."""
    return mark_safe(to_html(note.text, note.mentions or ()))  # noqa: S308 - cleaned by an allow-list


register.filter("visible", visible)
register.filter("linked", linked)
register.filter("person_name", marked_name)


@register.filter
def shown_value(row: Row) -> SafeString | str:
    """Return the value of a row, in words or with links; the words for an empty value look different from a text."""
    if (words := in_words(row)) is not None:
        return words
    return format_html('<i class="no-value">{}</i>', row.value) if row.empty else linked(row.value)


@register.filter
def person(user: User) -> str:
    """Return how a person is shown: the display name with the username."""
    return shown_person(user)


@register.filter
def called(name: str, display_name: str | None) -> str:
    """Return how someone is shown whose recorded name is this."""
    return full_name(display_name, name)


@register.simple_tag
def avatar(name: str, display_name: str | None = "") -> SafeString:
    """Return the initials of a person in a circle, for the eye alone: they are no text, and the name stands beside it."""
    return format_html(
        '<span class="avatar" aria-hidden="true" data-tone="{}" data-initials="{}"></span>',
        tone(name),
        initials(display_name, name),
    )


@register.simple_tag
@functools.lru_cache(maxsize=200)
def icon(name: str) -> SafeString:
    """Return an icon of `static/pausepoint/icons.svg` for the eye alone: the text beside it says the same."""
    return format_html(
        '<svg class="icon" width="16" height="16" aria-hidden="true"><use href="{}#{}"></use></svg>',
        static("pausepoint/icons.svg"),
        name,
    )


@register.simple_tag
def code(text: str, name: str, whole: str = "") -> SafeString | str:
    """Return the text of a value in the colours of its language, which its name or the `whole` text tells."""
    language = language_of(name, whole or text)
    if not language:
        return text
    marked = ((f"tok-{kind}" if kind else "tok", piece) for kind, piece in pieces(text, language))
    return format_html_join("", '<span class="{}">{}</span>', marked)


@register.simple_tag
def long_text(text: str, name: str, place: str, whole: str = "") -> SafeString:
    """Return the text of a value on lines of its own: code in its colours, and prose in the face of the page."""
    if language_of(name, whole or text):
        return format_html('<pre data-view="{}">{}</pre>', place, code(text, name, whole))
    if is_prose(whole or text):
        paragraphs = format_html_join("", "<p>{}</p>", ((linked(each),) for each in text.split("\n\n")))
        return format_html('<div class="prose" data-view="{}">{}</div>', place, paragraphs)
    return format_html('<pre data-view="{}">{}</pre>', place, linked(text))


@register.simple_tag
def changed_words(before: str, after: str, side: str, most: int = MAX_WORK) -> SafeString:
    """Return one `side` of a change, "before" or "after", with the words marked that the other side does not have."""
    op, tag = (Op.REMOVED, "del") if side == "before" else (Op.ADDED, "ins")
    runs = text_runs(before, after, Budget(most))
    marked = ((tag if run.op == op else "span", run.text) for run in runs if run.op in {Op.SAME, op})
    return format_html_join("", "<{0}>{1}</{0}>", marked)


@register.simple_tag
def text_hunks(before: str | None, after: str | None) -> list[Hunk]:
    """Return the lines of two texts to show beside each other; nothing for short texts, and where one is absent."""
    return hunks(before, after) if before is not None and after is not None else []


@register.simple_tag
def changed_line(pair: Pair, side: str) -> SafeString:
    """Return one `side` of a changed line; what the other side does not have is marked."""
    if pair.before is not None and pair.after is not None:
        return changed_words(pair.before, pair.after, side, MAX_LINE_WORK)
    tag, text = ("del", pair.before) if side == "before" else ("ins", pair.after)
    return format_html("<{0}>{1}</{0}>", tag, text)


@register.filter
def via(value: str) -> str:
    """Return the name that people read for a stored `via` value."""
    return str(Door(value).label) if value in Door.values else str(ORIGINS.get(value, value))


@register.filter
def short_key(key: str) -> str:
    """Return a workflow's key for a line of a list: a UUID by its first digits, other keys as far as they fit."""
    try:
        return str(UUID(key))[:8]
    except ValueError:
        return Truncator(key).chars(32)


@register.filter(name="status_label")
def status_label_filter(request: ApprovalRequest) -> str:
    """Return the label of a request's status, in the words of its buttons."""
    return status_label(request.kind, request.status)


@register.filter(name="verdict_label")
def verdict_label_filter(verdict: str, kind: str) -> str:
    """Return the label of a verdict on a request of this kind, in the words of its buttons."""
    return verdict_label(kind, verdict)


@register.filter
def sentence(problem: str) -> str:
    """Return what is wrong with a value, such as "must be a number", as a sentence below its field."""
    return _("This %(problem)s.") % {"problem": problem}


@register.simple_tag
def moment(when: datetime | None, kind: str = "ago") -> SafeString | str:
    """Return a time relative to now. `static/pausepoint/times.js` keeps it up to date; the title is the exact time in UTC."""
    if when is None:
        return ""
    exact = when.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-{}="" title="{} UTC">{}</time>',
        exact.isoformat(),
        kind,
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        _relative(when),
    )


@register.simple_tag
def short_moment(when: datetime) -> SafeString:
    """Return a time in a few characters. `static/pausepoint/times.js` puts it into the reader's zone."""
    exact = when.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-exact="{}" data-short="" title="{} UTC">{}</time>',
        exact.isoformat(),
        timezone.get_current_timezone_name(),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        short_time(when),
    )


def _relative(when: datetime) -> str:
    """Return the words for a moment that the script has too: nothing moves when it takes over."""
    now = timezone.now()
    passed = (now - when).total_seconds()
    if abs(passed) < 86400:
        return _("just now") if 0 <= passed < 10 else naturaltime(when)
    # Days of the calendar: what is 25 hours away may be the day after tomorrow.
    days = (timezone.localdate(when) - timezone.localdate(now)).days
    if abs(days) < 2:
        return _("tomorrow") if days > 0 else _("yesterday")
    if days < 0:
        return ngettext("%(count)s day ago", "%(count)s days ago", -days) % {"count": grouped(-days)}
    return ngettext("in %(count)s day", "in %(count)s days", days) % {"count": grouped(days)}


@register.simple_tag
def deadline_clock(when: datetime) -> str:
    """Return when a deadline is, as `static/pausepoint/countdown.js` keeps it up to date: then nothing moves."""
    left = int((when - timezone.now()).total_seconds())
    return clock_time(when) + (f" · {max(left, 0) // 60}:{max(left, 0) % 60:02}" if left < 3600 else "")


@register.simple_tag
def record_unprotected() -> str:
    """Return the table with the row that disables the append-only triggers; empty if they are enabled."""
    return append_only.SWITCH if append_only.find_switch_rows(connection) else ""
