"""Render text from models, tools and clients as safe HTML: CommonMark with an allow-list and no raw HTML.

Headings become paragraphs, because they would mix with those of the page. Links show their target, and pictures become links.
"""

from __future__ import annotations

import re
from collections.abc import Collection, MutableMapping, Sequence
from itertools import accumulate, chain
from typing import Any
from urllib.parse import urlsplit

import nh3
from django.utils.translation import gettext as _
from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from approvals.text.file_references import summarized
from approvals.text.links import REL, ascii_host
from approvals.text.text import visible

# No images: loading one would tell its server who reads the page, and when.
TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "hr", "li", "ol", "p", "pre", "s", "span", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
#: "*" applies to every element: nh3 allows `title` by default, which could show a false address on hover.
ATTRIBUTES: dict[str, set[str]] = {"*": set(), "a": {"href"}, "ol": {"start"}}
#: The target after a link, and a mentioned person; Markdown cannot produce this element.
CLASSES = {"span": {"target", "mention"}}
SCHEMES = {"http", "https", "mailto"}
MAX_CHARACTERS = 50_000
#: How many characters of a target are shown; its host comes first.
MAX_TARGET = 200
#: The characters of a username after an @ that is not part of an address.
_MENTION = re.compile(r"(?<![\w@.+/-])@([\w.+-]{1,150}(?:@[\w.+-]{1,150})?)")


def to_html(text: str, mentions: Collection[str] = ()) -> str:
    """Return safe HTML with these usernames marked after an @.

    Texts longer than MAX_CHARACTERS are cut, with a note.
    """
    if len(text) > MAX_CHARACTERS:
        text = (
            text[:MAX_CHARACTERS] + "\n\n… *(cut: the whole text is in the raw view)*"
        )
    return nh3.clean(
        _parser.render(visible(text), {"mentions": mentions}),
        tags=TAGS,
        attributes=ATTRIBUTES,
        allowed_classes=CLASSES,
        url_schemes=SCHEMES,
        link_rel=REL,
        # Other tabs cannot discard input typed on the page.
        set_tag_attribute_values={"a": {"target": "_blank"}},
    )


def names_in(text: str) -> list[str]:
    """Return possible usernames mentioned in a text, outside code and links, without duplicates."""
    names: dict[str, None] = {}
    for inline in _parser.parse(visible(text), {}):
        for token in _mentionable(inline.children or ()):
            for match in _MENTION.finditer(token.content):
                names |= dict.fromkeys(_usernames(match[1]))
    return list(names)


def _usernames(text: str) -> tuple[str, ...]:
    """Return possible readings of a mention: a full stop may end the sentence, and a username may be an email address."""
    shorter = text.rstrip(".+-")
    return text, shorter, shorter.partition("@")[0].rstrip(".+-")


def _mentionable(tokens: Sequence[Token]) -> list[Token]:
    """Return the plain-text tokens outside links."""
    depths = accumulate(
        (token.nesting if token.type.startswith("link_") else 0) for token in tokens
    )
    return [
        token
        for token, depth in zip(tokens, depths, strict=True)
        if token.type == "text" and not depth
    ]


def _mark_mentions(state: StateCore) -> None:
    """Split plain text at each mention of a username in the environment."""
    mentions = state.env.get("mentions", ())
    for inline in state.tokens if mentions else ():
        if inline.children is None:
            continue
        plain = set(map(id, _mentionable(inline.children)))
        parts = [
            _split(token, mentions) if id(token) in plain else [token]
            for token in inline.children
        ]
        inline.children = list(chain.from_iterable(parts))


def _split(token: Token, mentions: Collection[str]) -> list[Token]:
    parts = []
    end = 0
    for match in _MENTION.finditer(token.content):
        name = next((name for name in _usernames(match[1]) if name in mentions), None)
        if name is not None:
            parts.append(
                Token("text", "", 0, content=token.content[end : match.start()])
            )
            parts.append(Token("mention", "", 0, content=f"@{name}"))
            end = match.start() + 1 + len(name)
    return [*parts, Token("text", "", 0, content=token.content[end:])]


def _render_mention(
    _self: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    _options: Any,
    _env: MutableMapping[str, Any],
) -> str:
    return f'<span class="mention">{escapeHtml(tokens[place].content)}</span>'


def _link_pictures(state: StateCore) -> None:
    """Replace each picture by a link with its description; loading it would tell its server who reads the page."""
    for inline in state.tokens:
        if inline.children is None:
            continue
        shown: list[Token] = []
        within = False
        for token in inline.children:
            within = token.type == "link_open" or (
                within and token.type != "link_close"
            )
            shown += (
                _picture(token, linked=not within) if token.type == "image" else [token]
            )
        inline.children = shown


def _picture(token: Token, *, linked: bool) -> list[Token]:
    """Return a picture as link tokens, or as plain text inside another link or if it is part of the text."""
    address = str(token.attrs["src"])
    description = token.content.strip()
    label = (
        _("Picture: %(description)s") % {"description": description}
        if description
        else _("Picture")
    )
    if linked and (host := ascii_host(address)):
        label = _("%(picture)s, opens %(host)s") % {"picture": label, "host": host}
    text = Token("text", "", 0, content=label)
    if not linked or address.startswith("data:"):
        return [text, Token("link_target", "", 0, content=summarized(address))]
    return [
        Token("link_open", "a", 1, attrs={"href": address}),
        text,
        Token("link_close", "a", -1),
    ]


def _show_targets(state: StateCore) -> None:
    """Append the target to each link whose text is not its target."""
    for inline in state.tokens:
        shown: list[Token] = []
        href = ""
        text = ""
        for token in inline.children or ():
            shown.append(token)
            if token.type == "link_open":
                href = str(token.attrs["href"])
                text = ""
            elif token.type == "link_close" and text.strip() not in {
                href,
                href.removeprefix("mailto:"),
            }:
                shown.append(Token("link_target", "", 0, content=href))
            else:
                text += token.content
        if inline.children is not None:
            inline.children = shown


def _render_target(
    _self: RendererHTML,
    tokens: Sequence[Token],
    place: int,
    _options: Any,
    _env: MutableMapping[str, Any],
) -> str:
    href = tokens[place].content
    return f' <span class="target">({escapeHtml(href if len(href) <= MAX_TARGET else href[:MAX_TARGET] + "…")})</span>'


def _has_plain_host(address: str) -> bool:
    """Return whether an address has no user name, which could be mistaken for the host."""
    try:
        return "@" not in urlsplit(address).netloc
    except ValueError:
        return False


def _make_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(
        ["table", "strikethrough"]
    )
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
