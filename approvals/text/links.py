"""Links in plain text from models, tools and clients, at web and mail addresses."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

#: For links from agents: the site gets no referrer and no access to the page.
REL = "noopener noreferrer nofollow"
_ADDRESS = re.compile(
    r"https?://[^\s<>\"'`|\\^{}“”«»⟨⟩…]{1,2000}"
    r"|(?<![\w.+%/:@-])(?P<mail>[a-z0-9][a-z0-9._+-]{0,63}@(?:[a-z0-9-]{1,63}\.){1,4}[a-z]{2,24})(?!\.?[\w-]|@)",
    re.IGNORECASE,
)
#: File name extensions of pictures.
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".avif", ".svg")
#: After one of these, the display of an address is cut off, and it leads elsewhere than it seems.
_CUT = "⟨…"
_CLOSING = {")": "(", "]": "["}


def linked(text: str) -> SafeString | str:
    """Return a text with invisible characters made visible, and links at web and mail addresses."""
    if "://" not in text and "@" not in text:
        return text
    parts: list[SafeString | str] = []
    end = 0
    for match in _ADDRESS.finditer(text):
        follows = text[match.end() : match.end() + 1] or " "
        if match["mail"]:
            # Some non-ASCII letters fold to the lower case of ASCII ones.
            if match[0].isascii() and follows not in _CUT:
                parts += [
                    text[end : match.start()],
                    format_html('<a href="mailto:{0}">{0}</a>', match[0]),
                ]
                end = match.end()
            continue
        address = _without_punctuation(match[0])
        host = ascii_host(address) if follows not in _CUT else None
        if host is None:
            continue
        parts += [text[end : match.start()], _link(address, host)]
        end = match.start() + len(address)
    return (
        format_html_join("", "{}", ((part,) for part in (*parts, text[end:])))
        if parts
        else text
    )


def ascii_host(address: str) -> str | None:
    """Return an address's host as browsers look it up; None if there is none, or if a user name could be mistaken for it."""
    try:
        parts = urlsplit(address)
        host = parts.hostname or ""
        return (
            host.encode("idna").decode() if host and "@" not in parts.netloc else None
        )
    except ValueError:
        return None


def _link(address: str, host: str) -> SafeString:
    link = format_html('<a href="{0}" rel="{1}" target="_blank">{0}</a>', address, REL)
    # Never loaded by the page: its server would learn who reads the request, and when.
    if urlsplit(address).path.lower().endswith(_PICTURES):
        return format_html(
            '{} <span class="target">({})</span>',
            link,
            _("image, opens %(host)s") % {"host": host},
        )
    return (
        link
        if host in address.lower()
        else format_html('{} <span class="target">({})</span>', link, host)
    )


def _without_punctuation(address: str) -> str:
    """Strip trailing punctuation that belongs to the sentence."""
    while address[-1] in ".,;:!?*_" or (
        address[-1] in _CLOSING
        and address.count(_CLOSING[address[-1]]) < address.count(address[-1])
    ):
        address = address[:-1]
    return address
