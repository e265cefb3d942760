"""One account of the API, without HTTP: it refuses the same requests as the API, and counts tokens like it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.support.anthropic_rules import objections
from tests.support.claude.cache import PromptCache
from tests.support.claude.features import missing_file, unoffered
from tests.support.claude.server_tools import provided
from tests.support.claude.thoughts import Thoughts


class Refused(Exception):
    """The API would answer 400, with this message."""


class Account:
    """`files` are the ids of uploaded files, and `containers` those in which code can run."""

    def __init__(self) -> None:
        self.thoughts = Thoughts()
        self.cache = PromptCache()
        self.files: set[str] = set()
        self.containers: set[str] = set()

    def objection(self, body: dict[str, Any], betas: Sequence[str] = ()) -> str:
        """Why the API answers this request with 400; "" if it does not. It may have the form of the SDK's arguments."""
        headers = body.get("extra_headers", {})
        sent = {name: value for name, value in body.items() if name not in {"extra_body", "extra_headers"}}
        sent |= body.get("extra_body", {})
        betas = [*betas, *headers.get("anthropic-beta", "").split(",")]
        return next(objections(sent, self.thoughts, betas, self.containers), "")

    def missing_file(self, body: dict[str, Any]) -> str:
        """The id of a file that the API does not find (404); "" without one."""
        return missing_file(body, self.files)

    def answer(
        self, body: dict[str, Any], blocks: Sequence[dict[str, Any]], betas: Sequence[str] = (), container: str = ""
    ) -> dict[str, int]:
        """Answer a request with these blocks, for which code ran in `container`; gives its input in `usage`. Refused."""
        if objection := self.objection(body, betas):
            raise Refused(objection)
        for block in blocks:
            if block["type"] == "server_tool_use" and not provided(block, body.get("tools", [])):
                raise Refused(f"The test makes Claude use {block['name']}, which it was not offered.")
        if name := unoffered(body, blocks):
            raise Refused(f"The test makes Claude use {name}, which it cannot.")
        if container:
            self.containers.add(container)
        self.thoughts.sign(body, blocks)
        return self.cache.charge(body)
