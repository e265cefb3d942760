"""A chat client as the AI SDK writes one: it builds its copy of the answer from the stream, and approves in that copy."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.client import HTTPResponse
from typing import Any
from uuid import uuid4

from benchmarks.load.program import Program

Part = dict[str, Any]


class ChatClient:
    """One chat of a program. Reads each stream to its end; `answer` is the client's copy of the assistant's message."""

    def __init__(self, program: Program) -> None:
        self.program, self.chat = program, uuid4().hex
        self.answer: dict[str, Any] = {}
        self._calls: dict[str, Part] = {}

    @property
    def waiting(self) -> list[Part]:
        """Return the tool parts that wait for an approval."""
        return [
            part
            for part in self._calls.values()
            if part["state"] == "approval-requested"
        ]

    @property
    def text(self) -> str:
        """Return the last text of the answer."""
        return str(
            [part["text"] for part in self.answer["parts"] if part["type"] == "text"][
                -1
            ]
        )

    def say(self, text: str) -> None:
        self.answer, self._calls = {}, {}
        self._read(self.program.say(self.chat, text))

    def approve(self) -> None:
        """Approve what waits, and read what follows."""
        for part in self.waiting:
            part |= {
                "state": "approval-responded",
                "approval": part["approval"] | {"approved": True},
            }
        body = {"id": self.chat, "messageId": self.answer["id"], "message": self.answer}
        self._read(self.program.open("POST", "/api/chat", body))

    def _read(self, response: HTTPResponse) -> None:
        text = response.read().decode()
        assert response.status == 200, text[:500]
        for frame in text.split("\n\n"):
            if frame.startswith("data: {"):
                self._apply(json.loads(frame.removeprefix("data: ")))

    def _apply(self, chunk: Mapping[str, Any]) -> None:
        call = self._calls.get(chunk.get("toolCallId", ""), {})
        match chunk["type"]:
            case "start":
                self.answer = self.answer or {
                    "id": chunk["messageId"],
                    "role": "assistant",
                    "parts": [],
                }
            case "start-step":
                self._add({"type": "step-start"})
            case "text-start":
                self._add({"type": "text", "text": ""})
            case "text-delta":
                self.answer["parts"][-1]["text"] += chunk["delta"]
            case "tool-input-available":
                self._calls[chunk["toolCallId"]] = self._add(
                    {
                        "type": f"tool-{chunk['toolName']}",
                        "toolCallId": chunk["toolCallId"],
                        "state": "input-available",
                        "input": chunk["input"],
                    }
                )
            case "tool-approval-request":
                call |= {
                    "state": "approval-requested",
                    "approval": {"id": chunk["approvalId"]},
                }
            case "tool-output-available":
                call |= {"state": "output-available", "output": chunk["output"]}
            case "error":
                raise AssertionError(chunk)

    def _add(self, part: Part) -> Part:
        self.answer["parts"].append(part)
        return part
