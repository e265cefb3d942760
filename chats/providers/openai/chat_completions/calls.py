"""A call of this API while it arrives in pieces, which some servers hardly distinguish. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from approvals.json_types import JsonDict, JsonMapping
from chats.agent.provider import ITEM
from chats.providers.inputs import input_of
from chats.providers.openai.answer import Malformed, is_whole_input
from chats.providers.openai.chat_completions.members import (
    CALL,
    FUNCTION,
    VendorMembers,
    mentions,
)


@dataclass(frozen=True, slots=True)
class CallPiece:
    """A piece of a call: the first has its id and name, the others parts of its input. Servers may omit any of these."""

    raw: JsonMapping
    function: JsonMapping
    index: int | None
    theirs: str
    name: str
    text: str


def read_piece(raw: JsonMapping) -> CallPiece:
    """Parse a piece. Raise Malformed."""
    function = raw.get("function") or {}
    if not isinstance(function, dict) or isinstance(function.get("arguments"), dict):
        raise Malformed
    index = raw.get("index")
    text = function.get("arguments")
    return CallPiece(
        raw=raw,
        function=function,
        index=index if isinstance(index, int) else None,
        theirs=str(raw.get("id") or ""),
        name=str(function.get("name") or ""),
        text=text if isinstance(text, str) else "",
    )


@dataclass(slots=True, eq=False)
class ArrivingCall:
    """A call while it arrives. `id` is ours from the moment that it is shown, and `tool` is our name of its tool.

    `theirs` and `name` are the server's own, and `members` and `function` its additions.
    """

    theirs: str = ""
    id: str = ""
    name: str = ""
    tool: str = ""
    pieces: list[str] = field(default_factory=list)
    shown: bool = False
    members: VendorMembers = field(default_factory=lambda: VendorMembers(CALL))
    function: VendorMembers = field(default_factory=lambda: VendorMembers(FUNCTION))

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def input(self) -> JsonDict:
        return input_of(self.text)

    def take(self, piece: CallPiece) -> str:
        """Process a piece; return the text that it adds to the input."""
        self.members.take(piece.raw)
        self.function.take(piece.function)
        text = "" if self._is_said_again(piece) else piece.text
        self.theirs = self.theirs or piece.theirs
        # Some servers repeat the name in every piece.
        self.name = self.name or piece.name
        if text:
            self.pieces.append(text)
        return text

    def is_other_than(self, piece: CallPiece, *, at_once: bool) -> bool:
        """Return whether a piece that could belong to this call actually begins another one.

        Some servers give all calls the same id or index, or none. `at_once`: a piece of this call has come with the same event,
        and the server gives no index.
        """
        if piece.theirs and self.theirs and piece.theirs != self.theirs:
            return True
        if not piece.name or not self.name:
            return False
        if at_once or piece.name != self.name:
            return True
        if not self._is_whole():
            return False
        # With an id, it may be the end of this call, or this call once more.
        return not self.theirs or (
            piece.text.lstrip().startswith("{") and piece.text != self.text
        )

    def block(self, members: JsonMapping) -> JsonDict:
        """Return the call in Anthropic's form, with the vendor's additions; `members` are those of its message."""
        kept: JsonDict = {
            "call": self.members.kept(),
            "function": self.function.kept(),
        }
        if self.theirs and mentions([members, kept], self.theirs):
            # References to the call, such as a signature, use only this id.
            kept["call_id"] = self.theirs
        item = {ITEM: kept} if any(kept.values()) else {}
        return {
            "type": "tool_use",
            "id": self.id,
            "name": self.tool,
            "input": self.input,
            **item,
        }

    def _is_said_again(self, piece: CallPiece) -> bool:
        return bool(piece.name) and self._is_whole() and piece.text == self.text

    def _is_whole(self) -> bool:
        """Return whether the input is complete."""
        return (
            bool(self.pieces)
            and self.pieces[-1].rstrip().endswith("}")
            and is_whole_input(self.text)
        )
