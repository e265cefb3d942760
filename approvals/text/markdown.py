"""Render text from models, tools and clients as safe HTML: CommonMark without raw HTML, then an allow-list; or plain, with links.

Headings become paragraphs, because they would mix with the page's own. Links show their target, and a picture is a link to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, MutableMapping, Sequence
from itertools import accumulate
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
#: The target after a link, and a mentioned person; Markdown cannot produce this element.
CLASSES = {"span": {"target", "mention"}}
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
#: The characters of usernames after an @ that is not part of an address.
_MENTION = re.compile(r"(?<![\w@.+/-])@([\w.+-]{1,150}(?:@[\w.+-]{1,150})?)")
#: What follows an address that an invisible character, or the end of what is shown, cuts off: it leads elsewhere than it seems.
_CUT = "⟨…"
_CLOSING = {")": "(", "]": "["}


def to_html(text: str, mentions: Collection[str] = ()) -> str:
    """Return safe HTML, in which these usernames are marked where they follow an @.

    A text of more than MAX_CHARACTERS is cut and says so.
    """
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS] + "\n\n… *(cut: the whole text is in the raw view)*"
    return nh3.clean(
        _parser.render(visible(text), {"mentions": mentions}),
        tags=TAGS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        url_schemes=SCHEMES,
        link_rel=REL,
        # What was typed on the page stays.
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def names_in(text: str) -> list[str]:
    """Return what may be the usernames that a text mentions: those outside of code and of links, each once."""
    names: dict[str, None] = {}
    for inline in _parser.parse(visible(text), {}):
        for token in _mentionable(inline.children or ()):
            for match in _MENTION.finditer(token.content):
                names |= dict.fromkeys(_usernames(match[1]))
    return list(names)


def _usernames(text: str) -> tuple[str, ...]:
    """Return what a mention may mean: a full stop may end the sentence, and a username may be an email address."""
    shorter = text.rstrip(".+-")
    return text, shorter, shorter.partition("@")[0].rstrip(".+-")


def _mentionable(tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens of plain text that are not in a link."""
    depths = accumulate((token.nesting if token.type.startswith("link_") else 0) for token in tokens)
    return [token for token, depth in zip(tokens, depths, strict=True) if token.type == "text" and not depth]


def _mark_mentions(state: StateCore) -> None:
    """Split plain text at each mention of a username in the environment."""
    mentions = state.env.get("mentions", ())
    for inline in state.tokens if mentions else ():
        children = inline.children or []
        plain = set(map(id, _mentionable(children)))
        inline.children = [part for token in children for part in (
            _split(token, mentions) if id(token) in plain else [token]
        )] if inline.children is not None else None  # fmt: skip


def _split(token: Token, mentions: Collection[str]) -> list[Token]:
    parts, end = [], 0
    for match in _MENTION.finditer(token.content):
        name = next((name for name in _usernames(match[1]) if name in mentions), None)
        if name is not None:
            parts.append(Token("text", "", 0, content=token.content[end : match.start()]))
            parts.append(Token("mention", "", 0, content=f"@{name}"))
            end = match.start() + 1 + len(name)
    return [*parts, Token("text", "", 0, content=token.content[end:])]


def _render_mention(
    _self: RendererHTML, tokens: Sequence[Token], place: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    return f'<span class="mention">{escapeHtml(tokens[place].content)}</span>'


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
    if linked and (host := ascii_host(address)):
        label = _("%(picture)s, opens %(host)s") % {"picture": label, "host": host}
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
    parser.core.ruler.push("mentions", _mark_mentions)
    parser.add_render_rule("mention", _render_mention)
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
