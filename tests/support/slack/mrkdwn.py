"""Slack's mrkdwn as HTML, so that a picture shows what a text does in Slack: mentions and links come alive.

https://docs.slack.dev/messaging/formatting-message-text
"""

from __future__ import annotations

import re
from html import escape

FENCE = re.compile(r"```\n?(.*?)\n?```", re.DOTALL)
CODE = re.compile(r"`([^`\n]+)`")
ANGLE = re.compile(r"<([^<>\n]+)>")
MARKS = (
    (re.compile(r"(?<![\w*])\*(\S(?:[^*\n]*\S)?)\*(?![\w*])"), "b"),
    (re.compile(r"(?<![\w_])_(\S(?:[^_\n]*\S)?)_(?![\w_])"), "i"),
    (re.compile(r"(?<![\w~])~(\S(?:[^~\n]*\S)?)~(?![\w~])"), "s"),
)


def mrkdwn(text: str, names: dict[str, str]) -> str:
    parts = FENCE.split(text)
    return "".join(
        f"<pre>{decoded(part)}</pre>" if index % 2 else inline(part, names) for index, part in enumerate(parts)
    )


def decoded(text: str) -> str:
    """Return text in which Slack's three entities stand for their characters, as HTML."""
    for entity, character in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        text = text.replace(entity, character)
    return escape(text)


def inline(text: str, names: dict[str, str]) -> str:
    pieces: list[str] = []

    def keep(html: str) -> str:
        pieces.append(html)
        return f"\x00{len(pieces) - 1}\x00"

    text = CODE.sub(lambda match: keep(f"<code>{decoded(match[1])}</code>"), text)
    text = ANGLE.sub(lambda match: keep(angle(match[1], names)), text)
    html = decoded(text)
    for pattern, tag in MARKS:
        html = pattern.sub(rf"<{tag}>\1</{tag}>", html)
    quoted = "\n".join(
        f"<blockquote>{line.removeprefix('&gt;').strip()}</blockquote>" if line.startswith("&gt;") else line
        for line in html.split("\n")
    )
    html = quoted.replace("</blockquote>\n", "</blockquote>").replace("\n", "<br>")
    return re.sub(r"\x00(\d+)\x00", lambda match: pieces[int(match[1])], html)


def angle(inside: str, names: dict[str, str]) -> str:
    """Return what stands in angle brackets: a mention, a date or a link."""
    target, _, label = inside.partition("|")
    if target.startswith("!date^"):
        return decoded(label)
    if target.startswith(("@", "!", "#")):
        shown = names.get(target[1:], label or target[1:])
        mark = "#" if target.startswith("#") else "@"
        return f'<span class="mention">{mark}{decoded(shown)}</span>'
    return f'<a href="{decoded(target)}">{decoded(label or target)}</a>'
