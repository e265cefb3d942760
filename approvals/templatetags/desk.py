"""Template tags: safe Markdown, labels, self-updating times, and whether the audit log is protected."""

from __future__ import annotations

import functools
import zlib
from datetime import UTC, datetime
from uuid import UUID

from django import template
from django.contrib.auth.models import User
from django.db import connection
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator
from django.utils.translation import gettext as _

from approvals.access.usernames import shown_person
from approvals.db import append_only
from approvals.forms.code_colours import is_prose, language_of, pieces
from approvals.forms.formatted import in_words
from approvals.shown.notes import ShownNote
from approvals.states import outcome_label, verdict_label, via_label
from approvals.text.alignment import Op, PairBudget, text_runs
from approvals.text.hunks import Hunk, LinePair, hunks
from approvals.text.links import linked
from approvals.text.names import full_name, initials, marked_name
from approvals.text.tables import TableRow
from approvals.text.text import visible
from approvals.text.times import clock_time, relative_time, short_time
from approvals.text.translation import quoted

register = template.Library()

#: Number of colors for people; tokens.css defines them.
TONES = 6
#: Pairs of words to compare for one change; beyond it, the whole text counts as changed.
MAX_WORK = 20_000_000
#: The same for one line of many.
MAX_LINE_WORK = 400_000


@register.filter
def markdown(text: str) -> SafeString:
    from approvals.text.markdown import to_html  # noqa: PLC0415 - loaded late

    return mark_safe(to_html(text))  # noqa: S308 - cleaned by an allow-list


@register.filter
def note_text(note: ShownNote) -> SafeString:
    """Return the text of an internal note, with the notified people marked."""
    from approvals.text.markdown import to_html  # noqa: PLC0415 - loaded late

    return mark_safe(to_html(note.text, note.mentions))  # noqa: S308 - cleaned by an allow-list


register.filter("visible", visible)
register.filter("linked", linked)
register.filter("quoted", quoted)
register.filter("person_name", marked_name)
register.filter("called", full_name)


@register.filter
def shown_value(row: TableRow) -> SafeString | str:
    """Return the value of a row, in words or with links; the words for an empty value look different from text."""
    if (words := in_words(row)) is not None:
        return words
    return (
        format_html('<i class="no-value">{}</i>', row.value)
        if row.empty
        else linked(row.value)
    )


@register.filter
def person(user: User) -> str:
    """Return a person's display name with the username."""
    return shown_person(user)


@register.simple_tag
def avatar(name: str, display_name: str | None = "") -> SafeString:
    """Return a person's initials in a circle of their color, as decoration: they are not text, and the name stands beside it."""
    return format_html(
        '<span class="avatar" aria-hidden="true" data-tone="{}" data-initials="{}"></span>',
        zlib.crc32(name.encode()) % TONES,
        initials(display_name, name),
    )


@register.simple_tag
@functools.lru_cache(maxsize=200)
def icon(name: str) -> SafeString:
    """Return an icon of `static/pausepoint/icons.svg`, as decoration: the text beside it has the meaning."""
    return format_html(
        '<svg class="icon" width="16" height="16" aria-hidden="true"><use href="{}#{}"></use></svg>',
        static("pausepoint/icons.svg"),
        name,
    )


@register.simple_tag
def code(text: str, name: str, whole: str = "") -> SafeString | str:
    """Return a text with syntax highlighting; the language comes from its name or the `whole` text."""
    language = language_of(name, whole or text)
    if not language:
        return text
    marked = (
        (f"tok-{kind}" if kind else "tok", piece)
        for kind, piece in pieces(text, language)
    )
    return format_html_join("", '<span class="{}">{}</span>', marked)


@register.simple_tag
def long_text(text: str, name: str, place: str, whole: str = "") -> SafeString:
    """Return a text as a block: code with syntax highlighting, prose in the font of the page."""
    if language_of(name, whole or text):
        return format_html(
            '<pre data-view="{}">{}</pre>', place, code(text, name, whole)
        )
    if is_prose(whole or text):
        paragraphs = format_html_join(
            "", "<p>{}</p>", ((linked(each),) for each in text.split("\n\n"))
        )
        return format_html(
            '<div class="prose" data-view="{}">{}</div>', place, paragraphs
        )
    return format_html('<pre data-view="{}">{}</pre>', place, linked(text))


@register.simple_tag
def changed_words(
    before: str, after: str, side: str, most: int = MAX_WORK
) -> SafeString:
    """Return one `side` of a change, "before" or "after", with the words missing on the other side marked."""
    op, tag = (Op.REMOVED, "del") if side == "before" else (Op.ADDED, "ins")
    runs = text_runs(before, after, PairBudget(most))
    marked = (
        (tag if run.op == op else "span", run.text)
        for run in runs
        if run.op in {Op.SAME, op}
    )
    return format_html_join("", "<{0}>{1}</{0}>", marked)


@register.simple_tag
def text_hunks(before: str | None, after: str | None) -> list[Hunk]:
    """Return the lines of two texts side by side; empty for short texts, and if one is absent."""
    return hunks(before, after) if before is not None and after is not None else []


@register.simple_tag
def changed_line(pair: LinePair, side: str) -> SafeString:
    """Return one `side` of a changed line, with text missing on the other side marked."""
    if pair.before is not None and pair.after is not None:
        return changed_words(pair.before, pair.after, side, MAX_LINE_WORK)
    tag, text = ("del", pair.before) if side == "before" else ("ins", pair.after)
    return format_html("<{0}>{1}</{0}>", tag, text)


register.filter("verdict_label", verdict_label)
register.filter("outcome_label", outcome_label)
register.filter("via", via_label)


@register.filter
def short_key(key: str) -> str:
    """Return a workflow's key for a list: the first digits of a UUID; other keys cut to fit."""
    try:
        return str(UUID(key))[:8]
    except ValueError:
        return Truncator(key).chars(32)


@register.filter
def sentence(problem: str) -> str:
    """Return a problem with a value, such as "must be a number", as a sentence below its field."""
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
        relative_time(when),
    )


@register.simple_tag
def short_moment(when: datetime) -> SafeString:
    """Return a short time. `static/pausepoint/times.js` converts it to the reader's zone."""
    exact = when.astimezone(UTC)
    return format_html(
        '<time datetime="{}" data-exact="{}" data-short="" title="{} UTC">{}</time>',
        exact.isoformat(),
        timezone.get_current_timezone_name(),
        exact.strftime("%Y-%m-%d %H:%M:%S"),
        short_time(when),
    )


@register.simple_tag
def deadline_clock(when: datetime) -> str:
    """Return a deadline in the format of `static/pausepoint/countdown.js`, so that nothing moves when it takes over."""
    left = max(int((when - timezone.now()).total_seconds()), 0)
    words = _("at %(clock)s") if left >= 300 else _("at %(clock)s, %(left)s left")
    return words % {"clock": clock_time(when), "left": f"{left // 60}:{left % 60:02}"}


@register.simple_tag
def record_unprotected() -> str:
    """Return the table with the row that disables the append-only triggers; empty if they are enabled."""
    return append_only.SWITCH if append_only.find_switch_rows(connection) else ""
