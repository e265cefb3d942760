"""Encode a turn's events as the AI SDK's UI message stream (npm `ai` 6.x and 7.x).

Only fields of ai 6.0.0 are sent, because clients of that version refuse unknown ones; optional fields are absent, never null.
Observed with the real clients, and read in packages/ai/src/ui-message-stream/ui-message-chunks.ts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from approvals.json_types import JsonDict, JsonMapping
from approvals.live import sse
from chats.agent import events
from chats.history import tool_name
from chats.queries import values
from chats.states import FinishReason

Chunk = JsonDict

HEADERS = {**sse.HEADERS, "x-vercel-ai-ui-message-stream": "v1"}
DONE = b"data: [DONE]\n\n"
_encoder = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
BEGUN_AGAIN = "The answer was restarted on the server. Reload the chat to see it."


def frames(chunks: Iterable[Chunk]) -> bytes:
    return b"".join(sse.frame(_encoder.encode(chunk)) for chunk in chunks)


class MessageStream:
    """Encode the events of one response. Parts end before their step, and steps before the message.

    `closed` is True after the last chunk.
    """

    def __init__(self, message_id: str) -> None:
        self.message_id = message_id
        self.closed = False
        self._open_parts: list[tuple[str, str]] = []
        self._step_open = False
        self._last_step = -1

    def start(self) -> list[Chunk]:
        """Return the first chunk. It names the stored message, because a client would invent an id of its own."""
        return [{"type": "start", "messageId": self.message_id}]

    def restore(self, parts: Iterable[JsonDict]) -> list[Chunk]:
        """Return the chunks that rebuild the stored part of the message, for a client that begins with an empty one.

        No chunk reports an approval, so a decided call has only its outcome.
        """
        chunks: list[Chunk] = []
        for index, part in enumerate(parts):
            match part:
                case {"type": "step-start"}:
                    chunks += self._start_step(self._last_step + 1)
                case {"type": "text" | "reasoning" as kind, "text": text}:
                    part_id = f"stored-{index}"
                    chunks += [
                        *self._open(kind, part_id),
                        {"type": f"{kind}-delta", "id": part_id, "delta": text},
                    ]
                    chunks += self._end_parts([(kind, part_id)])
                case {"type": kind, "toolCallId": call, "input": value} if (
                    kind.startswith("tool-")
                ):
                    chunks.append(
                        _tool_chunk(events.ToolInputReady(call, tool_name(part), value))
                    )
                    chunks += correction(part)
                case _:
                    chunks.append(values.with_words(part))
        return [*chunks, *self._end_step()]

    def encode(self, event: events.Event) -> list[Chunk]:
        """Return the chunks of an event; none after the last one."""
        if self.closed:
            return []
        match event:
            case events.StepStarted(index):
                return self._start_step(index)
            case events.StepEnded():
                return self._end_step()
            case events.TextStarted(id):
                return self._open("text", id)
            case events.TextDelta(id, text):
                return [
                    *self._opened("text", id),
                    {"type": "text-delta", "id": id, "delta": text},
                ]
            case events.TextEnded(id):
                return self._end_parts([("text", id)])
            case events.ReasoningStarted(id):
                return self._open("reasoning", id)
            case events.ReasoningDelta(id, text):
                return [
                    *self._opened("reasoning", id),
                    {"type": "reasoning-delta", "id": id, "delta": text},
                ]
            case events.ReasoningEnded(id):
                return self._end_parts([("reasoning", id)])
            case events.ModelSilent(attempt, attempts, seconds):
                status = {
                    "code": "silent",
                    "attempt": attempt,
                    "attempts": attempts,
                    "seconds": seconds,
                }
                # Clients pass a transient part to `onData` and do not keep it in the message.
                text = values.words_of_silence(attempt, attempts)
                return [
                    {
                        "type": "data-status",
                        "data": status | {"text": text},
                        "transient": True,
                    }
                ]
            case events.AnswerRemarked(remark):
                return [values.with_words(values.remark_part(remark))]
            case events.SourceFound(part):
                return [part]
            case events.TurnPaused():
                return self.finish(FinishReason.TOOL_CALLS)
            case events.TurnEnded(reason, stopped, metadata):
                return (
                    self.abort(metadata) if stopped else self.finish(reason, metadata)
                )
            case events.TurnFailed(error_text, metadata):
                return self.fail(error_text, metadata)
            case _:
                return [_tool_chunk(event)]

    def finish(self, reason: str, metadata: JsonMapping | None = None) -> list[Chunk]:
        return self._close({"type": "finish", "finishReason": str(reason)}, metadata)

    def abort(self, metadata: JsonMapping | None = None) -> list[Chunk]:
        """Return the last chunks of a turn that a person stopped."""
        return self._close({"type": "abort"}, metadata)

    def fail(self, error_text: str, metadata: JsonMapping | None = None) -> list[Chunk]:
        return self._close({"type": "error", "errorText": error_text}, metadata)

    def _close(self, last: Chunk, metadata: JsonMapping | None) -> list[Chunk]:
        metadata_chunks: list[Chunk] = (
            [{"type": "message-metadata", "messageMetadata": metadata}]
            if metadata
            else []
        )
        chunks = [*self._end_step(), *metadata_chunks, last]
        self.closed = True
        return chunks

    def _open(self, kind: str, part_id: str) -> list[Chunk]:
        ended = self._end_parts([(kind, part_id)])
        self._open_parts.append((kind, part_id))
        return [*ended, {"type": f"{kind}-start", "id": part_id}]

    def _opened(self, kind: str, part_id: str) -> list[Chunk]:
        """Return the start of a part that the client has not seen start, before its first delta."""
        return [] if (kind, part_id) in self._open_parts else self._open(kind, part_id)

    def _start_step(self, index: int) -> list[Chunk]:
        if index <= self._last_step:
            # The streamed part of this step was not committed, and no chunk can retract it.
            return self.fail(BEGUN_AGAIN)
        ended = self._end_step()
        self._last_step = index
        self._step_open = True
        return [*ended, {"type": "start-step"}]

    def _end_step(self) -> list[Chunk]:
        ended = self._end_parts(self._open_parts)
        finished: list[Chunk] = [{"type": "finish-step"}] if self._step_open else []
        self._step_open = False
        return [*ended, *finished]

    def _end_parts(self, parts: Sequence[tuple[str, str]]) -> list[Chunk]:
        ended = [part for part in parts if part in self._open_parts]
        self._open_parts = [part for part in self._open_parts if part not in ended]
        return [{"type": f"{kind}-end", "id": part_id} for kind, part_id in ended]


def _tool_chunk(event: events.Event) -> Chunk:
    match event:
        case events.ToolInputStarted(tool_call_id, tool_name):
            return {
                "type": "tool-input-start",
                "toolCallId": tool_call_id,
                "toolName": tool_name,
            }
        case events.ToolInputDelta(tool_call_id, text):
            return {
                "type": "tool-input-delta",
                "toolCallId": tool_call_id,
                "inputTextDelta": text,
            }
        case events.ToolInputReady(tool_call_id, tool_name, value):
            named = {"toolCallId": tool_call_id, "toolName": tool_name}
            return {"type": "tool-input-available", **named, "input": value}
        case events.ToolInputInvalid(tool_call_id, tool_name, value, error_text):
            named = {"toolCallId": tool_call_id, "toolName": tool_name}
            return {
                "type": "tool-input-error",
                **named,
                "input": value,
                "errorText": error_text,
            }
        case events.ApprovalRequested(tool_call_id, request_id):
            return {
                "type": "tool-approval-request",
                "approvalId": request_id,
                "toolCallId": tool_call_id,
            }
        case events.ToolSucceeded(tool_call_id, output):
            return {
                "type": "tool-output-available",
                "toolCallId": tool_call_id,
                "output": output,
            }
        case events.ToolFailed(tool_call_id, error_text):
            return {
                "type": "tool-output-error",
                "toolCallId": tool_call_id,
                "errorText": error_text,
            }
        case events.ToolDenied(tool_call_id):
            return {"type": "tool-output-denied", "toolCallId": tool_call_id}
        case _:
            raise TypeError(f"{type(event).__name__} is not for clients")


def correction(part: JsonDict) -> list[Chunk]:
    """Return the chunk that updates a client's copy to this stored tool part; none if the call is open and asks no one."""
    call = part["toolCallId"]
    match part["state"]:
        case "output-available":
            return [_tool_chunk(events.ToolSucceeded(call, part["output"]))]
        case "output-error":
            return [_tool_chunk(events.ToolFailed(call, part["errorText"]))]
        case "output-denied":
            return [_tool_chunk(events.ToolDenied(call))]
        case "approval-requested":
            return [_tool_chunk(events.ApprovalRequested(call, part["approval"]["id"]))]
        case _:
            return []


def votes(tool_call_id: str, progress: str) -> Chunk:
    """Return the chunk with the progress of the votes on a call. Clients pass it to `onData` and do not keep it."""
    return {
        "type": "data-votes",
        "data": {"toolCallId": tool_call_id, "progress": progress},
        "transient": True,
    }
