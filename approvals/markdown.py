"""Text from models, tools and clients as HTML that is safe to show: CommonMark without raw HTML, then an allow-list."""

from __future__ import annotations

import nh3
from markdown_it import MarkdownIt

from approvals.visible import visible

# No images: a remote one would tell its server who reads, and when.
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr",
    "li", "ol", "p", "pre", "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
ATTRIBUTES = {"a": {"href", "title"}, "ol": {"start"}}
SCHEMES = {"http", "https", "mailto"}
MAX_CHARACTERS = 50_000

_parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])


def to_html(text: str) -> str:
    """Safe HTML; a text of more than MAX_CHARACTERS is cut, and says so."""
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + "\n\n… *(cut: the whole text is in the raw view)*"
    rendered = _parser.render(visible(text))
    return nh3.clean(
        rendered, tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel="noopener noreferrer nofollow"
    )
