"""Track which server made an answer: its own data there is sent back only to that server. Pure.

The names of provider and model do not identify it, because OPENAI_BASE_URL may change while the model's name stays the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from approvals.json_types import JsonDict
from chats.agent.provider import ITEM, ModelMessage, blocks_without_items

#: Member of a block's own data: the server that made it.
SERVER = "server"
#: Length of a server's name in hexadecimal digits.
DIGITS = 12


def name_of(base_url: str) -> str:
    """Return a short, stable name of the host and port of an address, without the secrets that it may hold."""
    host = urlsplit(base_url).netloc.rpartition("@")[2].lower()
    return hashlib.sha256(host.encode()).hexdigest()[:DIGITS]


def marked(blocks: Sequence[JsonDict], server: str) -> list[JsonDict]:
    """Return the blocks of an answer; those to send back only to their server name it."""
    return [
        block | {ITEM: block.get(ITEM, {}) | {SERVER: server}}
        if ITEM in block or block["type"] == "thinking"
        else block
        for block in blocks
    ]


def for_server(
    messages: Sequence[ModelMessage], provider: str, server: str
) -> list[ModelMessage]:
    """Return a conversation for a server: answers of other servers look like another provider's."""
    return [
        _for_server(message, server) if message.provider == provider else message
        for message in messages
    ]


def _for_server(message: ModelMessage, server: str) -> ModelMessage:
    # Blocks that anyone could have made name no server.
    if any(
        (block.get(ITEM) or {}).get(SERVER, server) != server
        for block in message.content
    ):
        return replace(
            message, provider="", content=blocks_without_items(message.content)
        )
    return replace(message, content=[_unmarked(block) for block in message.content])


def _unmarked(block: JsonDict) -> JsonDict:
    """Return a block in the API's form."""
    if SERVER not in (block.get(ITEM) or {}):
        return block
    kept = {name: value for name, value in block[ITEM].items() if name != SERVER}
    bare = {name: value for name, value in block.items() if name != ITEM}
    return bare | {ITEM: kept} if kept else bare
