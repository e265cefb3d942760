"""Which server made an answer: what it keeps there for itself goes back to that server alone. Pure.

The name of the provider and of the model do not say it, because OPENAI_BASE_URL may change and the model be called the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from chats.agent.provider import ITEM, ModelMessage, blocks_without_items

#: In what is kept of a block: the server that made it.
SERVER = "server"
#: Hexadecimal digits of a server's name.
DIGITS = 12


def name_of(base_url: str) -> str:
    """Return a short name of the host and port of an address: always the same, and without the secrets that it may hold."""
    host = urlsplit(base_url).netloc.rpartition("@")[2].lower()
    return hashlib.sha256(host.encode()).hexdigest()[:DIGITS]


def marked(blocks: Sequence[dict[str, Any]], server: str) -> list[dict[str, Any]]:
    """Return the blocks of an answer; those that go back to their server alone say which one it is."""
    return [
        block | {ITEM: block.get(ITEM, {}) | {SERVER: server}}
        if ITEM in block or block["type"] == "thinking"
        else block
        for block in blocks
    ]


def for_server(messages: Sequence[ModelMessage], provider: str, server: str) -> list[ModelMessage]:
    """Return a conversation as a server may be sent it: the answers of others as if another provider had made them."""
    return [_for_server(message, server) if message.provider == provider else message for message in messages]


def _for_server(message: ModelMessage, server: str) -> ModelMessage:
    # Answers from before servers were noted count as made by this one.
    if any((block.get(ITEM) or {}).get(SERVER, server) != server for block in message.content):
        return replace(message, provider="", content=blocks_without_items(message.content))
    return replace(message, content=[_unmarked(block) for block in message.content])


def _unmarked(block: dict[str, Any]) -> dict[str, Any]:
    """Return a block as the API made it."""
    if SERVER not in (block.get(ITEM) or {}):
        return block
    kept = {name: value for name, value in block[ITEM].items() if name != SERVER}
    bare = {name: value for name, value in block.items() if name != ITEM}
    return bare | {ITEM: kept} if kept else bare
