"""Thoughts are bound to everything before them: the system prompt, the tools and the messages, as they were sent.

A thought may come back only behind exactly the same, to the model that made it, in the account that made it.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.support.claude.features import echoed

Block = Mapping[str, Any]

THOUGHTS = {"thinking", "redacted_thinking"}
ELSEWHERE = (
    " The block is bound to a different conversation. Remove the block, or set "
    '`thinking.block_binding.prefix_mismatch_behavior` to "drop_block".'
)


def unmarked(block: Block) -> dict[str, Any]:
    """A block without its mark for the cache, which changes nothing for the model."""
    return {name: value for name, value in block.items() if name != "cache_control"}


#: Results of `plain` for blocks that may come again, with the blocks, so that their ids aren't reused.
_known: dict[int, tuple[Block, str]] = {}


def plain(block: Block) -> str:
    known = _known.get(id(block))
    if known is None:
        if len(_known) > 5000:
            _known.clear()
        known = _known[id(block)] = (block, json.dumps(unmarked(block), sort_keys=True))
    return known[1]


def _prefixes(body: Mapping[str, Any], answer: Sequence[Block] = ()) -> Iterator[tuple[str, Block, str]]:
    """Each thought in a request and in its answer: where it is, itself, and the digest of everything before it."""
    so_far = hashlib.sha256(json.dumps([list(map(plain, body.get(part, []))) for part in ("tools", "system")]).encode())
    messages = [*body["messages"], {"role": "assistant", "content": answer}]
    for number, message in enumerate(messages):
        for position, block in enumerate(echoed(message["content"])):
            if block["type"] in THOUGHTS:
                yield f"messages.{number}.content.{position}", block, so_far.hexdigest()
            so_far.update(f"{message['role']} {plain(block)}\n".encode())


class Thoughts:
    """The thoughts that one account was given."""

    def __init__(self) -> None:
        self._issued: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)

    def sign(self, body: Mapping[str, Any], answer: Sequence[Block]) -> None:
        """Remember the thoughts in an answer to a request."""
        behind = len(body["messages"])
        for at, block, prefix in _prefixes(body, answer):
            if at.startswith(f"messages.{behind}."):
                self._issued[plain(block)].add((body["model"], prefix))

    def objections(self, body: Mapping[str, Any]) -> Iterator[str]:
        for at, block, prefix in _prefixes(body):
            issued = self._issued[plain(block)]
            if (body["model"], prefix) not in issued:
                elsewhere = ELSEWHERE if body["model"] in {model for model, _ in issued} else ""
                yield f"{at}: Invalid `signature` in `{block['type']}` block.{elsewhere}"
