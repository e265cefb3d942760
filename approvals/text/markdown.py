"""Render text from models, tools and clients as safe HTML: CommonMark without raw HTML, then an allow-list; or plain, with links.

Headings become paragraphs, because they would mix with the page's own. Links show their target, and a picture is a link to it.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from approvals.text.file_references import summarized
from approvals.text.text import visible

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
#: Of every link to an address from an agent: the site learns nothing of the page, and cannot reach it.
REL = "noopener noreferrer nofollow"
_ADDRESS = re.compile(
    r"https?://[^\s<>\"'`|\\^{}“”«»⟨⟩…]{1,2000}"
    r"|(?<![\w.+%/:@-])(?P<mail>[a-z0-9][a-z0-9._+-]{0,63}@(?:[a-z0-9-]{1,63}\.){1,4}[a-z]{2,24})(?!\.?[\w-]|@)",
    re.IGNORECASE,
)
#: Endings of the addresses of pictures.
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
#: What follows an address that an invisible character, or the end of what is shown, cuts off: it leads elsewhere than it seems.
_CUT = "⟨…"
_CLOSING = {")": "(", "]": "["}


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
        link_rel=REL,
    )


def _link_pictures(state: StateCore) -> None:
    """Replace each picture by a link with its description, because loading it would tell its server who reads the page."""
    for inline in state.tokens:
        if inline.children is None:
            continue
        shown: list[Token] = []
        within = False
        for token in inline.children:
            within = token.type == "link_open" or (within and token.type != "link_close")
            shown += _picture(token, linked=not within) if token.type == "image" else [token]
        inline.children = shown


def _picture(token: Token, *, linked: bool) -> list[Token]:
    """Return a picture as the tokens of a link, or of text only: within a link, or if it is part of the text."""
    address, description = str(token.attrs["src"]), token.content.strip()
    label = _("Picture: %(description)s") % {"description": description} if description else _("Picture")
    text = Token("text", "", 0, content=label)
    if not linked or address.startswith("data:"):
        return [text, Token("link_target", "", 0, content=summarized(address))]
    return [Token("link_open", "a", 1, attrs={"href": address}), text, Token("link_close", "a", -1)]


def _show_targets(state: StateCore) -> None:
    """Add the target after each link whose text is not its target."""
    for inline in state.tokens:
        shown: list[Token] = []
        href, text = "", ""
        for token in inline.children or ():
            shown.append(token)
            if token.type == "link_open":
                href, text = str(token.attrs["href"]), ""
            elif token.type == "link_close" and text.strip() not in {href, href.removeprefix("mailto:")}:
                shown.append(Token("link_target", "", 0, content=href))
            else:
                text += token.content
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
    parser.core.ruler.push("pictures", _link_pictures)
    parser.core.ruler.push("targets", _show_targets)
    parser.add_render_rule("link_target", _render_target)
    parser.add_render_rule("heading_open", lambda *_: "<p><strong>")
    parser.add_render_rule("heading_close", lambda *_: "</strong></p>\n")
    return parser


_parser = _make_parser()


def linked(text: str) -> SafeString | str:
    """Return a text, in which invisible characters are visible, with a link at each web address and each mail address."""
    if "://" not in text and "@" not in text:
        return text
    parts: list[SafeString | str] = []
    end = 0
    for match in _ADDRESS.finditer(text):
        follows = text[match.end() : match.end() + 1] or " "
        if match["mail"]:
            # Some letters that are not ASCII count as the lower case of others.
            if match[0].isascii() and follows not in _CUT:
                parts += [text[end : match.start()], format_html('<a href="mailto:{0}">{0}</a>', match[0])]
                end = match.end()
            continue
        address = _without_punctuation(match[0])
        host = ascii_host(address) if follows not in _CUT else None
        if host is None:
            continue
        parts += [text[end : match.start()], _link(address, host)]
        end = match.start() + len(address)
    return format_html_join("", "{}", ((part,) for part in (*parts, text[end:]))) if parts else text


def ascii_host(address: str) -> str | None:
    """Return the host of an address as a browser looks it up; None if there is none, or a user name that could pass for it."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        return host.encode("idna").decode() if host and "@" not in parts.netloc else None
    except ValueError:
        return None


def _link(address: str, host: str) -> SafeString:
    link = format_html('<a href="{0}" rel="{1}" target="_blank">{0}</a>', address, REL)
    # Never loaded by the page: its server would learn who reads the request, and when.
    if urlsplit(address).path.lower().endswith(_PICTURES):
        return format_html('{} <span class="target">({})</span>', link, _("picture, opens %(host)s") % {"host": host})
    return link if host in address.lower() else format_html('{} <span class="target">({})</span>', link, host)


def _without_punctuation(address: str) -> str:
    """Return an address without the marks behind it that belong to the sentence."""
    while address[-1] in ".,;:!?*_" or (
        address[-1] in _CLOSING and address.count(_CLOSING[address[-1]]) < address.count(address[-1])
    ):
        address = address[:-1]
    return address
