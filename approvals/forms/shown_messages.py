"""How a card shows the message of the agent: a long one is folded, except what Pausepoint itself says about a recovery."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import ClassVar

from approvals.models import ApprovalRequest
from approvals.states import ASKS, Kind
from approvals.text.tables import SHOWN_CHARACTERS, SHOWN_LINES, Part

#: Lines and characters of a longer message beside an input are folded.
SHOWN = (12, 1_000)


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """The text of a message, or its beginning if the `whole` is folded; both in Markdown."""

    place: ClassVar = "message"
    whole_place: ClassVar = "message+"

    text: str
    whole: str = ""

    def unseen(self, viewed: Collection[str]) -> Iterator[Part]:
        """Yield the part that is at none of the `viewed` places, if there is one."""
        if self.place not in viewed and self.whole_place not in viewed:
            yield Part(self.place, characters=len(self.whole or self.text))
        elif self.whole and self.whole_place not in viewed:
            yield Part(self.place, characters=len(self.whole) - len(self.text))


def shown_message(request: ApprovalRequest) -> ShownMessage | None:
    """Return how the message of a request is shown; None if it has none."""
    text = request.message
    most_lines, most = (SHOWN_LINES, SHOWN_CHARACTERS) if request.kind in ASKS else SHOWN
    if request.kind == Kind.RECOVERY or (len(text) <= most and text.count("\n") < most_lines):
        return ShownMessage(text) if text else None
    return ShownMessage("\n".join(text[:most].split("\n")[: most_lines // 2]), text)
