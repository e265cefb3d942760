"""Text from models, tools and clients as HTML that is safe to show: CommonMark without raw HTML, then an allow-list. It has no
headings, which would stand among the page's own, and says where its links lead.
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

# No images: a remote one would tell its server who reads, and when.
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
#: Under "*" what any element may have; by itself nh3 lets a `title` through, which shows over a link what is not its address.
ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href"}, "ol": {"start"}}
#: Where a link leads, behind its words; no text can make this element by itself.
CLASSES = {"span": {"target"}}
SCHEMES = {"http", "https", "mailto"}
MAX_CHARACTERS = 50_000
#: Of an address that is shown. Its host stands at the beginning.
MAX_TARGET = 200


def to_html(text: str) -> str:
    """Safe HTML; a text of more than MAX_CHARACTERS is cut, and says so."""
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
    """Behind each link whose words are not its address, the address."""
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


def _target(
    _self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    href = tokens[place].content
    return f' <span class="target">({escapeHtml(href if len(href) <= MAX_TARGET else href[:MAX_TARGET] + "…")})</span>'


def _leads_where_it_says(address: str) -> bool:
    """No address with a name before its host, which would be read as the host."""
    try:
        return "@" not in urlsplit(address).netloc
    except ValueError:
        return False


def _made() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    valid = parser.validateLink
    parser.validateLink = lambda url: valid(url) and _leads_where_it_says(url)  # type: ignore[method-assign]
    parser.core.ruler.push("targets", _show_targets)
    parser.add_render_rule("link_target", _target)
    parser.add_render_rule("heading_open", lambda *_: "<p><strong>")
    parser.add_render_rule("heading_close", lambda *_: "</strong></p>\n")
    return parser


_parser = _made()
