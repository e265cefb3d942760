"""The output items of a Responses stream while they arrive, and their data to keep. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from approvals.db.canonical_json import clean_json, join_halves
from approvals.json_types import JsonDict, JsonMapping
from chats.agent.provider import ITEM
from chats.providers.inputs import input_of
from chats.providers.openai.answer import Malformed

#: The items that are read. Others belong to tools that the server runs, which no agent has.
KINDS = ("message", "reasoning", "function_call")
LONGEST_ID = 200
PHASES = ("commentary", "final_answer")
#: Where an item has its texts, and the types of these.
SUMMARY = "summary"
CONTENT = "content"
#: The field of a thought that only the server can read.
SEALED = "encrypted_content"
TEXTS = {
    "output_text": "text",
    "summary_text": "text",
    "reasoning_text": "text",
    "refusal": "refusal",
}

#: The place of a text in its item, and its number there; a call has one, its input.
Part = tuple[str, int]
INPUT: Part = ("arguments", 0)


@dataclass(slots=True)
class OutputItem:
    """An output item: the pieces of its parts so far, and its other data to keep once it is `done`.

    `call_id` and `name` of a call are ours, and `theirs` is the server's id. `shown` is the last part that was shown.
    """

    kind: str
    call_id: str = ""
    theirs: str = ""
    name: str = ""
    pieces: dict[Part, list[str]] = field(default_factory=dict)
    shown: Part | None = None
    done: bool = False
    refused: bool = False
    kept: JsonDict = field(default_factory=dict)

    def text(self, part: Part) -> str:
        return join_halves("".join(self.pieces.get(part, ())))

    @property
    def input(self) -> JsonDict:
        return input_of(self.text(INPUT))

    def finish(self, raw: JsonMapping) -> dict[Part, str]:
        """Process the complete item; return the texts without any piece so far. Raise Malformed if it differs from its pieces."""
        if self.done or raw.get("type") != self.kind:
            raise Malformed
        if self.kind not in KINDS:
            return {}
        texts = self._texts(raw)
        if any(texts.get(part) != self.text(part) for part in self.pieces):
            raise Malformed
        self.kept = self._kept(raw)
        return {part: text for part, text in texts.items() if part not in self.pieces}

    def _texts(self, raw: JsonMapping) -> dict[Part, str]:
        if self.kind == "function_call":
            if raw.get("call_id") != self.theirs or not isinstance(
                raw.get("arguments"), str
            ):
                raise Malformed
            return {INPUT: join_halves(raw["arguments"])}
        texts: dict[Part, str] = {}
        for place in (SUMMARY, CONTENT) if self.kind == "reasoning" else (CONTENT,):
            parts = raw.get(place) or []
            if not isinstance(parts, list):
                raise Malformed
            for number, part in enumerate(parts):
                kind = part.get("type") if isinstance(part, dict) else None
                if not isinstance(kind, str):
                    raise Malformed
                if kind not in TEXTS:
                    continue
                if not isinstance(part.get(TEXTS[kind]), str):
                    raise Malformed
                texts[place, number] = join_halves(part[TEXTS[kind]])
                self.refused |= kind == "refusal"
        return texts

    def _kept(self, raw: JsonMapping) -> JsonDict:
        """Return the data with which the item is sent back besides its text: the id, and a thought exactly as it came."""
        item_id = raw.get("id")
        if not isinstance(item_id, str) or not 0 < len(item_id) <= LONGEST_ID:
            raise Malformed
        kept: JsonDict = {"id": item_id}
        if self.kind == "message":
            kept |= (
                {"status": raw["status"]}
                if raw.get("status") in ("completed", "incomplete")
                else {}
            )
            kept |= {"phase": raw["phase"]} if raw.get("phase") in PHASES else {}
        elif self.kind == "reasoning":
            sealed = raw.get(SEALED) or ""
            if not isinstance(sealed, str):
                raise Malformed
            summary, content = (_parts_of(raw, place) for place in (SUMMARY, CONTENT))
            kept |= {SUMMARY: summary}
            kept |= {CONTENT: content} if content else {}
            kept |= {SEALED: sealed} if sealed else {}
        # Data that databases cannot store is not kept, because it would be sent back changed.
        return kept if clean_json(kept) == kept else {}

    def blocks(self) -> list[JsonDict]:
        """Return the item in Anthropic's blocks, with its kept data."""
        kept = {ITEM: self.kept} if self.kept else {}
        texts = [text for part in sorted(self.pieces) if (text := self.text(part))]
        match self.kind:
            case "message":
                return [{"type": "text", "text": text, **kept} for text in texts]
            case "reasoning":
                return [{"type": "thinking", "thinking": "\n\n".join(texts), **kept}]
            case "function_call":
                return [
                    {
                        "type": "tool_use",
                        "id": self.call_id,
                        "name": self.name,
                        "input": self.input,
                        **kept,
                    }
                ]
            case _:
                return []


def _parts_of(raw: JsonMapping, place: str) -> list[dict[str, str]]:
    """Return the texts of a thought in their original form."""
    parts = [part for part in raw.get(place) or [] if part["type"] in TEXTS]
    return [{"type": part["type"], "text": join_halves(part["text"])} for part in parts]
