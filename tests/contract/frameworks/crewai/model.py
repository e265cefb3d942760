"""The scripted model of the programs in this folder."""

from __future__ import annotations

import json
import re
from typing import Any

from crewai.llms.base_llm import BaseLLM

READ: list[str] = []


class Model(BaseLLM):
    """Wants these tools, one after the other, and then it is done; as a judge of feedback, it repeats the outcome."""

    wishes: list[Any] = []  # noqa: RUF012 - a field of pydantic

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, tools: Any = None, available_functions: Any = None, **more: Any) -> Any:
        if more.get("response_model"):
            # The prompt begins with the feedback, and this feedback is an outcome.
            return json.dumps({"outcome": re.findall("approved|rejected", str(messages))[0]})
        READ[:] = [message["content"] for message in messages if message["role"] == "tool"]
        if not self.wishes:
            return "done"
        name, args = self.wishes.pop(0)
        return [{"id": f"call-{len(READ)}", "type": "function", "function": {"name": name, "arguments": args}}]
