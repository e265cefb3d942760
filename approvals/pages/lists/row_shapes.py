"""Rows of the inbox as HTML, cheaply: the template is rendered once for each combination of parts that a row can have.

Rendering a template costs many times as much as filling in texts, and most rows of a list have the same parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape
from typing import Any

from django.template import Context, Template
from django.template.loader import get_template
from django.templatetags.static import static
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from approvals.pages.lists.inbox_rows import InboxRow, with_words

TEMPLATE = "approvals/inbox/_rows.html"
#: Around the name of a text, where it goes. Escaping leaves it alone, and no template has it.
MARK = "\x00"


def rows_html(rows: Iterable[InboxRow]) -> SafeString:
    """Return what the template renders for these rows."""
    template: Any = get_template(TEMPLATE)
    # The shape depends on these two as well: a person's language, and the address of the icons.
    language, icons = get_language(), static("pausepoint/icons.svg")
    found: list[str] = []
    for row in rows:
        texts = row.texts()
        given = tuple(name for name, text in texts.items() if text)
        pieces = shape(template.template, language, icons, tuple(row.parts().items()), given)
        # Every second piece is the name of a text.
        found += [_escaped(texts[one]) if place % 2 else one for place, one in enumerate(pieces)]
    return mark_safe("".join(found))  # noqa: S308 - pieces of our own template, and escaped texts


def _escaped(text: str) -> str:
    # `django.utils.html.escape` does the same, but takes as long again for lazy texts, of which there are none.
    return text if isinstance(text, SafeString) else escape(text)


@lru_cache(maxsize=500)
def shape(
    template: Template, _language: str | None, _icons: str, parts: tuple[tuple[str, Any], ...], given: tuple[str, ...]
) -> list[str]:
    """Return a row of these parts and texts in pieces: HTML, the name of a text, HTML, and so on."""
    row = with_words(dict(parts)) | {name: f"{MARK}{name}{MARK}" for name in given}
    row["values"] = _marked_values(row)
    return template.render(Context({"rows": [row]})).split(MARK)


def _marked_values(row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the key fields of a row: as many as it has, each with its marks."""
    return [(row.get(f"name-{number}", ""), row.get(f"value-{number}", "")) for number in range(row["fields"])]
