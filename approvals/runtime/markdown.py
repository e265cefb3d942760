"""Render text from models, tools and clients as safe HTML: CommonMark without raw HTML, then an allow-list.

Headings become paragraphs, because they would mix with the page's own, and links show their target.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from approvals.runtime.text import visible

# No images: loading one would tell its server who reads the page, and when.
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
#: "*" applies to every element: nh3 allows `title` by default, which could show a false address when hovering over a link.
ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href"}, "ol": {"start"}}
#: The target after a link; Markdown cannot produce this element.
CLASSES = {"span": {"target"}}
SCHEMES = {"http", "https", "mailto"}
MAX_CHARACTERS = 50_000
#: Characters of a target that are shown; its host is at the beginning.
MAX_TARGET = 200


def to_html(text: str) -> str:
    """Return safe HTML; a text of more than MAX_CHARACTERS is cut and says so."""
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + "\n\n… *(cut: the whole text is in the raw view)*"
    return nh3.clean(
        _parser.render(visible(text)),
        tags=TAGS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        url_schemes=SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )


def _show_targets(state: StateCore) -> None:
    """Add the target after each link whose text is not its target."""
    for inline in state.tokens:
        shown: list[Token] = []
        href, words = "", ""
        for token in inline.children or ():
            shown.append(token)
            if token.type == "link_open":
                href, words = str(token.attrs["href"]), ""
            elif token.type == "link_close" and words.strip() not in {href, href.removeprefix("mailto:")}:
                shown.append(Token("link_target", "", 0, content=href))
            else:
                words += token.content
        if inline.children is not None:
            inline.children = shown


def _render_target(
    _self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    href = tokens[place].content
    return f' <span class="target">({escapeHtml(href if len(href) <= MAX_TARGET else href[:MAX_TARGET] + "…")})</span>'


def _has_plain_host(address: str) -> bool:
    """Return whether an address has no user name, which would be read as the host."""
    try:
        return "@" not in urlsplit(address).netloc
    except ValueError:
        return False


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    valid = parser.validateLink
    parser.validateLink = lambda url: valid(url) and _has_plain_host(url)  # type: ignore[method-assign]
    parser.core.ruler.push("targets", _show_targets)
    parser.add_render_rule("link_target", _render_target)
    parser.add_render_rule("heading_open", lambda *_: "<p><strong>")
    parser.add_render_rule("heading_close", lambda *_: "</strong></p>\n")
    return parser


_parser = _make_parser()
