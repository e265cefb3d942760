"""One account of the API, without HTTP: it refuses what the API refuses, and counts tokens as the API does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.anthropic_rules import objections
from tests.support.claude.cache import PromptCache
from tests.support.claude.server_tools import provided
from tests.support.claude.thoughts import Thoughts


class Refused(Exception):
    """The API would answer 400, with this message."""


class Account:
    def __init__(self) -> None:
        self.thoughts = Thoughts()
        self.cache = PromptCache()

    def objection(self, body: dict[str, Any]) -> str:
        """Why the API answers this request with 400; "" if it does not."""
        return next(objections(body, self.thoughts), "")

    def answer(self, body: dict[str, Any], blocks: Sequence[dict[str, Any]]) -> dict[str, int]:
        """Answer a request with these blocks; gives its input in `usage`. Refused."""
        if objection := self.objection(body):
            raise Refused(objection)
        for block in blocks:
            if block["type"] == "server_tool_use" and not provided(block["name"], body.get("tools", [])):
                raise Refused(f"The test makes Claude use {block['name']}, which it was not offered.")
        self.thoughts.sign(body, blocks)
        return self.cache.charge(body)
